"""Plant faults into the tags of photographs, and count how many of them are among the first tags to check.

    .venv/bin/python trials/planted_tags.py data/scene15/images --work scenes
    .venv/bin/python trials/planted_tags.py data/flickr8k/images --captions data/flickr8k/captions.csv --work tags

Of photographs in a folder for each class, 60 are moved to another class. Of photographs with captions, the 40 most
frequent content words are the tags: 40 tags are added to photographs that lack them, and 40 are removed. Then `init`
and `run` make `tags_to_check.csv`. The table counts the planted faults among the first rows of each kind, beside the
score of logistic regressions of scikit-learn on the same features. With --rounds, a simulated person decides the
first 50 rows of each kind by the labels before planting, `correct` and `run` follow, and the corrected faults are
counted after each round. A trial that was interrupted goes on.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from jointsparse import label_issues
from jointsparse.pipeline.provenance.tables import read_array, read_features, read_table, write_table
from jointsparse.pipeline.words import choose_words

COMMAND = Path(sys.executable).with_name("jointsparse")
MOVED, ADDED, REMOVED, N_TAGS = 60, 40, 40, 40
FIRST = (40, 100)  # rows of each kind that are counted
DECIDED = 50  # rows of each kind that a person decides in a round
# Frequent words of captions that nobody takes for a tag, beside those in -ing.
NO_TAGS = """air area background big black blue brown camera colorful covered dark dirt dressed face grassy green grey
ground hair hand hands head high jump jumps large leaps little long looks mouth near old older orange outdoor outside
person picture pink play plays purple red run runs several sits small stand stands tan walks watches wearing wears white
yellow young"""


def has_tag(photographs: Path, captions: Path | None) -> pd.DataFrame:
    """Return which photograph has which tag, as a table with a row for each photograph and a column for each tag."""
    if captions is None:
        classes = pd.Series(
            {f"{path.parent.name}/{path.name}": path.parent.name for path in photographs.glob("*/*.jpg")}
        )
        return pd.get_dummies(classes.sort_index())
    names = sorted(path.name for path in photographs.glob("*.jpg"))
    said = pd.read_csv(captions)
    images = pd.DataFrame({"image": names, "split": "train"})
    words, labels = choose_words(images, said[said["image"].isin(names)], n_words=4 * N_TAGS, join_inflections=True)
    table = pd.DataFrame(labels, index=names, columns=words["word"])
    return table[[word for word in table if word not in NO_TAGS.split() and not word.endswith("ing")][:N_TAGS]]


def planted(has: pd.DataFrame, *, classes: bool, rng: np.random.Generator) -> pd.DataFrame:
    """Return a copy of the table with faults. classes: True if each photograph has one tag."""
    faulty, labels = has.copy(), has.to_numpy()
    if classes:
        for row in rng.choice(len(has), MOVED, replace=False):
            faulty.iloc[row] = False
            faulty.iloc[row, rng.choice(np.flatnonzero(~labels[row]))] = True
        return faulty
    for value, n in ((False, ADDED), (True, REMOVED)):
        for tag in rng.choice(labels.shape[1], n):
            faulty.iloc[rng.choice(np.flatnonzero(labels[:, tag] == value)), tag] = not value
    return faulty


def write_data(photographs: Path, has: pd.DataFrame, faulty: pd.DataFrame, folder: Path, *, classes: bool) -> None:
    """Write the photographs as links, and the faulty tags as folders or as a table."""
    if not classes:
        folder.mkdir(parents=True)
        (folder / "images").symlink_to(photographs.resolve())
        tags = [";".join(faulty.columns[row]) for row in faulty.to_numpy()]
        pd.DataFrame({"image": faulty.index, "tags": tags}).to_csv(folder / "tags.csv", index=False)
        return
    for name, target in zip(has.index, names_of(has, faulty), strict=True):
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        (folder / target).symlink_to((photographs / name).resolve())


def names_of(has: pd.DataFrame, faulty: pd.DataFrame) -> list[str]:
    """Return the path of each photograph in the folder of its faulty class."""
    before, now = has.idxmax(axis=1), faulty.idxmax(axis=1)
    return [
        name if old == new else f"{new}/{old}-{Path(name).name}"
        for name, old, new in zip(has.index, before, now, strict=True)
    ]


def counts(listed: pd.DataFrame, faults: set[tuple[str, str]]) -> dict[str, int]:
    """Count the faults among the first rows of each kind."""
    row = {}
    for kind, of_kind in listed.groupby("kind"):
        is_fault = [place in faults for place in of_kind[["sample", "tag"]].itertuples(index=False, name=None)]
        row |= {f"{kind} {n}": sum(is_fault[:n]) for n in FIRST}
    return row


def by_scikit_learn(work: Path, *, classes: bool) -> pd.DataFrame:
    """Return the list of logistic regressions of scikit-learn, in five folds of all photographs of a run."""
    file, results = work / "list-scikit-learn.csv", work / "results" / "data"
    if not file.exists():
        folder = next(results.glob("*/labels.npy")).parent
        images, labels = read_table(results / "images.parquet"), read_array(folder / "labels.npy").astype(int)
        words = read_table(folder / "tables" / "words.csv")["word"].to_numpy()[: labels.shape[1]]
        Y = words[labels.argmax(axis=1)] if classes else pd.DataFrame(labels, columns=words)
        X = read_features(sorted(map(str, results.glob("embeddings/*.npz"))), "network")
        regression = LogisticRegression(max_iter=1000)
        issues = label_issues(regression if classes else OneVsRestClassifier(regression), X, Y)
        columns = {"sample": images["image"].to_numpy()[issues.sample], "tag": issues.task, "kind": issues.kind}
        write_table(pd.DataFrame(columns), file)
    return read_table(file)


def decide(listed: pd.DataFrame, has: pd.DataFrame, faulty: pd.DataFrame, *, classes: bool) -> pd.DataFrame:
    """Return the decisions of a person who knows the tags before planting, about the first rows of each kind."""
    rows = []
    for sample, tag in listed.groupby("kind").head(DECIDED)[["sample", "tag"]].to_numpy():
        moved = has.columns[has.loc[sample] != faulty.loc[sample]] if classes else []
        rows += [(sample, each, "yes" if has.loc[sample, each] else "no") for each in dict.fromkeys([tag, *moved])]
    return pd.DataFrame(rows, columns=["sample", "tag", "has"])


def listed_after(n_rounds: int, work: Path, has: pd.DataFrame, faulty: pd.DataFrame, *, classes: bool) -> pd.DataFrame:
    """Return the tags to check after some rounds of decisions. Finished rounds are not run again."""
    file = work / f"list-{n_rounds}.csv"
    if not file.exists():
        if n_rounds:
            before = read_table(work / f"list-{n_rounds - 1}.csv")
            decide(before, has, faulty, classes=classes).to_csv(work / f"decisions-{n_rounds}.csv", index=False)
            run(work, "correct", f"decisions-{n_rounds}.csv")
        run(work, "run")
        shutil.copy(work / "results" / "data" / "tags_to_check.csv", file)
    return read_table(file)


def run(work: Path, *arguments: str) -> None:
    """Run the command in a folder."""
    subprocess.run([COMMAND, *arguments], cwd=work, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--captions", type=Path, help="table with the columns image and caption")
    parser.add_argument("--work", type=Path, required=True, help="folder of the run")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    classes = given.captions is None
    has = has_tag(given.photographs, given.captions)
    faulty = planted(has, classes=classes, rng=np.random.default_rng(given.seed))
    if not given.work.exists():
        write_data(given.photographs, has, faulty, given.work / "data", classes=classes)
        run(given.work, "init", "data")
    if classes:
        has.index = faulty.index = names_of(has, faulty)
    rows, columns = np.nonzero(has.to_numpy() != faulty.to_numpy())
    faults = {*zip(has.index[rows], has.columns[columns], strict=True)}
    listed = listed_after(0, given.work, has, faulty, classes=classes)
    by_others = by_scikit_learn(given.work, classes=classes)  # before labels are corrected
    print(pd.DataFrame({"run": counts(listed, faults), "LogisticRegression": counts(by_others, faults)}).T)
    decided = set()
    for n in range(1, given.rounds + 1):
        listed_after(n, given.work, has, faulty, classes=classes)
        decisions = pd.read_csv(given.work / f"decisions-{n}.csv", dtype=str)
        decided |= {*decisions[["sample", "tag"]].itertuples(index=False, name=None)}
        n_faults, n_corrected = (len(some) // (2 if classes else 1) for some in (faults, faults & decided))
        print(f"after {2 * DECIDED * n} decisions, {n_corrected} of {n_faults} planted faults are corrected")


if __name__ == "__main__":
    main()
