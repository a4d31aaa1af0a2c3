"""Write results.md, results/ and the numbers of the README from the tables under results/tables/.

python docs/collect_results.py --copy results     # first copy the tables of a run, with their records
python docs/collect_results.py                    # only write again what follows from the tables

Verdicts are judged anew from these tables, so each page agrees with the claims as they are now.
"""

import argparse
import gzip
import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml
from matplotlib import style
from matplotlib.figure import Figure

from jointsparse.pipeline.explorer import findings
from jointsparse.pipeline.figures.style import SHEET, canvas, in_order, legend, size_axis
from jointsparse.pipeline.papers import catalogue, page, verdicts
from jointsparse.pipeline.papers.verdicts import CLAIMS, HOLDS, overall
from jointsparse.pipeline.scores.flags import GAP
from jointsparse.pipeline.scores.runs import means

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "workflow"))
from configuration import studies as of_config  # noqa: E402

CONFIG = yaml.safe_load((DOCS.parent / "config.yaml").read_text())
REAL = ("flickr8k", "scene15", "reuters21578", "mnist", "synthetic-full")
DRAWN = ("collage", "documents", "bigrams", "digits", "synthetic")
ARMS = {  # of the comparison on Flickr8k, by dataset and study
    ("flickr8k-arms", "arm"): "as annotation-power-chosen",
    ("flickr8k-daisy", "arm"): "DAISY in the place of dense SIFT",
    ("flickr8k-tf-idf", "arm"): "visual words weighted by tf-idf",
    ("flickr8k-arms", "arm-raw"): "histograms as they are, no basis",
    ("flickr8k-arms", "arm-rank-3000"): "rank 3,000",
    ("flickr8k-arms", "arm-unlabelled"): "basis from unlabelled images alone",
    ("flickr8k-arms", "arm-more-words"): "120 words, down to rarer ones",
    ("flickr8k-arms", "arm-few"): "fewer training images",
}
NORMS = ("l1inf", "l12", "l1", "l2")
VERDICTS = ["dataset", "study", "id", "n", "number", "low", "high", "verdict"]  # columns of verdicts.csv
LARGEST_BYTES = 1_500_000  # larger tables stay where they were made; no verdict rests on one
PACKED = ("weights",)  # large, and compressed when they are copied
MARKS = "**What comes out.**", "**Your own data**"  # the README's paragraph with numbers, and the next one

OPENING = """# Results

Every number here follows from the tables under `results/tables/`, which `snakemake reproduce-all` made with the
`config.yaml` beside them. `docs/collect_results.py` judges the claims, draws the figures and writes these pages from
the tables; nobody typed a verdict. Only photographs and their ranks in [What the maps show](#what-the-maps-show) were
read off pictures. `records/` beside the tables says what made each. Commits, with the number of
studies that ran with them: {commits}.
`results/verdicts.csv` has all verdicts with their numbers.

The papers' photographs were never published. Flickr8k, Fifteen Scene Categories and Reuters-21578 are other data for
the same experiments. Only the synthetic tasks and MNIST are the papers' own. What the pipeline makes of drawn and
composed data is a demonstration, on [a page of its own](results/demonstrations.md).

On Flickr8k and Fifteen Scene Categories `annotation` is the papers' experiment with certified fits, and
`annotation-sweep` trains as they do. In `annotation-power-chosen` each method chooses by validation how much singular
values count. In `annotation-whitened-200`, `-600` and `-1000` (the rank) they count alike for every method. That
lowers the AUC of all, of l1,∞ least. `stories` and `scenes` are the experiments of the report and of the poster.
"""
DEMONSTRATIONS = """# Demonstrations

Drawn and composed data are there so that the pipeline has something to show in minutes. They show the methods at work,
and are no evidence: accuracy and sparsity on them have no verdict. Speed and counted operations have. So have the
synthetic tasks, which are the papers' own, here with fewer runs.
"""

