"""Labels of samples, as the columns of a table state them. Options say which columns, and what their values mean.

A label of a sample has one of three states: it is there, it is known not to be there, or it is unknown.
"""

import ast
import json
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.messages import shortened
from jointsparse.pipeline.datasets.names import composed
from jointsparse.pipeline.datasets.records import Columns
from jointsparse.pipeline.datasets.tabular import NOTHING, WHOLE, text_of

LARGEST_TAG = 2**53  # larger integers may have been rounded when they were converted to floats
POSITIVE, NEGATIVE = ("1", "true"), ("0", "false")
# Patterns for a list that Python, NumPy, pandas or JSON wrote as text, and for its items: a quoted string, a number, or
# a missing value.
TEXT_OF_LIST = re.compile(r"\[.*\]|\{.*\}|\((?:\s*['\"].*|.*,.*|)\)", re.DOTALL)
AROUND_LIST = re.compile(r"(?:frozenset|set|array)\((.*?)(?:,\s*dtype=(?:\w+|'[<>|]?\w+'))?\)", re.DOTALL)
IN_LIST = re.compile(
    r"""(?:np\.\w+\()?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<![\w.])(?:[+-]?\d+\.?\d*(?:e[+-]?\d+)?|None|nan|null|NaN)(?![\w.]))\)?""",
    re.DOTALL,
)
# Invisible characters to remove. The zero-width joiners are not among them, because they are part of words and emoji.
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200e\u200f\u2060\ufeff"))


class Meaning(NamedTuple):
    """The columns of a table that hold labels, and what their values mean. Values are compared without regard to case.

    Attributes
    ----------
    columns
        Label columns, one label each: names, or patterns such as "Class*". They have no effect beside `tags`.
    tags
        Column that lists the labels that each sample has. An empty cell means that it has none.
    separator
        The string between two tags; "" if each cell is a single tag.
    positive, negative
        Values of label columns that mean that a sample has, or does not have, the label. An empty cell is unknown,
        unless "" is listed here.
    none
        Tags that mean that a sample has no label, such as "No Finding".
    unknown
        Values of label columns that mean that it is unknown whether a sample has the label; or tags that mean that it
        is unknown which labels the sample has.
    not_tags
        Column that lists labels that each sample is known not to have.
    confidence
        Column with 1 in rows whose tags are there, and 0 in rows whose tags are known not to be there.
    unmentioned
        What it means if a table does not mention a label of a sample: "negative" or "unknown".
    """

    columns: Sequence[str] = ("*",)
    tags: str | None = None
    separator: str = ";"  # Choice: commas stand within tags ("black, white") and between fields of a table
    positive: Sequence[str] = POSITIVE
    negative: Sequence[str] = NEGATIVE
    none: Sequence[str] = ()
    unknown: Sequence[str] = ()
    not_tags: str | None = None
    confidence: str | None = None
    unmentioned: Literal["negative", "unknown"] = "negative"

    @classmethod
    def among(cls, options: Mapping[str, Any]) -> Self:
        """Return the meaning that some of a loader's options give."""
        return cls(**{name: options[name] for name in cls._fields if name in options})

    def named(self) -> list[str]:
        """Return the columns that are named one by one, not by a pattern."""
        return [composed(name) for name in (self.tags, self.not_tags, self.confidence) if name]


class StatedLabels(NamedTuple):
    """Labels that a table states.

    Attributes
    ----------
    stated
        Table with a row per label that a sample has (state 1), is known not to have (0), or may have (NaN), and the
        columns `row` (number of the sample's row), `label` and `state`. A label that a row does not mention has the
        state that `Meaning.unmentioned` gives.
    silent
        Rows of samples of which it is unknown which labels they have.
    names
        The label columns. The list is empty if a column lists tags.
    """

    stated: pd.DataFrame
    silent: set[int]
    names: list[str]


