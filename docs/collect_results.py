"""Write results.md, results/ and the numbers of the README from the tables under results/tables/.

python docs/collect_results.py --copy results     # first copy the tables of a run and their records
python docs/collect_results.py                    # only write the pages and figures again

The verdicts are computed anew from the tables, so the pages always agree with the claims as the code states them.
"""

import argparse
import gzip
import json
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml
from matplotlib import style
from matplotlib.figure import Figure

from jointsparse.metrics import STATISTICS
from jointsparse.pipeline import settings
from jointsparse.pipeline.figures.style import SHEET, canvas, in_order, label, legend, percent, size_axis
from jointsparse.pipeline.papers import catalogue, page, verdicts
from jointsparse.pipeline.papers.verdicts import CLAIMS
from jointsparse.pipeline.scores.flags import GAP
from jointsparse.pipeline.scores.runs import means

DOCS = Path(__file__).parent
CONFIG = settings.read(yaml.safe_load((DOCS.parent / "config.yaml").read_text()))
REAL = (
    "flickr8k", "scene15", "flickr8k-embedding", "scene15-embedding", "reuters21578", "mnist", "synthetic-full",
)  # fmt: skip
DRAWN = ("collage", "documents", "bigrams", "digits", "synthetic")
ARMS = {  # variations of the comparison on Flickr8k, by dataset and study
    ("flickr8k-arms", "arm"): "as annotation-power-chosen",
    ("flickr8k-tf-idf", "arm"): "visual words weighted by tf-idf",
    ("flickr8k-arms", "arm-raw"): "histograms without a basis",
    ("flickr8k-arms", "arm-rank-3000"): "rank 3,000",
    ("flickr8k-arms", "arm-unlabelled"): "basis fitted to unlabelled images only",
    ("flickr8k-arms", "arm-more-words"): "120 words instead of 40",
    ("flickr8k-arms", "arm-few"): "fewer training images",
}
NORMS = ("l1inf", "l12", "l1", "l2")
VERDICTS = ["dataset", "study", "id", "n", "number", "low", "high", "verdict"]  # columns of verdicts.csv
LARGEST_BYTES = 1_500_000  # larger tables are not copied; no verdict rests on them
PACKED = ("weights",)  # large tables, compressed when they are copied
COMPARISONS = {  # that the README sums up, by dataset and study: the features they learn from
    ("flickr8k", "annotation"): "plain",
    ("scene15", "annotation"): "plain",
    ("reuters21578", "text"): "plain",
    ("flickr8k", "annotation-whitened-1000"): "whitened, rank 1,000",
    ("scene15", "annotation-whitened-600"): "whitened, rank 600",
    ("reuters21578", "text-whitened-600"): "whitened, rank 600",
    ("flickr8k-embedding", "annotation-embedding"): "network",
    ("flickr8k-embedding", "annotation-embedding-whitened-400"): "network, whitened, rank 400",
    ("scene15-embedding", "annotation-embedding"): "network",
    ("scene15-embedding", "annotation-embedding-whitened-400"): "network, whitened, rank 400",
}
MARKS = "<!-- finding -->", "<!-- end of the finding -->"  # around the README's sentences with numbers

OPENING = """# Results

All numbers on this page are computed from the tables under `results/tables/`, which `snakemake reproduce-all` made with
the `config.yaml` beside them. `docs/collect_results.py` judges the claims, draws the figures and writes these pages.
Only the names and ranks of photographs in [What the maps show](#what-the-maps-show) were read off pictures by hand. The
folders `records/` beside the tables say how each table was made. The tables were made by these commits, given with the
number of studies: {commits}. `results/verdicts.csv` lists all verdicts with their numbers.

The papers' photographs were never published. Flickr8k, Fifteen Scene Categories and Reuters-21578 stand in for them;
only the synthetic tasks and MNIST are the papers' own data. Results on drawn and composed data are demonstrations, on
[a page of their own](results/demonstrations.md).

The names of the studies:

- `annotation`: the image annotation experiment of the ICML paper, with certified fits.
- `annotation-sweep`: the same experiment, trained as in the paper, by 200 subgradient steps on a grid.
- `annotation-power-chosen`: each method chooses by validation how much the singular values count.
- `annotation-whitened-200`, `-600` and `-1000`: whitened features for every method; the number is the rank of the
  basis. Whitening lowers the AUC of all methods, and that of l1,∞ least.
- `annotation-embedding`: the same comparison on the 1,280 features of a network that was trained on other photographs
  (EfficientNet-Lite0 on ImageNet), and on 400 whitened directions of them, `annotation-embedding-whitened-400`.
- `stories`: the experiment of the report.
- `scenes`: the experiment of the poster.
"""
DEMONSTRATIONS = """# Demonstrations

Drawn and composed data let the pipeline show something within minutes. They demonstrate the methods but are no
evidence, so claims about accuracy and sparsity get no verdict on them. Claims about speed and counted operations do,
and so do claims about the synthetic tasks, which are the papers' own data, here with fewer runs.
"""