MAPS = """## What the maps show

`jointsparse annotate` and the page draw where a score comes from. On the 1,000 test photographs of Flickr8k the maps
of the l1,∞ model show what no table says. Numbers are those of the photographs' files; ranks are among all 1,000.

- **dog** (AUC {dog}): lawns and dry grass speak for it. In 270724499 and 3028969146 (both of the first ten) the dog
  itself speaks against it. Two mistakes of the first thirty, 263854883 and 2763044275, show dogs: their captions say
  "dogs", which is another word.
- **grass** ({grass}): any fine, even texture does. Fallen leaves (2999730677) and a brick wall (3686924335) are
  mistakes of one kind, both of the first forty.
- **jumping** ({jumping}): dark shapes under a bright sky. A row of houses (260520547) comes first.
- **group** ({group}): many upright edges. Trunks of a wood (3299820401) are of the first ten, a skyline (524105255) of
  the first thirty.
- **ball** ({ball}): the lawn, not the ball. Three pictures of dogs without a ball are of the first twenty (1626754053,
  2358898017, 2573625591).
"""


class Study(NamedTuple):
    """A study of a dataset, its folder, its settings, and its tables by name."""

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
    """Copy the settings, tables and records of each study that a claim or figure reads, in the place of older ones.

    The tables of final fits come with them.
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
    """The studies whose tables are there, in the order of the datasets."""
    for dataset in datasets:
        for config in sorted((tables / dataset).glob("*/config.yaml")):
            settings = yaml.safe_load(config.read_text())
            yield Study(dataset, config.parent.name, config.parent, settings, read_tables(config.parent))


def judged(study: Study, tables: Path) -> pd.DataFrame:
    """The verdicts of a study, with where they come from."""
    demonstration = bool(study.entry.get("demonstration", False))
    rows = verdicts.judge(study.tables, claims_of(study), demonstration=demonstration)
    sources = {name: f"tables/{file.relative_to(tables)}" for name, file in files_of(study.folder).items()}
    config = f"tables/{(study.folder / 'config.yaml').relative_to(tables)}"
    origin = {"dataset": study.dataset, "study": study.name, "seed": study.settings["seed"], "config": config}
    note = CONFIG["datasets"].get(study.dataset, {}).get("note", "")
    return rows.assign(source=rows["table"].map(sources), note=note, **origin)


def claims_of(study: Study) -> list[str]:
    """The claims that config.yaml names for a study today. One that it lacks keeps those that it was run with."""
    today = of_config.datasets_of(CONFIG).get(study.dataset, {"studies": {}})["studies"]
    return list(today.get(study.name, study.block)["claims"])


def write(docs: Path, readme: Path, *, figures: bool = True) -> None:
    """Write all pages, and the README's numbers. figures: False to leave the pictures as they are."""
    tables = docs / "results" / "tables"
    by_study = [rows for study in studies(tables, REAL + DRAWN) if len(rows := judged(study, tables))]
    verdicts_of_all = pd.concat(by_study, ignore_index=True)
    verdicts_of_all[VERDICTS].to_csv(docs / "results" / "verdicts.csv", index=False)
    by_dataset = {name: rows for name, rows in verdicts_of_all.groupby("dataset", sort=False) if name in REAL}
    for dataset, rows in by_dataset.items():
        text = page.page(rows, f"# The papers' claims: {dataset}")
        (docs / "results" / f"{dataset}.md").write_text(text)
    lines = [OPENING.format(commits=commits(tables)), "## Claims", "", *summary(by_dataset), "", "## Figures", ""]
    lines += drawn(docs, REAL, "results/", figures=figures)
    lines += [*finals(tables), *maps(tables), *few_words(tables), *arms(tables)]
    (docs / "results.md").write_text("\n".join(lines).rstrip() + "\n")
    lines = [DEMONSTRATIONS, *drawn(docs, DRAWN, "", figures=figures)]
    text = page.page(verdicts_of_all[verdicts_of_all["dataset"].isin(DRAWN)], "## The papers' claims")
    (docs / "results" / "demonstrations.md").write_text("\n".join([*lines, text]))
    before, _, rest = readme.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    readme.write_text(
        f"{before}{MARKS[0]} {finding(tables, verdicts_of_all, png=docs / 'finding.png')}\n{MARKS[1]}{after}",
        encoding="utf-8",
    )


