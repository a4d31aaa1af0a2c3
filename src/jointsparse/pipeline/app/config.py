"""Write a config.yaml for a folder of data, after deciding what the files in the folder hold."""

import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml

from jointsparse.checks import printable, require
from jointsparse.pipeline.app.layouts import LIBSVM, OF_FILES, Folder, Found, found_in
from jointsparse.pipeline.datasets import records
from jointsparse.pipeline.datasets.folder import list_pictures
from jointsparse.pipeline.datasets.names import composed, files_of
from jointsparse.pipeline.datasets.tabular import INDEX, KINDS, columns_of
from jointsparse.pipeline.settings.datasets import LOADERS, Pictures, Samples, options_of
from jointsparse.pipeline.tasks import FEWEST_WORDS, SMALLEST_SIZE, choose_words
from jointsparse.registry import pick

# Options by which the user chooses columns or says what values mean. Lists may be given several times.
OF_COLUMNS = ("index", "split", "group", "pictures", "text", "tags", "caption", "not_tags", "confidence")
OF_VALUES = ("columns", "positive", "negative", "none", "unknown")
# Options by which the user chooses a layout, a file or column, says what values mean, or names what to ignore.
CHOICES = (*OF_FILES, *OF_COLUMNS, *OF_VALUES, "separator", "layout", "group_by", "ignore", "model")
ON_COMMAND_LINE = {"columns": "label-columns", "not_tags": "not-tags", "group_by": "group-by"}
STUDIES = {"photos": "own-words"} | dict.fromkeys(("scenes", "tagged", "keywords"), "own-classes")


