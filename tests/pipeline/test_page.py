"""The pages of claims: what they count, show, mark and escape."""

import re

import numpy as np
import pandas as pd
import pytest

from jointsparse.pipeline.papers import page, verdicts
from jointsparse.pipeline.papers.judging import VERDICTS
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


def chips(html):
    """The text of each chip, by dataset."""
    found = re.findall(r'(?s)<a class="chip ([a-z-]+)" href="([^"]*)" title="[^"]*">(.*?)<span class="mix"', html)
    return [(lead, href, " ".join(re.sub(r"<[^>]*>", "", text).split())) for lead, href, text in found]


def test_the_page_shows_counts_claims_rows_and_where_the_numbers_come_from(tmp_path):
    table = pd.DataFrame(SHOWN)
    lines = page.page(table).split("\n")
    assert "Verdicts on the numbers of the claims: 3 hold, 1 does not hold, 1 not tested, 1 demonstration." in lines
    assert "\n".join(lines[lines.index("## A paper") :]) == EXPECTED
    assert page.page(table.set_axis([0] * len(table))).split("\n") == lines  # as of tables that are joined
    tables.write_table(table.astype({"n": "Int64"}), tmp_path / "claims.csv")
    assert page.page(tables.read_table(tmp_path / "claims.csv")).split("\n") == lines


def test_studies_of_one_dataset_are_called_by_their_name_alone():
    assert "\n- a: 1 holds\n" in page.page(pd.DataFrame([row()]))


def test_claims_stand_in_the_order_of_the_papers_under_their_sections():
    names = ["online-loss", "unknown", "auc-order", "synthetic-error-order"]
    papers = ["Duchi", "Duchi", "Quattoni", "Quattoni"]
    text = page.page(pd.DataFrame([row(id=name, paper=paper) for name, paper in zip(names, papers, strict=True)]))
    headings = re.findall(r"(?m)^##+ .*", text)[:-1]
    assert headings == [
        *("## Quattoni: Section 5: synthetic tasks", "### synthetic-error-order"),
        *("## Quattoni: Section 6.2: image annotation", "### auc-order"),
        *("## Duchi: Section 7: online learning", "### online-loss", "## Duchi", "### unknown"),
    ]


def test_every_claim_is_in_one_section():
    titles = [title for claims in (verdicts.quattoni, verdicts.duchi) for title in claims.SECTIONS]
    names = [name for claims in (verdicts.quattoni, verdicts.duchi) for of in claims.SECTIONS.values() for name in of]
    assert sorted(names) == sorted(verdicts.CLAIMS) and len(set(titles)) == len(titles)


def test_the_rule_of_a_claim_is_printed_from_its_shape_and_limits():
    text = page.page(pd.DataFrame([row(id="features-to-match")]))
    assert " ".join(verdicts.CLAIMS["features-to-match"].shape.__doc__.split()) in text
    assert "It holds if it is at least 2." in text
    assert "It holds if it is below 0, and is level within ±0.01." in verdicts.rule_of("eer-order")
    assert "It holds if it is at least -0.02 and at most 0.02." in verdicts.rule_of("radius-by-validation")
    limits = re.compile(r"It holds if it is (above|below|at least|at most) [-\d]")
    assert all(limits.search(verdicts.rule_of(name)) for name in verdicts.CLAIMS)


def test_notes_are_not_spoken_of_where_there_are_none():
    without = page.page(pd.DataFrame([row()]).drop(columns="note"))
    assert "has a note" not in without and "| note |" not in without
    assert page.page(pd.DataFrame([row(note=np.nan)])) == without


def test_the_page_of_no_rows_counts_none():
    table = verdicts.judge({}, []).assign(**dict.fromkeys(page.ORIGINS))
    assert "|" not in page.page(table)
    assert "No claim was judged." in page.document(table)


def test_a_chip_counts_the_numbers_of_a_dataset_and_leads_to_them():
    html = page.overview(pd.DataFrame(SHOWN), lambda dataset, name: f"{dataset}.html#{name}")
    assert chips(html) == [
        ("demonstration", "one.html#b", "one ◇ 1/1"),
        ("holds", "one.html#a-claim", "one ✓ 2/2 – 1"),
        ("does-not-hold", "two.html#a-claim", "two ✗ 1/1"),
        ("holds", "two.html#c", "two ✓ 1/1"),
    ]
    assert 'title="one: 2 hold, 1 not tested"' in html
    assert html.count('id="a-claim"') == 1
    assert not re.search(r"(?m)^\s*$|^\s+", html.rstrip()), "Markdown would end the HTML at an empty line"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["holds"] * 13 + ["level"], ("holds", "✓ 13/14 ≈ 1")),
        (["holds"] * 12 + ["undecided"] * 2, ("holds", "✓ 12/14 ? 2")),
        (["holds", "does not hold"], ("does-not-hold", "✗ 1/2 ✓ 1")),
        (["not tested"] * 3 + ["undecided"], ("undecided", "? 1/1 – 3")),
        (["not tested"] * 2, ("not-tested", "– 2")),
    ],
)
def test_a_chip_begins_with_the_most_frequent_verdict_and_hides_no_other(given, expected):
    table = pd.DataFrame([row(verdict=verdict) for verdict in given])
    ((lead, _, text),) = chips(page.overview(table, lambda *_: ""))
    assert (lead, text.removeprefix("one ")) == expected


