"""The pages of claims: what they count, show, mark and escape."""

import re
from itertools import zip_longest

import pandas as pd
from pages import SHOWN
from pages import claim_row as row

from jointsparse.pipeline.papers import page, verdicts
from jointsparse.pipeline.papers.judging import VERDICTS
from jointsparse.pipeline.provenance import tables

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


def test_the_page_of_no_rows_counts_none():
    table = verdicts.judge({}, [], demonstration=False).assign(**dict.fromkeys(page.ORIGINS))
    assert "|" not in page.page(table) and "No claim was judged." in page.document(table)


def test_every_claim_is_in_one_section():
    sections = [*verdicts.quattoni.SECTIONS.items(), *verdicts.duchi.SECTIONS.items()]
    assert sorted(name for _, names in sections for name in names) == sorted(verdicts.CLAIMS)


def test_each_verdict_and_paper_has_a_filter_with_its_style():
    papers = {claim.paper for claim in verdicts.CLAIMS.values()}
    rows = [row(verdict=v, id=v, paper=p) for v, p in zip_longest(VERDICTS, papers, fillvalue=min(papers))]
    picked = re.findall(r'class="(pick-[a-z0-9-]+)"', page.overview(pd.DataFrame(rows), lambda *_: ""))
    assert len(picked) == len(VERDICTS) + len(papers) and all(f".{name}:checked" in page._style() for name in picked)
