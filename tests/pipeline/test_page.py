"""The pages of claims: what they count, show, mark and escape."""

import re
from itertools import zip_longest

import numpy as np
import pandas as pd
import pytest
from pages import claim_row as row

from jointsparse.pipeline.papers import page, verdicts
from jointsparse.pipeline.papers.judging import VERDICTS
from jointsparse.pipeline.provenance import tables

NASTY = "a|b\nc <script>x</script> & `d` \\| [e](f) *g* _h_"


MEANS, ROWS = "over {0}; mean", "metric=auc, n={1}, against={0}"
SHOWN = [
    row(id="b", claim="Another.", verdict="demonstration", number=2.0, low=1.0, high=3.0, most=0.5, least=-np.inf),
    row(number_means=MEANS.format("hinge-l1") + "; plain", rows=ROWS.format("hinge-l1", 40), note="made\nup"),
    row(n=80, number_means=MEANS.format("svm-l2"), rows=ROWS.format("svm-l2", 80), note="made\nup", low=-0.05),
    row(
        n=None, verdict="not tested", number=np.nan, low=np.nan, high=np.nan, rows=None, number_means="there is no row"
    ),
    row(dataset="two", verdict="does not hold", number_means=MEANS.format("svm-l2"), rows="metric=auc", timed=True),
    row(id="c", paper="B", dataset="two", claim=NASTY, low=np.nan, high=np.nan, n=8.0, note=" "),
]
SHOWN[3] |= {"note": "made\nup"}
EXPECTED = r"""## A paper

### b

**Another.** sec. 1

- one, a: 1 demonstration
- Number: a number (fraction).

| study | n | case | number | interval | verdict | notes |
| --- | --- | --- | --- | --- | --- | --- |
| one, a | 40 |  | 2 (1 to 3) | `│···────────o────────` | demonstration |  |

### a-claim

**It is so.** sec. 1

- one, a\*: 2 hold, 1 not tested
- two, a: 1 does not hold
- All numbers: mean.
- Rows: metric=auc.

| study | n | case | number | interval | verdict | notes |
| --- | --- | --- | --- | --- | --- | --- |
| one, a\* | 40 | against l1 | 0.125 (0.1 to 0.15) | `··········│····───o──` | holds | over the other method; plain |
| one, a\* | 80 | against linear SVM | 0.125 (-0.05 to 0.15) | `──────────│───────o──` | holds | over the other method |
| one, a\* |  |  |  |  | not tested | there is no row |
| two, a | 40 |  | 0.125 (0.1 to 0.15) | `··········│····───o──` | does not hold (timed) | over linear SVM |

## B

### c

**a&#124;b c &lt;script&gt;x&lt;/script&gt; &amp; \`d\` \\&#124; \[e\](f) \*g\* \_h\_** sec. 1

- two, a: 1 holds
- Number: a number (fraction).

| study | n | case | number | interval | verdict | notes |
| --- | --- | --- | --- | --- | --- | --- |
| two, a | 8 |  | 0.125 |  | holds |  |

## Where the numbers come from

| study | table | file | seed | run with | note |
| --- | --- | --- | --- | --- | --- |
| one, a | chosen | chosen.csv | 20090614 | a.yaml |  |
| two, a | chosen | chosen.csv | 20090614 | a.yaml |  |
"""


def test_the_page_shows_counts_claims_rows_and_where_the_numbers_come_from(tmp_path):
    table = pd.DataFrame(SHOWN)
    lines = page.page(table).split("\n")
    assert "Verdicts on the numbers of the claims: 3 hold, 1 does not hold, 1 not tested, 1 demonstration." in lines
    assert "\n".join(lines[lines.index("## A paper") :]) == EXPECTED
    assert page.page(table.set_axis([0] * len(table))).split("\n") == lines  # as of tables that are joined
    tables.write_table(table.astype({"n": "Int64"}), tmp_path / "claims.csv")
    assert page.page(tables.read_table(tmp_path / "claims.csv")).split("\n") == lines


def test_a_dataset_and_notes_are_not_spoken_of_where_there_are_no_others():
    text = page.page(pd.DataFrame([row()]).drop(columns="note"))
    assert "\n- a: 1 holds\n" in text and "has a note" not in text and "| note |" not in text


def test_the_page_of_no_rows_counts_none():
    table = verdicts.judge({}, []).assign(**dict.fromkeys(page.ORIGINS))
    assert "|" not in page.page(table) and "No claim was judged." in page.document(table)


def test_the_page_needs_the_columns():
    with pytest.raises(ValueError, match="table must have the columns verdict, got id, "):
        page.page(pd.DataFrame([row()]).drop(columns="verdict"))


