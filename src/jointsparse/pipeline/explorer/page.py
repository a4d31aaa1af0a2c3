"""The page of a dataset: the findings of its studies, and the data that the page's script draws."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import markupsafe
import numpy as np
import pandas as pd

from jointsparse.metrics import FIRST
from jointsparse.pipeline.explorer import findings
from jointsparse.pipeline.explorer.answers import Answers
from jointsparse.pipeline.explorer.frame import render
from jointsparse.pipeline.explorer.kept import Kept, alike
from jointsparse.pipeline.explorer.sharing import norms_curve, sharing_of, study_curve
from jointsparse.pipeline.explorer.study import Study
from jointsparse.pipeline.explorer.words import SUSPECTS, packed_scores, reasons_of, suspects_of, wall_of, words_of
from jointsparse.pipeline.figures.style import label

SAMPLES = 24  # number of images on the page of a dataset whose studies learn no words
CARD_PICTURES = 3  # number of pictures on the card of a dataset in the list of pages
IMAGES_OF_WORDS = ("highest", "misses", "errors")  # see `words_of`


class Page(NamedTuple):
    """The page of a dataset, and what has to be written next to it.

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
        The facts about this page that the list of pages shows.
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
    network: str | None = None,
) -> Page:
    """Make the page of a dataset.

    Parameters
    ----------
    dataset : str
        Name of the dataset.
    studies : list of Study
        The studies of the dataset. Without a saved model, the page begins with the first study that learns words.
    images, captions, left_out : DataFrame or None
        The dataset's tables with these names, see `datasets`; None if its studies draw their own samples.
    claims : Markup
        The section of the page with the claims and their verdicts, see `papers.page.section`.
    verdicts : dict
        How often each verdict occurs, see `papers.page.counts`.
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
    kept : Kept, optional
        The model that the run has saved.
    network : path, optional
        File of the network that describes the pictures. The page shows its name, without its folder.
    """
    word_studies = [(study, study.answers) for study in studies if study.answers is not None]
    shown = [kept.answers] if kept else []  # a saved model comes before all studies
    shown += [answers for _, answers in word_studies]
    drawn = [_drawn(answers) for answers in shown]
    curves = [norms_curve(kept.fits.norms)] if kept else []
    curves += [study_curve(study.tables["sparsity"], study.tables["means"]) for study, _ in word_studies]
    for study, curve in zip(drawn, curves, strict=True):
        study["curve"] = curve
    rows = {row for study in drawn for row in study["rows"].values()}
    maps: dict[int, set[int]] = {}
    if kept:
        drawn[0]["alike"] = alike(kept, drawn[0]["rows"])
        rows = rows.union(*drawn[0]["alike"].values())
        maps = _maps(drawn[0])
    if thumbnail and images is not None and not shown:
        rows = set(np.linspace(0, len(images) - 1, min(SAMPLES, len(images))).astype(int).tolist())
    image_rows = _images(rows, images, captions, thumbnail, original)
    for row, places in maps.items():
        image_rows[row]["maps"] = sorted(places)

    things = "images" if thumbnail else "samples"
    claimed = findings.hold(verdicts)
    sentence, point, said = claimed, "", list[str]()
    why_not = ""
    numbers = {things: f"{len(images):,}"} if images is not None else {}
    if shown:
        first_answers, n_test = shown[0], drawn[0]["n_test"]
        means = word_studies[0][0].tables["means"] if word_studies else None
        learnt = _best_method(first_answers, n_test)
        sentence = findings.sentence(learnt, labels, by=first_answers.about["by"], n_test=n_test)
        auc = first_answers.about["means"]["auc"]
        said = [findings.how_sure(learnt, first_answers.best, means, auc=auc, n_test=n_test, things=things)]
        why_not = findings.why_not(learnt, things, labels)
        right = findings.one_digit(findings.average(learnt, "right"))
        numbers[f"of the {min(FIRST, n_test)} highest-ranked right"] = right
    if kept:
        point = findings.against_all_features(kept.fits.norms)
        said = [point, *said, findings.how_many_taken(len(kept.answers.words), kept.fits.n_learnable, labels)]
        numbers["of the features"] = findings.share_of_features(kept.fits.norms)
    warned = {study.name: study.tables["warnings"] for study in studies if "warnings" in study.tables}
    warned |= {"the last fit": kept.fits.warnings} if kept else {}
    warnings = findings.warnings_of(warned, things, labels)
    n_wrong = sum(warning["severity"] == findings.WRONG for warning in warnings)
    first_screen, suspects = _first_screen(shown, drawn, images, image_rows)
    html = render(
        "page.html.jinja",
        dataset=dataset,
        network=shlex.quote(Path(network).name) if network else "",
        note=note,
        sentence=sentence,
        said=[text for text in said if text],
        why_not=why_not,
        studies=studies,
        methods={
            study.name: findings.methods_table(study.tables["means"], study.tables.get("differences"))
            for study, _ in word_studies
        },
        splits=images["split"].value_counts().to_dict() if images is not None else {},
        left_out=findings.left_out(left_out) if left_out is not None else [],
        warnings=warnings,
        n_wrong=n_wrong,
        claims=claims,
        claimed=claimed,
        norms=findings.norms_table(kept.fits.norms) if kept else [],
        stable=findings.how_stable(kept.fits.stability, things) if kept else "",
        thresholds=kept.fits.thresholds.to_dict("records") if kept else [],
        samples=list(image_rows.values()) if not shown else [],
        things=things,
        labels=labels,
        label=findings.one_of(labels),
        tags="tags" if labels == "words" else labels,
        **first_screen,
        by_rank={study.name: _mean_precision(answers.learnt) for study, answers in word_studies},
        data={
            "studies": drawn,
            "images": image_rows,
            "things": things,
            "labels": labels,
            "label": findings.one_of(labels),
        },
    )
    card = {"dataset": dataset, "sentence": sentence, "point": point, "note": note, "warnings": n_wrong}
    card |= {"numbers": numbers, "verdicts": {} if shown else dict(verdicts)}
    demonstration = findings.demonstrates(studies, labels, things, shown=bool(shown))
    card["demonstration"] = demonstration if verdicts.get("demonstration") else ""
    card["pictures"] = _card_pictures(image_rows, first_screen["wall"] if shown else None) if thumbnail else []
    return Page(html, [row for row, image in image_rows.items() if image["file"]], maps, suspects, card)


