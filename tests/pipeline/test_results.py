"""The pages of results, their verdicts and the numbers in the README follow from the committed tables."""

import re
import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


def test_pages_verdicts_and_numbers_follow_from_the_committed_tables(tmp_path):
    spec = spec_from_file_location("collect_results", ROOT / "docs" / "collect_results.py")
    collect = module_from_spec(spec)
    spec.loader.exec_module(collect)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "README.md", tmp_path)
    results = tmp_path / "docs" / "results"
    pages = [*results.glob("*.md"), tmp_path / "docs" / "results.md"]
    assert len(pages) > 2
    for page in [*pages, results / "verdicts.csv"]:
        page.unlink()
    readme = tmp_path / "README.md"
    before, _, rest = readme.read_text().partition(collect.MARKS[0])
    readme.write_text(before + collect.MARKS[0] + " numbers\n" + "".join(rest.partition(collect.MARKS[1])[1:]))
    collect.write(tmp_path / "docs", readme, figures=False)
    got, expected = (pd.read_csv(folder / "verdicts.csv") for folder in (results, ROOT / "docs" / "results"))
    # Sums may be added in another order on another machine.
    pd.testing.assert_frame_equal(got, expected, rtol=1e-9, atol=1e-12)
    assert set(collect.CLAIMS) <= set(got["id"])
    for page in [*pages, readme]:
        assert page.read_text() == (ROOT / page.relative_to(tmp_path)).read_text(), page.name


def test_each_count_of_the_overview_is_that_of_the_verdicts_and_links_to_the_claim_on_the_page_of_its_dataset():
    table = pd.read_csv(RESULTS / "verdicts.csv")
    text = (ROOT / "docs" / "results.md").read_text()
    links = re.findall(r'<a class="chip[^"]*" href="(results/[^"#]+\.md)#([^"]+)" title="([^"]*): ([^"]*)">', text)
    for file, name, dataset, tally in links:
        assert f"\n### {name}\n" in (ROOT / "docs" / file).read_text()
        rows = table[(table["dataset"] == dataset) & (table["id"] == name)]
        n_of = {
            word: int(n) for n, word in re.findall(r"(\d+) (hold|does not|do not|undecided|level|not tested)", tally)
        }
        expected = {"hold": "holds", "do not": "does not hold", "does not": "does not hold"}
        assert {expected.get(word, word): n for word, n in n_of.items()} == rows["verdict"].value_counts().to_dict()
    pages = {file.stem for file in RESULTS.glob("*.md")}
    shown = table[table["dataset"].isin(pages)].groupby(["dataset", "id"]).ngroups
    assert len(links) == len(set(links)) == shown > 50
