"""Decide what the columns of tables hold, from their content and their names. Nothing else in the package does that.

The decisions are options of loaders, which `init` writes into a config.yaml. If a column could be two things,
ValueError is raised, and the message lists the options of `init` that decide it.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from jointsparse.checks import require, shortened
from jointsparse.pipeline.datasets import records
from jointsparse.pipeline.datasets.arrays import require_same_rows, texts_in
from jointsparse.pipeline.datasets.folder import SUFFIXES
from jointsparse.pipeline.datasets.groups import numbered
from jointsparse.pipeline.datasets.labels import NEGATIVE, POSITIVE, TEXT_OF_LIST, Meaning, chosen, tags_of
from jointsparse.pipeline.datasets.names import Files, composed, files_of
from jointsparse.pipeline.datasets.records import Columns
from jointsparse.pipeline.datasets.splits import ALIASES, SPLITS
from jointsparse.pipeline.datasets.tabular import (
    INDEX,
    NOTHING,
    columns_of,
    floats_of,
    is_number,
    numbers_of,
    read_columns,
    text_of,
    texts_of,
    unlike,
    widths_of,
)

# Usual names of columns, in lower case and without spaces, by the option that the column belongs to.
CALLED = {
    "index": {"id", "index", "name", "key", "sample", "sample_id", "uid"},
    "split": {"split", "splits", "set", "subset", "partition"},
    "pictures": {
        *("picture", "image", "path", "file", "filename", "file_name", "image_path", "image_name", "photo"),
        *("sourcefile", "imageid", "image_id", "imageindex", "image_index"),
    },
    "text": {"text", "caption", "captions", "title", "sentence", "description", "comment"},
    "tags": {
        *("tag", "tags", "label", "labels", "class", "classes", "category", "categories", "topic", "topics", "target"),
        *("y", "keywords", "subject", "labelname", "findinglabels", "finding_labels", "hierarchicalsubject"),
    },
    "not_tags": {"not_tags", "not_labels", "negative_tags", "negative_labels", "absent"},
    "confidence": {"confidence"},
}
SAID = {
    "index": "names",
    "split": "splits",
    "group": "groups",
    "pictures": "pictures",
    "text": "text",
    "tags": "labels",
    "not_tags": "labels that are known not to be there",
    "confidence": "1 for labels that are there, 0 for others",
}
# Names of columns of groups, without spaces, underscores and hyphens. A name without the part `code` could also be that
# of labels, so that all cells must have digits.
GROUP = re.compile(
    r"(?:(?P<code>patients?|bursts?|(?:patient|subject|session|burst|group)s?(?:id|number|no|nr)s?)|subjects?|sessions?|groups?)",
    re.IGNORECASE,
)
FEWEST_GROUPS = 3  # one for each of the splits train, validation and test
# Names of columns that number the rows. Before matching, _ is inserted in front of capital letters.
ROW = re.compile(r"(.*[_ -])?(id|idx|index|row|rowid|key|uid|name|sample|no|nr|number)|unnamed: \d+", re.IGNORECASE)
DIGITS = re.compile(r"[+-]?[\d.,'\s%]*\d[\d.,'\s%]*")  # numbers, also with a decimal comma or other separators
OF_LABEL = {"tag", "tags", "label", "labels", "class", "classes", "target"}  # names that no feature has
# Pairs of values, in lower case, of columns that say whether samples have a label.
PAIRS = (
    ("1", "0"),
    ("true", "false"),
    ("yes", "no"),
    ("y", "n"),
    ("t", "f"),
    ("present", "absent"),
    ("positive", "negative"),
    ("+", "-"),
    ("1", "-1"),
)
DOUBT = {"?", "unknown", "uncertain", "unsure", "u"}  # values that mean that a label is unknown
NO_TAG = re.compile(r"(no|none|nothing|without)([ _-].*)?", re.IGNORECASE)  # such as "No Finding"
DEFAULT = Meaning._field_defaults["separator"]
SEPARATORS = (DEFAULT, "|", ",", "\n", "\t")
LONGEST_TAG = 5  # words
MOST_ODD = 0.1  # fraction of the tags of a list that may be longer, or look like a part of a sentence
# Words with which a part of a sentence begins, but no tag.
OF_SENTENCES = {*("a", "an", "the", "and", "or", "with", "of", "on", "in", "is", "are", "at", "to", "who", "while")}
SENTENCE_WORDS = 3  # mean number of words from which texts are sentences
# Choice: with at least this many rows with a label, and without it, a feature equal to the label is no coincidence.
FEWEST_ROWS = 5
MOST_SHOWN = 3  # labels or columns listed in a line


class NoLabels(ValueError):
    """Error raised if no column of a table could hold labels."""


class Roles(NamedTuple):
    """What the columns of a table hold: options of a loader, the label columns, and notes for the user."""

    options: dict[str, Any]
    columns: list[str]
    notes: list[str]
    unused: list[str]


def some(names: Sequence[str]) -> str:
    """Return the first few names as text."""
    return ", ".join(names[:MOST_SHOWN]) + ", …" * (len(names) > MOST_SHOWN)


def _is_called(name: str, option: str) -> bool:
    return re.sub(r"\s+", "", name).lower() in CALLED[option]


def _group_called(name: str) -> re.Match[str] | None:
    return GROUP.fullmatch(re.sub(r"[\s_-]+", "", name))


# Tables of labels


class Column:
    """The cells of a column, and what they could be."""

    def __init__(self, name: str, cells: Sequence[Any]) -> None:
        self.name = name
        self.lists = any(isinstance(cell, list | dict) for cell in cells)
        self.texts = ["" if isinstance(cell, list | dict) else text_of(cell) for cell in cells]
        self.known = [text for text in self.texts if text not in NOTHING]
        self.words = {text.lower() for text in self.known}
        self.lists = self.lists or (bool(self.known) and all(map(TEXT_OF_LIST.fullmatch, self.known)))
        if self.lists:
            of_numbers = [numbers_of(cell) for cell in cells if cell is not None and cell == cell]
            self.vectors = bool(of_numbers) and all(numbers is not None for numbers in of_numbers)
        else:
            self.vectors = False

    def is_called(self, option: str) -> bool:
        return _is_called(self.name, option)

    def numbers(self) -> list[float]:
        """Return the numbers in the column, or an empty list if a cell holds anything else."""
        try:
            return [float(text) for text in self.known]
        except ValueError:
            return []

    def names_rows(self) -> bool:
        """Return True if every cell holds another text, and the column is no label."""
        return not self.lists and not self.pair() and len({*self.texts}) == len(self.known) == len(self.texts)

    def names_groups(self) -> bool:
        """Return True if the column is called like groups of rows, and its cells repeat."""
        groups, fits = {*self.known}, _group_called(self.name)
        is_code = fits and (fits["code"] or all(any(map(str.isdigit, text)) for text in groups))
        return bool(is_code) and not self.lists and FEWEST_GROUPS <= len(groups) < len(self.known)

    def is_text(self) -> bool:
        return self.lists or bool(self.known and not self.pair())

    def pair(self) -> tuple[str, str] | None:
        """Return the values that mean that a sample has, or does not have, the label, if the column is a label."""
        if self.lists or not self.words:
            return None
        if {"-1", "0"} <= self.words <= {"-1", "0", "1"}:  # -1 can mean no or unknown
            return PAIRS[0]
        return next((pair for pair in PAIRS if self.words <= {*pair, *DOUBT} and self.words & {*pair}), None)

    def is_classes(self) -> bool:
        """Return True if the column holds words that repeat."""
        return not self.lists and 1 < len(self.words) <= len(self.known) / 2 and not self.numbers()

    def is_sentences(self) -> bool:
        return not self.lists and bool(np.mean([len(text.split()) for text in self.known] or [0]) >= SENTENCE_WORDS)

    @cached_property
    def separators(self) -> list[str]:
        """The separators by which the cells could be lists of tags."""
        return [] if self.lists else [sign for sign in SEPARATORS if _are_lists({*self.known}, sign)]

    def doubtful(self) -> list[str]:
        """Return the separators of cells that hold another whole cell: "oak, red" may be oak and red, or red oak."""
        whole = {*self.known}
        split = {
            sign: [[part.strip() for part in text.split(sign)] for text in whole if sign in text] for sign in SEPARATORS
        }
        return [] if self.lists else [sign for sign, cells in split.items() if any(whole & {*parts} for parts in cells)]


def _are_lists(cells: Collection[str], sign: str) -> bool:
    """Return True if cells, which are all different, are lists of tags with this separator.

    Tags are short, are no part of a sentence, and stand in several lists, not always in the same place.
    """
    lists = [[" ".join(tag.split()) for tag in cell.split(sign) if tag.strip()] for cell in cells]
    alone = {tags[0] for tags in lists if len(tags) == 1}
    several = [tags for tags in lists if len(tags) > 1]
    if len(several) < 1 + any(not alone.issuperset(tags) for tags in several):
        return False
    every = Counter(tag for tags in lists for tag in tags)
    odd = [n for tag, n in every.items() if len(tag.split()) > LONGEST_TAG or tag[-1] in ".!?" or _begins(tag)]
    if sum(odd) > MOST_ODD * every.total():
        return False
    later = {tag for tags in lists for tag in tags[1:]}
    n_again = sum(n for n in every.values() if n > 1)
    n_moving = sum(every[tag] for tag in {tags[0] for tags in lists if tags} & later)
    return 2 * n_again >= every.total() and 4 * n_moving >= every.total()


def _begins(tag: str) -> bool:
    return " " in tag and tag.split()[0].lower() in OF_SENTENCES


def roles_of_table(
    where: object,
    table: Columns,
    choices: Mapping[str, Any],
    *,
    find: Callable[[str], str] | None = None,
    pictures: Collection[str] = (),
    with_features: bool = False,
) -> Roles:
    """Decide what the columns of a table of labels hold.

    Parameters
    ----------
    where : path
        The file, for error messages.
    table : Columns
        Its columns.
    choices : mapping
        The user's choices, see `config.write`.
    find, pictures : function, collection of str
        For a table of photographs: the pictures, and the picture that a name in the table belongs to. The option
        `caption` is then decided, too, and one of the columns must name the pictures.
    with_features : bool
        If True, the table also holds features, so that columns of numbers are labels only if the user says so.
    """
    ignored = {composed(name) for name in choices.get("ignore", [])}
    by_user = (*SAID, "caption") if find else SAID
    options: dict[str, Any] = {key: composed(choices[key]) for key in by_user if key in choices}
    for option, name in options.items():
        require(name in table, f"{where} must have the column {name!r} (--{option}), got {shortened([*table])}")
    columns = [Column(name, cells) for name, cells in table.items() if name not in ignored]

    def rest(*called: str) -> list[Column]:
        """Return the columns that no option names yet: those that are called like an option, or all."""
        free = [column for column in columns if column.name not in options.values()]
        return [column for column in free if not called or any(map(column.is_called, called))]

    if find:
        options = _image(rest(), find, pictures) | options
    options = _split(where, rest("split")) | options
    if "group" not in options and "group_by" not in choices:
        options |= group_in(where, rest())
    if not with_features:
        doubted = [column for column in rest("confidence") if column.words - {"1"}]
        options = _first("confidence", doubted) | options
        options = _first("not_tags", rest("not_tags")) | options
    if not find:
        options = _first("index", [column for column in rest("index") if column.names_rows()]) | options
        options = _first("pictures", [column for column in rest() if _are_files(column)]) | options
    given = [column for column in columns if column.name == options.get("tags")]
    free = [column for column in rest() if "columns" in choices or not column.names_groups()]
    labels = (
        _of_tags(where, given[0], choices)
        if given
        else _labels(where, free, options, choices, with_features=with_features, of_pictures=bool(find))
    )
    options |= labels.options
    if not find:
        texts = [column for column in rest("text") if column.is_text() and not column.numbers()]
        options = _first("text", [column for column in texts if column.name not in labels.columns]) | options
    if "tags" not in options:
        options = {key: value for key, value in options.items() if key not in ("confidence", "not_tags")}
    taken = {*labels.columns, *(value for value in options.values() if isinstance(value, str))}
    n = len(labels.columns)
    notes = [f"{n} label{'s' * (n > 1)} ({some(labels.columns)})"] if n else []
    if group := [column for column in columns if column.name == options.get("group")]:
        n_groups = numbered(group[0].texts).max() + 1
        labels.said["group"] = f" ({n_groups:,}), which no split divides (--ignore {group[0].name} declines)"
    notes += [f"{options[key]}: {said}{labels.said.get(key, '')}" for key, said in SAID.items() if key in options]
    notes += labels.notes
    if options.keys() & {"confidence", "not_tags"}:
        options["unmentioned"] = "unknown"
        notes.append("labels that it does not mention are unknown")
    return Roles(options, labels.columns, notes, [name for name in table if name not in taken])


def group_in(where: object, columns: Sequence[Column]) -> dict[str, Any]:
    """Return the column of groups, as the option `group`. Of several columns, the coarsest is taken if all others nest.

    Raises ValueError if they do not nest.
    """
    called = [column for column in columns if column.names_groups()]
    for column in called:
        if all(_nests(other, column) for other in called):
            return {"group": column.name}
    require(
        not called,
        f"{where} could have its groups in the columns {some([column.name for column in called])}: choose one with "
        f"{' or '.join(f'--group {column.name}' for column in called)}, or leave all but one out with --ignore COLUMN",
    )
    return {}


def _nests(fine: Column, coarse: Column) -> bool:
    """Return True if all rows of a group of one column are in the same group of the other. Missing cells nest."""
    group_of = dict[str, str]()
    pairs = [(a, b) for a, b in zip(fine.texts, coarse.texts, strict=True) if not {a, b} & NOTHING]
    return all(group_of.setdefault(a, b) == b for a, b in pairs)


def _first(option: str, columns: Sequence[Column]) -> dict[str, Any]:
    return {option: columns[0].name} if columns else {}


def _image(columns: Sequence[Column], find: Callable[[str], str], pictures: Collection[str]) -> dict[str, Any]:
    """Return the column that names most pictures, as the option `pictures`; none if no column names any."""
    n = {column.name: sum(find(text) in pictures for text in column.known) for column in columns if not column.lists}
    best = max(n, key=lambda name: (n[name], _is_called(name, "pictures")), default="")
    return {"pictures": best} if n.get(best) else {}


def _are_files(column: Column) -> bool:
    """Return True if a column holds paths of pictures, not web addresses."""
    n = sum(text.lower().endswith(SUFFIXES) and "://" not in text for text in column.texts)
    return bool(n) and (n == len(column.known) or (column.is_called("pictures") and 2 * n >= len(column.known)))


def _split(where: object, called: Sequence[Column]) -> dict[str, Any]:
    """Return the column of splits, of those that are called like one. Raises ValueError if it holds other words."""
    called = [column for column in called if column.known]
    for column in called:
        words = sorted(column.words - {*SPLITS, *ALIASES})
        require(
            not words,
            f"{where} must hold only the words train, validation, test or unlabelled in the column {column.name!r}, "
            f"got {some(words)}: replace the other words, or leave the column out with --ignore {column.name}",
        )
    return _first("split", called)


class _Labels(NamedTuple):
    options: dict[str, Any]
    columns: list[str]
    said: dict[str, str]  # what to add to the note about an option
    notes: list[str]


def _labels(
    where: object,
    columns: Sequence[Column],
    options: Mapping[str, Any],
    choices: Mapping[str, Any],
    *,
    with_features: bool,
    of_pictures: bool,
) -> _Labels:
    """Decide which columns hold labels: label columns, a column of tags, or captions. See `roles_of_table`."""
    if patterns := choices.get("columns"):
        names = chosen(where, [column.name for column in columns], patterns)
        return _of_columns(where, [column for column in columns if column.name in names], choices)
    if "caption" in options:
        return _Labels({}, [], {}, [])
    of_text = [column for column in columns if of_pictures and column.is_called("text") and column.is_text()]
    captions = [column for column in of_text if not column.lists and not column.separators]
    if "confidence" in options:  # sentences have none
        captions = [column for column in captions if column.is_sentences()]
    tags = [column for column in columns if column.is_called("tags") and _may_be_tags(column, with_features)]
    tags += [column for column in of_text if column not in captions]
    truths = [column for column in columns if column.pair() and not (with_features and column.numbers())]
    if not tags and not captions and truths:
        return _of_columns(where, truths, choices)
    if not tags and not captions:
        tags = [column for column in columns if column.lists and not column.vectors]
        tags = tags or [column for column in columns if column.is_classes() or column.separators]
        alone = len(columns) == 1 and not of_pictures and _may_be_tags(columns[0], with_features=False)
        tags = tags or (list(columns) if alone and not with_features else [])
        captions = [column for column in columns if of_pictures and not tags and column.is_sentences()]
    both = [*(f"--tags {column.name}" for column in tags), *(f"--caption {column.name}" for column in captions)]
    require(
        len(both) == 1,
        f"{where} must have a column of 0 and 1 for each label, or one column that lists the labels"
        f"{', or captions' * of_pictures}, but {'several columns' if both else 'no column'} could list them, got "
        f"{some([column.name for column in [*tags, *captions] or columns])}: choose one with "
        f"{' or '.join(both) or '--tags COLUMN'}, or label columns with --label-columns PATTERN",
        ValueError if both else NoLabels,
    )
    if tags:
        return _of_tags(where, tags[0], choices)
    require(
        "confidence" not in options,
        f"{where} must have tags beside the column {options.get('confidence')!r}, got the sentences of "
        f"{captions[0].name!r}: leave the column out with --ignore {options.get('confidence')}",
    )
    return _Labels({"caption": captions[0].name}, [], {}, [])


def _may_be_tags(column: Column, with_features: bool) -> bool:
    """Return True if a column that is called like tags may hold them: text, whole numbers or lists, not 0 and 1."""
    if column.vectors or not (column.lists or column.words) or (len(column.words) == 1 and column.pair()):
        return False
    if column.pair() and not column.separators:
        return with_features  # as two classes
    return all(np.isfinite(number) and number == np.rint(number) for number in column.numbers())


def _of_tags(where: object, column: Column, choices: Mapping[str, Any]) -> _Labels:
    """Decide how a column lists tags."""
    options: dict[str, Any] = {"tags": column.name}
    signs = [choices["separator"]] if "separator" in choices else column.separators or [*column.doubtful(), ""]
    require(
        len(signs) <= 1,
        f"{where} could list tags with several separators in the column {column.name!r}, or with none (''): choose one "
        f"with {' or '.join(f'--separator {sign!r}' for sign in signs)}",
    )
    signs = [*filter(None, signs)] if "separator" not in choices else signs
    signs = signs or [DEFAULT] * any(DEFAULT in text for text in column.texts)  # the loaders' default, said aloud
    said = f", separated by {signs[0]!r}" if any(signs) else ""
    options |= {"separator": signs[0]} if signs else {}
    texts = set() if column.lists else {*column.texts}
    if nothing := sorted((texts & NOTHING) - {""}):
        said += f" ({' or '.join(nothing)} counts as no label)"
    lists = [tags_of(where, text, signs[0] if signs else "") for text in texts]
    alone = {tags[0] for tags in lists if len(tags) == 1} - {tag for tags in lists if len(tags) > 1 for tag in tags}
    if signs and "none" not in choices and (none := sorted(filter(NO_TAG.fullmatch, alone))):
        options["none"] = none
        said += f" ({' or '.join(none)} means none of them)"
    options |= {option: list(choices[option]) for option in ("none", "unknown") if option in choices}
    return _Labels(options, [], {"tags": said}, [])


def _of_columns(where: object, columns: Sequence[Column], choices: Mapping[str, Any]) -> _Labels:
    """Decide what the values of label columns mean."""
    given = {
        key: [str(value) for value in choices[key]] for key in ("positive", "negative", "unknown") if key in choices
    }
    values = {value for column in columns for value in column.words}
    said = {key: {value.lower() for value in listed} for key, listed in given.items()}
    rest = values - {value for listed in said.values() for value in listed}
    pairs = [pair for pair in PAIRS if rest & {*pair}]
    options = dict[str, Any](given)
    if {"1", "0", "-1"} <= values and "-1" in rest:
        raise ValueError(
            f"{where} must say what -1 means in its label columns ({some([column.name for column in columns])}), which "
            "also hold 0 and 1: choose one with --unknown=-1 or --negative=-1 --unknown=0"
        )
    if "-1" in rest and "0" not in values:
        pairs = [pair for pair in pairs if pair != ("1", "0")]
    elif ("1", "0") in pairs:
        pairs = [pair for pair in pairs if pair != ("1", "-1")]
    for key, default, place in (("positive", POSITIVE, 0), ("negative", NEGATIVE, 1)):
        own = list(dict.fromkeys(pair[place] for pair in pairs))
        if key not in given and not {*own} <= {*default}:
            options[key] = own
    if "unknown" not in given and (doubt := sorted(rest & DOUBT)):
        options["unknown"] = doubt
    notes = []
    no = {value.lower() for value in options.get("negative", NEGATIVE)}
    if not values & no and "negative" not in given:
        options["negative"] = [*options.get("negative", NEGATIVE), ""]
        notes.append("an empty cell means no, because no cell says so")
    names = [column.name for column in columns]
    varied = [column.name for column in columns if len(column.words) > 1 or (len(column.known) < len(column.texts))]
    names = varied or names
    notes += [
        f"{key}: {', '.join(options[key])}"
        for key in ("positive", "negative", "unknown")
        if key in options and "" not in options[key]
    ]
    patterns = choices.get("columns")
    return _Labels({"columns": patterns or names} | options, names, {}, notes)


# Tables of features


def roles_of(
    root: Path, features: Files, labels: Files, choices: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Decide what the columns of files of features and files of labels hold.

    Parameters
    ----------
    root : path
        Folder of the files.
    features, labels : str, list of str, or mapping
        The files, as the loader `arrays` takes them. Both may be the same.
    choices : mapping
        The user's choices, see `config.write`.

    Returns
    -------
    options : dict
        Options of the loader.
    lines : list of str
        A line for the user about each file.

    Raises
    ------
    ValueError
        If several columns could hold the labels, or if rows of features and labels do not match.
    """
    ignored = {composed(name) for name in choices.get("ignore", [])}
    of_labels, of_features = ([root / file for _, file in files_of(option)] for option in (labels, features))
    tables = [records.read(path) for path in of_labels]
    same = of_labels == of_features
    joined = {name: [cell for table in tables for cell in table.get(name, [])] for name in tables[0]}
    groups: Columns = {}
    if not same:
        require_same_rows(of_features, of_labels, joined, ignored)
        only = [name for name in columns_of(of_features[0]) if name not in joined and name not in ignored]
        called = [name for name in only if _group_called(name) or name == choices.get("group")]
        groups = {name: texts_in(of_features, name) for name in called}
    roles = roles_of_table(of_labels[0], joined | groups, choices, with_features=same)
    lines, idle = list[str](), ignored & {INDEX, *joined}
    for path in of_labels:
        unused = [name for name in roles.unused if name in joined and not same]
        notes = roles.notes + [f"{some(unused)}: left out (--text COLUMN shows a column on the page)"] * bool(unused)
        lines += [f"{path.relative_to(root).as_posix()}: {'; '.join(notes)}"]
    named = {*roles.columns, *(value for value in roles.options.values() if isinstance(value, str))}
    for path in of_features:
        columns = columns_of(path)
        own = [name for name in columns if name not in (named if same else {*joined, roles.options.get("group")})]
        unused = _no_features(path, [name for name in own if name not in ignored])
        if path == of_features[0] and not same:  # only once, because the check reads the columns of all files
            others = [name for name in joined if name not in {*roles.columns, *ignored}]
            _require_order(of_features, of_labels, joined, unused, others)
        unused += [name for name in own if name in ignored]
        n = len(own) - len(unused)
        notes = [f"{n} column{'s' * (n != 1)} of features" if columns else "features"]
        as_labels = [name for name in unused if name.lower() in OF_LABEL and name not in ignored]
        rest = [name for name in unused if name not in as_labels]
        notes += [f"{some(rest)}: left out"] if rest else []
        notes += [f"{some(as_labels)}: left out, because labels have such names"] if as_labels else []
        in_both = [name for name in columns if name in joined and not same]
        notes += [f"{some(in_both)}: left out, because also in {of_labels[0].name}"] if in_both else []
        lines.append(f"{path.relative_to(root).as_posix()}: {'; '.join(notes)}")
        idle |= set(unused)
    return roles.options | ({"ignore": sorted(idle)} if idle else {}), lines


