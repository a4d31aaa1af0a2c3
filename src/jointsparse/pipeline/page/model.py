"""The page of a saved model: the words that it recognises, tags to check, and the data that the page's script draws."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import pandas as pd

from jointsparse.metrics import STATISTICS
from jointsparse.pipeline.datasets.samples import present
from jointsparse.pipeline.figures.style import PALETTE, label
from jointsparse.pipeline.page import sentences
from jointsparse.pipeline.page.check import AT_ONCE, ToCheck, exclude_each_other, to_check
from jointsparse.pipeline.page.frame import moved, render
from jointsparse.pipeline.page.kept import Kept
from jointsparse.pipeline.page.warnings import WRONG, warnings_of
from jointsparse.pipeline.page.weights import map_of_weights
from jointsparse.pipeline.page.words import (
    FIRST,
    having,
    not_learnt,
    packed,
    packed_rows,
    per_cent,
    reasons_of,
    wall_of,
    words_of,
)

INDEX_PICTURES = 3  # number of pictures of a dataset in the list of datasets
MOST_PROBABLE = 8  # number of images with a word that have thumbnails and maps, beginning with the most probable


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
    findings : dict
        The facts about the model that the list of datasets shows.
    """

    html: str
    images: list[int]
    maps: dict[int, set[int]]
    findings: dict[str, Any]


class Origin(NamedTuple):
    """The dataset of a saved model.

    Attributes
    ----------
    dataset : str
        Name of the dataset.
    images, captions, left_out : DataFrame
        The dataset's tables with these names, see `datasets`.
    tags : DataFrame
        The labels that may be wrong or missing, see `models.tags_to_check`.
    digest : str
        A checksum of the model, by which the browser tells decisions about its tags from those about another model's.
    corrected : str
        Name of the dataset in the settings, which corrections change. It is `dataset` but for a quick run.
    learnable : mapping
        The options that determine which words could be learnt, see `words.counted_words`.
    note : str
        A note about the dataset for the reader.
    labels : str
        The plural noun for what is learnt, as given by the dataset's loader.
    thumbnail : function or None
        A function that takes the row of an image and returns the file of its thumbnail. None if the samples have no
        pictures.
    original : function or None
        A function that takes the row of an image and returns the URL of its original file, relative to the page, or
        None if it has none. None if there are no such files.
    network : path or None
        File of the network that describes the pictures. The page shows its name, without its folder.
    """

    dataset: str
    images: pd.DataFrame
    captions: pd.DataFrame
    left_out: pd.DataFrame
    tags: pd.DataFrame
    digest: str
    corrected: str
    learnable: Mapping[str, Any]
    note: str = ""
    labels: str = "words"
    thumbnail: Callable[[int], str | None] | None = None
    original: Callable[[int], str | None] | None = None
    network: str | None = None

    @property
    def names(self) -> list[str]:
        """Names of all images, by row."""
        return [str(name) for name in self.images["image"]]

    @property
    def nouns(self) -> dict[str, str]:
        """What samples and labels are called, in the plural and in the singular."""
        things = "photographs" if self.original else "images" if self.thumbnail else "samples"
        nouns = {"things": things, "tags": "tags" if self.labels == "words" else self.labels}
        return nouns | {plural.removesuffix("s"): sentences.one_of(noun) for plural, noun in nouns.items()}


class Shown(NamedTuple):
    """What the page shows of words, tags to check, features and images."""

    words: list[dict[str, Any]]
    having: list[np.ndarray]
    checks: ToCheck
    weights: dict[str, Any]
    maps: dict[int, set[int]]
    images: dict[int, dict[str, Any]]


def page(origin: Origin, kept: Kept) -> Page:
    """Make the page of a saved model."""
    shown = _shown(origin, kept)
    wall = wall_of(shown.words)
    for tile in wall:
        tile["images"] = [(shown.images[row], right) for row, right in tile["images"]]
    verdicts = [word["verdict"] for word in shown.words]
    sentence, things = sentences.recognised(verdicts, origin.nouns["tags"]), origin.nouns["things"]
    warnings = warnings_of(kept.fits.warnings, things, origin.nouns["tags"])
    html = render(
        "model.html.jinja",
        **origin.nouns,
        **_header(origin, kept, shown, verdicts),
        **_model(kept, things),
        sentence=sentence,
        n_check=shown.checks.first,
        warnings=warnings,
        n_wrong=sum(warning["severity"] == WRONG for warning in warnings),
        wall=wall,
        why=_why(wall[0]["word"], shown, kept) if wall else None,
        unknown={name: sorted(w["word"] for w in shown.words if w["verdict"] == name) for name in ("not", "few")},
        data=_data(origin, kept, shown),
    )
    findings = {
        "dataset": origin.dataset,
        "sentence": f"{sentence}; {sentences.some(shown.checks.first, 'labels')} to check first",
        "warnings": sum(warning["severity"] == WRONG for warning in warnings),
        "numbers": {
            things: f"{len(origin.images):,}",
            f"{origin.nouns['tags']} recognised": f"{verdicts.count('recognised'):,} of {len(verdicts):,}",
            "to check first": f"{shown.checks.first:,}",
        },
        "pictures": _pictures(wall) if origin.thumbnail else [],
    }
    return Page(html, [row for row, image in shown.images.items() if image["file"]], shown.maps, findings)


