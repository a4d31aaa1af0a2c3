"""The data for the page of a dataset: its images, the results of its studies, and its saved model."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from jointsparse.checks import relative_path, select, widened
from jointsparse.pipeline.explorer import thumbnails
from jointsparse.pipeline.explorer.kept import Fits, Kept, kept_model
from jointsparse.pipeline.explorer.page import Page
from jointsparse.pipeline.explorer.study import Study, median_run, study_answers
from jointsparse.pipeline.models.model_file import load
from jointsparse.pipeline.provenance.tables import read_array, read_features, read_matrix, read_record, read_table
from jointsparse.pipeline.scores.scored_fits import ScoredFits
from jointsparse.pipeline.scores.warning_table import gather
from jointsparse.pipeline.sweep import Sweep
from jointsparse.pipeline.tasks import n_learnable, names_of


class Images:
    """The images of a dataset, with their files and thumbnails.

    Parameters
    ----------
    loader : module
        The plug-in that reads the dataset, see `datasets`.
    options : mapping
        The loader's options.
    table : DataFrame or None
        The table of images, with a column `picture` if samples have pictures in addition to their features. None if the
        studies draw their own samples.
    features : path or None
        File of the features, if the samples of the dataset come with features.

    Attributes
    ----------
    names : list of str
        Names of the features that the samples come with; empty if they have no names.
    are_files : bool
        Whether the loader has a picture of each image, either in a file or as a picture that the loader paints.
    are_pictures : bool
        Whether images have thumbnails, which show either their pictures or their features as pixels.
    """

    def __init__(
        self, loader: Any, options: Mapping[str, Any], table: pd.DataFrame | None, features: str | None
    ) -> None:
        shows = getattr(loader, "SHOWS", "nothing")
        beside = table is not None and "picture" in table
        self.loader, self.options = loader, options
        self.painted = table is None or "digest" not in table  # by the loader, and not read from files
        self.pictures = None if table is None else table["picture" if beside else "image"]
        self.names: Sequence[str] = loader.feature_names(**options) if shows == "names" else ()
        self.pixels = read_matrix(features) if shows == "pixels" and features else None
        self.are_files = shows == "pictures" or beside
        self.are_pictures = self.are_files or (self.pixels is not None and self.thumbnail(0) is not None)

    def _picture(self, row: int, longest_side: int) -> dict[str, Any]:
        assert self.pictures is not None
        return {**self.options, "image": self.pictures[row], "longest_side": longest_side}

    def file(self, row: int, place: int | None = None) -> str | None:
        """Return the file of an image's thumbnail or, if `place` is given, of its map; None if there is no picture."""
        return thumbnails.file_of(row, place) if self._picture(row, 0)["image"] else None

    def thumbnail(self, row: int) -> Any:
        """Return an image's thumbnail, uint8 (height, width, 3); None if its features cannot be drawn as a square."""
        if self.pixels is not None:
            return thumbnails.of_features(self.pixels[row].toarray()[0])
        return self.loader.thumbnail(**self._picture(row, thumbnails.LONGEST_SIDE))

    def grey(self, row: int, longest_side: int) -> Any:
        """Return the grey picture (height, width) from which an image's features are computed."""
        return self.loader.picture(**self._picture(row, longest_side))

    def colours(self, row: int, longest_side: int) -> Any:
        """Return a network's input for an image: the image file or, without files, the pixels that the loader makes."""
        picture = self._picture(row, longest_side)
        return self.loader.thumbnail(**picture) if self.painted else self.loader.file(**picture)

    def original(self, row: int, folder: Path) -> str:
        """Return the URL of an image's original file, relative to a folder if both are on the same drive."""
        path = relative_path(self.loader.file(**self._picture(row, 0)), folder)
        return PureWindowsPath(path).as_uri() if os.path.isabs(path) else quote(path)