def _drawn(answers: Answers) -> dict[str, Any]:
    """Return the data that the page's script draws for a study or the saved model. All values can be written as JSON.

    Images are identified by their rows among the test images; `rows` maps these rows to rows of the table of images.
    """
    words = words_of(answers)
    sharing = {method: sharing_of(path, method.rpartition("-")[2]) for method, path in answers.paths.items()}
    ranked = [own[kind] for word in words for own in word["methods"].values() for kind in IMAGES_OF_WORDS]
    responding = [
        images for shared in sharing.values() for feature in shared["features"] for images in feature["images"]
    ]
    shown = sorted({image for ranks in ranked for image, _ in ranks}.union(*responding))
    labels, W = answers.labels, answers.paths[answers.best].chosen_W
    return {
        **answers.about,
        "methods": [{"name": method, "label": label(method)} for method in answers.paths],
        "best": answers.best,
        "names": answers.words,
        "words": words,
        "sharing": sharing,
        "n_test": len(labels),
        "of_first": min(FIRST, len(labels)),
        "rows": {image: int(answers.test_images[image]) for image in shown},
        "has": {image: np.flatnonzero(labels[image] == 1).tolist() for image in shown},
        "unclear": {image: np.flatnonzero(labels[image] < 0).tolist() for image in shown},
        "said": {method: packed_scores(scores, shown) for method, scores in answers.scores.items()},
        "reasons": reasons_of(answers.X, shown, W, answers.names) if answers.names else None,
    }


def _maps(model: Mapping[str, Any]) -> dict[int, set[int]]:
    """Return the indices of the words and features whose maps are shown, by the image's row in the table of images."""
    maps: dict[int, set[int]] = {}
    if not model["with_maps"]:
        return maps
    ranked = [
        (image, model["names"].index(word["word"]))
        for word in model["words"]
        for kind in IMAGES_OF_WORDS
        for image, _ in word["methods"][model["best"]][kind]
    ]
    responding = [
        (image, feature["place"])
        for feature in model["sharing"][model["best"]]["features"]
        for image in feature["images"][0]
    ]
    for image, place in ranked + responding:
        maps.setdefault(model["rows"][image], set()).add(place)
    return maps