def commits(tables: Path) -> str:
    """The commits that the tables come from, with the number of studies of each."""
    of_studies: dict[str, set[str]] = {}
    for file in sorted(tables.glob("*/*/**/records/*.json")):
        study = "/".join(file.relative_to(tables).parts[:2])
        for commit in json.loads(file.read_text())["made_with"]["commit"]:
            of_studies.setdefault(commit[:7] + commit[40:], set()).add(study)  # "-dirty" stays
    most = sorted(of_studies, key=lambda commit: -len(of_studies[commit]))
    return _joined(f"`{commit}` {len(of_studies[commit])}" for commit in most)


def summary(by_dataset: dict[str, pd.DataFrame]) -> list[str]:
    """A line per claim, a column per dataset: the verdict of each of its studies."""
    lines = [f"| claim | {' | '.join(f'[{name}](results/{name}.md)' for name in by_dataset)} |"]
    lines.append(f"|{' --- |' * (len(by_dataset) + 1)}")
    for claim in pd.concat(by_dataset.values()).drop_duplicates("id").itertuples():
        cells = [f'<a id="{claim.id}"></a>{claim.claim} {claim.paper}, {claim.place} (`{claim.id}`)']
        for table in by_dataset.values():
            of_studies = table[table["id"] == claim.id].groupby("study", sort=False)["verdict"]
            cells.append("<br>".join(f"{study}: **{overall(all_of)}**" for study, all_of in of_studies))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def drawn(docs: Path, datasets: tuple[str, ...], prefix: str, *, figures: bool) -> list[str]:
    """Draw the figures whose tables are there, and return the lines that show them."""
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
    """A table of the fits of all labelled images: means over the words, on the test images, with intervals."""
    lines = []
    for dataset in REAL:
        for file in sorted((tables / dataset / "final").glob("*.csv"), key=lambda file: NORMS.index(file.stem)):
            *of_words, mean = pd.read_csv(file).to_dict("records")
            told = [
                f"{_3(mean[key])} ({_3(mean[f'{key}_low'])} to {_3(mean[f'{key}_high'])})"
                for key in ("auc", "average_precision", "precision_of_first")
            ]
            numbers = f"{len(of_words)} | {mean['images']:,} | {' | '.join(told)} | {mean['features']:,}"
            lines.append(f"| {dataset} | {findings.label(file.stem)} | {numbers} |")
    if not lines:
        return []
    said = [
        "One model of each norm, trained on all training and validation images, and tested once. Losses are logistic,",
        "radii come from five folds. Intervals of 95 % are over test images. What other training images would change,",
        "they do not hold.",
    ]
    columns = ("dataset", "norm", "words", "images with a word", "AUC", "average precision", "first ten", "features")
    head = f"| {' | '.join(columns)} |"
    return ["## Models of all labelled images", "", *said, "", head, f"|{' --- |' * 8}", *lines, ""]


def maps(tables: Path) -> list[str]:
    """Say what the maps of Flickr8k's l1,inf model show, with the AUC of each word."""
    file = tables / "flickr8k" / "final" / "l1inf.csv"
    if not file.exists():
        return []
    return [MAPS.format_map(pd.read_csv(file, index_col="word")["auc"].map(_3))]


def few_words(tables: Path) -> list[str]:
    """A table of what is learnt from visual words themselves, beside what is learnt in the basis."""
    lines = []
    for study, what in (("direct", "visual words"), ("annotation", "basis of all visual words")):
        found = read_tables(tables / "flickr8k" / study)
        if not found:
            return []
        of_runs = found["chosen"].query("n == 80 and run <= 3 and method != 'svm-l2'")
        for method, (auc, features) in (
            of_runs.groupby("method", sort=False)[["auc_weighted", "features"]].mean().iterrows()
        ):
            lines.append(f"| {what} | {findings.label(str(method))} | {_3(auc)} | {findings.percent(features)} |")
    said = [
        "The study `direct` of Flickr8k learns from the histograms of visual words, without a basis: 80 positives a",
        "word, means of three runs. Then a picture needs the words in use alone. In the basis it needs all of them,",
        "whatever the share of its features.",
    ]
    head = "| features | norm | AUC | features in use |"
    return ["## Few of all visual words", "", *said, "", head, f"|{' --- |' * 4}", *lines, ""]


