"""Make many photographs from a few: cropped, rotated, mirrored and recoloured, with the captions of the originals.

python trials/scale/make_pictures.py data/flickr8k data/scale 30000

Pictures that exist already are kept, so the script can be stopped and restarted, and a larger number adds pictures. A
picture depends only on its number.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

SIDES = (240, 320)  # shorter and longer side in pixels


def made(path: Path, rng: np.random.Generator) -> Image.Image:
    """Make a picture from a photograph."""
    with Image.open(path) as original:
        picture = original.convert("RGB")
    width, height = picture.size
    picture = picture.rotate(rng.uniform(-10, 10), Image.Resampling.BILINEAR)
    part = rng.uniform(0.55, 0.8)
    left, top = rng.uniform(0.1, 0.9 - part, 2)
    box = (left * width, top * height, (left + part) * width, (top + part) * height)
    picture = picture.resize(SIDES[::-1] if width > height else SIDES, Image.Resampling.BILINEAR, box)
    levels = np.asarray(picture)[:, :: rng.choice([-1, 1])] * rng.uniform(0.7, 1.3, 3) + rng.uniform(-20, 20, 3)
    return Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8))


def main(source: Path, folder: Path, n: int) -> None:
    """Make the missing pictures among 0, …, n - 1, and the table of all captions."""
    captions = pd.read_csv(source / "captions.csv").groupby("image")["caption"].agg(list)
    rows = []
    for number in range(n):
        rng, name = np.random.default_rng(number), f"{number // 1000:04}/{number:07}.jpg"
        image = captions.index[rng.integers(len(captions))]
        rows += [(name, caption) for caption in captions[image]]
        path = folder / "images" / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            made(source / "images" / image, rng).save(path.with_suffix(".part"), "JPEG", quality=85)
            path.with_suffix(".part").rename(path)
    pd.DataFrame(rows, columns=["image", "caption"]).to_csv(folder / "captions.csv", index=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("n", type=int)
    main(**vars(parser.parse_args()))