def read(where: object, table: Columns, meaning: Meaning, others: Collection[str] = ()) -> StatedLabels:
    """Return the labels in a table.

    Parameters
    ----------
    where : path
        The file, for error messages.
    table : Columns
        Its columns.
    meaning : Meaning
        What the columns and values mean.
    others : collection of str
        Columns that hold no labels, whatever patterns say.

    Raises
    ------
    ValueError
        If a column is missing, or if a cell does not have one of the values that `meaning` allows.
    """
    require_columns(where, table, meaning.named())
    if meaning.tags:
        return _of_tags(where, table, meaning)
    names = chosen(where, [name for name in table if name not in {*others, *meaning.named()}], meaning.columns)
    require(names, f"{where} must have a column for each label, or a column of tags, got neither")
    Y = np.column_stack([_states(where, name, table[name], meaning) for name in names])
    rows, columns = np.nonzero(Y)
    stated = pd.DataFrame({"row": rows, "label": np.array(names, object)[columns], "state": Y[rows, columns]})
    return StatedLabels(stated, set(), names)


def require_columns(where: object, table: Collection[str], names: Collection[str]) -> None:
    """Raise ValueError if a table lacks one of these columns."""
    for name in [name for name in names if name not in table][:1]:
        raise ValueError(f"{where} must have the column {name!r}, which an option names, got {shortened([*table])}")