MAPS = """## What the maps show

`jointsparse annotate` and the page draw which parts of a picture a score comes from. On the 1,000 test photographs of
Flickr8k the maps of the l1,∞ model show facts that no table shows. The numbers below are the photographs' file names;
ranks are among all 1,000 photographs.

- **dog** (AUC {dog}): lawns and dry grass raise the score. In 270724499 and 3028969146, both among the first ten, the
  dog itself lowers it. Two of the mistakes among the first thirty, 263854883 and 2763044275, do show dogs: their
  captions say "dogs", which counts as another word.
- **grass** ({grass}): any fine, even texture raises the score. Fallen leaves (2999730677) and a brick wall (3686924335)
  are mistakes of this kind, both among the first forty.
- **jumping** ({jumping}): dark shapes under a bright sky raise the score. A row of houses (260520547) is ranked first.
- **group** ({group}): many upright edges raise the score. Tree trunks (3299820401) are among the first ten, a skyline
  (524105255) is among the first thirty.
- **ball** ({ball}): the lawn raises the score, not the ball. Three pictures of dogs without a ball are among the first
  twenty (1626754053, 2358898017, 2573625591).
"""


class Study(NamedTuple):
    """A study of a dataset, with its folder, its settings, and its tables by name."""

    dataset: str
    name: str
    folder: Path
    settings: dict[str, Any]
    tables: dict[str, pd.DataFrame]

    @property
    def block(self) -> dict[str, Any]:
        block: dict[str, Any] = self.settings["studies"][self.name]
        return block

    @property
    def entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = self.settings["datasets"][self.dataset]
        return entry


def copy(results: Path, target: Path) -> None:
    """Copy the settings of each study, and the tables that a claim or a figure reads, with their records.

    Older copies of a study are replaced. The tables of final fits are copied too.
    """
    for file in [*results.glob("*/final/*.csv"), *results.glob("*/final/records/*.csv.json")]:
        copied = target / file.relative_to(results)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copied)
    for config in sorted(results.glob("*/*/config.yaml")):
        block = yaml.safe_load(config.read_text())["studies"][config.parent.name]
        needed = {"chosen", "differences"}
        needed |= {table for name in block["claims"] for table in CLAIMS[name].tables}
        kinds = [catalogue.FIGURES[name] for name in block["figures"]]
        needed |= {table for kind in kinds for table in (kind.table, kind.beside)}
        copied = target / config.parent.relative_to(results)
        files = [file for file in config.parent.glob("t[ai]*/*.csv") if file.stem in needed]
        if not files:
            continue
        shutil.rmtree(copied, ignore_errors=True)
        for file in [config, *files]:
            content, name = file.read_bytes(), file.name
            if file.stem in PACKED:
                content, name = gzip.compress(content, mtime=0), f"{name}.gz"
            if len(content) > LARGEST_BYTES:
                continue
            folder = copied / file.parent.relative_to(config.parent)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            if (record := file.parent / "records" / f"{file.name}.json").exists():
                (folder / "records").mkdir(exist_ok=True)
                shutil.copy(record, folder / "records")


def studies(tables: Path, datasets: tuple[str, ...]) -> Iterator[Study]:
    """Yield the studies that have tables, in the order of the datasets."""
    for dataset in datasets:
        for config in sorted((tables / dataset).glob("*/config.yaml")):
            settings = yaml.safe_load(config.read_text())
            yield Study(dataset, config.parent.name, config.parent, settings, read_tables(config.parent))