def _require_order(
    features: Sequence[Path], labels: Sequence[Path], table: Columns, names: Sequence[str], others: Sequence[str]
) -> None:
    """Raise ValueError if the features and the labels have columns that name the same rows in different orders."""
    of_features = {
        name: texts_in(features, name) for name in names if all(name in columns_of(path) for path in features)
    }
    of_labels = {name: [text_of(cell) for cell in table[name]] for name in others}
    for (name, first), (other, second) in product(of_features.items(), of_labels.items()):
        shared = set(first) & set(second)
        same = set(first) == set(second) or (2 * len(shared) > len(set(first)) and not any(map(str.isdigit, shared)))
        unique = len(set(first)) == len(first) == len(second)
        differing = unlike(first, second) if same and unique else np.empty(0, int)
        if differing.size:
            row = differing[0]
            raise ValueError(
                f"{features[0]} and {labels[0]} must have their rows in the same order, but in row {row + 1:,} the "
                f"column {name!r} of the features holds {first[row]!r} and the column {other!r} of the labels holds "
                f"{second[row]!r}: sort one of the files, or leave the column out with --ignore {name!r}"
            )


def copies_of_labels(X: Any, images: pd.DataFrame, captions: pd.DataFrame) -> list[int]:
    """Return the feature columns that are copies of a label, or of the class of each sample, in another coding.

    Such a column has one value for all samples with the label and another value for all samples without it; or it has
    one value per class, and a different value for each class. X, images, captions: as in `Samples`.
    """
    row = pd.Series(range(len(images)), images["image"])[captions["image"]].to_numpy()
    known = captions["known"].astype(bool) if "known" in captions else pd.Series(True, captions.index)
    codes, labels = pd.factorize(captions["caption"])
    found = set[int]()
    for code in range(len(labels)):
        # There are only two groups, so a column with few distinct values could equal a rare label by chance.
        has = np.zeros(len(images))
        has[row[(codes == code) & ~known]] = np.nan
        has[row[(codes == code) & known]] = 1
        found.update(_constant_within(X, has, fewest=FEWEST_ROWS))
    if known.all() and len(row) == len(set(row)) == len(images):
        # Every column is constant within a class of one row, so each class needs at least two rows.
        found.update(_constant_within(X, codes[np.argsort(row)], fewest=2))
    return sorted(found)


