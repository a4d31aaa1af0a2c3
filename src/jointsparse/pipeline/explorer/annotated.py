"""The page of pictures that a saved model has annotated, with maps of the evidence for and against each word."""

from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline

from jointsparse.features.explain import Explainer, has_maps
from jointsparse.pictures import open_colour
from jointsparse.pipeline.explorer import thumbnails
from jointsparse.pipeline.explorer.frame import render
from jointsparse.pipeline.models.annotator import Annotations
from jointsparse.written import written

AT_ONCE = 16  # most maps of a picture that are in memory at the same time


def write(
    folder: str | Path, model: Pipeline, annotations: Annotations, known: str | Path | None = None
) -> dict[str, str]:
    """Write the page of annotated pictures, `index.html`, and the thumbnails and maps that it shows.

    Parameters
    ----------
    folder : path
        Folder to which the page is written.
    model : Pipeline
        The model that has annotated the pictures.
    annotations : Annotations
        The result of `models.annotator.annotate`.
    known : path or None
        Folder of the pictures from which the model has learnt. For each annotated picture, the page shows the most
        similar pictures of this folder. If None, the page only gives the names of the similar pictures.

    Returns
    -------
    not_shown : dict
        The reason why a similar picture is not shown, by the name of the picture: it lies outside of `known`, or it
        cannot be opened. The names come from the model and cannot be trusted.
    """
    explainer, shown, root, not_shown = Explainer(model), [], Path(folder), dict[str, str]()
    with_maps = has_maps(model)
    places = {word: k for k, word in enumerate(model.card_.words)}
    spread = np.maximum(model.known_scores_.std(axis=0), np.finfo(np.float32).tiny)
    for number, (image, rows) in enumerate(annotations.table.groupby("image", sort=False)):
        word_places = [places[word] for word in rows["word"]]
        file = _put(root, thumbnails.file_of(number), _thumbnail(Path(str(image))))
        maps = []
        for start in range(0, len(word_places) if with_maps else 0, AT_ONCE):
            some = word_places[start : start + AT_ONCE]
            overlays = thumbnails.overlays(explainer.heats(image, some), spread[some])
            maps += [_put(root, thumbnails.file_of(number, start + i), overlay) for i, overlay in enumerate(overlays)]
        alike = dict.fromkeys(annotations.alike[str(image)], "")
        for i, name in enumerate(alike if known else ()):
            try:
                picture = _inside(Path(known or ""), name)
                if picture is None:
                    not_shown[name] = "it lies outside of the folder of known pictures"
                elif picture.is_file() or picture.is_symlink():  # after resolving, only a link to itself is a link
                    alike[name] = _put(root, f"thumbnails/{number:06d}-known-{i}.webp", _thumbnail(picture))
            except Exception:  # decoders raise many kinds of exceptions
                not_shown[name] = "it does not open as a picture"
        shown.append(
            {"name": image, "file": file, "words": rows.assign(map=maps or "").to_dict("records"), "alike": alike}
        )
    html = render(
        "annotated.html.jinja",
        shown=shown,
        left_out=annotations.left_out,
        card=model.card_,
        with_maps=with_maps,
        data=None,
    )
    _put(root, "index.html", html.encode())
    return not_shown


def _inside(folder: Path, name: str) -> Path | None:
    """Return the path of the file with this name in a folder; return None if the path leads out of the folder."""
    if "\0" in name or Path(name).is_absolute() or ".." in Path(name).parts:
        return None
    path = (folder / name).resolve()
    return path if path.is_relative_to(folder.resolve()) else None


def _thumbnail(picture: Path) -> bytes:
    return thumbnails.encoded(open_colour(picture, thumbnails.LONGEST_SIDE))


def _put(root: Path, name: str, content: bytes) -> str:
    with written(root / name) as path:
        path.write_bytes(content)
    return name