def chosen(where: object, columns: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the columns that are named, or that fit a pattern. Raises ValueError if a pattern fits no column."""
    found = dict[str, None]()
    for pattern in map(composed, patterns):
        fits = [pattern] if pattern in columns else [name for name in columns if fnmatchcase(name, pattern)]
        require(
            fits or pattern == "*",
            f"{where} must have columns such as {pattern!r}, which the option columns names, got "
            f"{shortened([*columns])}",
        )
        found.update(dict.fromkeys(fits))
    return list(found)


def settled(labels: StatedLabels, name_of: np.ndarray, names: Sequence[str], meaning: Meaning) -> pd.DataFrame:
    """Combine what rows state about the same sample.

    A label is there if a row says so and no row denies it; it is unknown if rows contradict each other.

    Parameters
    ----------
    labels : StatedLabels
        What the rows state.
    name_of : array of str, (n_rows,)
        The sample that each row belongs to.
    names : list of str
        The samples.
    meaning : Meaning
        As in `read`.

    Returns
    -------
    captions : DataFrame
        Columns `image`, `caption` and, if some labels are unknown, `known`. Labels that are known not to be there have
        no row.
    """
    stated, silent = labels.stated, {name_of[row] for row in labels.silent}
    state = stated["state"].to_numpy()
    flags = pd.DataFrame(
        {"image": name_of[stated["row"].to_numpy(int)], "caption": stated["label"], "yes": state == 1, "no": state == 0}
    )
    by = flags.groupby(["image", "caption"], sort=False).max() if len(flags) else flags.set_index(["image", "caption"])
    captions = by[by["yes"] | ~by["no"]].reset_index()
    captions = captions.assign(known=captions["yes"] & ~captions["no"])[["image", "caption", "known"]]
    # A positive of one row stands beside an unknown of another; both have been joined above by `max`.
    unsaid = [*names] if meaning.unmentioned == "unknown" else [name for name in names if name in silent]
    if unsaid and len(by):
        every = pd.MultiIndex.from_product([unsaid, by.index.unique("caption")], names=["image", "caption"])
        rest = every[~every.isin(by.index)].to_frame(index=False).assign(known=False)
        captions = pd.concat([captions, rest], ignore_index=True)
    captions = captions.astype({"image": str, "caption": str, "known": bool})
    return captions.drop(columns="known") if captions["known"].all() else captions


def _of_tags(where: object, table: Columns, meaning: Meaning) -> StatedLabels:
    none, unknown = ({value.lower() for value in values} for values in (meaning.none, meaning.unknown))
    rows = list[tuple[int, str, int]]()
    silent = set[int]()
    confidence = [text_of(cell) for cell in table[composed(meaning.confidence)]] if meaning.confidence else []
    for value in sorted({*confidence} - {"0", "1"})[:1]:
        raise ValueError(
            f"{where} must hold 1 (there) or 0 (known not to be there) in the column {meaning.confidence!r}, got "
            f"{value!r}: write 0 or 1, or leave the column out (option confidence, or --ignore of init)"
        )
    for option, state in (("tags", 1), ("not_tags", 0)):
        name = getattr(meaning, option)
        for row, cell in enumerate(table[composed(name)] if name else []):
            tags = tags_of(where, cell, meaning.separator)
            own = int(confidence[row]) if confidence and state else state
            rows += [(row, tag, own) for tag in tags if tag.lower() not in none | unknown]
            if state and unknown & {tag.lower() for tag in tags or [""]}:
                silent.add(row)
    return StatedLabels(pd.DataFrame(rows, columns=["row", "label", "state"]), silent, [])


def _states(where: object, name: str, cells: Sequence[Any], meaning: Meaning) -> np.ndarray:
    """Return the labels in a column as 1, 0, or NaN if unknown. Raises ValueError, with the row, for another value."""
    states = dict.fromkeys(map(str.lower, NOTHING), 0.0 if "" in meaning.negative else np.nan)
    for values, state in ((meaning.unknown, np.nan), (meaning.negative, 0.0), (meaning.positive, 1.0)):
        states |= dict.fromkeys(map(str.lower, values), state)
    texts = [text_of(cell).lower() for cell in cells]
    for row, text in enumerate(texts):
        require(
            text in states,
            f"{where} must hold {', '.join(meaning.positive)}, {', '.join(filter(None, meaning.negative))} or an empty "
            f"cell in each label column, got {shortened(cells[row])} in row {row + 1:,} of {name!r}: say what the "
            "value means with the options positive, negative and unknown, or name the label columns in columns",
        )
    return np.array([states[text] for text in texts])


# Lists of tags


def tags_of(where: object, cell: Any, separator: str) -> list[str]:
    """Return the distinct tags in a cell, which holds a string, a number, a list of these, or a list written as text.

    Raises ValueError if a number may have been rounded, or if a string looks like a list but cannot be read as one.

    >>> [tags_of("", cell, ";") for cell in ("cat; dog;", "['cat' 'dog']", '["cat", null]', 3.0, "NaN")]
    [['cat', 'dog'], ['cat', 'dog'], ['cat'], ['3'], []]
    """
    if isinstance(cell, dict):
        cell = _only_list(cell)
    if isinstance(cell, str):
        text = _without_constructor(cell.strip())
        is_list = TEXT_OF_LIST.fullmatch(text)
        cell = _list_in(where, text) if is_list else text.split(separator) if separator else [text]
    tags = cell if isinstance(cell, list) else [cell]
    for tag in tags:
        is_float = isinstance(tag, float) or WHOLE.fullmatch(str(tag)) or tag == "inf"
        require(
            not is_float or tag != tag or abs(float(tag)) < LARGEST_TAG,
            f"{where} must hold text or whole numbers as tags, got {tag}, which may have been rounded as a float",
        )
        require(not isinstance(tag, list | dict), f"{where} must hold a flat list of tags, got {shortened(cell)}")
    once = dict.fromkeys(" ".join(text_of(tag).translate(INVISIBLE).split()) for tag in tags)
    return [label for label in once if label not in NOTHING]


def _only_list(block: dict[str, Any]) -> Any:
    """Return the list in an object of JSON that holds one value, such as {"choices": ["cat"]}; others unchanged."""
    values = list(block.values())
    return values[0] if len(values) == 1 and isinstance(values[0], list) else block


def _without_constructor(text: str) -> str:
    """Return the list inside text such as "array(['cat'], dtype='<U3')" or "set()". Return any other text unchanged.

    >>> [_without_constructor(text) for text in ("array(['cat'], dtype='<U3')", "set()", "set(tings)")]
    ["['cat']", '', 'set(tings)']
    """
    match = AROUND_LIST.fullmatch(text)
    return match[1] if match and (not match[1] or TEXT_OF_LIST.fullmatch(match[1])) else text


def _list_in(where: object, text: str) -> list[Any]:
    """Return the items of a list that was written as text, with or without commas between the items."""
    if text.startswith("{"):
        with suppress(ValueError, RecursionError):
            items = _only_list(json.loads(text))
            if isinstance(items, list):
                return items
    try:
        require(not IN_LIST.sub("", text[1:-1]).strip(", \t\r\n"), "text between the items")
        return [_unquoted(item) for item in IN_LIST.findall(text[1:-1])]
    except (ValueError, SyntaxError):
        raise ValueError(
            f"{where} must hold tags or a list of tags in each cell, got {shortened(text)}: write tags as cat;dog"
        ) from None


def _unquoted(item: str) -> str:
    """Remove the quotes from an item of a list that JSON or Python has written."""
    if item.startswith('"'):
        with suppress(ValueError):
            return str(json.loads(item))
    with warnings.catch_warnings(action="error"):  # Python warns about an unknown escape sequence
        return str(ast.literal_eval(item)) if item[0] in "'\"" else item
