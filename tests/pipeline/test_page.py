"""The page of claims: what it counts, shows, marks and escapes."""

import re

import numpy as np
import pandas as pd
import pytest

from jointsparse.pipeline.papers import page, verdicts
from jointsparse.pipeline.provenance import tables

NASTY = "a|b\nc <script>x</script> & `d` \\| [e](f) *g* _h_"


def row(**values):
    """A row of `verdicts.judge`."""
    claim = {"id": "a-claim", "paper": "A paper", "place": "sec. 1", "claim": "It is so."}
    number = {"n": 40, "number": 0.125, "low": 0.1, "high": 0.15, "number_means": "a number (fraction)"}
    judged = {"least": 0.05, "most": np.inf, "verdict": "holds", "table": "chosen", "rows": "n=40", "timed": False}
    study = {"dataset": "one", "study": "a", "source": "chosen.csv", "seed": 20_090_614, "config": "a.yaml"}
    return claim | number | judged | study | {"note": None} | values


MEANS, ROWS = "over {0}; mean", "metric=auc, n={1}, against={0}"
SHOWN = [
    row(id="b", claim="Another.", verdict="demonstration", number=2.0, low=1.0, high=3.0, most=0.5, least=-np.inf),
    row(number_means=MEANS.format("hinge-l1") + "; plain", rows=ROWS.format("hinge-l1", 40), note="made\nup"),
    row(n=80, number_means=MEANS.format("svm-l2"), rows=ROWS.format("svm-l2", 80), note="made\nup", low=-0.05),
    row(
        n=None, verdict="not tested", number=np.nan, low=np.nan, high=np.nan, rows=None, number_means="there is no row"
    ),
    row(dataset="two", verdict="does not hold", number_means=MEANS.format("svm-l2"), rows="metric=auc", timed=True),
    row(id="b", dataset="two", claim=NASTY, low=np.nan, high=np.nan, n=8.0, note=" "),
]
SHOWN[3] |= {"note": "made\nup"}
COUNTS = "holds: 2; level: 0; does not hold: 1; undecided: 0; not tested: 0; demonstration: 1"
EXPECTED = r"""## A paper

**It is so.** sec. 1 (`a-claim`)

- one, a\*: **holds** (2 hold, 1 not tested)
- two, a: **does not hold** (1 does not hold)

Number: mean (metric=auc).

| study | n | of | number | interval | verdict | notes |
| --- | --- | --- | --- | --- | --- | --- |
| one, a\* | 40 | against hinge-l1 | 0.125 (0.1 to 0.15) | `··········│····───o──` | holds | over the other; plain |
| one, a\* | 80 | against svm-l2 | 0.125 (-0.05 to 0.15) | `──────────│───────o──` | holds | over the other |
| one, a\* |  |  |  |  | not tested | there is no row |
| two, a | 40 |  | 0.125 (0.1 to 0.15) | `··········│····───o──` | does not hold (timed) | over svm-l2 |

**a&#124;b c &lt;script&gt;x&lt;/script&gt; &amp; \`d\` \\&#124; \[e\](f) \*g\* \_h\_** sec. 1 (`b`)

- two, a: **holds** (1 holds)

Number: a number (fraction).

| study | n | of | number | interval | verdict | notes |
| --- | --- | --- | --- | --- | --- | --- |
| two, a | 8 |  | 0.125 |  | holds |  |

## Demonstrations of A paper

**Another.** sec. 1 (`b`)

- one, a: **demonstration** (1 demonstration)

Number: a number (fraction).

| study | n | of | number | interval | verdict | notes |
| --- | --- | --- | --- | --- | --- | --- |
| one, a | 40 |  | 2 (1 to 3) | `···│··───────o───────` | demonstration |  |

## Where the numbers stand

| study | table | file | seed | run with | note |
| --- | --- | --- | --- | --- | --- |
| one, a\* | chosen | chosen.csv | 20090614 | a.yaml | made up |
| two, a | chosen | chosen.csv | 20090614 | a.yaml |  |
"""


def test_the_page_shows_counts_claims_rows_and_where_the_numbers_stand(tmp_path):
    table = pd.DataFrame(SHOWN)
    lines = page.page(table).split("\n")
    assert lines[2] == f"{COUNTS} (each claim once per study)"
    assert "\n".join(lines[lines.index("## A paper") :]) == EXPECTED
    assert page.page(table.set_axis([0] * len(table))).split("\n") == lines  # as of tables that are joined
    tables.write_table(table.astype({"n": "Int64"}), tmp_path / "claims.csv")
    assert page.page(tables.read_table(tmp_path / "claims.csv")).split("\n") == lines


def test_a_claim_of_a_demonstration_stands_once_also_where_some_of_its_rows_are_not_tested():
    rows = [row(verdict="demonstration"), row(study="b", verdict="not tested", number=np.nan)]
    assert page.section(pd.DataFrame(rows), {}).count('id="claim-a-claim"') == 1


def test_the_rule_of_a_claim_is_printed_from_its_shape_and_limits():
    text = page.page(pd.DataFrame([row(id="features-to-match")]))
    assert "Where a run never reaches the AUC, the most features that it used count" in text
    assert "It holds from 2." in text
    assert "It holds below 0, and is level within ±0.01." in verdicts.rule_of("eer-order")
    assert all(
        re.search(r"It holds (above|below|from|up to) [-\d]", verdicts.rule_of(name)) for name in verdicts.CLAIMS
    )


def test_notes_are_not_spoken_of_where_there_are_none():
    without = page.page(pd.DataFrame([row()]).drop(columns="note"))
    assert "has a note" not in without and "| note |" not in without
    assert page.page(pd.DataFrame([row(note=np.nan)])) == without


def test_the_page_of_no_rows_counts_none():
    text = page.page(verdicts.judge({}, []).assign(**dict.fromkeys(page.ORIGINS)))
    assert "holds: 0; level: 0; does not hold: 0; undecided: 0; not tested: 0" in text
    assert "|" not in text


def test_html_shows_the_same_with_pictures_of_its_tables():
    html = page.section(pd.DataFrame(SHOWN), {("one", "a", "chosen"): ["auc.png"], ("else", "a", "chosen"): ["b.png"]})
    assert html.count("<details") == 3 and html.count('src="auc.png"') == 2 and "b.png" not in html
    assert "a|b\nc &lt;script&gt;x&lt;/script&gt; &amp; `d`" in html
    assert '<span class="verdict does-not-hold" title="two, a: 1 does not hold">does not hold</span>' in html
    assert html.count('<li><a class="verdict') == 4 and 'href="#claim-b"' in html and 'id="claim-b"' in html
    assert "<span>a-claim, two, a: does not hold</span>" in html
    assert html.count("<svg") == 4 and '<path class="limit" d="M50.0 0v12"/>' in html
    for text in ("0.125 (-0.05 to 0.15)", "over the other", "against svm-l2"):
        assert text in html


def test_the_page_needs_the_columns():
    with pytest.raises(ValueError, match="table must have the columns verdict, got id, "):
        page.page(pd.DataFrame([row()]).drop(columns="verdict"))
