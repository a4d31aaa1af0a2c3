"""The page of photographs that a saved model has annotated, with maps of the evidence for and against each tag."""

from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline

from jointsparse.features.explain import Explainer, has_maps
from jointsparse.pictures import open_colour
from jointsparse.pipeline.datasets.checker import ask
from jointsparse.pipeline.datasets.metadata import plain
from jointsparse.pipeline.models.annotator import Annotations, assigned
from jointsparse.pipeline.models.probabilities import probabilities
from jointsparse.pipeline.page import thumbnails
from jointsparse.pipeline.page.frame import render
from jointsparse.pipeline.page.images import url_of
from jointsparse.written import written

# Choice: besides the tags that reach their thresholds, the page lists the MOST most probable tags of a photograph, if
# their probability is at least LEAST. The MAPPED most probable tags of a photograph have maps.
MOST, LEAST, MAPPED = 30, 0.05, 8


def write(
    folder: str | Path,
    model: Pipeline,
    annotations: Annotations,
    *,
    precision: float | None = None,
    known: str | Path | None = None,
) -> dict[str, str]:
    """Write the page of annotated photographs, `index.html`, and the thumbnails and maps that it shows.

    Parameters
    ----------
    folder : path
        Folder to which the page is written.
    model : Pipeline
        The model that has annotated the photographs.
    annotations : Annotations
        The result of `models.annotator.annotate`.
    precision : float or None
        Precision of the thresholds, as in `models.annotator.annotate`.
    known : path or None
        Folder of the pictures from which the model has learnt. For each photograph, the page shows the most similar
        pictures of this folder. If None, the page only gives the names of the similar pictures.

    Returns
    -------
    not_shown : dict
        The reason why a similar picture is not shown, by the name of the picture: it lies outside of `known`, or it
        cannot be opened. The names come from the model and cannot be trusted.
    """
    root, words, not_shown = Path(folder), model.card_.words, dict[str, str]()
    explainer = Explainer(model) if has_maps(model) else None
    spread = np.maximum(model.known_scores_.std(axis=0), np.finfo(np.float32).tiny)
    above = assigned(model, annotations.scores, precision)
    _, own = ask(Path(), [*annotations.alike], "levels")
    photos = []
    for number, (name, p) in enumerate(zip(annotations.alike, probabilities(model, annotations.scores), strict=True)):
        order = np.argsort(-p, kind="stable")
        probable = [k for i, k in enumerate(order) if above[number, k] or (i < MOST and p[k] >= LEAST)]
        tags = {plain(tag).casefold() for tag in (own[name] or ([],))[0]}
        mapped = probable[:MAPPED] if explainer else []
        if explainer and mapped:
            overlays = thumbnails.overlays(explainer.heats(name, mapped), spread[mapped])
            for k, overlay in zip(mapped, overlays, strict=True):
                _put(root, thumbnails.file_of(number, k), overlay)
        alike = dict.fromkeys(annotations.alike[name], "")
        for i, other in enumerate(alike if known else ()):
            try:
                picture = _inside(Path(known or ""), other)
                if picture is None:
                    not_shown[other] = "it lies outside of the folder of known pictures"
                elif picture.is_file() or picture.is_symlink():  # after resolving, only a link to itself is a link
                    alike[other] = _put(root, f"thumbnails/{number:06d}-known-{i}.webp", _thumbnail(picture))
            except Exception:  # decoders raise many kinds of exceptions
                not_shown[other] = "it does not open as a picture"
        photos.append(
            {
                "name": name,
                "file": _put(root, thumbnails.file_of(number), _thumbnail(Path(name))),
                "original": url_of(name, root),
                "tags": [
                    (k, round(p[k], 3), int(above[number, k]), int(plain(words[k]).casefold() in tags))
                    for k in probable
                ],
                "n_maps": len(mapped),
                "alike": [*alike.items()],
            }
        )
    html = render(
        "annotated.html.jinja",
        script="annotated.js",
        data={"words": words, "photos": photos},
        left_out=annotations.left_out,
        card=model.card_,
        with_maps=explainer is not None,
        precision=precision,
        least=LEAST,
        label="tag",
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
