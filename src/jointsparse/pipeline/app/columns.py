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

from jointsparse.checks import require
from jointsparse.messages import shortened
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
# Values, in lower case, that mean that a sample has a label, and those that then mean that it does not have the label.
PAIRS = {
    "1": "0",
    "true": "false",
    "yes": "no",
    "y": "n",
    "t": "f",
    "present": "absent",
    "positive": "negative",
    "+": "-",
}
DOUBT = {"?", "unknown", "uncertain", "unsure", "u"}  # values that mean that a label is unknown
BINARY = ({"1", "0", "-1"}, *map(set, PAIRS.items()))  # -1 may mean no or unknown
NO_TAG = re.compile(r"(no|none|nothing|without)([ _-].*)?", re.IGNORECASE)  # such as "No Finding"
OF_VALUES = ("positive", "negative", "unknown")  # options for the values of label columns
DEFAULT = Meaning._field_defaults["separator"]
SEPARATORS = (DEFAULT, "|", ",", "\n", "\t")
LONGEST_TAG = 5  # words
MOST_ODD = 0.1  # fraction of the tags of a list that may be longer, or look like a part of a sentence
# How parts of a sentence begin, but no tags.
OF_SENTENCE = re.compile(r"(a|an|the|and|or|with|of|on|in|is|are|at|to|who|while) ", re.IGNORECASE)
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
    unused: Sequence[str] = ()


def some(names: Sequence[str]) -> str:
    """Return the first few names as text."""
    return ", ".join(names[:MOST_SHOWN]) + ", …" * (len(names) > MOST_SHOWN)


def _group_called(name: str) -> re.Match[str] | None:
    return GROUP.fullmatch(re.sub(r"[\s_-]+", "", name))


# Tables of labels


class Column:
    """The cells of a column, and what they could be."""

    def __init__(self, name: str, cells: Sequence[Any]) -> None:
        self.name = name
        self.texts = ["" if isinstance(cell, list | dict) else text_of(cell) for cell in cells]
        self.known = [text for text in self.texts if text not in NOTHING]
        self.words = {text.lower() for text in self.known}
        of_text = bool(self.known) and all(map(TEXT_OF_LIST.fullmatch, self.known))
        self.lists = of_text or any(isinstance(cell, list | dict) for cell in cells)
        vectors = [numbers_of(cell) for cell in cells if cell is not None and cell == cell] if self.lists else []
        self.vectors = bool(vectors) and None not in vectors

    def is_called(self, option: str) -> bool:
        return re.sub(r"\s+", "", self.name).lower() in CALLED[option]

    def numbers(self) -> list[float]:
        """Return the numbers in the column, or an empty list if a cell holds anything else."""
        try:
            return [float(text) for text in self.known]
        except ValueError:
            return []

    def names_rows(self) -> bool:
        """Return True if every cell holds another text."""
        return not self.lists and len({*self.texts}) == len(self.known) == len(self.texts)

    def names_pictures(self) -> bool:
        """Return True if the column holds paths of pictures, not web addresses."""
        n = sum(text.lower().endswith(SUFFIXES) and "://" not in text for text in self.texts)
        return n > 0 and (n == len(self.known) or (self.is_called("pictures") and 2 * n >= len(self.known)))

    def names_groups(self) -> bool:
        """Return True if the column is called like groups of rows, and its cells repeat."""
        groups, fits = {*self.known}, _group_called(self.name)
        is_code = fits and (fits["code"] or all(any(map(str.isdigit, text)) for text in groups))
        return bool(is_code) and not self.lists and FEWEST_GROUPS <= len(groups) < len(self.known)

    def is_text(self) -> bool:
        return self.lists or bool(self.known and not self.is_binary() and not self.numbers())

    def is_binary(self) -> bool:
        """Return True if the column says whether samples have a label."""
        return not self.lists and any(self.words <= {*pair, *DOUBT} and self.words & pair for pair in BINARY)

    def is_classes(self) -> bool:
        """Return True if the column holds words that repeat."""
        return not self.lists and 1 < len(self.words) <= len(self.known) / 2 and not self.numbers()

    def is_sentences(self) -> bool:
        return not self.lists and bool(np.mean([len(text.split()) for text in self.known] or [0]) >= SENTENCE_WORDS)

    def may_be_tags(self, *, with_features: bool) -> bool:
        """Return True if the column may list tags, given its name: text, whole numbers or lists, but not yes and no."""
        if self.is_binary():
            return with_features and len(self.words) > 1  # two classes
        return not self.vectors and (self.lists or bool(self.words)) and all(map(float.is_integer, self.numbers()))

    @cached_property
    def separators(self) -> list[str]:
        """The separators by which the cells could be lists of tags."""
        return [] if self.lists else [sign for sign in SEPARATORS if _are_lists({*self.known}, sign)]

    def doubtful(self) -> list[str]:
        """Return the separators of cells that hold another whole cell: "oak, red" may be oak and red, or red oak."""
        whole = set() if self.lists else {*self.known}
        parts = {
            sign: {part.strip() for text in whole if sign in text for part in text.split(sign)} for sign in SEPARATORS
        }
        return [sign for sign in SEPARATORS if whole & parts[sign]]


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
    odd = {tag for tag in every if len(tag.split()) > LONGEST_TAG or tag[-1] in ".!?" or OF_SENTENCE.match(tag)}
    if sum(every[tag] for tag in odd) > MOST_ODD * every.total():
        return False
    later = {tag for tags in lists for tag in tags[1:]}
    n_again = sum(n for n in every.values() if n > 1)
    n_moving = sum(every[tag] for tag in {tags[0] for tags in lists if tags} & later)
    return 2 * n_again >= every.total() and 4 * n_moving >= every.total()


