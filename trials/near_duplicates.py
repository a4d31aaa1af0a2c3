"""Make near duplicates of photographs, and count how many are found.

    python trials/near_duplicates.py data/flickr8k/images --cases 1000

Random photographs are cropped by 2 % at random sides, scaled by a factor from 0.5 to 2 and saved as JPEG with a quality
from 40 to 90. A copy that is not found is "missed". The ways in which a case can end are listed in `harness.py`.
"""

import sys
from functools import partial
from pathlib import Path

import harness
import numpy as np
from PIL import Image

from jointsparse.pictures import open_grey
from jointsparse.pipeline.datasets.folder import list_pictures
from jointsparse.pipeline.datasets.near_duplicates import clusters, descriptor

LONGEST_SIDE = 320
CUT = 0.02  # fraction of the width or height
RESAMPLINGS = [Image.Resampling.BILINEAR, Image.Resampling.BICUBIC, Image.Resampling.LANCZOS]


def save_copy(photograph: Image.Image, target: Path, rng: np.random.Generator) -> None:
    """Save a near duplicate of a photograph."""
    sides = np.array([[0, 0], photograph.size]) + [[1], [-1]] * rng.choice([0, CUT], (2, 2)) * photograph.size
    size = np.rint(2 ** rng.uniform(-1, 1) * (sides[1] - sides[0])).astype(int).tolist()
    scaled = photograph.resize(size, rng.choice(RESAMPLINGS), box=tuple(sides.ravel().tolist()))
    scaled.save(target, "JPEG", quality=int(rng.integers(40, 91)))


def case(paths: list[Path], rng: np.random.Generator, folder: Path) -> str:
    path = paths[rng.integers(len(paths))]
    with Image.open(path) as opened:
        save_copy(opened.convert("RGB"), folder / "copy.jpg", rng)
    both = [descriptor(open_grey(picture, LONGEST_SIDE)) for picture in (path, folder / "copy.jpg")]
    return "found" if len({*clusters(np.array(both))}) == 1 else "missed"


if __name__ == "__main__":
    parser = harness.parser(__doc__, 1000)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    paths = [given.folder.resolve() / name for name in list_pictures(given.folder)[0]]
    sys.exit(harness.run({"copy": partial(case, paths)}, given))
