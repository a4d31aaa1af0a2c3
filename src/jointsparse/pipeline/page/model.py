"""The page of a saved model: the words that it recognises, and the data that the page's script draws."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.metrics import STATISTICS
from jointsparse.pipeline.datasets.samples import present
from jointsparse.pipeline.figures.style import PALETTE, label, percent
from jointsparse.pipeline.page import sentences
from jointsparse.pipeline.page.frame import render
from jointsparse.pipeline.page.kept import Kept, alike
from jointsparse.pipeline.page.warnings import WRONG, warnings_of
from jointsparse.pipeline.page.weights import map_of_weights
from jointsparse.pipeline.page.words import FIRST, packed_scores, reasons_of, suspects_of, wall_of, words_of

INDEX_PICTURES = 3  # number of pictures of a dataset in the list of datasets
IMAGES_OF_WORDS = ("highest", "misses", "errors")  # see `words_of`


class Page(NamedTuple):
    """The page of a saved model, and what has to be written next to it.

    Attributes
    ----------
    html : str
        The content of the page.
    images : list of int
        Rows of the images whose thumbnails the page shows.
    maps : dict of sets
        For each image with maps, by its row, the indices of the words and features whose maps the page shows.
    suspects : DataFrame
        The table of labels that may be wrong, see `words.suspects_of`.
    findings : dict
        The facts about the model that the list of datasets shows.
    """

    html: str
    images: list[int]
    maps: dict[int, set[int]]
    suspects: pd.DataFrame
    findings: dict[str, Any]


def page(
    dataset: str,
    kept: Kept,
    *,
    images: pd.DataFrame,
    captions: pd.DataFrame,
    left_out: pd.DataFrame,
    note: str = "",
    labels: str = "words",
    thumbnail: Callable[..., str | None] | None = None,
    original: Callable[[int], str] | None = None,
    network: str | None = None,
) -> Page:
    """Make the page of a saved model.

    Parameters
    ----------
    dataset : str
        Name of the dataset.
    kept : Kept
        The model and its test images.
    images, captions, left_out : DataFrame
        The dataset's tables with these names, see `datasets`.
    note : str
        A note about the dataset for the reader.
    labels : str
        The plural noun for what is learnt, as given by the dataset's loader.
    thumbnail : function, optional
        A function that takes the row of an image and returns the file of its thumbnail. None if the samples have no
        pictures.
    original : function, optional
        A function that takes the row of an image and returns the URL of its original file, relative to the page. None
        if there are no such files.
    network : path, optional
        File of the network that describes the pictures. The page shows its name, without its folder.
    """
    things, n_test = "images" if thumbnail else "samples", len(kept.labels)
    words, weights = words_of(kept), map_of_weights(kept)
    shown = sorted(
        {image for word in words for kind in IMAGES_OF_WORDS for image, _ in word[kind]}.union(
            *(feature["images"] for feature in weights["features"])
        )
    )
    rows = {image: int(kept.test_images[image]) for image in shown}
    similar = {image: alike(kept, image) for image in shown}
    maps = _maps(kept, words, weights, rows) if kept.with_maps else {}
    image_rows = _images({*rows.values()}.union(*similar.values()), images, captions, thumbnail, original)
    for row, places in maps.items():
        image_rows[row]["maps"] = sorted(places)
    wall, not_recognised = wall_of(words)
    for tile in wall:
        tile["images"] = [(image_rows[rows[image]], right) for image, right in tile["images"]]

    first, norms, (own,) = min(FIRST, n_test), kept.fits.norms, kept.fits.norms.query("kept").to_dict("records")
    sentence = sentences.recognised(kept.words, labels, first)
    point = sentences.against_all_features(norms)
    warnings = warnings_of(kept.fits.warnings, things, labels)
    n_wrong = sum(warning["severity"] == WRONG for warning in warnings)
    nouns = {"things": things, "labels": labels, "label": sentences.one_of(labels)}
    names = kept.names_of_words
    html = render(
        "model.html.jinja",
        dataset=dataset,
        network=shlex.quote(Path(network).name) if network else "",
        note=note,
        sentence=sentence,
        said=[
            point,
            sentences.on_average(kept.means, first, n_test, things),
            sentences.how_many_taken(len(words), kept.fits.n_learnable, labels),
        ],
        why_not=sentences.why_not(kept.words, things, labels),
        stable=sentences.how_stable(kept.fits.stability, things),
        splits=images["split"].value_counts().to_dict(),
        left_out=_reasons(left_out),
        warnings=warnings,
        n_wrong=n_wrong,
        statistics=STATISTICS,
        method=label(own["norm"]),
        radius=f"{kept.model.card_.radius:.4g}",
        n_shown=len(kept.features),
        norms=norms.assign(label=norms["norm"].map(label)).to_dict("records"),
        own=own,
        thresholds=kept.fits.thresholds.to_dict("records"),
        tags="tags" if labels == "words" else labels,
        with_maps=kept.with_maps,
        n_test=n_test,
        first=first,
        wall=wall,
        not_recognised=not_recognised,
        why=_why(wall[0]["word"], words, rows, image_rows) if wall else None,
        **nouns,
        data={
            "statistics": [
                statistic._asdict() | {"key": key, "resampled": None} for key, statistic in STATISTICS.items()
            ],
            "colour": own["norm"] if own["norm"] in PALETTE else "other1",
            "method": label(own["norm"]),
            "with_maps": kept.with_maps,
            "known_images": len(kept.known_images),
            "means": kept.means.to_dict(),
            "names": names,
            "words": words,
            "weights": weights,
            "n_test": n_test,
            "first": first,
            "rows": rows,
            "alike": similar,
            "has": {image: np.flatnonzero(kept.labels[image] == 1).tolist() for image in shown},
            "unclear": {image: np.flatnonzero(kept.labels[image] < 0).tolist() for image in shown},
            "said": packed_scores(kept.scores, shown),
            "reasons": reasons_of(kept.X, shown, kept.W, kept.names) if kept.names else None,
            "images": image_rows,
            **nouns,
        },
    )
    suspects = suspects_of(kept.scores, kept.labels, {names.index(tile["word"]): tile["word"] for tile in wall})
    suspects["image"] = [images["image"].iloc[kept.test_images[image]] for image in suspects["image"]]
    findings = {"dataset": dataset, "sentence": sentence, "point": point, "warnings": n_wrong}
    findings["numbers"] = {
        things: f"{len(images):,}",
        f"of the {first} highest-ranked right": sentences.one_digit(first * kept.means["precision_at_10"]),
        "of the features": percent(own["features"] / own["of"], " "),
    }
    findings["pictures"] = _pictures(wall) if thumbnail else []
    return Page(html, [row for row, image in image_rows.items() if image["file"]], maps, suspects, findings)


def _maps(
    kept: Kept, words: list[dict[str, Any]], weights: Mapping[str, Any], rows: Mapping[int, int]
) -> dict[int, set[int]]:
    """Return the indices of the words and features whose maps are shown, by the image's row in the table of images."""
    maps: dict[int, set[int]] = {}
    ranked = [(image, k) for k, word in enumerate(words) for kind in IMAGES_OF_WORDS for image, _ in word[kind]]
    responding = [(image, feature["place"]) for feature in weights["features"] for image in feature["images"]]
    for image, place in ranked + responding:
        maps.setdefault(rows[image], set()).add(place)
    return maps


