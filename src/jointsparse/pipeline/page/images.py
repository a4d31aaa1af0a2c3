"""The images of a dataset, and the thumbnails and maps that the page of its model shows."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import Any
from urllib.parse import quote

import pandas as pd

from jointsparse.messages import relative_path
from jointsparse.pipeline.page import thumbnails
from jointsparse.pipeline.page.kept import Kept
from jointsparse.pipeline.page.model import Page
from jointsparse.pipeline.provenance.tables import read_matrix


class Images:
    """The images of a dataset, with their files and thumbnails.

    Parameters
    ----------
    loader : module
        The plug-in that reads the dataset, see `datasets`.
    options : mapping
        The loader's options.
    table : DataFrame
        The table of images, with a column `picture` if samples have pictures in addition to their features.
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

    def __init__(self, loader: Any, options: Mapping[str, Any], table: pd.DataFrame, features: str | None) -> None:
        beside = "picture" in table
        self.loader, self.options = loader, options
        self.painted = "digest" not in table  # by the loader, and not read from files
        self.pictures = table["picture" if beside else "image"]
        self.names: Sequence[str] = loader.feature_names(**options) if loader.SHOWS == "names" else ()
        self.pixels = read_matrix(features) if loader.SHOWS == "pixels" and features else None
        self.are_files = loader.SHOWS == "pictures" or beside
        self.are_pictures = self.are_files or (self.pixels is not None and self.thumbnail(0) is not None)

    def _picture(self, row: int, longest_side: int) -> dict[str, Any]:
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

    def original(self, row: int, folder: Path) -> str | None:
        """Return the URL of an image's original file, see `url_of`; None if there is no picture."""
        picture = self._picture(row, 0)
        return url_of(self.loader.file(**picture), folder) if picture["image"] else None


def url_of(file: str | Path, folder: Path) -> str:
    """Return the URL of a file, relative to a folder if both are on the same drive."""
    path = relative_path(file, folder)
    return PureWindowsPath(path).as_uri() if os.path.isabs(path) else quote(path)


def write_thumbnails(
    folder: Path,
    page: Page,
    images: Images,
    kept: Kept,
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
    kept : Kept
        The saved model whose maps are drawn.
    longest_side : int, pixels
        Longest side of the pictures from which features are computed.
    progress : function
        Called as `progress(done, total)` after each image.
    """
    explainer = None
    if page.maps:
        from jointsparse.features.explain import Explainer  # imported here because scikit-learn takes two seconds

        explainer = Explainer(kept.model, [feature.place for feature in kept.features])
    for done, row in enumerate(page.images, start=1):
        (folder / thumbnails.file_of(row)).write_bytes(thumbnails.encoded(images.thumbnail(row)))
        if explainer and row in page.maps:
            places = list(page.maps[row])
            picture = (images.colours if explainer.in_colour else images.grey)(row, longest_side)
            heats = explainer.heats(picture, places)
            for place, overlay in zip(places, thumbnails.overlays(heats, kept.spread[places]), strict=True):
                (folder / thumbnails.file_of(row, place)).write_bytes(overlay)
        progress(done, len(page.images))
