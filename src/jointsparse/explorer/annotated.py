"""The page of pictures that a kept model has annotated, with what speaks for and against each word."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from sklearn.pipeline import Pipeline

from jointsparse.datasets.pictures import open_colour
from jointsparse.explorer import thumbnails
from jointsparse.explorer.frame import render
from jointsparse.kept.explain import Explainer
from jointsparse.provenance.tables import written

# Choice: standard deviations of a word's decisions that a picture would add whose pixels all had the full colour. On
# photographs one pixel in a hundred has it. So a word has one scale, for pictures of any size.
FULL = 16.0


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
    explainer, shown, root = Explainer(model), [], Path(folder)
    for number, (image, rows) in enumerate(table.groupby("image", sort=False)):
        file, words = thumbnails.file_of(number), list(rows["word"])
        with written(root / file) as path:
            path.write_bytes(thumbnails.encoded(open_colour(Path(str(image)), thumbnails.LONGEST_SIDE)))
        for place, overlay in enumerate(overlays(explainer, image, words)):
            with written(root / thumbnails.file_of(number, place)) as path:
                path.write_bytes(overlay)
        maps = [thumbnails.file_of(number, place) for place in range(len(words))]
        shown.append({"name": image, "file": file, "words": rows.assign(map=maps).to_dict("records")})
    html = render("annotated.html.jinja", shown=shown, left_out=left_out, card=model.card_, data=None)
    with written(root / "index.html") as path:
        path.write_text(html, encoding="utf-8")


def overlays(explainer: Explainer, picture: object, words: list[str]) -> list[bytes]:
    """The map of each word on a picture, as the content of a file. picture: as `DenseSift` takes it."""
    spreads = [explainer.spread[explainer.places[word]] for word in words]
    pairs = zip(spreads, explainer.heats(picture, words), strict=True)
    return [thumbnails.encoded(thumbnails.overlay(heat, FULL * spread / heat.size)) for spread, heat in pairs]
