"""Write a config.yaml for a folder of data, or an entry of one, after deciding what the files in the folder hold."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2
import pandas as pd
import yaml

from jointsparse.checks import require
from jointsparse.features.basis import MOST_AUTO_RANK
from jointsparse.messages import printable
from jointsparse.pipeline.app.estimate import Work
from jointsparse.pipeline.app.layouts import LIBSVM, OF_FILES, Folder, Recognised, found_in
from jointsparse.pipeline.app.plain_yaml import load, load_file
from jointsparse.pipeline.datasets import records
from jointsparse.pipeline.datasets.folder import list_pictures
from jointsparse.pipeline.datasets.names import composed, files_of
from jointsparse.pipeline.datasets.tabular import INDEX, KINDS, columns_of
from jointsparse.pipeline.settings.datasets import LOADERS, Pictures, options_of
from jointsparse.pipeline.settings.features import BUILT_IN
from jointsparse.pipeline.settings.inheritance import merged
from jointsparse.pipeline.tasks import SMALLEST_SIZE
from jointsparse.pipeline.words import FEWEST_WORDS, MOST_WORDS, counted_words, normalised
from jointsparse.registry import pick
from jointsparse.written import written

if TYPE_CHECKING:
    from jointsparse.features.embedding import Embedding

# Options by which the user chooses columns or says what values mean. Lists may be given several times.
OF_COLUMNS = ("index", "split", "group", "pictures", "text", "tags", "caption", "not_tags", "confidence")
OF_VALUES = ("columns", "positive", "negative", "none", "unknown")
# Options by which the user chooses a layout, a file or column, says what values mean, or names what to ignore.
CHOICES = (*OF_FILES, *OF_COLUMNS, *OF_VALUES, "separator", "layout", "group_by", "ignore", "model", "visual_words")
ON_COMMAND_LINE = {
    "columns": "label-columns",
    "not_tags": "not-tags",
    "group_by": "group-by",
    "visual_words": "visual-words",
}
OF_NETWORK = (
    f"{BUILT_IN}: the built-in network, trained on ImageNet, describes the pictures. On Flickr8k its AUC is .83, and "
    "that of visual words (--visual-words) .68"
)
MOST_LEARNT = 1000  # labels that `init` chooses to learn
# Choice: of the words of captions, those are learnt that at least this fraction of the training pictures have. They are
# about as many as the sets have on which annotation is compared: 260 in Corel5k, 268 in ESP Game, 291 in IAPR TC-12.
LEAST_SHARE = 0.01
NAME = re.compile("[A-Za-z0-9_-]{1,90}")
N_TRIED = 40  # pictures with which the speed of this machine is measured


class Written(NamedTuple):
    """What `write` has written.

    Attributes
    ----------
    name
        Name of the entry.
    lines
        Lines for the user, which describe the data and say how each file was interpreted.
    work
        What a run will learn from.
    n_learnable
        Number of labels that have samples enough to be learnt.
    """

    name: str
    lines: list[str]
    work: Work
    n_learnable: int


def write(
    root: Path,
    file: Path,
    workflow: Path,
    choices: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    add: bool = False,
) -> Written:
    """Write a config.yaml for a folder of data, or add an entry for it to a config.yaml.

    Parameters
    ----------
    root : path
        The folder.
    file : path
        The config.yaml.
    workflow : path
        The folder of the workflow. The file overrides values of its config.yaml.
    choices : mapping, optional
        The user's choices, keyed by the names in `CHOICES`. A value is the file or column to use, or for "ignore" a
        list of files and columns.
    name : str, optional
        Name of the entry. The default is made from the name of the folder.
    add : bool
        If True, `file` exists and an entry is added to it. Everything else in the file stays as it is.

    Raises
    ------
    ValueError
        If no loader can read the folder, if too few samples are labelled, if several files could be used for the
        same purpose and the user has not chosen one, if no entry of this name can be added to the file, or if the file
        is read-only.
    """
    require(root.is_dir(), f"init expects a folder of data, got {str(root)!r}")
    if add:
        require_writable(file)
    name = _name(root, file if add else None, workflow / "config.yaml", name)
    choices = {key: value for key, value in (choices or {}).items() if value or value == ""}
    pictures, reasons = list_pictures(root)
    folder = Folder(root, pictures, sorted(set(reasons) - set(choices.get("ignore", []))), choices)
    lacking = [choices[key] for key in OF_FILES if key in choices and choices[key] not in folder.others]
    require(not lacking, f"the files named by options must be in {root}, and {''.join(lacking[:1])} is not")
    require(not {"group", "group_by"} <= choices.keys(), "--group and --group-by exclude each other: leave one out")
    found = found_in(folder)
    _require_choices_used(root, found, choices, reasons)
    network = _network(folder, found)
    learnt = _learnt(root, found)
    said = [printable(f"Found {found.said}."), printable(learnt.said)]
    text = _rendered(
        workflow, name, root, found, network=network and str(network.model), said=said, n_words=learnt.n_words
    )
    overwrite(file, _with_entry(file, name, text)) if add else file.write_bytes(text.encode())
    lines = [*found.lines, *([_reading(network)] if network else []), *_idle(folder, found, reasons)]
    said += [printable(line) for line in learnt.others]
    return Written(name, [*said, *(f"  {line}" for line in lines)], _work(root, found, learnt.n, network), learnt.total)


def _name(root: Path, file: Path | None, shipped: Path, name: str | None) -> str:
    """Return the name of the entry. file: a config.yaml to which it is added, or None. shipped: the package's."""
    own = name or re.sub("[^A-Za-z0-9_-]+", "-", root.resolve().name).strip("-")[:87] or "mine"
    require(NAME.fullmatch(own), f"--name must be at most 90 letters, digits, _ and -, got {own!r}")
    names = {path: _datasets(path) for path in dict.fromkeys(filter(None, (file, shipped)))}
    if own.lower() in names[shipped] and not name and not (file and file.samefile(shipped)):
        own = f"my-{own}"
    taken = next((path for path, there in names.items() if own.lower() in there), None)
    require(not taken, f"{taken} already has a dataset {own}: choose another name with --name NAME")
    return own


