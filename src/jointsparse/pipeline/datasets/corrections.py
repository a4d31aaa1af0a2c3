"""Corrections: decisions of a person about labels, which are applied after a dataset has been read.

A decision states the truth about a label of a sample: the sample has it, or does not have it. Decisions are in a table
with the columns `sample`, `tag` and `has`, which is "yes" or "no". A later decision about the same label overrides an
earlier one.
"""

import csv
from pathlib import Path

import pandas as pd

from jointsparse.checks import require
from jointsparse.messages import shortened
from jointsparse.pipeline.datasets.names import composed
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.datasets.text import open_text, sign_of
from jointsparse.pipeline.provenance.tables import ESCAPED_FORMULA, write_table

MOST_BYTES = 2**24  # size limit of a table; it has room for some 400,000 decisions
COLUMNS = ("sample", "tag", "has")
HAS = {"yes": True, "no": False}


def read(file: str | Path) -> pd.DataFrame:
    """Read a table of decisions.

    Parameters
    ----------
    file : path
        The table. It may have other columns, which are ignored.

    Returns
    -------
    decisions : DataFrame
        A row for each label that is decided, with the columns `sample`, `tag` and `has` (bool).

    Raises
    ------
    ValueError
        If the file is not such a table. The message names the file and the line.
    """
    path = Path(file)
    require(path.is_file(), f"corrections must be in a file with the columns {','.join(COLUMNS)}, got no file {path}")
    size = path.stat().st_size
    require(size <= MOST_BYTES, f"{path} must have at most {MOST_BYTES:,} bytes, got {size:,}")
    sign, decided = sign_of(path), dict[tuple[str, str], bool]()
    with open_text(path) as lines:
        rows = csv.reader(lines, strict=True, delimiter=sign)
        try:
            header = [name.strip() for name in next(rows, [])]
            require(
                all(header.count(name) == 1 for name in COLUMNS),
                f"{path} line 1: expected the columns {','.join(COLUMNS)}, got {shortened(sign.join(header))}",
            )
            for row in filter(None, rows):
                where = f"{path} line {rows.line_num}"
                require(len(row) == len(header), f"{where}: expected {len(header)} fields, got {len(row)}")
                cells = dict(zip(header, (ESCAPED_FORMULA.sub(r"\1", cell) for cell in row), strict=True))
                sample, tag, has = cells["sample"], plain(cells["tag"]), cells["has"].strip()
                for name in ("sample", "tag"):
                    sound = cells[name].strip() and "\0" not in cells[name]
                    require(sound, f"{where}: {name} must be a name, got {shortened(cells[name])}")
                require(has in HAS, f"{where}: has must be yes or no, got {shortened(cells['has'])}")
                decided[sample, tag] = HAS[has]
        except csv.Error as error:
            raise ValueError(f"{path} line {rows.line_num}: {error}") from None
    return pd.DataFrame([(*label, has) for label, has in decided.items()], columns=[*COLUMNS]).astype({"has": bool})


def write(decisions: pd.DataFrame, file: str | Path) -> None:
    """Write a table of decisions that `read` reads."""
    write_table(decisions.assign(has=decisions["has"].map({has: word for word, has in HAS.items()})), file)


def plain(tag: str) -> str:
    """Return a tag as it is compared with others: in the composed Unicode form, without surrounding spaces."""
    return composed(tag).strip()


def applied(samples: Samples, decisions: pd.DataFrame, source: str | None = None) -> Samples:
    """Return a dataset with corrected labels.

    Parameters
    ----------
    samples : Samples
        The dataset as its loader has read it.
    decisions : DataFrame
        What `read` returns.
    source : str or None
        Name of the table of decisions, for the table of what is left out. If None, nothing is added there, because
        the dataset was reduced to some of its samples.

    Returns
    -------
    corrected : Samples
        The dataset with a row of `captions` for each decision. If there are decisions that samples do not have a label,
        a column `absent` is True in their rows. A label that is new is unknown for samples that have unknown labels,
        and absent for all others. Decisions about samples that are not in the dataset are listed in `left_out`.
    """
    captions, names = samples.captions, samples.images["image"]
    there = decisions["sample"].isin(names)
    rows = pd.DataFrame(
        {"image": decisions["sample"][there], "caption": decisions["tag"][there], "absent": ~decisions["has"][there]}
    )
    tags = captions["caption"].map(plain).astype(str)
    decided = pd.MultiIndex.from_frame(rows[["image", "caption"]])
    parts = [captions[~pd.MultiIndex.from_arrays([captions["image"], tags]).isin(decided)], rows]
    if "known" in captions:
        new = sorted({*rows["caption"][~rows["absent"]]} - {*tags})
        open_to_all = captions["image"][~captions["known"]].unique()
        every = pd.MultiIndex.from_product([open_to_all, new], names=["image", "caption"])
        parts.append(every[~every.isin(decided)].to_frame(index=False).assign(known=False))
    corrected = pd.concat(parts, ignore_index=True)
    for flag, usual in (("known", True), ("absent", False)):
        if flag in corrected:
            corrected[flag] = corrected[flag].astype(object).where(corrected[flag].notna(), usual).astype(bool)
    if not corrected["absent"].any():
        corrected = corrected.drop(columns="absent")
    missing = [*decisions["sample"][~there].unique()] if source else []
    items = pd.DataFrame({"item": missing, "reason": f"{source} decides about it, but it is not there"}, dtype=str)
    left_out = pd.concat([samples.left_out, items], ignore_index=True)
    return samples._replace(captions=corrected, left_out=left_out)