def strips(*rows):
    return re.findall(r"(?s)<svg class=\"strip\".*?</svg>", page.overview(pd.DataFrame(rows), lambda *_: ""))


def test_a_strip_has_a_mark_for_each_tested_number_and_the_claimed_side_shaded():
    (strip,) = strips(
        row(number=0.5, low=0.0, high=1.0, least=0.5, verdict="undecided"),
        row(number=0.25, low=np.nan, high=np.nan, least=0.5, verdict="does not hold"),
        row(verdict="not tested", number=np.nan, low=np.nan, high=np.nan, least=-np.inf),
    )
    assert re.findall(r'<g class="([a-z-]+)".*?cx="([\d.]+)"', strip) == [
        ("does-not-hold", "31.5"),
        ("undecided", "60.0"),
    ]
    assert '<path d="M3.0 6.0H117.0"/>' in strip and strip.count("<path d=") == 1  # one has no interval
    assert '<path class="limit" d="M60.0 0v8"/>' in strip
    assert '<rect class="zone" x="60.0" width="60.0" height="8"/>' in strip


def test_numbers_with_other_limits_have_a_strip_of_their_own_and_ratios_a_logarithmic_scale():
    ratio = {"number": 10.0, "low": 1.0, "high": 100.0, "least": 10.0}
    assert len(strips(row(), row(), row(least=-np.inf, most=1.0))) == 2
    assert 'cx="60.0"' in strips(row(**ratio))[0]
    assert 'cx="60.0"' not in strips(row(**ratio | {"low": -1.0}))[0]
    assert "nan" not in strips(row(least=np.nextafter(0.0, 1.0)))[0]


def test_the_html_page_unfolds_to_show_the_numbers():
    html = page.document(pd.DataFrame(SHOWN))
    assert html.count('<details class="claim">') == 3 and ".claims .chip" in html and "<script" not in html
    assert "3 hold, 1 does not hold" in html
    assert "a|b\nc &lt;script&gt;x&lt;/script&gt; &amp; `d`" in html
    assert html.count('href="#claim-a-claim"') == 2 and html.count('id="claim-a-claim"') == 1
    assert '<path class="limit" d="M50.0 0v12"/>' in html
    for text in (
        "0.125 (-0.05 to 0.15)",
        "over the other method",
        "against linear SVM",
        "<li>two, a: 1 does not hold</li>",
    ):
        assert text in html


def test_the_verdicts_of_a_study_are_counted_in_a_sentence():
    rows = [row(verdict=verdict) for verdict in ("holds", "does not hold", "demonstration", "demonstration", "level")]
    said = page.sentences_of_studies([pd.DataFrame(rows[:1]), pd.DataFrame([*rows[1:], row(study="b")])])
    assert said["one", "a"] == (
        "Of 5 numbers that the papers' claims are about, 1 is as claimed, 1 is level, 1 is not as claimed, 2 are not "
        "judged on such data."
    )
    assert said["one", "b"] == "Of 1 number that the papers' claims are about, 1 is as claimed."
    assert page.sentences_of_studies([]) == {}


def test_each_verdict_and_paper_has_a_filter_with_its_style():
    style = str(page._style())
    html = page.overview(pd.DataFrame([row(verdict=v, id=v, paper=v) for v in VERDICTS[:4]]), lambda *_: "")
    picked = re.findall(r'class="(pick-[a-z0-9-]+)"', html)
    assert len(picked) == 8 and all(f".{name}:checked" in style for name in picked)
    n_papers = len({claim.paper for claim in verdicts.CLAIMS.values()})
    assert f".pick-paper-{n_papers}:checked" in style


def test_the_page_needs_the_columns():
    with pytest.raises(ValueError, match="table must have the columns verdict, got id, "):
        page.page(pd.DataFrame([row()]).drop(columns="verdict"))
