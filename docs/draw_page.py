"""Take page.png for the README and the start page: the first screen of the page that a run on the dataset collage ends with.

Needs Chromium. The run is a quick one, in a folder of its own, and takes a minute.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

DOCS = Path(__file__).parent
SIZE = 1280, 720  # pixels of the window, and so of the picture

with TemporaryDirectory() as folder:
    shutil.copy(DOCS.parent / "config.yaml", folder)
    run = [sys.executable, "-m", "jointsparse", "run", "--quick", "--dataset", "collage"]
    subprocess.run(run, cwd=folder, check=True)
    page = Path(folder, "results", "collage-quick", "index.html")
    shot = Path(folder, "page.png")
    width, height = SIZE
    subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--allow-file-access-from-files"]
        + [f"--window-size={width},{height}", f"--screenshot={shot}", "--virtual-time-budget=5000", page.as_uri()],
        check=True,
    )
    Image.open(shot).convert("RGB").quantize(256).save(DOCS / "page.png", optimize=True)
