"""Judging claims by name, and their verdicts together."""

import pandas as pd
import pytest

from jointsparse.papers import claims

TIMED = ("cost", "projection", "updates")  # tables of measured seconds, besides those that say so


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
    assert list(judged.loc[judged["timed"], "id"]) == [
        *("projection-n-log-n", "cost-linear-in-samples", "projection-non-zero-rows"),
        *("l1-projection-linear", "sparse-update-k-log-n", "tree-beats-full", "first-digits", "projection-sooner"),
        "entropic-cheaper-when-sparse",
    ]


def test_no_claims_make_an_empty_table():
    judged = claims.judge({}, [])
    assert list(judged.columns) == list(claims.COLUMNS)
    assert len(judged) == 0


def test_every_claim_has_an_id_in_kebab_case_and_a_place():
    for name, claim in claims.CLAIMS.items():
        assert name == name.lower().replace("_", "-")
        assert claim.place
        assert claim.sentence.endswith(".")
        read = [*claim.tables, claim.instead] if claim.instead else claim.tables
        assert {claim.timed} == {table in TIMED or table.endswith("_seconds") for table in read}


@pytest.mark.parametrize(
    "found, expected",
    [
        (["holds", "undecided", "does not hold", "not tested"], "does not hold"),
        (["holds", "undecided", "not tested"], "undecided"),
        (["not tested", "holds", "holds"], "holds"),
        (["not tested", "not tested"], "not tested"),
        ([], "not tested"),
    ],
)
def test_the_overall_verdict(found, expected):
    assert claims.overall(found) == expected
    assert claims.overall(pd.Series(found[::-1], dtype=object)) == expected


def test_an_unknown_verdict_is_refused():
    with pytest.raises(ValueError, match=r"verdicts must be of holds, does not hold, .*, got maybe"):
        claims.overall(["holds", "maybe"])