def judged(study: Study, tables: Path) -> pd.DataFrame:
    """Return the verdicts of a study, with their origin."""
    demonstration = bool(study.entry.get("demonstration", False))
    rows = verdicts.judge(study.tables, claims_of(study), demonstration=demonstration)
    sources = {name: f"tables/{file.relative_to(tables)}" for name, file in files_of(study.folder).items()}
    config = f"tables/{(study.folder / 'config.yaml').relative_to(tables)}"
    origin = {"dataset": study.dataset, "study": study.name, "seed": study.settings["seed"], "config": config}
    note = CONFIG.datasets[study.dataset].note if study.dataset in CONFIG.datasets else ""
    return rows.assign(source=rows["table"].map(sources), note=note, **origin)


def claims_of(study: Study) -> list[str]:
    """Return the claims that config.yaml names for a study.

    A study that config.yaml no longer has keeps the claims that it was run with.
    """
    today = CONFIG.datasets[study.dataset].studies if study.dataset in CONFIG.datasets else {}
    return today[study.name].claims if study.name in today else list(study.block["claims"])


def write(docs: Path, readme: Path, *, figures: bool = True) -> None:
    """Write all pages, and the README's numbers. figures: False keeps the pictures as they are."""
    tables = docs / "results" / "tables"
    by_study = [rows for study in studies(tables, REAL + DRAWN) if len(rows := judged(study, tables))]
    verdicts_of_all = pd.concat(by_study, ignore_index=True)
    verdicts_of_all[VERDICTS].to_csv(docs / "results" / "verdicts.csv", index=False)
    by_dataset = {name: rows for name, rows in verdicts_of_all.groupby("dataset", sort=False) if name in REAL}
    for dataset, rows in by_dataset.items():
        text = page.page(rows, f"# The papers' claims: {dataset}")
        (docs / "results" / f"{dataset}.md").write_text(text)
    claims = page.overview(pd.concat(by_dataset.values()), lambda dataset, name: f"results/{dataset}.md#{name}")
    lines = [OPENING.format(commits=commits(tables)), "## Claims", "", claims, "## Figures", ""]
    lines += drawn(docs, REAL, "results/", figures=figures)
    lines += [*finals(tables), *maps(tables), *few_words(tables), *arms(tables)]
    lines[1:1] = comparisons(tables)
    (docs / "results.md").write_text("\n".join(lines).rstrip() + "\n")
    lines = [DEMONSTRATIONS, *drawn(docs, DRAWN, "", figures=figures)]
    text = page.page(verdicts_of_all[verdicts_of_all["dataset"].isin(DRAWN)], "## The papers' claims")
    (docs / "results" / "demonstrations.md").write_text("\n".join([*lines, text]))
    before, _, rest = readme.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    readme.write_text(
        f"{before}{MARKS[0]}\n{finding(tables, png=docs / 'finding.png')}\n{MARKS[1]}{after}",
        encoding="utf-8",
    )


def commits(tables: Path) -> str:
    """Return the commits that made the tables, with the number of studies that each commit made."""
    of_studies: dict[str, set[str]] = {}
    for file in sorted(tables.glob("*/*/**/records/*.json")):
        study = "/".join(file.relative_to(tables).parts[:2])
        for commit in json.loads(file.read_text())["made_with"]["commit"]:
            of_studies.setdefault(commit[:7] + commit[40:], set()).add(study)  # "-dirty" stays
    most = sorted(of_studies, key=lambda commit: -len(of_studies[commit]))
    return _joined(f"`{commit}` {len(of_studies[commit])}" for commit in most)


def drawn(docs: Path, datasets: tuple[str, ...], prefix: str, *, figures: bool) -> list[str]:
    """Draw the figures that have a table, and return the lines that show them."""
    lines = []
    for study in studies(docs / "results" / "tables", datasets):
        shown = []
        for name in study.block["figures"]:
            kind = catalogue.FIGURES.get(name)
            if kind is None or kind.table not in study.tables:
                continue
            file = f"{study.dataset}_{study.name}_{name}.png"
            if figures:
                options = {
                    "beside": study.tables.get(kind.beside),
                    "beside_paper": study.entry.get("beside_paper", False),
                }
                try:
                    catalogue.draw(name, study.tables[kind.table], **options).savefig(docs / "results" / file)
                except (KeyError, ValueError) as error:
                    print(f"{study.dataset}, {study.name}: {name} is not drawn: {error}")
            if (docs / "results" / file).exists():
                shown += [f"![{name.replace('_', ' ')}: {study.dataset}, {study.name}]({prefix}{file})", ""]
        lines += [f"### {study.dataset}, {study.name}", "", *shown] if shown else []
    return lines