def arms(tables: Path) -> list[str]:
    """A table of what else the comparison on Flickr8k may depend on, a line per arm and size."""
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
    head = "| arm | n | runs | AUC of l1,∞ | its features | over l1 | over l2 | over LinearSVC |"
    told = (
        "What else the comparison `annotation-power-chosen` may depend on: AUC and leads of l1,∞, in too few runs for"
    )
    return ["## Side arms of Flickr8k", "", told, "intervals and verdicts.", "", head, f"|{' --- |' * 8}", *lines, ""]


# What the README says first


def finding(tables: Path, judged: pd.DataFrame, *, png: Path) -> str:
    """The README's paragraph on what came out, and its figure. judged: all verdicts."""
    flickr8k = tables / "flickr8k"
    plain, whitened = (read_tables(flickr8k / name) for name in ("annotation", "annotation-whitened-1000"))
    draw_finding({"plain features": plain["chosen"], "whitened, rank 1,000": whitened["chosen"]}).savefig(png)
    features = 100 * plain["chosen"].query("method == 'hinge-l1inf'").groupby("n")["features"].mean()
    near = lead(plain, "hinge-l2").abs().max()
    scenes = read_tables(tables / "scene15" / "annotation-whitened-600")
    topics = read_tables(tables / "reuters21578" / "text-whitened-600")
    n, auc = whitened["chosen"]["n"].min(), {}
    for name, study in (("plain", plain), ("whitened", whitened)):
        auc[name] = study["chosen"].query("n == @n").groupby("method")["auc_weighted"].mean()
    scaled = {
        name: read_tables(tables / study)
        for name, study in (("Scene-15", "scene15/annotation"), ("Reuters-21578", "reuters21578/text"))
    }
    behind = {name: -lead(study, "hinge-l2") for name, study in scaled.items()}
    over = pd.concat(map(compared, (whitened, scenes, topics))).query("against == 'hinge-l2'")
    final = {
        norm: [pd.read_csv(tables / name / "final" / f"{norm}.csv")["auc"].iloc[-1] for name in REAL[:3]]
        for norm in ("l1inf", "l2")
    }
    drawn = read_tables(tables / "synthetic-full" / "recovery")["recovery"].query("radius_rule == 'validated'")
    errors = drawn.pivot_table("test_error", "n", "method")
    chosen = [study["chosen"] for study in (plain, whitened, scenes, topics, *scaled.values())]
    gaps = pd.concat([*chosen, drawn])["gap"].dropna()
    by_size = judged.query("dataset == 'synthetic-full' and study == 'recovery' and id == 'error-order-by-validation'")[
        "verdict"
    ]
    lowest = (errors["hinge-l1inf"] < errors.drop(columns="hinge-l1inf").min(axis=1)).sum()
    parts = {
        "Plain features": (
            f"On Flickr8k its AUC is within {_3(near)} of that of l2, with {features.min():.0f} to "
            f"{features.max():.0f} % of the features.",
            "It is behind l2 by "
            + _joined(f"{_3(values.min())} to {_3(values.max())} on {name}" for name, values in behind.items())
            + ".",
        ),
        "Whitened features": (
            f"On Flickr8k (rank 1,000) it leads l2 by {_list(lead(whitened, 'hinge-l2'))}, and l1 by "
            f"{_list(lead(whitened, 'hinge-l1'))} (n = {_of_sizes(whitened)}).",
            f"On Scene-15 (rank 600) it leads l2 by {_list(lead(scenes, 'hinge-l2'))} (n = {_of_sizes(scenes)}).",
            f"On Reuters-21578 (rank 600) it leads l2 by {_list(lead(topics, 'hinge-l2'))} (n = {_of_sizes(topics)}).",
            f"Its leads over l1 there are {_list(lead(topics, 'hinge-l1'))}.",
            f"With all of their 95 % interval {(over['low'] > 0).sum()} of the {len(over)} leads over l2 are above 0, "
            f"{(over['high'] < 0).sum()} below.",
            f"Whitened l1,∞ is below plain l2: {_3(auc['whitened']['hinge-l1inf'])} and "
            f"{_3(auc['plain']['hinge-l2'])} at n = {n} on Flickr8k.",
        ),
        "All labels": (
            f"One fit each, of Flickr8k, Scene-15 and Reuters-21578, plain: AUC {_list(final['l1inf'])}, that of l2 "
            f"{_list(final['l2'])}.",
        ),
        "The papers' drawn tasks": (
            f"Its mean test error is the lowest at {lowest} of {len(errors)} sizes: at n = 80 it is "
            f"{_3(errors['hinge-l1inf'][80])}, that of l1 {_3(errors['hinge-l1'][80])}.",
            f"Of {len(by_size)} comparisons by size {(by_size == HOLDS).sum()} hold.",
        ),
        "How": (
            "Validation chooses the radii; l1 and l2 have the same loss.",
            f"Each fit tells how far from the optimum it can be: {(gaps > GAP).sum()} of {len(gaps):,} more than "
            f"{100 * GAP:.0f} %.",
            "Every claim with its verdict: **[results](docs/results.md)**.",
        ),
    }
    lines = [_filled([f"- *{title}.*", *sentences]).replace("\n", "\n  ") for title, sentences in parts.items()]
    first = (
        "l1,∞ depends less on the scale of the features than l1 and l2. Numbers are leads in AUC, n positives a task."
    )
    picture = (
        "![AUC on Flickr8k with plain and with whitened features, by norm and number of positives](docs/finding.png)"
    )
    return f"{first}\n\n{chr(10).join(lines)}\n\n{picture}\n"