def read_study(
    name: str,
    files: Mapping[str, Sequence[str]],
    figures: Mapping[str, str],
    features: str | list[str],
    words: str | None,
    names: Sequence[str],
) -> Study:
    """Read the results of a study that the page shows.

    Parameters
    ----------
    name : str
        Name of the study.
    files : mapping
        The study's files. The keys are `tables` and, if the study learns words, also `scores`, `images`, `labels` and
        `sweeps`.
    figures : mapping
        Captions of the study's figures. The keys are their files, relative to the page.
    features : path or list of paths
        Files of the features from which the study learns, see `tables.read_features`.
    words : str or None
        Name of these features in the files: a visual vocabulary, or the prefix of a network. Not used if `features` is
        a single file.
    names : list of str
        Names of these features; empty if they have none.
    """
    tables = {Path(file).stem: read_table(file) for file in files["tables"]}
    if "scores" not in files:
        return Study(name, tables, figures)
    scores = read_record(ScoredFits, files["scores"][0])
    is_test = (read_table(files["images"][0], "split")["split"] == "test").to_numpy()
    run = f"run{median_run(tables['chosen'])}"
    sweeps = {
        Path(file).stem: read_record(Sweep, file, scores.n.max())
        for file in files["sweeps"]
        if Path(file).parent.name == run
    }
    answers = study_answers(
        name,
        names_of(tables["words"], read_array(files["labels"][0])),
        select(read_features(features, words), is_test),
        np.flatnonzero(is_test).tolist(),
        scores,
        tables,
        sweeps,
        names=names,
    )
    return Study(name, tables, figures, answers)


def read_kept(
    model: str,
    labels: str,
    images: str,
    features: str | list[str],
    *,
    network: str | None,
    vocabulary: str | None,
    names: Sequence[str],
    fits: Fits,
) -> Kept:
    """Read a saved model and its test images.

    Parameters
    ----------
    model, labels, images : path
        Files of the model, of the labels and of the table of images.
    features : path or list of paths
        Files of the features from which the model learns, see `tables.read_features`.
    network : path or None
        File of the network that describes the pictures, if there is one.
    vocabulary : str or None
        See `words` of `read_study`.
    names : list of str
        Names of these features; empty if they have none.
    fits : Fits
        See `read_fits`.
    """
    from jointsparse.features.explain import has_maps  # imported here because scikit-learn takes two seconds

    kept, table = load(model, network=network), read_table(images, "image", "split")
    test_images = np.flatnonzero(table["split"] == "test")
    return kept_model(
        kept,
        widened(read_features(features, vocabulary)[test_images]),
        read_array(labels)[test_images],
        test_images.tolist(),
        known_images=pd.Index(table["image"]).get_indexer(kept.known_names_).tolist(),
        has_maps=has_maps(kept),
        names=names,
        fits=fits,
    )


def read_fits(
    norms: str,
    thresholds: str,
    stability: str | None,
    images: str,
    captions: pd.DataFrame,
    warned: Mapping[str, str],
    words: Mapping[str, Any],
) -> Fits:
    """Read the comparison of a dataset's final fits, and gather the warnings about their data.

    Parameters
    ----------
    norms, thresholds, stability, images : path
        Files of the tables with these names. `stability` is None if the run does not make this table.
    captions : DataFrame
        The captions of the dataset.
    warned : mapping
        Files of the tables whose warnings no study has gathered. The keys are the names of the tables.
    words : mapping
        The options that determine which words could be learnt, see `tasks.n_learnable`.
    """
    return Fits(
        read_table(norms),
        read_table(thresholds),
        n_learnable(read_table(images, "image", "split"), captions, words),
        gather({name: read_table(file) for name, file in warned.items()}),
        read_table(stability) if stability else pd.DataFrame(),
    )


def write_thumbnails(
    folder: Path,
    page: Page,
    images: Images,
    kept: Kept | None,
    *,
    longest_side: int,
    progress: Callable[[int, int], None],
) -> None:
    """Write the thumbnails and maps that a page shows.

    Parameters
    ----------
    folder : path
        Folder of the page.
    page : Page
        The page.
    images : Images
        The images of the dataset.
    kept : Kept or None
        The saved model whose maps are drawn, if there is one.
    longest_side : int, pixels
        Longest side of the pictures from which features are computed.
    progress : function
        Called as `progress(done, total)` after each image.
    """
    explainer = None
    if kept and page.maps:
        from jointsparse.features.explain import Explainer  # imported here because scikit-learn takes two seconds

        explainer = Explainer(kept.model, kept.features)
    for done, row in enumerate(page.images, start=1):
        (folder / thumbnails.file_of(row)).write_bytes(thumbnails.encoded(images.thumbnail(row)))
        if kept and explainer and row in page.maps:
            places = list(page.maps[row])
            picture = (images.colours if explainer.in_colour else images.grey)(row, longest_side)
            heats = explainer.heats(picture, places)
            for place, overlay in zip(places, thumbnails.overlays(heats, kept.spread[places]), strict=True):
                (folder / thumbnails.file_of(row, place)).write_bytes(overlay)
        progress(done, len(page.images))
