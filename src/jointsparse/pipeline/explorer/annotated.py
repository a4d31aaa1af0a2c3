"""The page of pictures that a kept model has annotated, with what speaks for and against each word."""

from pathlib import Path

from sklearn.pipeline import Pipeline

from jointsparse.features.explain import Explainer
from jointsparse.files import written
from jointsparse.pictures import open_colour
from jointsparse.pipeline.explorer import thumbnails
from jointsparse.pipeline.explorer.frame import render
from jointsparse.pipeline.models.annotator import Annotations


def write(folder: str | Path, model: Pipeline, found: Annotations, known: str | Path | None = None) -> None:
    """Write a page, `index.html`, and the pictures that it shows.

    Parameters
    ----------
    folder : path
        Where to.
    model : Pipeline
        The model that has annotated.
    found : Annotations
        From `models.annotator.annotate`.
    known : path or None
        Folder of the pictures that the model knows. None: those that are alike are named, not shown.
    """
    explainer, shown, root = Explainer(model), [], Path(folder)
    places = {word: k for k, word in enumerate(model.card_["words"])}
    spread = model.known_scores_.std(axis=0)

    def thumbnail_of(picture: Path, name: str) -> str:
        return _put(root, name, thumbnails.encoded(open_colour(picture, thumbnails.LONGEST_SIDE)))

    for number, (image, rows) in enumerate(found.table.groupby("image", sort=False)):
        of_words = [places[word] for word in rows["word"]]
        file = thumbnail_of(Path(str(image)), thumbnails.file_of(number))
        maps = [
            _put(root, thumbnails.file_of(number, place), overlay)
            for place, overlay in enumerate(thumbnails.overlays(explainer.heats(image, of_words), spread[of_words]))
        ]
        alike = dict.fromkeys(found.alike[str(image)], "")
        for i, name in enumerate(alike if known else ()):
            if (picture := Path(known or "", name)).is_file():
                alike[name] = thumbnail_of(picture, f"thumbnails/{number:06d}-known-{i}.webp")
        shown.append({"name": image, "file": file, "words": rows.assign(map=maps).to_dict("records"), "alike": alike})
    html = render("annotated.html.jinja", shown=shown, left_out=found.left_out, card=model.card_, data=None)
    _put(root, "index.html", html.encode())


def _put(root: Path, name: str, content: bytes) -> str:
    with written(root / name) as path:
        path.write_bytes(content)
    return name
