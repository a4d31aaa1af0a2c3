"""Write results.md and results/: the verdicts of all runs, and the figures of datasets that may be shown.

python docs/collect_results.py collage+documents+bigrams+digits+synthetic synthetic-full flickr8k scene15 ...

Reads results/claims/<run>/ of each run named (reuters21578 and mnist, too), and the figures of the embedded datasets.
"""

import shutil
import sys
from pathlib import Path

import pandas as pd

from jointsparse.papers.catalogue import FIGURES
from jointsparse.papers.claims import overall

EMBEDDED = ("collage", "documents", "bigrams", "digits", "synthetic", "synthetic-full")
LARGEST_BYTES = 200_000  # larger tables stay where they were made
HERE = Path(__file__).parent

OPENING = """# Results

Every number here was made by `snakemake reproduce-all` with the `config.yaml` that its row names. This page is put
together by `docs/collect_results.py`. Verdicts follow from the numbers by the rule at the top of
`src/jointsparse/papers/claims.py`; nobody typed them. Each links to a page that has a row for every claim: our
number, its 95 % interval, and the rows and the file that they come from. The row names the seed and the settings of
the study, too. These files lie under `results/tables/` here, but for the largest.

The papers' photographs were never published. Flickr8k, Fifteen Scene Categories and Reuters-21578 are other data for
the same experiments. The embedded datasets (collage, documents, bigrams, digits) are there so that the pipeline has
something to show in minutes. `documents` is even drawn so that sharing features pays. Only the synthetic tasks and
MNIST are the papers' own. The page of Flickr8k was made by an earlier version. Nothing that its numbers rest on has
changed since.
"""


def collect(results: Path, runs: list[str]) -> None:
    target = HERE / "results"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    judged = {}
    for run in runs:
        claims = results / "claims" / run
        shutil.copy(claims / "claims.md", target / f"{run}.md")
        shutil.copy(claims / "claims.csv", target / f"{run}.csv")
        shutil.copy(claims / "timings" / "claims.csv", target / f"{run}_timed.csv")
        tables = [pd.read_csv(target / name) for name in (f"{run}.csv", f"{run}_timed.csv")]
        if tables[1].empty:
            (target / f"{run}_timed.csv").unlink()
        judged[run] = pd.concat([table for table in tables if len(table)])
        for file in {*judged[run]["source"].dropna(), *judged[run]["config"]}:
            source = results.parent / file
            if source.stat().st_size < LARGEST_BYTES:
                copy = target / "tables" / source.relative_to(results)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy)
    lines = [OPENING, "## Claims", "", *summary(judged), "", "## Figures", "", "Of embedded and drawn data only.", ""]
    for dataset in EMBEDDED:
        for folder in sorted((results / dataset).glob("*/figures")):
            lines += [f"### {dataset}, {folder.parent.name}", ""]
            for name in FIGURES:
                if (folder / f"{name}.png").exists():
                    file = f"{dataset}_{folder.parent.name}_{name}.png"
                    shutil.copy(folder / f"{name}.png", target / file)
                    lines += [f"![{name}](results/{file})", ""]
    (HERE / "results.md").write_text("\n".join(lines).rstrip() + "\n")


def summary(judged: dict[str, pd.DataFrame]) -> list[str]:
    """A line per claim, a column per run: the verdict of each of its studies."""
    header = ["claim", *(f"[{run.replace('+', ', ')}](results/{run}.md)" for run in judged)]
    lines = [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}"]
    everything = pd.concat(judged.values()).drop_duplicates("id")
    for claim in everything.itertuples():
        cells = [f"{claim.claim} {claim.paper}, {claim.place} (`{claim.id}`)"]
        for table in judged.values():
            of_studies = table[table["id"] == claim.id].groupby(["dataset", "study"], sort=False)["verdict"]
            cells.append("<br>".join(f"{', '.join(study)}: **{overall(all_of)}**" for study, all_of in of_studies))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    collect(HERE.parent / "results", sys.argv[1:])
