"""Judging claims by name, and their verdicts together. Facts of every claim."""

import re
from types import ModuleType

import pandas as pd
import pytest

from jointsparse.papers import claims
from jointsparse.papers.duchi import claims as duchi
from jointsparse.papers.quattoni import claims as quattoni
from jointsparse.papers.quattoni import numbers
from jointsparse.provenance import tables
from jointsparse.registry import pick, room

FOLDERS = {table: folder for kind in room("experiments") for table, folder in pick("experiments", kind).TABLES.items()}
MODULES = [(name, claim, module) for module in (quattoni, duchi) for name, claim in module.CLAIMS.items()]


def expect(name, found, *, told="", **columns):
    """Judge a claim and compare columns of its verdicts. told: text in the meaning of the first number."""
    judged = claims.judge(found, [name])
    for column, expected in columns.items():
        if column in ("number", "low", "high"):
            expected = pytest.approx(expected, abs=1e-12, nan_ok=True)
        if column == "verdict" and isinstance(expected, str):
            expected = expected.split(", ")
        assert list(judged[column]) == expected, column
    assert told in judged["number_means"].iloc[0]
    return judged


def test_a_reversal_must_stay_significant_after_holms_correction_over_the_rows_of_its_claim():
    """Of fourteen rows at the same limit, one in four claims would have one above its interval by chance."""

    def tables(z):
        """Fourteen differences of one run, of which thirteen are 0 and one is z standard errors below."""
        rows = pd.DataFrame({"n": range(14), "difference": 0.0, "metric": "auc", "words": "test words"})
        rows.loc[3, "difference"] = -z
        ends = {"low": rows["difference"] - 1.96, "high": rows["difference"] + 1.96}
        rows = rows.assign(**ends, low_words=None, high_words=None, over_runs=0.0, runs=1, average="by positives")
        return {"differences": rows.assign(method="hinge-l1inf", against="hinge-l1")}

    for z, verdict in ((2.0, "undecided"), (2.6, "undecided"), (2.75, "does not hold"), (4.0, "does not hold")):
        judged = claims.judge(tables(z), ["scene-order"])  # one-sided 0.05 / 14 is 2.69
        assert judged["verdict"].tolist() == ["undecided"] * 3 + [verdict] + ["undecided"] * 10
        told = "it would not hold alone, but after Holm's correction over 14 rows"
        assert judged["number_means"].str.contains(told).sum() == (verdict == "undecided")
    few = claims.judge({"differences": tables(2.0)["differences"].iloc[3:4]}, ["scene-order"])
    assert few["verdict"].tolist() == ["does not hold"]


def test_accuracy_on_drawn_or_composed_data_is_a_demonstration():
    fits = pd.DataFrame({"method": ["hinge-l1inf", "hinge-l1"] * 5, "features": [0.1, 0.2] * 5, "warning": ""})
    fits = fits.assign(run=[1, 1, 2, 2, 3, 3, 4, 4, 5, 5], n=30)
    seconds = pd.DataFrame({"part": "training samples", "x": [1.0, 2, 4, 8], "seconds": [1.0, 2, 4, 8]})
    names = ["joint-sparsity", "cost-linear-in-samples", "auc-order"]
    found = {"chosen": fits, "cost": seconds}
    assert claims.judge(found, names)["verdict"].tolist() == ["holds", "holds", "not tested"]
    shown = claims.judge(found, names, demonstration=True)
    assert shown["verdict"].tolist() == ["demonstration", "holds", "not tested"]
    assert shown["number"][0] == pytest.approx(-0.1)
    assert claims.overall(shown["verdict"]) == "holds"
    assert claims.overall(["demonstration", "not tested"]) == "demonstration"


def judged_from_disk(folder, found, names):
    """Assert that tables give the same verdicts when they are read from CSV files."""
    expected = claims.judge(found, names)
    for name, table in (found | {"claims": expected}).items():
        tables.write_table(table, folder / f"{name}.csv")
    read = {name: tables.read_table(folder / f"{name}.csv") for name in found}
    pd.testing.assert_frame_equal(claims.judge(read, names), expected)
    assert tables.read_table(folder / "claims.csv")["timed"].dtype == bool


def test_an_unknown_claim_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"claims knows synthetic-error-order, .*; got 'auc-oder'"):
        claims.judge({}, ["auc-oder"])


def test_every_claim_is_not_tested_without_tables():
    judged = claims.judge({}, list(claims.CLAIMS))
    assert list(judged.columns) == list(claims.COLUMNS)
    assert list(judged["id"]) == list(claims.CLAIMS)
    assert set(judged["verdict"]) == {"not tested"}
    assert judged["number"].isna().all()
    assert judged["number_means"].str.startswith("there is no table ").all()


def test_no_claims_make_an_empty_table():
    judged = claims.judge({}, [])
    assert list(judged.columns) == list(claims.COLUMNS)
    assert len(judged) == 0


def numbers_of(module: ModuleType) -> set[str]:
    """Numeric constants of a module, as a sentence may write them."""
    constants = [value for name, value in vars(module).items() if name.isupper() and isinstance(value, int | float)]
    return {form.format(value) for value in constants for form in ("{:g}", "{:,}", "{:.0%}")}


@pytest.mark.parametrize("name, claim, module", MODULES, ids=[name for name, _, _ in MODULES])
def test_every_claim_is_well_formed(name, claim, module):
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name)
    assert claim.paper and claim.place
    assert claim.sentence.endswith(".")
    told = set(re.findall(r"(?<![\w.,])\d[\d.,]*%?(?<![.,])", claim.sentence))
    assert told <= numbers_of(module) | numbers_of(numbers)
    read = [claim.tables[0], claim.instead or claim.tables[0]]
    assert {claim.timed} == {FOLDERS.get(table) == "timings" for table in read}
    assert {*claims.TABLES_OF_FITS, *claims.TABLES_OF_STEPS} & set(claim.tables) or not claim.of_fits


@pytest.mark.parametrize("name", claims.CLAIMS)
def test_every_claim_reads_the_tables_that_it_names(name):
    """A table without columns is an error that names the table, unless the claim asks for another table first."""
    claim = claims.CLAIMS[name]
    found = {table: pd.DataFrame({"strange": [1]}) for table in (*claim.tables, claim.instead)}
    with pytest.raises(ValueError, match=rf"table ({'|'.join(found)}) must have the columns .*, got strange"):
        claims.judge(found, [name])


@pytest.mark.parametrize(
    "found, expected",
    [
        (["holds", "undecided", "does not hold", "not tested"], "does not hold"),
        (["holds", "undecided", "level", "not tested"], "undecided"),
        (["holds", "level", "demonstration"], "level"),
        (["not tested", "holds", "holds"], "holds"),
        (["not tested", "not tested"], "not tested"),
        ([], "not tested"),
    ],
)
def test_the_overall_verdict(found, expected):
    assert claims.overall(found) == expected
    assert claims.overall(pd.Series(found[::-1], dtype=object)) == expected


def test_an_unknown_verdict_is_refused():
    with pytest.raises(ValueError, match=r"verdicts must be of holds, level, does not hold, .*, got maybe"):
        claims.overall(["holds", "maybe"])