def _datasets(file: Path) -> set[str]:
    """Return the names of the datasets of a config.yaml, in lower case."""
    config = load_file(file)
    block = config.get("datasets") if isinstance(config, dict) else None
    return {str(name).lower() for name in block or ()}


class _Learnt(NamedTuple):
    """The labels that a run will learn.

    n_words: the value of the option with which it learns them. n: their number. total: the number of all labels
    that have samples enough. said: a sentence for the user. others: lines about the labels that are not learnt.
    """

    n_words: int
    n: int
    total: int
    said: str
    others: list[str]


def _learnt(root: Path, found: Recognised) -> _Learnt:
    """Decide which labels a run will learn: all that have samples enough, at most `MOST_LEARNT`.

    Of the words of captions, only those are learnt that `LEAST_SHARE` of the training pictures have, but at least as
    many as the paper has.
    """
    of_captions, of_pictures = found.loader == "photos", issubclass(LOADERS[found.loader], Pictures)
    what: dict[str, Any] = {
        "smallest_size": SMALLEST_SIZE,
        "split_captions": of_captions,
        "join_inflections": of_captions,
    }
    labels, samples = pick("datasets", found.loader).LABELS, "images" if of_pictures else "samples"
    counted = counted_words(found.images, found.captions, what)
    ranked = counted[counted["train"] > 0].head(MOST_LEARNT)
    learnable = ranked[ranked["left_out"] == ""]
    if len(learnable) < FEWEST_WORDS:
        raise _too_few(root, found.captions, labels, samples)
    least = math.ceil(LEAST_SHARE * (found.images["split"] == "train").sum()) if of_captions else 0
    n = max((learnable["train"] >= least).sum(), min(len(learnable), MOST_WORDS))
    learnt = learnable[learnable["train"] >= learnable["train"].iloc[n - 1]]
    total = int((counted["left_out"] == "").sum())
    numbers = " to ".join(dict.fromkeys(f"{count:,}" for count in (learnt["train"].min(), learnt["train"].max())))
    names = ", ".join(learnt["word"][:3]) + ", …" * (len(learnt) > 3)
    said = f"The model will learn {len(learnt):,} {labels} ({names}), each with {numbers} positive training {samples}."
    rarer = f"Not learnt, because they are rarer: {total - len(learnt):,} {labels}"
    others = [f"{rarer}. To learn more, raise n_words in config.yaml."] * (len(learnt) < total)
    if not of_captions:  # nobody expects to learn every word
        others += _too_rare(found.captions, counted, labels, samples)
    return _Learnt(int((ranked["train"] >= learnt["train"].iloc[-1]).sum()), len(learnt), total, said, others)


