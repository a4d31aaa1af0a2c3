"""The page of a dataset: what its studies have found, and the numbers that the page's script draws."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import markupsafe
import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.explorer import findings
from jointsparse.explorer.answers import Kept, answers_of
from jointsparse.explorer.fits import Fits
from jointsparse.explorer.frame import render
from jointsparse.explorer.sharing import sharing_of
from jointsparse.explorer.words import telling_of_samples, words_of

SAMPLES = 24  # images of a dataset whose studies learn no words
OF_CARD = 3  # pictures that stand in the list of pages
IMAGES_OF_WORDS = ("highest", "misses", "errors")  # see `words_of`


class Study(NamedTuple):
    """A study as the page shows it.

    tables: by name; the page reads chosen, means, by_word, words_learnt, differences and warnings. figures: captions by
    file, as the page finds it. fits: None for a study that learns no words. test_images: the row of each test image in
    the table of images. names: of the features; empty if they have none.
    """

    name: str
    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, str]
    fits: Fits | None = None
    test_images: Sequence[int] = ()
    names: Sequence[str] = ()


class Page(NamedTuple):
    """A page, the rows of the images whose thumbnails it shows, and what the list of pages tells of it.

    maps: the places of the words whose maps it shows, by image.
    """

    html: str
    images: list[int]
    maps: dict[int, set[int]]
    findings: dict[str, Any]


def page(
    dataset: str,
    studies: Sequence[Study],
    *,
    images: pd.DataFrame | None,
    captions: pd.DataFrame | None,
    left_out: pd.DataFrame | None,
    claims: markupsafe.Markup,
    verdicts: Mapping[str, int],
    note: str = "",
    labels: str = "words",
    thumbnail: Callable[..., str] | None = None,
    kept: Kept | None = None,
) -> Page:
    """Make the page of a dataset.

    Parameters
    ----------
    dataset : str
        Its name.
    studies : list of Study
        The first that learns words gives the sentence of findings.
    images, captions, left_out : tables or None
        Of the dataset, see `datasets`; None for one that each study draws.
    claims : Markup
        The claims with their verdicts, see `papers.page.section`.
    verdicts : dict
        How many claims have each verdict, see `papers.page.counts`.
    note : str
        What the reader should know of the dataset.
    labels : str
        The plural of what is learnt, as its loader calls it.
    thumbnail : function, optional
        The file of the thumbnail of an image, by its row, or of its map of a word. None if images are no pictures.
    kept : Kept, optional
        The model that the run has kept.

    Returns
    -------
    Page
    """
    of_words = [study for study in studies if study.fits is not None]
    shown, used = [], set()
    for study in of_words:
        learnt, rows = _learnt(study)
        shown.append(learnt)
        used |= rows
    if thumbnail and images is not None and not of_words:
        samples = np.linspace(0, len(images) - 1, min(SAMPLES, len(images))).astype(int)
        used = set(samples.tolist())
    answers, maps = answers_of(kept, thumbnail) if kept else (None, {})
    used |= maps.keys()
    things = "images" if thumbnail else "samples"
    claimed = findings.hold(verdicts)
    found, sure, why_not = claimed, "", ""
    numbers = {things: f"{len(images):,}"} if images is not None else {}
    if of_words:
        first = of_words[0]
        told = first.tables["words_learnt"], first.tables["chosen"]["method"].iloc[0]
        found = findings.sentence(*told, labels)
        sure = findings.how_sure(first.tables, things, labels)
        why_not = findings.why_not(*told, things, labels)
        numbers["of 100 pairs ranked right"] = (
            f"{100 * findings.largest(first.tables['means'])['auc_weighted'].iloc[0]:.0f}"
        )
    warned = {study.name: study.tables["warnings"] for study in studies if "warnings" in study.tables}
    warnings = findings.warnings_of(warned, things, labels)
    n_wrong = sum(warning["severity"] == findings.WRONG for warning in warnings)
    of_images = _images(used, images, captions, thumbnail)
    html = render(
        "page.html.jinja",
        dataset=dataset,
        note=note,
        sentence=found,
        sure=sure,
        why_not=why_not,
        studies=studies,
        methods={
            study.name: findings.methods_table(study.tables["means"], study.tables.get("differences"))
            for study in of_words
        },
        splits=images["split"].value_counts().to_dict() if images is not None else {},
        left_out=findings.left_out(left_out) if left_out is not None else [],
        warnings=warnings,
        n_wrong=n_wrong,
        claims=claims,
        claimed=claimed,
        samples=list(of_images.values()) if not of_words else [],
        things=things,
        labels=labels,
        label=findings.one_of(labels),
        answers=answers,
        data={"studies": shown, "images": of_images, "things": things, "labels": labels},
    )
    return Page(
        html,
        sorted(used) if thumbnail else [],
        maps,
        {"dataset": dataset, "sentence": found, "note": note, "warnings": n_wrong, "numbers": numbers}
        | {"verdicts": {} if of_words else dict(verdicts), "pictures": _of_card(shown, of_images) if thumbnail else []},
    )


def _of_card(shown: list[dict[str, Any]], images: dict[int, dict[str, Any]]) -> list[tuple[str, str]]:
    """Captions and thumbnails of a few images: the best of the best words, or the first of a dataset without words."""
    if not shown:
        return [(", ".join(one["captions"]), one["file"]) for one in list(images.values())[:OF_CARD]]
    method = shown[0]["methods"][0]["name"]
    own = [(word["methods"][method], word["word"]) for word in shown[0]["words"] if word["best"]]
    best = sorted(own, key=lambda one: -one[0]["auc"])[:OF_CARD]
    return [(word, images[shown[0]["rows"][one["highest"][0][0]]]["file"]) for one, word in best]


def _learnt(study: Study) -> tuple[dict[str, Any], set[int]]:
    """Gather what the page's script draws of a study, and the rows of the images that it shows."""
    fits, names = study.fits, study.names
    assert fits is not None
    require(
        not names or len(names) >= fits.X.shape[1],
        f"vocabulary must name each of {fits.X.shape[1]} features, got {len(names)} names",
    )
    words = words_of(study.tables["words_learnt"], study.tables["by_word"], fits, names)
    methods = list(fits.paths)
    sharing = {method: sharing_of(fits, method, names) for method in methods}
    own = [method[kind] for word in words for method in word["methods"].values() for kind in IMAGES_OF_WORDS]
    of_features = [images for one in sharing.values() for feature in one["features"] for images in feature["images"]]
    used = {i for images in own for i, _ in images}.union(*of_features)
    rows = {i: int(study.test_images[i]) for i in sorted(used)}
    learnt = {
        "name": study.name,
        "n": fits.n,
        "run": fits.run,
        "runs": int(study.tables["chosen"]["run"].nunique()),
        "methods": [{"name": method, "label": findings.label(method)} for method in methods],
        "names": fits.words,
        "words": words,
        "sharing": sharing,
        "rows": rows,
        "told": telling_of_samples(fits, sorted(used), names) if names else {},
    }
    return learnt, set(rows.values())


def _images(
    used: set[int],
    images: pd.DataFrame | None,
    captions: pd.DataFrame | None,
    thumbnail: Callable[..., str] | None,
) -> dict[int, dict[str, Any]]:
    """Name, captions and thumbnail of each image that is shown."""
    if images is None or captions is None:
        return {}
    rows = {str(images["image"].iloc[row]): row for row in sorted(used)}
    own = captions[captions["image"].isin(rows)].groupby("image", sort=False)["caption"].agg(list)
    return {
        row: {"name": name, "captions": own.get(name, []), "file": thumbnail(row) if thumbnail else None}
        for name, row in rows.items()
    }
