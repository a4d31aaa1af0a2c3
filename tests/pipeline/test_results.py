"""The pages of results, their verdicts and the numbers in the README follow from the committed tables."""

import shutil
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import collect_results  # noqa: E402


def test_pages_verdicts_and_numbers_follow_from_the_committed_tables(tmp_path):
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "README.md", tmp_path)
    pages = [*(tmp_path / "docs" / "results").glob("*.md"), tmp_path / "docs" / "results.md"]
    verdicts, readme = tmp_path / "docs" / "results" / "verdicts.csv", tmp_path / "README.md"
    for file in (*pages, verdicts):
        file.unlink()
    before, rest = readme.read_text().split(collect_results.MARKS[0])
    readme.write_text(before + collect_results.MARKS[0] + " numbers\n" + rest[rest.index(collect_results.MARKS[1]) :])
    collect_results.write(tmp_path / "docs", readme, figures=False)
    got, expected = pd.read_csv(verdicts), pd.read_csv(ROOT / verdicts.relative_to(tmp_path))
    # Sums may be added in another order on another machine.
    pd.testing.assert_frame_equal(got, expected, rtol=1e-9, atol=1e-12)
    for file in (*pages, readme):
        assert file.read_text() == (ROOT / file.relative_to(tmp_path)).read_text(), file.name