def _best_method(answers: Answers, n_test: int) -> pd.DataFrame:
    """Return the rows of `Answers.learnt` for the best method, with an additional column `right`.

    The new column is the number of highest-ranked images that have the word, as a mean over runs.
    """
    learnt = answers.learnt[answers.learnt["method"] == answers.best]
    return learnt.assign(right=min(FIRST, n_test) * learnt["first"])


def _mean_precision(learnt: pd.DataFrame) -> dict[Any, np.ndarray]:
    """For each method, average `first` and `precision` over words, with the AUC's weights. learnt: see `Answers`."""
    chose = learnt["validation_word"].to_numpy(bool)
    weights = learnt["positives"] * (~chose | chose.all())
    return {
        method: np.average(rows[["first", "precision"]], axis=0, weights=weights[rows.index])
        for method, rows in learnt.groupby("method", sort=False)
    }


def _first_screen(
    shown: Sequence[Answers],
    drawn: Sequence[Mapping[str, Any]],
    images: pd.DataFrame | None,
    image_rows: Mapping[int, Mapping[str, Any]],
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the values that the template shows at the top of the page, and the table of labels that may be wrong.

    The values describe the saved model or, without one, the first study. `why` is the photograph that opens the page,
    with the file of its map, or None if there are no maps.
    """
    if not shown or images is None:
        nothing: dict[str, Any] = {"wall": [], "not_recognised": [], "model": None, "why": None}
        return nothing, pd.DataFrame(columns=SUSPECTS)
    answers, study = shown[0], drawn[0]
    wall, not_recognised = wall_of(study["words"], study["best"])
    for tile in wall:
        tile["images"] = [(image_rows[study["rows"][image]], right) for image, right in tile["images"]]
    recognised = {answers.words.index(tile["word"]): tile["word"] for tile in wall}
    suspects = suspects_of(answers.scores[answers.best], answers.labels, recognised)
    suspects["image"] = [images["image"].iloc[answers.test_images[image]] for image in suspects["image"]]
    first_screen = {"wall": wall, "not_recognised": not_recognised, "model": study}
    first_screen["why"] = _why(wall[0], study, image_rows) if wall else None
    return first_screen, suspects


def _why(
    tile: Mapping[str, Any], study: Mapping[str, Any], image_rows: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Return the highest-ranked photograph with the word of a tile, its rank and its map; None if it has no map."""
    (word,) = (word for word in study["words"] if word["word"] == tile["word"])
    (position, rank), place = word["methods"][study["best"]]["highest"][0], study["names"].index(tile["word"])
    image = image_rows[study["rows"][position]]
    if place not in image.get("maps", ()):
        return None
    return {"word": tile["word"], "rank": rank, "map": image["file"].replace(".webp", f"-{place:03d}.webp"), **image}


def _card_pictures(
    image_rows: Mapping[int, Mapping[str, Any]], wall: Sequence[Mapping[str, Any]] | None
) -> list[tuple[str, str]]:
    """Return the captions and files of the pictures on the card of the dataset.

    If there is a wall, these are the highest-ranked correct pictures of its first words; otherwise, the first samples.
    """
    if wall is None:
        return [(", ".join(image["captions"]), image["file"]) for image in list(image_rows.values())[:CARD_PICTURES]]
    words: dict[str, str] = {}
    for tile in wall:
        right = [image for image, is_right in tile["images"] if is_right]
        first = right[0] if right else tile["images"][0][0]
        words.setdefault(first["file"], tile["word"])  # a picture appears on the card only once
    return [(word, file) for file, word in words.items()][:CARD_PICTURES]


def _images(
    rows: set[int],
    images: pd.DataFrame | None,
    captions: pd.DataFrame | None,
    thumbnail: Callable[..., str | None] | None,
    original: Callable[[int], str] | None,
) -> dict[int, dict[str, Any]]:
    """Return the name, captions, thumbnail and original file of each image that is shown. Parameters: see `page`."""
    if images is None or captions is None:
        return {}
    row_of_name = {str(images["image"].iloc[row]): row for row in sorted(rows)}
    captions = captions[captions["known"]] if "known" in captions else captions
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