def roles_of_table(
    where: object,
    table: Columns,
    choices: Mapping[str, Any],
    *,
    is_picture: Callable[[str], bool] | None = None,
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
    is_picture : function, optional
        For a table of photographs: returns True if a text names a picture. The option `caption` is then decided, too,
        and the column that names most pictures becomes the option `pictures`.
    with_features : bool
        If True, the table also holds features, so that columns of numbers are labels only if the user says so.
    """
    by_user = (*SAID, "caption") if is_picture else SAID
    options: dict[str, Any] = {key: composed(choices[key]) for key in by_user if key in choices}
    for option, name in options.items():
        require(name in table, f"{where} must have the column {name!r} (--{option}), got {shortened([*table])}")
    ignored = {composed(name) for name in choices.get("ignore", [])}
    columns = [Column(name, cells) for name, cells in table.items() if name not in ignored]

    def free() -> list[Column]:
        return [column for column in columns if column.name not in options.values()]

    def take(option: str, fits: Callable[[Column], bool]) -> None:
        """Let an option that the user has not chosen name the first free column that fits, if there is one."""
        names = [column.name for column in free() if fits(column)]
        if option not in options and names:
            options[option] = names[0]

    if is_picture and "pictures" not in options:
        n = {column: sum(map(is_picture, column.known)) for column in free() if not column.lists}
        most = max(n, key=lambda column: (n[column], column.is_called("pictures")), default=None)
        take("pictures", lambda column: column is most)
    take("split", lambda column: column.is_called("split") and bool(column.known))
    _require_splits(where, [column for column in columns if column.name == options.get("split")])
    if "group" not in options and "group_by" not in choices:
        options |= _group_in(where, free())
    if not with_features:
        take("confidence", lambda column: column.is_called("confidence") and bool(column.words - {"1"}))
        take("not_tags", lambda column: column.is_called("not_tags"))
    if not is_picture:
        take("index", lambda column: column.is_called("index") and column.names_rows())
        take("pictures", Column.names_pictures)
    labels = _labels(where, columns, options, choices, with_features=with_features, of_pictures=bool(is_picture))
    options |= labels.options
    if not is_picture:
        take("text", lambda one: one.is_called("text") and one.is_text() and one.name not in labels.columns)
    if "tags" not in options:
        options = {key: value for key, value in options.items() if key not in ("confidence", "not_tags")}
    elif options.keys() & {"confidence", "not_tags"}:
        options["unmentioned"] = "unknown"
    taken = {*labels.columns, *(value for value in options.values() if isinstance(value, str))}
    unused = [name for name in table if name not in taken]
    return Roles(options, labels.columns, _notes_of_roles(options, labels, columns), unused)


def _notes_of_roles(options: Mapping[str, Any], labels: Roles, columns: Sequence[Column]) -> list[str]:
    """Return notes for the user about the columns of a table of labels."""
    n, held = len(labels.columns), dict(SAID)
    for column in columns:
        if column.name == options.get("group"):
            n_groups = numbered(column.texts).max() + 1
            held["group"] = f"groups ({n_groups:,}), which no split divides (--ignore {column.name} declines)"
    notes = [f"{n} label{'s' * (n > 1)} ({some(labels.columns)})"] if n else []
    notes += [f"{options[key]}: {held[key]}" for key in SAID if key in options and key not in labels.options]
    return [*notes, *labels.notes, *["labels that it does not mention are unknown"] * ("unmentioned" in options)]


def _require_splits(where: object, columns: Sequence[Column]) -> None:
    for column in columns:
        words = sorted(column.words - {*SPLITS, *ALIASES})
        require(
            not words,
            f"{where} must hold only the words train, validation, test or unlabelled in the column {column.name!r}, "
            f"got {some(words)}: replace the other words, or leave the column out with --ignore {column.name}",
        )


def _group_in(where: object, columns: Sequence[Column]) -> dict[str, Any]:
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
    pairs = {(a, b) for a, b in zip(fine.texts, coarse.texts, strict=True) if not {a, b} & NOTHING}
    return len({a for a, _ in pairs}) == len(pairs)


def _labels(
    where: object,
    columns: Sequence[Column],
    options: Mapping[str, Any],
    choices: Mapping[str, Any],
    *,
    with_features: bool,
    of_pictures: bool,
) -> Roles:
    """Decide which columns hold labels: label columns, a column of tags, or captions. See `roles_of_table`."""
    if "tags" in options:
        return _of_tags(where, next(column for column in columns if column.name == options["tags"]), choices)
    columns = [column for column in columns if column.name not in options.values()]
    if patterns := choices.get("columns"):
        names = chosen(where, [column.name for column in columns], patterns)
        return _of_columns(where, [column for column in columns if column.name in names], choices)
    if "caption" in options:
        return Roles({}, [], [])
    columns = [column for column in columns if not column.names_groups()]
    of_text = [column for column in columns if of_pictures and column.is_called("text") and column.is_text()]
    captions = [column for column in of_text if not (column.lists or column.separators or "confidence" in options)]
    tags = [one for one in columns if one.is_called("tags") and one.may_be_tags(with_features=with_features)]
    tags += [column for column in of_text if column not in captions]
    if not tags and not captions:
        if binary := [column for column in columns if column.is_binary() and not (with_features and column.numbers())]:
            return _of_columns(where, binary, choices)
        tags = [column for column in columns if column.lists and not column.vectors]
        tags = tags or [column for column in columns if column.is_classes() or column.separators]
        if not (tags or of_pictures or with_features) and len(columns) == 1:
            tags = [column for column in columns if column.may_be_tags(with_features=False)]
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
    return _of_tags(where, tags[0], choices) if tags else Roles({"caption": captions[0].name}, [], [])


def _of_tags(where: object, column: Column, choices: Mapping[str, Any]) -> Roles:
    """Decide how a column lists tags."""
    signs = [choices["separator"]] if "separator" in choices else column.separators or [*column.doubtful(), ""]
    require(
        len(signs) == 1,
        f"{where} could list tags with several separators in the column {column.name!r}, or with none (''): choose one "
        f"with {' or '.join(f'--separator {sign!r}' for sign in signs)}",
    )
    sign = signs[0] if "separator" in choices else signs[0] or DEFAULT
    options, texts = {"tags": column.name}, set() if column.lists else {*column.texts}
    note = f"{column.name}: labels"
    if any(sign in text for text in texts):
        options["separator"] = sign
        note += f", separated by {sign!r}"
    if nothing := sorted((texts & NOTHING) - {""}):
        note += f" ({' or '.join(nothing)} counts as no label)"
    lists = [tags_of(where, text, sign) for text in texts]
    in_lists = {tag for tags in lists if len(tags) > 1 for tag in tags}
    none = {tag for tags in lists for tag in tags if NO_TAG.fullmatch(tag)} - in_lists if in_lists else set()
    values = {option: list(choices[option]) for option in ("none", "unknown") if option in choices}
    if none and "none" not in values:
        values["none"] = sorted(none)
        note += f" ({' or '.join(values['none'])} means none of them)"
    return Roles(options | values, [], [note])


def _of_columns(where: object, columns: Sequence[Column], choices: Mapping[str, Any]) -> Roles:
    """Decide what the values of label columns mean."""
    names, values = [column.name for column in columns], {value for column in columns for value in column.words}
    options: dict[str, Any] = {key: [str(value) for value in choices[key]] for key in OF_VALUES if key in choices}
    rest = values - {value.lower() for listed in options.values() for value in listed}
    require(
        not ("-1" in rest and "0" in values),
        f"{where} must say what -1 means in its label columns ({some(names)}), which also hold 0: choose one with "
        "--unknown=-1 or --negative=-1 --unknown=0",
    )
    pairs = PAIRS | ({"1": "-1"} if "-1" in rest else {})
    used = {yes: no for yes, no in pairs.items() if rest & {yes, no}}
    usual = {"positive": ([*used], POSITIVE), "negative": ([*used.values()], NEGATIVE), "unknown": (rest & DOUBT, ())}
    notes, given = list[str](), {*options}
    options = {key: sorted(own) for key, (own, default) in usual.items() if not {*own} <= {*default}} | options
    negative = options.get("negative", [*NEGATIVE])
    if "negative" not in given and not values & {*negative}:
        options["negative"] = [*negative, ""]
        notes.append("an empty cell means no, because no cell says so")
    notes += [f"{key}: {', '.join(filter(None, options[key]))}" for key in OF_VALUES if key in options]
    return Roles({"columns": choices.get("columns") or names} | options, names, notes)


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
    same = of_labels == of_features
    tables = [records.read(path) for path in of_labels]
    table = {name: [cell for part in tables for cell in part.get(name, [])] for name in tables[0]}
    columns, groups = columns_of(of_features[0]), dict[str, Any]()
    if not same:
        require_same_rows(of_features, of_labels, table, ignored)
        only = [name for name in columns if name not in {*table, *ignored}]
        called = [name for name in only if _group_called(name) or name == choices.get("group")]
        groups = {name: texts_in(of_features, name) for name in called}
    roles = roles_of_table(of_labels[0], table | groups, choices, with_features=same)
    named = {*roles.columns, *(value for value in roles.options.values() if isinstance(value, str))}
    own = [name for name in columns if name not in (named if same else {*table, roles.options.get("group")})]
    unused = _no_features(of_features[0], [name for name in own if name not in ignored])
    if not same:
        others = [name for name in table if name not in {*roles.columns, *ignored}]
        _require_order(of_features, of_labels, table, unused, others)
    idle = {*unused, *(ignored & {INDEX, *table, *own})}
    spare = [name for name in roles.unused if name in table and not same]
    about = roles.notes + [f"{some(spare)}: left out (--text COLUMN shows a column on the page)"] * bool(spare)
    both = [name for name in columns if name in table and not same]
    notes = _notes_of_features(own, idle, both) if columns else ["features"]
    lines = [
        f"{some([path.relative_to(root).as_posix() for path in files])}: {'; '.join(held)}"
        for files, held in ((of_labels, about), (of_features, notes))
    ]
    return roles.options | ({"ignore": sorted(idle)} if idle else {}), lines


def _notes_of_features(own: Sequence[str], idle: Collection[str], both: Sequence[str]) -> list[str]:
    """Return notes about the columns of features. own: those that are in no other file. idle: those left out."""
    n = sum(name not in idle for name in own)
    left_out = {
        "": [name for name in own if name in idle and name.lower() not in OF_LABEL],
        ", because labels have such names": [name for name in own if name in idle and name.lower() in OF_LABEL],
        ", because the labels have columns of the same name": both,
    }
    reasons = [f"{some(names)}: left out{reason}" for reason, names in left_out.items() if names]
    return [f"{n} column{'s' * (n != 1)} of features", *reasons]


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
    for rows in (slice(2), slice(None)):  # two rows per group already exclude nearly all columns
        blocks = [X[np.ix_(group[rows], found)] for group in groups]
        dense = [block.toarray() if sparse.issparse(block) else block for block in blocks]
        fits = np.all([(block == block[0]).all(axis=0) for block in dense], axis=0)
        fits &= (np.diff(np.sort([block[0] for block in dense], axis=0), axis=0) != 0).all(axis=0)
        found = found[fits]
    return found.tolist()


def _no_features(path: Path, columns: Sequence[str]) -> list[str]:
    """Return the columns that hold no numbers, number the rows, name groups or are named like labels."""
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
            or (_group_called(name) and Column(name, texts_of(table[name])).names_groups())
        )
    ]
    for name in unused:
        texts = [text for text in texts_of(table[name]) if text not in NOTHING]
        got = f"{table[name].type} such as {shortened(min(texts, default=''))}"
        require(
            is_number(table[name]) or ROW.fullmatch(name) or not all(map(DIGITS.fullmatch, texts)),
            f"{path} must hold numbers with a decimal point and no other separators, got {got} in the column {name!r}: "
            f"rewrite the numbers, or leave the column out with --ignore {name}",
        )
        require(
            len(unused) < len(columns),
            f"{path} must have a column of features: numbers, or lists of equally many numbers, but neither labels nor "
            f"row numbers; got only columns such as {name!r} with {got}",
        )
    return unused


def _numbers_rows(name: str, values: np.ndarray) -> bool:
    """Return True if a column has a name that is usual for row numbers, and holds distinct whole numbers."""
    whole = bool((np.isfinite(values) & (values == np.rint(values))).all())
    called = ROW.fullmatch(re.sub("(?<=[a-z])(?=[A-Z])", "_", name.strip()))
    return whole and bool(called and (name.startswith("Unnamed") or len(set(values)) == len(values)))
