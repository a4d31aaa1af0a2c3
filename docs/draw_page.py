"""Take page.png for the README and the start page: the page that a run on photographs with tags ends with.

The photographs are those of the dataset collage, composed from pictures that scikit-image and scikit-learn install.
Their tags name what they show, but 1 of 25 photographs has a tag of something else. Needs Chromium and Playwright.
"""

import csv
import io
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from jointsparse.pipeline.datasets import collage
from jointsparse.pipeline.datasets.collage.plans import plan_of

N_PHOTOGRAPHS, SHARE_WRONG = 600, 0.04
WIDTH, N_CARDS = 1080, 5  # width of the picture in pixels, and the number of labels to check that it shows


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


def photograph_of(page: Path) -> bytes:
    """Return the part of a page with the first labels to check, as a PNG file."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        window = browser.new_page(viewport={"width": WIDTH, "height": 4000})
        window.goto(page.as_uri())
        window.wait_for_load_state("networkidle")
        top = window.locator("#check").bounding_box()
        last = window.locator("#cards > li").nth(N_CARDS - 1).bounding_box()
        height = last["y"] + last["height"] + 12 - top["y"]
        return window.screenshot(clip={"x": 0, "y": top["y"], "width": WIDTH, "height": height})


with TemporaryDirectory() as root:
    write_photographs(Path(root, "photos"))
    for command in (["init", "photos"], ["run"]):
        subprocess.run([sys.executable, "-m", "jointsparse", *command], cwd=root, check=True)
    with Image.open(io.BytesIO(photograph_of(Path(root, "results", "photos", "index.html")))) as picture:
        picture.convert("RGB").quantize(256).save(Path(__file__).with_name("page.png"), optimize=True)
