"""Plant near duplicates into a folder of photographs, and count how many are found.

    .venv/bin/python trials/near_duplicates.py data/flickr8k/images --sheet found.png

Random photographs are cropped by 2 % at random sides, scaled by a factor from 0.5 to 2 and saved as JPEG with a quality
from 40 to 90. The folder's own near duplicates are printed, and --sheet shows them, because only a person can tell
whether they are real.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from jointsparse.pictures import open_colour, open_grey
from jointsparse.pipeline.datasets.folder import list_pictures
from jointsparse.pipeline.datasets.near_duplicates import clusters, descriptor

LONGEST_SIDE, SHOWN_SIDE, MOST_SHOWN = 320, 160, 60
CUT = 0.02  # fraction of the width or height


def plant(path: Path, target: Path, rng: np.random.Generator) -> None:
    """Save a near duplicate of a photograph."""
    with Image.open(path) as opened:
        photograph = opened.convert("RGB")
    sides = np.array([[0, 0], photograph.size]) + [[1], [-1]] * rng.choice([0, CUT], (2, 2)) * photograph.size
    scale = 2 ** rng.uniform(-1, 1)
    size = tuple(np.rint(scale * (sides[1] - sides[0])).astype(int).tolist())
    resampling = rng.choice([Image.Resampling.BILINEAR, Image.Resampling.BICUBIC, Image.Resampling.LANCZOS])
    scaled = photograph.resize(size, resampling, box=tuple(sides.ravel().tolist()))
    scaled.save(target, "JPEG", quality=int(rng.integers(40, 91)))


def show(pairs: list[tuple[Path, Path]], sheet: Path) -> None:
    """Save a picture that shows pairs of photographs side by side, six pairs in a row."""
    size = SHOWN_SIDE + 4
    whole = Image.new("RGB", (12 * size, -(-len(pairs) // 6) * size))
    for k, pair in enumerate(pairs):
        for side, path in enumerate(pair):
            place = (2 * (k % 6) + side) * size, k // 6 * size
            whole.paste(Image.fromarray(open_colour(path, SHOWN_SIDE)), place)
    whole.save(sheet)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--planted", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sheet", type=Path, help="picture to write, with the folder's own near duplicates")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    paths = [given.folder / name for name in list_pictures(given.folder)[0]]
    own = np.array([descriptor(open_grey(path, LONGEST_SIDE)) for path in paths])
    sources = rng.choice(len(paths), given.planted, replace=given.planted > len(paths))
    planted = np.empty((given.planted, own.shape[1]), own.dtype)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "planted.jpg"
        for k, source in enumerate(sources):
            plant(paths[source], target, rng)
            planted[k] = descriptor(open_grey(target, LONGEST_SIDE))
    start = time.perf_counter()
    before = clusters(own)
    seconds = time.perf_counter() - start
    found = [
        np.diff(clusters(np.stack([own[source], copy])))[0] == 0 for source, copy in zip(sources, planted, strict=True)
    ]
    first = [int(np.flatnonzero(before == cluster)[0]) for cluster in before]
    pairs = [(paths[i], paths[k]) for k, i in enumerate(first) if i != k]
    print(f"{sum(found):,} of {given.planted:,} planted near duplicates found")
    print(f"{len(pairs):,} of {len(paths):,} photographs are near duplicates of another one; {seconds:.1f} s")
    for pair in pairs[:MOST_SHOWN]:
        print("  ", *(path.relative_to(given.folder) for path in pair))
    if given.sheet and pairs:
        show(pairs[:MOST_SHOWN], given.sheet)
    return int(sum(found) < 0.95 * given.planted)


if __name__ == "__main__":
    sys.exit(main())