def _why(
    name: str, words: list[dict[str, Any]], rows: Mapping[int, int], image_rows: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Return the highest-ranked photograph with a word, its rank and its map; None if it has no map."""
    (place,) = (k for k, word in enumerate(words) if word["word"] == name)
    position, rank = words[place]["highest"][0]
    image = image_rows[rows[position]]
    if place not in image.get("maps", ()):
        return None
    return {"word": name, "rank": rank, "map": image["file"].replace(".webp", f"-{place:03d}.webp"), **image}


def _pictures(wall: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the words and files of the highest-ranked correct pictures of the first words on the wall."""
    words: dict[str, str] = {}
    for tile in wall:
        right = [image for image, is_right in tile["images"] if is_right]
        best = right[0] if right else tile["images"][0][0]
        words.setdefault(best["file"], tile["word"])  # a picture appears only once
    return [(word, file) for file, word in words.items()][:INDEX_PICTURES]


def _reasons(left_out: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return each reason why data are left out, with the number of items left out and the first of these items."""
    reasons = left_out.groupby("reason", sort=False)["item"].agg(count="size", first="first").reset_index()
    return list(reasons.sort_values("count", ascending=False, kind="stable").to_dict("records"))


def _images(
    rows: set[int],
    images: pd.DataFrame,
    captions: pd.DataFrame,
    thumbnail: Callable[..., str | None] | None,
    original: Callable[[int], str] | None,
) -> dict[int, dict[str, Any]]:
    """Return the name, captions, thumbnail and original file of each image that is shown. Parameters: see `page`."""
    row_of_name = {str(images["image"].iloc[row]): row for row in sorted(rows)}
    captions = present(captions[captions["known"]] if "known" in captions else captions)
    captions_of_name = captions[captions["image"].isin(row_of_name)].groupby("image", sort=False)["caption"].agg(list)
    described: dict[int, dict[str, Any]] = {
        row: {"name": name, "captions": captions_of_name.get(name, []), "file": thumbnail(row) if thumbnail else None}
        | ({"text": images["text"].iloc[row]} if "text" in images else {})
        for name, row in row_of_name.items()
    }
    if original:
        for row in [row for row, image in described.items() if image["file"]]:
            described[row]["original"] = original(row)
    return described