def _too_few(root: Path, captions: pd.DataFrame, labels: str, samples: str) -> ValueError:
    """Return the error about data with too few labels."""
    known = captions[captions["known"].astype(bool)] if "known" in captions else captions
    got = ", ".join(f"{name!r} with {n:,} {samples}" for name, n in known["caption"].value_counts().head(3).items())
    return ValueError(
        f"{root} must hold at least {FEWEST_WORDS} {labels} that {SMALLEST_SIZE} training {samples} and a test "
        f"{samples[:-1]} have, and as many lack, got {got or 'none'}: add {samples} or {labels} (write a single yes/no "
        "label as two classes in a column of text)"
    )


def _too_rare(captions: pd.DataFrame, counted: pd.DataFrame, labels: str, samples: str) -> list[str]:
    """Return a line about labels that cannot be learnt, and the reasons; or no line if there are none.

    counted: the table from `counted_words`, which lacks labels that no sample is known to have.
    """
    n, refused = captions["caption"].map(normalised).nunique(), counted[counted["left_out"] != ""]
    n_refused = n - (len(counted) - len(refused))
    kinds = Counter(refused["left_out"][refused["train"] > 0].str.removeprefix("left out, "))
    kinds += Counter({f"no training {samples} with it": n_refused - kinds.total()})
    reasons = ", ".join(f"{kind.replace('images', samples)}: {number:,}" for kind, number in kinds.most_common())
    return [f"Not learnt: {n_refused:,} of {n:,} {labels} ({reasons})."] if reasons else []


