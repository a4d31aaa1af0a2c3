"""The page of claims: what it counts, shows, marks and escapes."""

import re
from itertools import takewhile

import numpy as np
import pandas as pd
import pytest

from jointsparse.papers import claims, page
from jointsparse.provenance import tables


def row(**values):
    """A row of `claims.judge`."""
    claim = {"id": "a-claim", "paper": "A paper", "place": "sec. 1", "claim": "It is so."}
    number = {"n": 40, "number": 0.125, "low": 0.1, "high": 0.15, "number_means": "a number (fraction)"}
    number |= {"least": 0.05, "most": np.inf}
    judged = {"verdict": "holds", "table": "chosen", "rows": "n=40", "timed": False}
    study = {"dataset": "photos", "study": "stories", "source": "chosen.csv", "seed": 1, "config": "config.yaml"}
    return claim | number | judged | study | values


def lines_of(*rows):
    return page.page(pd.DataFrame(rows)).split("\n")


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def tables_of(lines):
    """The cells of every claim's table, header left out."""
    starts = [i for i, line in enumerate(lines) if line.startswith("| study | n |")]
    return [[cells(line) for line in takewhile(bool, lines[start + 2 :])] for start in starts]


def test_page_has_counts_on_top_and_a_table_per_claim():
    lines = lines_of(row(), row(paper="Another", id="b", verdict="undecided"), row(id="c", verdict="not tested"))
    counts = "holds: 1; level: 0; does not hold: 0; undecided: 1; not tested: 1; demonstration: 0"
    assert lines[2] == f"{counts} (each claim once per study)"
    assert [line for line in lines if line.startswith("## ")] == [
        "## A paper",
        "## Another",
        "## Where the numbers stand",
    ]
    at = lines.index("## A paper")
    assert lines[at : at + 9] == [
        "## A paper",
        "",
        "**It is so.** sec. 1 (`a-claim`)",
        "",
        "- photos, stories: **holds** (1 holds)",
        "",
        "Number: a number (fraction).",
        "",
        "| study | n | of | number | interval | verdict | notes |",
    ]
    first, *others = tables_of(lines)
    bar = "&#124;·········-----o-----"
    assert first == [["photos, stories", "40", "", "0.125 (0.1 to 0.15)", bar, "holds", ""]]
    assert list(map(len, others)) == [1, 1]


def test_what_rows_share_stands_once_and_the_rest_beside_each():
    of = "AUC of hinge-l1inf minus that of {0} (fraction); mean over runs"
    rows = [
        row(n=n, number_means=of.format(other) + told, rows=f"metric=auc, n={n}, method=hinge-l1inf, against={other}")
        for n, other, told in ((40, "hinge-l1", "; plain: 0.1"), (80, "svm-l2", ""))
    ]
    reason = row(n=160, verdict="not tested", number=np.nan, number_means="there is no row", rows="", low=np.nan)
    lines = lines_of(*rows, reason)
    shared = "AUC of hinge-l1inf minus that of the other (fraction); mean over runs"
    assert f"Number: {shared} (metric=auc, method=hinge-l1inf)." in lines
    (table,) = tables_of(lines)
    assert [[line[i] for i in (1, 2, 6)] for line in table] == [
        ["40", "against hinge-l1", "plain: 0.1"],
        ["80", "against svm-l2", ""],
        ["160", "", "there is no row"],
    ]


def test_bars_of_a_claim_share_a_scale_with_their_limits():
    rows = [row(number=0.0, low=-1.0, high=1.0, least=-np.inf, most=0.5), row(number=2.0, low=1.0, high=3.0, most=0.5)]
    rows += [row(number=0.5, low=np.nan, high=np.nan, most=0.5)]
    (table,) = tables_of(lines_of(*(one | {"least": -np.inf} for one in rows)))
    assert [line[4].replace("&#124;", "|") for line in table] == ["-----o--|--··········", "········|·-----o-----", ""]


def test_demonstrations_stand_at_the_end_under_headings_of_their_own():
    rows = [row(id="a", verdict="demonstration"), row(id="b"), row(id="a", study="other", verdict="holds")]
    headings = [line for line in lines_of(*rows) if line.startswith(("## ", "**"))]
    paper = row()["paper"]
    titles = [line.removeprefix("## ") for line in headings if line.startswith("## ")]
    assert titles[:2] == [paper, f"Demonstrations of {paper}"]
    named = ["".join(part for part in "ab" if f"`{part}`" in line) for line in headings if line.startswith("**")]
    assert named == ["b", "a", "a"]