def finals(tables: Path) -> list[str]:
    """Return a table of the final fits, with means over the words on the test images and their intervals."""
    lines = []
    for dataset in REAL:
        for file in sorted((tables / dataset / "final").glob("*.csv"), key=lambda file: NORMS.index(file.stem)):
            *of_words, mean = pd.read_csv(file).to_dict("records")
            told = [f"{_3(mean[key])} ({_3(mean[f'{key}_low'])} to {_3(mean[f'{key}_high'])})" for key in STATISTICS]
            numbers = f"{len(of_words)} | {mean['images']:,} | {' | '.join(told)} | {mean['features']:,}"
            lines.append(f"| {dataset} | {label(file.stem)} | {numbers} |")
    if not lines:
        return []
    said = [
        "For each norm one model was trained on all training and validation images and tested once. The loss is",
        "logistic. With at least 2,000 images a single split chose the radius, otherwise five folds. The 95 %",
        "intervals are over test images; they do not include the variation over training images.",
    ]
    named = [statistic.label for statistic in STATISTICS.values()]
    columns = ["dataset", "norm", "words", "images with a word", *named, "features"]
    head = f"| {' | '.join(columns)} |"
    return ["## Models of all labelled images", "", *said, "", head, f"|{' --- |' * len(columns)}", *lines, ""]


def maps(tables: Path) -> list[str]:
    """Return the section on the maps of the l1,∞ model of Flickr8k, with the AUC of each word."""
    file = tables / "flickr8k" / "final" / "l1inf.csv"
    if not file.exists():
        return []
    return [MAPS.format_map(pd.read_csv(file, index_col="word")["auc"].map(_3))]


def few_words(tables: Path) -> list[str]:
    """Return a table that compares learning from visual words with learning in the SVD basis."""
    lines = []
    for study, what in (("direct", "visual words"), ("annotation", "basis of all visual words")):
        found = read_tables(tables / "flickr8k" / study)
        if not found:
            return []
        chosen = found["chosen"].query("n == 80 and run <= 3 and method != 'svm-l2'")
        for method, (auc, features) in (
            chosen.groupby("method", sort=False)[["auc_weighted", "features"]].mean().iterrows()
        ):
            lines.append(f"| {what} | {label(str(method))} | {_3(auc)} | {percent(features, ' ')} |")
    said = [
        "The study `direct` of Flickr8k learns from the histograms of visual words themselves, without a basis, from",
        "80 positives per word; the table has means of three runs. Without a basis, only the visual words that the",
        "model uses have to be counted in a new picture. With a basis all are needed, even for a single feature.",
    ]
    head = "| features | norm | AUC | features in use |"
    return ["## Few of all visual words", "", *said, "", head, f"|{' --- |' * 4}", *lines, ""]


def arms(tables: Path) -> list[str]:
    """Return a table of further settings that the comparison on Flickr8k may depend on, a line per arm and size."""
    lines = []
    for (dataset, name), what in ARMS.items():
        found = read_tables(tables / dataset / name)
        if not found:
            continue
        chosen = found["chosen"].groupby(["n", "method"])[["auc_weighted", "features"]].mean()
        leads = compared(found).pivot_table("difference", "n", "against")
        for n in leads.index:
            auc, features = chosen.loc[(n, "hinge-l1inf")]
            over = " | ".join(_3(leads.loc[n, against]) for against in ("hinge-l1", "hinge-l2", "svm-l2"))
            lines.append(f"| {what} | {n} | {found['chosen']['run'].nunique()} | {_3(auc)} | {features:.0%} | {over} |")
    if not lines:
        return []
    head = "| setting | n | runs | AUC of l1,∞ | features used | lead over l1 | over l2 | over LinearSVC |"
    said = [
        "Variations of the comparison `annotation-power-chosen`, one setting at a time: the AUC of l1,∞ and its leads.",
        "There are too few runs for intervals and verdicts.",
    ]
    return ["## Other settings on Flickr8k", "", *said, "", head, f"|{' --- |' * 8}", *lines, ""]