def write(root: Path, file: Path, workflow: Path, choices: Mapping[str, Any] | None = None) -> list[str]:
    """Write a config.yaml for a folder of data.

    Parameters
    ----------
    root : path
        The folder.
    file : path
        The config.yaml to write.
    workflow : path
        The folder of the workflow. The new file overrides values of its config.yaml.
    choices : mapping, optional
        The user's choices, keyed by the names in `CHOICES`. A value is the file or column to use, or for "ignore" a
        list of files and columns.

    Returns
    -------
    seen : list of str
        Lines for the user, which describe the data and say how each file was interpreted.

    Raises
    ------
    ValueError
        If no loader can read the folder, if too few samples are labelled, or if several files could be used for the
        same purpose and the user has not chosen one.
    """
    require(root.is_dir(), f"init expects a folder of data, got {str(root)!r}")
    choices = {key: value for key, value in (choices or {}).items() if value or value == ""}
    pictures, reasons = list_pictures(root)
    ignored = choices.get("ignore", [])
    others = sorted(set(reasons) - set(ignored))
    lacking = [choices[key] for key in OF_FILES if key in choices and choices[key] not in others]
    require(not lacking, f"the files named by options must be in {root}, and {''.join(lacking[:1])} is not")
    require(not {"group", "group_by"} <= choices.keys(), "--group and --group-by exclude each other: leave one out")
    found = found_in(Folder(root, pictures, others, choices))
    features: dict[str, Any] = {}
    if model := choices.get("model"):
        of_pictures = issubclass(LOADERS[found.loader], Pictures)
        require(of_pictures, f"--model describes pictures, and {root} holds samples with features: leave it out")
        features = {"extractor": "onnx", "options": {"model": str(model)}}
        found.lines.append(_network(str(model)))
    loader, images, captions = found.loader, found.images, found.captions
    _require_choices_used(root, found, choices, reasons)
    with (
        warnings.catch_warnings(action="ignore"),  # warnings about words that are left out
        _in_words_of_samples(root, captions) if issubclass(LOADERS[loader], Samples) else nullcontext(),
    ):
        words, has = choose_words(
            images,
            captions,
            n_words="auto",
            smallest_size=SMALLEST_SIZE,
            split_captions=loader == "photos",
            join_inflections=loader == "photos",
        )
    words, labels = words[: has.shape[1]], pick("datasets", loader).LABELS
    fewest, most = words["train"].min(), words["train"].max()
    some = ", ".join(words["word"][:3]) + ", …" * (len(words) > 3)
    n_samples = f"{fewest:,} to {most:,}" if fewest < most else f"{most:,}"
    learnt = f"The model will learn {len(words)} {labels} ({some}), each with {n_samples} positive training samples."
    said = [printable(f"Found {found.said}."), printable(learnt)]
    name = re.sub("[^A-Za-z0-9_-]+", "-", root.resolve().name).strip("-")[:90] or "mine"
    is_taken = name in yaml.safe_load((workflow / "config.yaml").read_text(encoding="utf-8"))["datasets"]
    template = (files("jointsparse.pipeline.app") / "config.yaml.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    schema = (workflow / "config" / "schema.json").absolute().as_uri()  # editors read a path only up to a space
    text = environment.from_string(template).render(
        schema=schema,
        said=said,
        name=f"my-{name}" if is_taken else name,
        loader=loader,
        options={"root": str(root)} | found.options,
        features=features,
        labels=labels,
        study=STUDIES.get(loader, "own-labels"),
        yaml=lambda value: yaml.safe_dump([value], default_flow_style=True, allow_unicode=True, width=10**6)[1:-2],
    )
    file.write_text(text, encoding="utf-8")
    endings = (*records.SUFFIXES, *KINDS)
    idle = [
        name for name in others if (name.lower().endswith(endings) or LIBSVM.search(name)) and name not in found.used
    ]
    last = [f"not used: {', '.join(idle[:10])}{', …' * (len(idle) > 10)}"] if idle else []
    last += [f"not used: {name}, {why}" for name, why in reasons.items() if why.startswith("a link to ")]
    return [*said, *(f"  {line}" for line in [*found.lines, *last])]


def _network(model: str) -> str:
    """Return a line about how a network reads pictures. Raises ValueError if the network cannot be used."""
    from jointsparse.features.embedding import Embedding  # imports scikit-learn, which takes a second
    from jointsparse.features.network_files import PREPROCESSOR

    embedding = Embedding(model).fit(None)
    network, (rows, columns) = embedding.network(), embedding.grid_
    reading, blank = network.reading, network.blank
    colours = f"{reading.dtype}, {reading.channels}"
    if reading.mean is not None:
        colours += f" in [0, {reading.scale:g}], mean {reading.mean}, standard deviation {reading.std}"
    used = f"the mean over {rows} x {columns} places" if embedding.grid_ != (1, 1) else "without places"
    if reading.tokens == "first" and blank.n_tokens:
        used = f"the first of {blank.n_tokens} tokens"
    elif blank.n_left_out:
        used += f" and without the first {blank.n_left_out} of {blank.n_tokens} tokens"
    prepared = f", as {PREPROCESSOR} says" if reading.prepared else ""
    return (
        f"{model}: pictures of {reading.height} x {reading.width} pixels ({reading.layout}, {colours}{prepared}), "
        f"{embedding.n_features_:,} features of output {reading.output}, {used}"
    )


def _require_choices_used(root: Path, found: Found, choices: Mapping[str, Any], others: Collection[str]) -> None:
    """Raise ValueError if one of the user's choices would have no effect. others: the files that are not pictures."""
    takes = {"ignore", "layout", *options_of(found.loader)} - ({*OF_COLUMNS} - found.options.keys())
    takes |= {"model"} if issubclass(LOADERS[found.loader], Pictures) else set()
    takes |= {"captions"} if found.loader == "tagged" else set()
    options = ("features", "labels", "captions")
    tables = [file for option in options for _, file in files_of(found.options.get(option, [])) if file in others]
    columns = list(dict.fromkeys(name for file in tables for name in _names_in(root / file)))
    ignorable = {*others, *columns, INDEX}
    idle = [f"--{ON_COMMAND_LINE.get(key, key)} {choices[key]}" for key in choices if key not in takes]
    idle += [f"--ignore {name}" for name in choices.get("ignore", []) if not {name, composed(name)} & ignorable]
    known = f" (the columns are {', '.join(columns)[:200]})" if columns else ""
    require(
        not idle,
        f"{root} is read as {found.said}, and {', '.join(idle)} has no effect there: leave it out{known}",
    )


def _names_in(path: Path) -> list[str]:
    """Return the names of the columns in a file of features or labels."""
    return columns_of(path) if path.suffix.lower() in KINDS else [*records.read(path)]


@contextmanager
def _in_words_of_samples(root: Path, captions: pd.DataFrame) -> Iterator[None]:
    """Reword errors about too few words in terms of labels and samples, because the data are tables."""
    try:
        yield
    except ValueError:
        known = captions[captions["known"].astype(bool)] if "known" in captions else captions
        got = ", ".join(f"{name!r} with {n:,} samples" for name, n in known["caption"].value_counts().head(3).items())
        raise ValueError(
            f"the tables in {root} must hold at least {FEWEST_WORDS} labels, each with at least {SMALLEST_SIZE} "
            "training samples and one test sample that have the label, and as many that do not have it, got "
            f"{got or 'none'}: add samples or labels (write a single yes/no label as two classes in a column of text)"
        ) from None
