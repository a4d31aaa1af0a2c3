"""The page of pictures that a kept model has annotated, with what speaks for and against each word."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from sklearn.pipeline import Pipeline

from jointsparse.datasets.pictures import open_colour
from jointsparse.explorer.frame import render
from jointsparse.explorer.thumbnails import LONGEST_SIDE, encoded
from jointsparse.kept.explain import Explainer
from jointsparse.provenance.tables import written

FOR, AGAINST = np.array([178, 24, 43]), np.array([33, 102, 172])  # red and blue, as on every map of signs
PALE = 0.6  # of the darkness of a picture under its map
MOST_COLOUR = 0.75  # of a pixel; the rest is the picture


def write(folder: str | Path, model: Pipeline, table: pd.DataFrame, left_out: Mapping[str, str]) -> None:
    """Write a page, `index.html`, and the pictures that it shows.

    Parameters
    ----------
    folder : path
        Where to.
    model : Pipeline
        The model that has annotated.
    table, left_out : table, dict
        From `kept.annotator.annotate`.
    """
    explainer, shown = Explainer(model), []
    for number, (image, rows) in enumerate(table.groupby("image", sort=False)):
        colour, words = open_colour(Path(str(image)), LONGEST_SIDE), list(rows["word"])
        files = [_saved(folder, f"{number:06d}.webp", colour)]
        for place, heat in enumerate(explainer.heats(image, words)):
            units = heat / explainer.full_colour(words[place], heat.size)
            files.append(_saved(folder, f"{number:06d}-{place}.webp", blended(colour, units)))
        shown.append({"name": image, "files": files, "words": rows.to_dict("records")})
    html = render("annotated.html.jinja", shown=shown, left_out=left_out, card=model.card_, data=None)
    with written(Path(folder) / "index.html") as path:
        path.write_text(html, encoding="utf-8")


def blended(colour: np.ndarray, heat: np.ndarray) -> np.ndarray:
    """A picture in grey under its map: red where it speaks for a word, blue where it speaks against it.

    colour: (height, width, 3) uint8. heat: of any size, in units of the full colour. Returns uint8 as `colour`.
    """
    height, width = colour.shape[:2]
    small = np.asarray(Image.fromarray(heat.astype(np.float32)).resize((width, height), Image.Resampling.BILINEAR))
    grey = 255 - PALE * (255 - np.repeat(colour.mean(axis=2, keepdims=True), 3, axis=2))
    strength = MOST_COLOUR * np.clip(np.abs(small), 0, 1)[:, :, np.newaxis]
    ink = np.where(small[:, :, np.newaxis] > 0, FOR, AGAINST)
    return np.asarray(grey * (1 - strength) + ink * strength).round().astype(np.uint8)


def _saved(folder: str | Path, name: str, picture: np.ndarray) -> str:
    with written(Path(folder) / "pictures" / name) as path:
        path.write_bytes(encoded(picture))
    return f"pictures/{name}"