def _shown(origin: Origin, kept: Kept) -> Shown:
    """Choose what the page shows, and the images of which it has thumbnails and maps."""
    words, weights, with_word = words_of(kept), map_of_weights(kept), having(kept)
    checks, maps = to_check(origin.tags, origin.names, kept.names_of_words), dict[int, set[int]]()
    places = {(row, k) for k, word in enumerate(words) for row, _ in word["first"]} | checks.places
    places |= {(int(row), k) for k, rows in enumerate(with_word) for row in rows[:MOST_PROBABLE]}
    places |= {(row, feature["place"]) for feature in weights["features"] for row in feature["images"]}
    for row, place in sorted(places):
        maps.setdefault(row, set()).add(place)
    images = _images(origin, [*maps])
    if kept.with_maps:
        for row, image in images.items():
            image["maps"] = sorted(maps[row])
    return Shown(words, with_word, checks, weights, maps if kept.with_maps else {}, images)


def _images(origin: Origin, rows: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the captions, the text and the thumbnail of the images in some rows."""
    row_of_name = {str(origin.images["image"].iloc[row]): row for row in rows}
    captions = present(origin.captions[origin.captions["known"]] if "known" in origin.captions else origin.captions)
    captions_of_name = captions[captions["image"].isin(row_of_name)].groupby("image", sort=False)["caption"].agg(list)
    texts = origin.images.get("text")
    return {
        row: {"captions": captions_of_name.get(name, []), "file": origin.thumbnail(row) if origin.thumbnail else None}
        | ({} if texts is None else {"text": texts.iloc[row]})
        for name, row in row_of_name.items()
    }


def _header(origin: Origin, kept: Kept, shown: Shown, verdicts: Sequence[str]) -> dict[str, Any]:
    """Return what the template says about the dataset and its words."""
    first, learnable = min(FIRST, len(kept.test_images)), np.flatnonzero(kept.fits.counted["left_out"] == "")
    return {
        "dataset": origin.dataset,
        "note": origin.note,
        "network": shlex.quote(Path(origin.network).name) if origin.network else "",
        "corrected": shlex.quote(origin.corrected),
        "said": sentences.best(kept.words, verdicts, first, origin.nouns["things"]),
        "taken": sentences.how_many_taken(
            len(shown.words), len(learnable), int(learnable.max(initial=0)) + 1, origin.nouns["tags"]
        ),
        "splits": origin.images["split"].value_counts().to_dict(),
        "left_out": _reasons(origin.left_out),
        "first": first,
        "with_maps": kept.with_maps,
        "of_files": origin.original is not None,
    }


def _model(kept: Kept, things: str) -> dict[str, Any]:
    """Return what the template says about the method."""
    (own,) = kept.fits.norms.query("kept").to_dict("records")
    return {
        "costs": sentences.what_sparsity_costs(kept.fits.norms),
        "stable": sentences.how_stable(kept.fits.stability, things),
        "statistics": STATISTICS,
        "radius": f"{kept.model.card_.radius:.4g}",
        "n_known": kept.model.card_.known_images,
        "n_shown": len(kept.features),
        "norms": kept.fits.norms.assign(label=kept.fits.norms["norm"].map(label)).to_dict("records"),
        "own": own,
        "thresholds": kept.fits.thresholds.to_dict("records"),
    }


def _data(origin: Origin, kept: Kept, shown: Shown) -> dict[str, Any]:
    """Return the data of the script. Names of images and words stand there once, and are otherwise given by number."""
    norm, rows, n_images = kept.model.card_.norm, [*shown.images], len(origin.images)
    percentages = [per_cent(kept.probabilities[having, k]) for k, having in enumerate(shown.having)]
    return {
        **origin.nouns,
        **_originals(origin),
        "statistics": [statistic._asdict() | {"key": key, "resampled": None} for key, statistic in STATISTICS.items()],
        "colour": norm if norm in PALETTE else "other1",
        "method": label(norm),
        "with_maps": kept.with_maps,
        "first": min(FIRST, len(kept.test_images)),
        "at_once": AT_ONCE,
        "key": f"jointsparse {origin.corrected} {origin.digest}",
        "exclusive": exclude_each_other(kept, origin.names, origin.captions),
        "samples": origin.names,
        "names": kept.names_of_words,
        "moved": {name: quote(name) for name in [*origin.names, *kept.fits.counted["word"]] if moved(name)},
        "words": shown.words,
        "not_learnt": not_learnt(
            kept.fits.counted, kept.names_of_words, origin.learnable["smallest_size"], origin.nouns["things"]
        ),
        "having": {
            "counts": [len(having) for having in shown.having],
            "rows": packed_rows(shown.having, n_images),
            "probabilities": packed(np.concatenate(percentages)),
        },
        "check": shown.checks.listed(),
        "images": shown.images,
        "probabilities": packed(per_cent(kept.probabilities[rows])),
        "unclear": {row: np.flatnonzero(kept.labels[row] < 0).tolist() for row in rows},
        "reasons": reasons_of(kept.X, rows, kept.W, kept.names) if kept.names else None,
        "weights": shown.weights,
    }


def _originals(origin: Origin) -> dict[str, Any]:
    """Return the URLs of the original files, or only their common beginning if names of images follow it."""
    if not origin.original:
        return {"base": None, "files": None}
    names, files = [quote(name) for name in origin.names], [*map(origin.original, range(len(origin.images)))]
    base = (files[0] or "").removesuffix(names[0])
    if files == [base + name for name in names]:
        return {"base": base, "files": None}
    return {"base": "", "files": files}


def _why(name: str, shown: Shown, kept: Kept) -> dict[str, Any] | None:
    """Return the test image with a word on which it is most probable, and its map; None if it has no map."""
    k = kept.names_of_words.index(name)
    rows = [row for row, right in shown.words[k]["first"] if right]
    if not rows or rows[0] not in shown.maps:
        return None
    image = shown.images[rows[0]]
    file = image["file"].replace(".webp", f"-{k:03d}.webp")
    return {"word": name, "per_cent": per_cent(kept.probabilities[rows[0], k]), "map": file, **image}


def _pictures(wall: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the words and files of the most probable correct pictures of the first words on the wall."""
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