# What the README says first


def finding(tables: Path, *, png: Path) -> str:
    """Return the README's sentences on the main results, and draw their figure."""
    plain, whitened = (read_tables(tables / "flickr8k" / name) for name in ("annotation", "annotation-whitened-1000"))
    draw_finding({"plain features": plain["chosen"], "whitened, rank 1,000": whitened["chosen"]}).savefig(png)
    errors = synthetic_errors(tables).pivot_table("test_error", "n", "method")
    lowest = (errors["hinge-l1inf"] < errors.drop(columns="hinge-l1inf").min(axis=1)).sum()
    at_sizes = f"all {lowest}" if lowest == len(errors) else f"{lowest} of {len(errors)}"
    whitened_leads = leads(tables).query("features.str.startswith('whitened') and against == 'hinge-l2'")
    scores = {}
    n = whitened["chosen"]["n"].min()
    for name, study in (("plain", plain), ("whitened", whitened)):
        scores[name] = study["chosen"].query("n == @n").groupby("method")["auc_weighted"].mean()
    features = 100 * plain["chosen"].query("method == 'hinge-l1inf'").groupby("n")["features"].mean()
    plain_leads = leads(tables).query("features == 'plain' and against == 'hinge-l2'")
    behind = -plain_leads.query("dataset != 'flickr8k'")["difference"]
    behind_on_network = -leads(tables).query("features == 'network' and against == 'hinge-l2'")["difference"]
    parts = {
        "Tasks that share their features": (
            f"In the papers' synthetic experiment l1,∞ has the lowest test error at {at_sizes} training "
            f"sizes; with 80 samples per task it is {_3(errors['hinge-l1inf'][80])}, against "
            f"{_3(errors['hinge-l1'][80])} with l1."
        ),
        "Whitened features": (
            f"l1,∞ is significantly ahead of l2 in {(whitened_leads['low'] > 0).sum()} of {len(whitened_leads)} "
            f"comparisons and behind in {(whitened_leads['high'] < 0).sum()}. Whitening itself costs accuracy, "
            f"however: on Flickr8k with {n} positives per word, l1,∞ on whitened features has an AUC of "
            f"{_3(scores['whitened']['hinge-l1inf'])}, l2 on plain features {_3(scores['plain']['hinge-l2'])}."
        ),
        "Plain features": (
            f"On Flickr8k the AUC of l1,∞ is within {_3(lead(plain, 'hinge-l2').abs().max())} of that of l2, with "
            f"{features.min():.0f} to {features.max():.0f} % of the features. On Scene-15 and Reuters-21578 l1,∞ is "
            f"behind l2 by {_2(behind.min())} to {_2(behind.max())}, and on the features of a pretrained network by "
            f"{_2(behind_on_network.min())} to {_2(behind_on_network.max())}."
        ),
    }
    return "\n".join(_filled(f"- **{title}.** {text}") for title, text in parts.items())


def leads(tables: Path) -> pd.DataFrame:
    """Return the leads of l1,∞ in AUC over l1 and l2 in each main comparison, with its share of features."""
    parts = []
    for (dataset, name), features in COMPARISONS.items():
        study = read_tables(tables / dataset / name)
        used = study["chosen"].query("method == 'hinge-l1inf'").groupby("n")["features"].mean()
        rows = compared(study).query("against in ('hinge-l1', 'hinge-l2')")
        parts.append(rows.assign(dataset=dataset, features=features, used=rows["n"].map(used)))
    return pd.concat(parts, ignore_index=True)


def synthetic_errors(tables: Path) -> pd.DataFrame:
    """Return the rows of the papers' synthetic experiment whose radii validation chose."""
    recovery = read_tables(tables / "synthetic-full" / "recovery")["recovery"]
    return recovery.query("radius_rule == 'validated'")