def test_page_judges_and_counts_a_claim_once_per_study():
    of_one = ["holds", "holds", "undecided", "not tested"]
    of_two = ["does not hold", "does not hold", "undecided", "holds"]
    told = [row(dataset=d, verdict=v) for d, all_of in (("one", of_one), ("two", of_two)) for v in all_of]
    lines = lines_of(*told, row(dataset="one", study="scenes"), row(dataset="one", id="b", verdict="not tested"))
    counts = "holds: 1; level: 0; does not hold: 1; undecided: 1; not tested: 1; demonstration: 0"
    assert lines[2] == f"{counts} (each claim once per study)"
    assert [line for line in lines if line.startswith("- ") and "**" in line] == [
        "- one, stories: **undecided** (2 hold, 1 undecided, 1 not tested)",
        "- two, stories: **does not hold** (1 holds, 2 do not hold, 1 undecided)",
        "- one, scenes: **holds** (1 holds)",
        "- one, stories: **not tested** (1 not tested)",
    ]
    assert len(tables_of(lines)[0]) == 9


def test_page_names_the_exceptions_of_its_rule():
    text = "\n".join(lines_of(row()))
    for name in ("convergence-200", "feature-sharing", "auc-significant", "features-to-match", "slows-down"):
        assert all(name in place for place in (text, " ".join(claims.EXCEPTIONS), claims.CLAIMS))


def test_page_marks_datasets_with_a_note():
    note = "made | up <b>\ndata"
    lines = lines_of(row(note=note), row(dataset="two", note=None), row(dataset="three", note=np.nan))
    assert '\\* The dataset has a note: see "Where the numbers stand".' in lines
    assert [line[0] for line in tables_of(lines)[0]] == ["photos, stories\\*", "two, stories", "three, stories"]
    assert {"- photos, stories\\*: **holds** (1 holds)", "- two, stories: **holds** (1 holds)"} <= set(lines)
    at = lines.index("## Where the numbers stand")
    assert [cells(lines[at + i]) for i in (2, 4, 5)] == [
        ["study", "table", "file", "seed", "run with", "note"],
        ["photos, stories\\*", "chosen", "chosen.csv", "1", "config.yaml", "made &#124; up &lt;b&gt; data"],
        ["two, stories", "chosen", "chosen.csv", "1", "config.yaml", ""],
    ]


def test_page_without_notes_does_not_speak_of_them():
    without = lines_of(row())
    assert "has a note" not in "\n".join(without)
    assert lines_of(row(note=None)) == lines_of(row(note=" ")) == without


def test_page_is_the_same_from_a_file(tmp_path):
    told = [row(note="drawn"), row(n=None, low=np.nan, high=np.nan), row(timed=True, number=np.nan)]
    table = pd.DataFrame(told).astype({"n": "Int64"})
    tables.write_table(table, tmp_path / "claims.csv")
    assert page.page(tables.read_table(tmp_path / "claims.csv")) == page.page(table)


def test_page_puts_a_claim_together_and_says_where_its_numbers_stand():
    told = [row(id=name, dataset=d, seed=20_090_614) for d in ("one", "two") for name in ("a", "b")]
    lines = lines_of(*told)
    assert [[line[0] for line in table] for table in tables_of(lines)] == [["one, stories", "two, stories"]] * 2
    at = lines.index("## Where the numbers stand")
    origin = ["chosen", "chosen.csv", "20090614", "config.yaml"]
    assert [cells(line) for line in lines[at + 4 : at + 7]] == [
        ["one, stories", *origin],
        ["two, stories", *origin],
        [""],
    ]


def test_page_leaves_out_what_is_missing_and_marks_timed_verdicts():
    missing = row(n=None, number=np.nan, low=np.nan, high=np.nan, rows=None, verdict="not tested", source=None)
    (table,) = tables_of(lines_of(row(timed=True, low=np.nan, high=np.nan), missing, row(n=80.0)))
    assert table[0][3:6] == ["0.125", "", "holds (timed)"]
    assert table[1][1:6] == ["", "", "", "", "not tested"]
    assert table[2][1] == "80"


def test_page_escapes_text():
    nasty = "a|b\nc <script>x</script> & `d` \\| [e](f) *g* _h_"
    lines = lines_of(row(claim=nasty, dataset=nasty, paper=nasty, rows=nasty, source=nasty))
    assert {len(cells(line)) for line in lines if line.startswith("| ")} == {7, 5}
    text = "\n".join(lines)
    assert not re.search(r"<script>|a\|b|\nc ", text)
    # A pipe escaped by a backslash would end the cell where the text has a backslash before it.
    expected = r"a&#124;b c &lt;script&gt;x&lt;/script&gt; &amp; \`d\` \\&#124; \[e\](f) \*g\* \_h\_"
    assert tables_of(lines)[0][0][0] == f"{expected}, stories"
    assert f"## {expected}" in text
    assert f"**{expected}** sec. 1 (`a-claim`)" in text


def test_page_of_no_rows_counts_none():
    text = page.page(claims.judge({}, []).assign(**dict.fromkeys(page.ORIGINS)))
    assert "holds: 0; level: 0; does not hold: 0; undecided: 0; not tested: 0" in text
    assert "|" not in text


def test_page_needs_the_columns():
    with pytest.raises(ValueError, match="table must have the columns verdict, got id, "):
        page.page(pd.DataFrame([row()]).drop(columns="verdict"))
