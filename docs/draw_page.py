"""Take page.png for the README and the start page: the page that a run on photographs with tags ends with.

The photographs are those of the dataset collage, composed from pictures that scikit-image and scikit-learn install.
Their tags name what they show, but 1 of 25 photographs has a tag of something else. Needs Chromium.
"""

import csv
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from jointsparse.pipeline.datasets import collage
from jointsparse.pipeline.datasets.collage.plans import plan_of

N_PHOTOGRAPHS, SHARE_WRONG = 600, 0.04
WINDOW = 1280, 2400  # width and height in pixels
PART = 0, 0, 1280, 720  # left, upper, right and lower edge of the picture in the window


def write_photographs(folder: Path) -> None:
    """Paint the photographs into a folder, with a table of their tags."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    plans = {f"collage_{number:05d}": plan_of(number, 0) for number in range(N_PHOTOGRAPHS)}
    known = sorted({cause for plan in plans.values() for cause in plan.causes})
    with (folder / "tags.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["photograph", "tags"])
        for name, plan in plans.items():
            Image.fromarray(collage.photograph(name)).save(folder / f"{name}.jpg", quality=90)
            tags = sorted(plan.causes)
            if rng.random() < SHARE_WRONG:
                tags[rng.integers(len(tags))] = str(rng.choice([tag for tag in known if tag not in plan.causes]))
            table.writerow([f"{name}.jpg", ";".join(tags)])


with TemporaryDirectory() as root:
    write_photographs(Path(root, "photos"))
    for command in (["init", "photos"], ["run"]):
        subprocess.run([sys.executable, "-m", "jointsparse", *command], cwd=root, check=True)
    shot, page = Path(root, "page.png"), Path(root, "results", "photos", "index.html")
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--allow-file-access-from-files"]
    options += [f"--window-size={WINDOW[0]},{WINDOW[1]}", "--virtual-time-budget=5000", f"--screenshot={shot}"]
    subprocess.run([os.environ.get("CHROMIUM", "chromium"), *options, page.as_uri()], check=True)
    picture = Image.open(shot).convert("RGB").crop(PART)
    picture.quantize(256).save(Path(__file__).with_name("page.png"), optimize=True)