def comparisons(tables: Path) -> list[str]:
    """Return a table of the leads of l1,∞ in AUC over l1 and l2, a line for each dataset, features and size."""
    lines = []
    for (dataset, features, n), rows in leads(tables).groupby(["dataset", "features", "n"], sort=False):
        over = rows.set_index("against")
        cells = [with_interval(over.loc[other]) for other in ("hinge-l2", "hinge-l1")]
        lines.append(f"| {dataset} | {features} | {n} | {' | '.join(cells)} | {percent(rows['used'].iloc[0], ' ')} |")
    studies_chosen = [read_tables(tables / dataset / name)["chosen"] for dataset, name in COMPARISONS]
    gaps = pd.concat([*studies_chosen, synthetic_errors(tables)])["gap"].dropna()
    said = [
        "Leads of l1,∞ in mean AUC with 95 % intervals; a lead is significant if its interval excludes 0. All methods",
        "use the hinge loss and choose their radii by validation; n is the number of positives per task. Features are",
        "visual words, words, or those of a pretrained network. Each fit",
        f"has a certificate of its distance from the optimum: {(gaps > GAP).sum()} of {len(gaps):,} fits, those of",
        f"the synthetic tasks included, may be more than {100 * GAP:.0f} % away.",
    ]
    head = "| dataset | features | n | lead over l2 | lead over l1 | features that l1,∞ uses |"
    return ["## l1,∞ against l2 and l1", "", *said, "", head, f"|{' --- |' * 6}", *lines, ""]


def with_interval(lead: pd.Series) -> str:
    """Return a lead with its interval, if there are enough runs for one."""
    interval = "" if np.isnan(lead["low"]) else f" ({_3(lead['low'])} to {_3(lead['high'])})"
    return f"{_3(lead['difference'])}{interval}"


def draw_finding(studies: dict[str, pd.DataFrame]) -> Figure:
    """Draw mean AUC by size with 95 % intervals over runs, a panel per study, and the features that l1,∞ uses."""
    with style.context(SHEET):
        figure, panels = canvas(9.6, 3.4, len(studies), sharey=True)
        for axes, (title, chosen) in zip(panels, studies.items(), strict=True):
            look = in_order(chosen)
            for method, rows in means(chosen).groupby("method", sort=False):
                half = rows["high"] - rows["auc_weighted"]
                axes.errorbar(rows["n"], rows["auc_weighted"], half, label=label(method), **look[method])
                if method == "hinge-l1inf":
                    for at in rows.itertuples():
                        place = {"transform": axes.get_xaxis_transform(), "color": look[method]["color"]}
                        axes.text(at.n, 0.03, percent(at.features, " "), ha="center", fontsize=8, **place)
            size_axis(axes, chosen["n"], "positive photographs per word (n)")
            axes.set_title(f"{title}\n(numbers: share of the features that l1,∞ uses)", fontsize=10)
            axes.margins(y=0.12)
        panels[0].set_ylabel("mean test AUC of 30 words")
        legend(figure)
    return figure


def _filled(text: str) -> str:
    return textwrap.fill(text, 125, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def files_of(folder: Path) -> dict[str, Path]:
    """Return the files of a study's tables by name, compressed or not."""
    return {file.name.split(".")[0]: file for file in sorted(folder.glob("t[ai]*/*.csv*"))}


@cache
def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of a study by name."""
    return {name: pd.read_csv(file) for name, file in files_of(folder).items()}


def lead(tables: dict[str, pd.DataFrame], against: str) -> pd.Series:
    """Return the lead in AUC of l1,∞ over another method, by size."""
    return compared(tables).query("against == @against").set_index("n")["difference"].sort_index()


def compared(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the leads in AUC of l1,∞ over all other methods, with intervals."""
    return tables["differences"].query("metric == 'auc' and words == 'test words' and average == 'by positives'")


def _3(number: float) -> str:
    """Return a number with three digits, without a leading 0 and with a proper minus sign."""
    return f"{number:.3f}".replace("0.", ".", 1).replace("-", "−")


def _2(number: float) -> str:
    """Return a positive number with two digits, without a leading 0."""
    return f"{number:.2f}".replace("0.", ".", 1)


def _joined(texts: Iterable[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the results pages from their tables.")
    parser.add_argument("--copy", type=Path, metavar="RESULTS", help="first copy the tables of a run from RESULTS")
    arguments = parser.parse_args()
    if arguments.copy:
        copy(arguments.copy, DOCS / "results" / "tables")
    write(DOCS, DOCS.parent / "README.md")