def test_every_claim_is_in_one_section():
    sections = [*verdicts.quattoni.SECTIONS.items(), *verdicts.duchi.SECTIONS.items()]
    assert sorted(name for _, names in sections for name in names) == sorted(verdicts.CLAIMS)
    assert len(dict(sections)) == len(sections)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["holds"] * 12 + ["undecided"] * 2, [("holds", "✓", "12/14"), ("undecided", "?", "2")]),
        (["holds", "does not hold"], [("does-not-hold", "✗", "1/2"), ("holds", "✓", "1")]),
        (["not tested"] * 3 + ["undecided"], [("undecided", "?", "1/1"), ("not-tested", "–", "3")]),
        (["not tested"] * 2, [("not-tested", "–", "2")]),
    ],
)
def test_a_chip_begins_with_the_most_frequent_verdict_and_hides_no_other(given, expected):
    html = page.overview(pd.DataFrame([row(verdict=verdict) for verdict in given]), "{}.html#{}".format)
    assert f'<a class="chip {expected[0][0]}" href="one.html#a-claim"' in html
    assert re.findall('<span class="([a-z-]+)"><b>(.)</b> (.*?)</span>', html) == expected


def test_a_strip_has_a_mark_for_each_tested_number_and_the_claimed_side_shaded():
    ratio = {"number": 10.0, "low": 1.0, "high": 100.0, "least": 10.0}  # on a logarithmic scale
    rows = [
        row(number=0.5, low=0.0, high=1.0, least=0.5, verdict="undecided"),
        row(number=0.25, low=np.nan, high=np.nan, least=0.5, verdict="does not hold"),
        row(verdict="not tested", number=np.nan, low=np.nan, high=np.nan, least=-np.inf),
        row(**ratio, most=20.0),
        row(**ratio | {"low": -1.0}),
        row(least=np.nextafter(0.0, 1.0)),
    ]
    html = page.overview(pd.DataFrame(rows), lambda *_: "")
    strips = re.findall(r'(?s)<svg class="strip".*?>(.*?)</svg>', html)
    # The left end and the width of the claimed side, its limits, then intervals and estimates.
    assert [re.findall(r'(?: x| width| d|cx)="(.*?)"', strip) for strip in strips] == [
        ["60.0", "60.0", "M60.0 0v8", "31.5", "M3.0 6.0H117.0", "60.0"],  # one has no interval
        ["60.0", "17.2", "M60.0 0v8", "M77.2 0v8", "M3.0 4.0H117.0", "60.0"],
        ["15.4", "104.6", "M15.4 0v8", "M3.0 4.0H117.0", "15.4"],
        ["3.0", "117.0", "M3.0 0v8", "M79.0 4.0H117.0", "98.0"],
    ]


def test_the_html_page_unfolds_to_show_the_numbers():
    html = page.document(pd.DataFrame(SHOWN))
    assert html.count('<details class="claim">') == 3 and ".claims .chip" in html and "<script" not in html
    assert html.count('href="#claim-a-claim"') == 2 and html.count('id="claim-a-claim"') == 1
    for text in (
        *("3 hold, 1 does not hold", "<li>two, a: 1 does not hold</li>", '<path class="limit" d="M50.0 0v12"/>'),
        *("a|b\nc &lt;script&gt;x&lt;/script&gt; &amp; `d`", "0.125 (-0.05 to 0.15)", "over the other method"),
    ):
        assert text in html


def test_the_verdicts_of_all_tables_of_a_study_are_counted_in_a_sentence():
    rows = [row(verdict=verdict) for verdict in ("holds", "does not hold", "demonstration", "demonstration", "level")]
    said = page.sentences_of_studies([pd.DataFrame(rows[:1]), pd.DataFrame(rows[1:])])
    counts = "1 is as claimed, 1 is level, 1 is not as claimed, 2 are not judged on such data"
    assert said == {("one", "a"): f"Of 5 numbers that the papers' claims are about, {counts}."}


def test_each_verdict_and_paper_has_a_filter_with_its_style():
    papers = {claim.paper for claim in verdicts.CLAIMS.values()}
    rows = [row(verdict=v, id=v, paper=p) for v, p in zip_longest(VERDICTS, papers, fillvalue=min(papers))]
    picked = re.findall(r'class="(pick-[a-z0-9-]+)"', page.overview(pd.DataFrame(rows), lambda *_: ""))
    assert len(picked) == len(VERDICTS) + len(papers) and all(f".{name}:checked" in page._style() for name in picked)
