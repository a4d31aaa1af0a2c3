"""The page of a dataset: what its studies have found, and the numbers that the page's script draws."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import markupsafe
import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.metrics import FIRST
from jointsparse.pipeline.explorer import findings
from jointsparse.pipeline.explorer.answers import Kept, alike, answers_of
from jointsparse.pipeline.explorer.fits import Fits
from jointsparse.pipeline.explorer.frame import render
from jointsparse.pipeline.explorer.sharing import sharing_of
from jointsparse.pipeline.explorer.words import SUSPECTS, reasons_of, said_of, suspects_of, wall_of, words_of

SAMPLES = 24  # images of a dataset whose studies learn no words
OF_CARD = 3  # pictures that stand in the list of pages
IMAGES_OF_WORDS = ("highest", "misses", "errors")  # see `words_of`

# A study as the page's script draws it, its fits, the row of each of their test images, and names of the features.
Source = tuple[dict[str, Any], Fits, Sequence[int], Sequence[str]]


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

    maps: the places of the words whose maps it shows, by image. suspects: the table of labels that may be wrong.
    """

    html: str
    images: list[int]
    maps: dict[int, set[int]]
    suspects: pd.DataFrame
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
    thumbnail: Callable[..., str | None] | None = None,
    original: Callable[[int], str] | None = None,
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
    original : function, optional
        The address of an image's own file, as the page finds it, by its row. None if there are no such files.
    kept : Kept, optional
        The model that the run has kept.

    Returns
    -------
    Page
    """
    of_words = [study for study in studies if study.fits is not None]
    maps: dict[int, set[int]] = {}
    sources: list[Source] = []
    if kept:
        answers, of_tests = answers_of(kept)
        maps = {int(kept.test_images[image]): places for image, places in of_tests.items()}
        sources.append((answers, kept.fits, kept.test_images, kept.vocabulary))
    sources += [_learnt(study) for study in of_words]
    used = set().union(*(_add_images(*source) for source in sources))
    if kept:
        answers["alike"] = alike(kept, answers["rows"])
        used = used.union(*answers["alike"].values())
    if thumbnail and images is not None and not of_words:
        samples = np.linspace(0, len(images) - 1, min(SAMPLES, len(images))).astype(int)
        used = set(samples.tolist())
    things = "images" if thumbnail else "samples"
    claimed = findings.hold(verdicts)
    found, sure, why_not = claimed, "", ""
    numbers = {things: f"{len(images):,}"} if images is not None else {}
    if of_words:
        told = _table(sources[0][0]), sources[0][0]["best"]
        found = findings.sentence(*told, labels)
        n_test = sources[0][0]["n_test"]
        sure = findings.how_sure(*told, of_words[0].tables["means"], n_test=n_test, things=things)
        why_not = findings.why_not(*told, things, labels)
        numbers[f"of the first {min(FIRST, n_test)} right"] = findings.one_digit(findings.average(*told, "right"))
    warned = {study.name: study.tables["warnings"] for study in studies if "warnings" in study.tables}
    warnings = findings.warnings_of(warned, things, labels)
    n_wrong = sum(warning["severity"] == findings.WRONG for warning in warnings)
    of_images = _images(used, images, captions, thumbnail, original)
    for row, places in maps.items():
        of_images[row]["maps"] = sorted(places)
    first_screen, suspects = _first_screen(sources, images, of_images)
    on_card = [(", ".join(one["captions"]), one["file"]) for one in list(of_images.values())[:OF_CARD]]
    if of_words:
        firsts = [
            (tile["word"], sorted(tile["images"], key=lambda one: not one[1])[0][0]) for tile in first_screen["wall"]
        ]
        of_tiles = {
            image["file"]: word for word, image in firsts[::-1]
        }  # each once, and rightly ranked if there is one
        on_card = [(word, file) for file, word in of_tiles.items()][: -OF_CARD - 1 : -1]
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
        **first_screen,
        by_rank={study.name: _by_method(study) for study in of_words},
        data={
            "studies": [learnt for learnt, *_ in sources],
            "images": of_images,
            "things": things,
            "labels": labels,
            "label": findings.one_of(labels),
        },
    )
    return Page(
        html,
        [row for row, image in of_images.items() if image["file"]],
        maps,
        suspects,
        {"dataset": dataset, "sentence": found, "note": note, "warnings": n_wrong, "numbers": numbers}
        | {"verdicts": {} if of_words else dict(verdicts), "pictures": on_card if thumbnail else []},
    )


def _learnt(study: Study) -> Source:
    """Gather what the page's script draws of a study."""
    fits, names, tables = study.fits, study.names, study.tables
    assert fits is not None
    require(
        not names or len(names) >= fits.X.shape[1],
        f"vocabulary must name each of {fits.X.shape[1]} features, got {len(names)} names",
    )
    means = tables["means"][tables["means"]["n"] == fits.n].set_index("method")["auc_weighted"]
    best = str(means[list(fits.paths)].idxmax())
    learnt = {
        "name": study.name,
        "by": f"{findings.label(best)} of the study {study.name}",
        "with_maps": False,
        "n": fits.n,
        "run": fits.run,
        "runs": int(tables["chosen"]["run"].nunique()),
        "methods": [{"name": method, "label": findings.label(method)} for method in fits.paths],
        "best": best,
        "names": fits.words,
        "words": words_of(tables["words_learnt"], tables["by_word"], fits, names),
        "sharing": {method: sharing_of(fits, method, names) for method in fits.paths},
    }
    return learnt, fits, study.test_images, names