def draw_finding(studies: dict[str, pd.DataFrame]) -> Figure:
    """AUC by size, a panel per study: means with 95 % intervals over runs, and the share of features of l1,∞."""
    with style.context(SHEET):
        figure, panels = canvas(9.6, 3.4, len(studies), sharey=True)
        for axes, (title, chosen) in zip(panels, studies.items(), strict=True):
            look = in_order(chosen)
            for row in findings.methods_table(means(chosen)):
                cells = pd.DataFrame(row["cells"])
                axes.errorbar(cells["n"], cells["auc"], cells["half"], label=row["label"], **look[row["method"]])
                if row["method"] == "hinge-l1inf":
                    for at in cells.itertuples():
                        place = {"transform": axes.get_xaxis_transform(), "color": look[row["method"]]["color"]}
                        axes.text(at.n, 0.03, at.features, ha="center", fontsize=8, **place)
            size_axis(axes, chosen["n"], "positive photographs per word (n)")
            axes.set_title(f"{title}; below: features that l1,∞ uses", fontsize=10)
            axes.margins(y=0.12)
        panels[0].set_ylabel("mean test AUC of 30 words")
        legend(figure)
    return figure


def _filled(sentences: Iterable[str]) -> str:
    return textwrap.fill(" ".join(sentences), 158, break_on_hyphens=False, break_long_words=False)


def files_of(folder: Path) -> dict[str, Path]:
    """The tables of a study by name, plain or packed."""
    return {file.name.split(".")[0]: file for file in sorted(folder.glob("t[ai]*/*.csv*"))}


@cache
def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    return {name: pd.read_csv(file) for name, file in files_of(folder).items()}


def lead(tables: dict[str, pd.DataFrame], against: str) -> pd.Series:
    """The joint method's lead in AUC over another one, by size."""
    return compared(tables).query("against == @against").set_index("n")["difference"].sort_index()


def compared(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The joint method's leads in AUC over all others, with intervals."""
    return tables["differences"].query("metric == 'auc' and words == 'test words' and average == 'by positives'")


def _3(number: float) -> str:
    """Three digits without a leading 0, with a minus sign where there is one."""
    return f"{number:.3f}".replace("0.", ".", 1).replace("-", "−")


def _list(values: Iterable[float]) -> str:
    return _joined(map(_3, values))


def _of_sizes(tables: dict[str, pd.DataFrame]) -> str:
    return _joined(map(str, sorted(tables["chosen"]["n"].unique())))


def _joined(texts: Iterable[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the results pages from their tables.")
    parser.add_argument("--copy", type=Path, metavar="RESULTS", help="first copy the tables of a run from its results/")
    arguments = parser.parse_args()
    if arguments.copy:
        copy(arguments.copy, DOCS / "results" / "tables")
    write(DOCS, DOCS.parent / "README.md")