def _constant_within(X: Any, values: np.ndarray, fewest: int) -> list[int]:
    """Return the columns that are constant within each group of rows and have a different value in each group.

    Return an empty list if a group has fewer rows than `fewest`.
    """
    groups = [np.flatnonzero(values == value) for value in np.unique(values[~np.isnan(values)])]
    found = np.arange(X.shape[1])
    if len(groups) < 2 or min(map(len, groups)) < fewest:
        return []
    for some in (slice(2), slice(None)):  # two rows per group already exclude nearly all columns
        every = len(found) == X.shape[1]
        blocks = [X[group[some]] if every else X[np.ix_(group[some], found)] for group in groups if len(found)]
        dense = [block.toarray() if sparse.issparse(block) else block for block in blocks]
        if dense:
            fits = np.all([(block == block[0]).all(axis=0) for block in dense], axis=0)
            fits &= (np.diff(np.sort([block[0] for block in dense], axis=0), axis=0) != 0).all(axis=0)
            found = found[fits]
    return found.tolist()


def _no_features(path: Path, columns: Sequence[str]) -> list[str]:
    """Return the columns that hold no numbers, number the rows or are named like labels, so that they are no features.

    Raises ValueError if no feature columns remain.
    """
    if not columns:
        return []
    table, lists = read_columns(path, columns=columns), widths_of(path, columns)
    unused = [
        name
        for name in columns
        if name not in lists
        and (
            name.lower() in OF_LABEL
            or not is_number(table[name])
            or _numbers_rows(name, floats_of(table[name]))
            or Column(name, texts_of(table[name]) if _group_called(name) else []).names_groups()
        )
    ]
    for name in unused:
        texts = [text for text in texts_of(table[name]) if text not in NOTHING]
        cell = texts[0] if texts else ""
        require(
            is_number(table[name]) or ROW.fullmatch(name) or not all(map(DIGITS.fullmatch, texts)),
            f"{path} must hold numbers with a decimal point and no other separators, got {table[name].type} such as "
            f"{cell!r} in the column {name!r}: rewrite the numbers, or leave the column out with --ignore {name}",
        )
        require(
            len(unused) < len(columns),
            f"{path} must have a column of features: numbers, or lists of equally many numbers, but neither labels nor "
            f"row numbers; got only columns such as {name!r} with {table[name].type} such as {shortened(cell)}",
        )
    return unused


def _numbers_rows(name: str, values: np.ndarray) -> bool:
    """Return True if a column has a name that is usual for row numbers, and holds distinct whole numbers."""
    whole = bool((np.isfinite(values) & (values == np.rint(values))).all())
    called = ROW.fullmatch(re.sub("(?<=[a-z])(?=[A-Z])", "_", name.strip()))
    return whole and bool(called and (name.startswith("Unnamed") or len(set(values)) == len(values)))