def _table(study: Mapping[str, Any]) -> pd.DataFrame:
    """Columns of the table words_learnt that sentences read, for the best method of a study."""
    rows = [(word, word["methods"][study["best"]]) for word in study["words"]]
    return pd.DataFrame(
        [
            {
                **{key: word[key] for key in ("word", "positives")},
                "method": study["best"],
                "validation_word": word["always"],
                **{key: own[key] for key in ("right", "auc")},
                "weight": 1 if "means" in study else word["positives"],  # as in the means of the kept model, or a study
                "p_holm": 0.0 if own["known"] else 1.0,
            }
            for word, own in rows
        ]
    )


def _by_method(study: Study) -> dict[str, np.ndarray]:
    """Means of the numbers of `fits.by_rank` over the words of each method, as of the AUC."""
    fits, learnt = study.fits, study.tables["words_learnt"]
    assert fits is not None
    chose = learnt.groupby("word")["validation_word"].first()[fits.words].to_numpy()
    weights = (fits.labels == 1).sum(axis=0) * (~chose | chose.all())
    return {method: np.average(numbers, axis=1, weights=weights) for method, numbers in fits.by_rank.items()}


def _add_images(study: dict[str, Any], fits: Fits, test_images: Sequence[int], names: Sequence[str]) -> set[int]:
    """Add to a study what the page shows of its test images, and return their rows in the table of images.

    Parameters
    ----------
    study, fits, test_images, names
        See `Source`.

    Returns
    -------
    rows : set of int
    """
    of_words = [own[kind] for word in study["words"] for own in word["methods"].values() for kind in IMAGES_OF_WORDS]
    of_features = [
        both for one in study["sharing"].values() for feature in one["features"] for both in feature["images"]
    ]
    used = sorted({image for ranks in of_words for image, _ in ranks}.union(*of_features))
    study["n_test"], study["of_first"] = len(fits.labels), min(FIRST, len(fits.labels))
    study["rows"] = {image: int(test_images[image]) for image in used}
    study["has"] = {image: np.flatnonzero(fits.labels[image] == 1).tolist() for image in used}
    study["unclear"] = {image: np.flatnonzero(fits.labels[image] < 0).tolist() for image in used}
    study["said"] = {method: said_of(own, used) for method, own in fits.scores.items()}
    study["reasons"] = reasons_of(fits.X, used, fits.W(study["best"]), names) if names else None
    return set(study["rows"].values())


def _first_screen(
    sources: Sequence[Source], images: pd.DataFrame | None, of_images: Mapping[int, Mapping[str, Any]]
) -> tuple[dict[str, Any], pd.DataFrame]:
    """The wall of the first study, its other words and itself, for the template, and the table of suspects."""
    if not sources or images is None:
        return {"wall": [], "unknown": [], "model": None}, pd.DataFrame(columns=SUSPECTS)
    study, fits, test_images, _ = sources[0]
    wall, unknown = wall_of(study["words"], study["best"])
    for tile in wall:
        tile["images"] = [(of_images[study["rows"][image]], right) for image, right in tile["images"]]
    known = {study["names"].index(tile["word"]): tile["word"] for tile in wall}
    suspects = suspects_of(fits.scores[study["best"]], fits.labels, known)
    suspects["image"] = [images["image"].iloc[test_images[image]] for image in suspects["image"]]
    return {"wall": wall, "unknown": unknown, "model": study}, suspects


def _images(
    used: set[int],
    images: pd.DataFrame | None,
    captions: pd.DataFrame | None,
    thumbnail: Callable[..., str | None] | None,
    original: Callable[[int], str] | None,
) -> dict[int, dict[str, Any]]:
    """Name, captions, thumbnail and own file of each image that is shown. images, captions, ...: see `page`."""
    if images is None or captions is None:
        return {}
    rows = {str(images["image"].iloc[row]): row for row in sorted(used)}
    captions = captions[captions["known"]] if "known" in captions else captions
    own = captions[captions["image"].isin(rows)].groupby("image", sort=False)["caption"].agg(list)
    shown: dict[int, dict[str, Any]] = {
        row: {"name": name, "captions": own.get(name, []), "file": thumbnail(row) if thumbnail else None}
        | ({"text": images["text"].iloc[row]} if "text" in images else {})
        for name, row in rows.items()
    }
    if original:
        for row in [row for row, image in shown.items() if image["file"]]:
            shown[row]["original"] = original(row)
    return shown