def _work(root: Path, found: Recognised, n_labels: int, network: Embedding | None) -> Work:
    """Return what a run will learn from."""
    n = len(found.images)
    if not issubclass(LOADERS[found.loader], Pictures):
        return Work(n, n_labels, found.X.shape[1], found.X.size)  # for a sparse matrix, the stored entries
    rank = min(MOST_AUTO_RANK, int((found.images["split"] == "train").sum()) // 2)  # as in the study
    n_features = network.n_features_ if network else rank
    file, options = pick("datasets", found.loader).file, {"root": root} | found.options
    tried = [file(image, **options) for image in found.images["image"][:: max(1, n // N_TRIED)]]
    return Work(n, n_labels, n_features, n * n_features, tried, network)


def _rendered(
    workflow: Path, name: str, root: Path, found: Recognised, *, network: str | None, said: Sequence[str], n_words: int
) -> str:
    """Return the text of a config.yaml with one dataset."""
    template = (files("jointsparse.pipeline.app") / "config.yaml.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(
        template
    ).render(
        schema=(workflow / "config" / "schema.json").absolute().as_uri(),  # a path ends at its first space
        said=said,
        name=name,
        loader=found.loader,
        options={"root": str(root)} | found.options,
        features={"extractor": "onnx", "options": {"model": network}} if network else {},
        n_words=n_words,
        labels=pick("datasets", found.loader).LABELS,
        study=LOADERS[found.loader].OWN_STUDY,
        yaml=lambda value: yaml.safe_dump([value], default_flow_style=True, allow_unicode=True, width=10**6)[1:-2],
    )


def with_corrections(file: Path, name: str, table: str) -> bytes:
    """Return the content of a config.yaml in which the entry of a dataset has the key `corrections`.

    All other bytes stay the same. The key comes after the first key of the entry, or the file gets an entry; a key
    without a value gets the value. Raises ValueError if no line can be added to the entry.
    """
    old = file.read_bytes().decode("utf-8")
    entry: yaml.Node | None = yaml.compose(old, yaml.SafeLoader)
    for key in ("datasets", name):
        blocks = entry.value if isinstance(entry, yaml.MappingNode) else ()
        entry = next((value for own, value in blocks if own.value == key), None)
    inner, line = {"corrections": table}, yaml.safe_dump({"corrections": table}, allow_unicode=True, width=10**6)
    if not (isinstance(entry, yaml.MappingNode) and entry.value):
        return _with_entry(file, name, "\n" + yaml.safe_dump({"datasets": {name: inner}}, allow_unicode=True))
    empty = next((value for key, value in entry.value if key.value == "corrections"), None)
    if empty:
        before, after = old[: empty.start_mark.index], old[empty.end_mark.index :]
        new = f"{before.rstrip(' ')} {line.partition(': ')[2].rstrip()}{after}"
    else:
        key, value = entry.value[0]
        place = key.start_mark.line + isinstance(value, yaml.ScalarNode)
        new = _with_lines(old, place, " " * key.start_mark.column + line)
    return _checked(file, new, {"datasets": {name: inner}}, f"corrections: {table} to the entry of {name}")


def _with_entry(file: Path, name: str, text: str) -> bytes:
    """Return the content of a config.yaml with one more entry under `datasets`. All other bytes stay the same.

    text: a config.yaml with this entry alone. Raises ValueError if no lines can be added to the block `datasets`.
    """
    old = file.read_bytes().decode("utf-8")
    lines, root = old.splitlines(keepends=True), yaml.compose(old, yaml.SafeLoader)
    blocks = {key.value: value for key, value in root.value} if isinstance(root, yaml.MappingNode) else {}
    place, indent = _end_of(blocks["datasets"], lines) if "datasets" in blocks else (len(lines), 2)
    entry = re.sub("^  ", " " * indent, text.partition("\ndatasets:\n")[2], flags=re.MULTILINE).rstrip("\n") + "\n"
    new = _with_lines(old, place, "\n" + "datasets:\n" * ("datasets" not in blocks) + entry)
    return _checked(file, new, {"datasets": {name: yaml.safe_load(text)["datasets"][name]}}, f"the entry of {name}")


def _with_lines(text: str, place: int, added: str) -> str:
    """Return a text with more lines before the line at a place. They get the line ends of the text."""
    lines = text.splitlines(keepends=True)
    before, after = "".join(lines[:place]), "".join(lines[place:])
    added = "\n" * (before[-1:] not in "\r\n") + added
    return before + added.replace("\n", "\r\n" if "\r\n" in text else "\n") + after


def _checked(file: Path, new: str, added: Mapping[str, Any], what: str) -> bytes:
    """Return the new content of a config.yaml. Raises ValueError if it is not the old content with some more values."""
    is_added, config = False, yaml.safe_load(file.read_bytes().decode("utf-8")) or {}
    with suppress(ValueError):
        is_added = isinstance(config, dict) and load(new.encode(), file.name) == merged(config, added)
    require(
        is_added,
        f"{file} must have the entries of `datasets:` on lines of their own below it, and their keys below them, so "
        f"that lines can be added: write them so, or add {what} by hand",
    )
    return new.encode()


def overwrite(file: Path, content: bytes) -> None:
    """Replace the content of a config.yaml. If it is a link, the link stays."""
    require_writable(file)
    with written(file.resolve()) as temporary:
        temporary.write_bytes(content)


def require_writable(file: Path) -> None:
    """Raise ValueError if a file, or the folder of a new file, is read-only, even if this user could write there."""
    folder = file.resolve().parent
    said = f"{file.name} cannot be written into {folder}, which is read-only: allow writing there, or use a copy of it"
    require(_is_writable(folder), said)
    said = f"{file} is read-only, and would be changed: make it writable (chmod u+w {shlex.quote(str(file))})"
    require(not file.exists() or _is_writable(file), said)


def _is_writable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o222) and os.access(path, os.W_OK)


def _end_of(block: yaml.Node, lines: Sequence[str]) -> tuple[int, int]:
    """Return the number of lines up to the end of a block, with its last comments, and the indent of its keys."""
    end = min(len(lines), block.end_mark.line + (block.end_mark.column > 0))
    indent = block.value[0][0].start_mark.column if block.value else 2
    while not (line := lines[end - 1].strip()) or (line[0] == "#" and lines[end - 1].index("#") < indent):
        end -= 1
    return end, indent


def _idle(folder: Folder, found: Recognised, reasons: Mapping[str, str]) -> list[str]:
    """Return lines about files that are not used. reasons: why each file is not a picture."""
    endings = (*records.SUFFIXES, *KINDS)
    idle = [
        name
        for name in folder.others
        if (name.lower().endswith(endings) or LIBSVM.search(name)) and name not in found.used
    ]
    lines = [f"not used: {', '.join(idle[:10])}{', …' * (len(idle) > 10)}"] if idle else []
    return lines + [f"not used: {name}, {why}" for name, why in reasons.items() if why.startswith("a link to ")]


def _network(folder: Folder, found: Recognised) -> Embedding | None:
    """Return the network that describes the pictures, or None. Raises ValueError if it cannot be used."""
    both = {"model", "visual_words"} <= folder.choices.keys()
    require(not both, "--model names a network, and --visual-words uses none: leave one of them out")
    if "visual_words" in folder.choices or not issubclass(LOADERS[found.loader], Pictures):
        return None
    from jointsparse.features.embedding import Embedding  # imports scikit-learn, which takes a second

    return Embedding(folder.choices.get("model", BUILT_IN)).fit(None)


def _reading(embedding: Embedding) -> str:
    """Return a line about how a network reads pictures."""
    if embedding.model == BUILT_IN:
        return OF_NETWORK
    from jointsparse.features.network_files import PREPROCESSOR

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
        f"{embedding.model}: pictures of {reading.height} x {reading.width} pixels ({reading.layout}, "
        f"{colours}{prepared}), {embedding.n_features_:,} features of output {reading.output}, {used}"
    )


def _require_choices_used(root: Path, found: Recognised, choices: Mapping[str, Any], others: Collection[str]) -> None:
    """Raise ValueError if one of the user's choices would have no effect. others: the files that are not pictures."""
    takes = {"ignore", "layout", *options_of(found.loader)} - ({*OF_COLUMNS} - found.options.keys())
    takes |= {"model", "visual_words"} if issubclass(LOADERS[found.loader], Pictures) else set()
    takes |= {"captions"} if found.loader == "tagged" else set()
    paths = [root / file for key in OF_FILES for _, file in files_of(found.options.get(key, [])) if file in others]
    names = [columns_of(path) if path.suffix.lower() in KINDS else [*records.read(path)] for path in paths]
    columns = list(dict.fromkeys(name for own in names for name in own))
    ignorable = {*others, *columns, INDEX}
    idle = [
        f"--{ON_COMMAND_LINE.get(key, key)} {'' if value is True else value}".strip()
        for key, value in choices.items()
        if key not in takes
    ]
    idle += [f"--ignore {name}" for name in choices.get("ignore", []) if not {name, composed(name)} & ignorable]
    known = f" (the columns are {', '.join(columns)[:200]})" if columns else ""
    require(
        not idle,
        f"{root} is read as {found.said}, and {', '.join(idle)} has no effect there: leave it out{known}",
    )
