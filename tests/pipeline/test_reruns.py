"""The jobs that rerun after a change of settings, code, raw files or results. No other job reruns."""

from contextlib import ExitStack

import numpy as np
import pandas as pd
import pytest
import yaml
from albums import make_album, make_tagged
from miniature import CONFIG, DATASETS, Project

from jointsparse.pipeline import load
from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.models.annotator import PRECISIONS, thresholds
from jointsparse.pipeline.provenance import manifest
from jointsparse.pipeline.provenance.tables import read_table

DRAWN = [study for dataset in DATASETS for study in CONFIG["datasets"][dataset]["studies"]]
L2 = "      hinge-l2: {eta0: [0.1, 1], radius: [1, 10]}"
PAIRINGS = "    tests: {n_pairings: 7, n_resamples: 30}\n  annotation-sweep"
IMPORT = ("import numpy as np", "import numpy as np, math")
PAGES = {"write_page": 1, "write_index": 1}
# Quick jobs that follow other jobs. A test of an edit counts them only if it names them.
CHEAP = {"draw_figures", "judge_claims", *PAGES, "write_configs", "write_manifest"}
# Paths of the studies annotation, stories and scenes.
RERUNS_OF_L1INF = {
    "train_path": 3,
    **dict.fromkeys(("compile_kernels", "train_sweep", "repeat_recovery", "measure", "fit_final"), 1),
}
EDITS = {  # file, old text, new text, and number of rerun jobs by rule
    "method": (
        "overlay.yaml",
        L2,
        f"{L2}\n      logistic-l12: {{eta0: [0.1], radius: [1]}}",
        {"train_sweep": 1, "compile_kernels": 1},
    ),
    "pairings": ("overlay.yaml", PAIRINGS, PAIRINGS.replace("7", "8"), {"compare_methods": 2}),
    "norm": ("src/jointsparse/norms/l1inf.py", *IMPORT, RERUNS_OF_L1INF),
    "figures": (
        "src/jointsparse/pipeline/papers/quattoni/figures.py",
        *IMPORT,
        {"draw_figures": sum(bool(CONFIG["studies"][study]["figures"]) for study in DRAWN)},
    ),
    "claims": ("src/jointsparse/pipeline/papers/judging.py", *IMPORT, {"judge_claims": 1}),
    "comment": ("src/jointsparse/learning/problem.py", "import numpy as np\n", "import numpy as np  # arrays\n", {}),
}
# Edits in the same row affect different jobs, so a single dry run shows what each of them reruns.
TOGETHER = (("comment",), ("pairings", "figures"), ("method", "claims"), ("norm",))
FOLLOWING = {  # the jobs that follow a job whose results change
    "train_sweep": ("evaluate", "compare_methods"),
    "train_path": ("evaluate",),
    "fit_final": ("keep_model", "count_selections"),
}


@pytest.mark.parametrize("names", TOGETHER, ids=" and ".join)
def test_an_edit_reruns_the_jobs_that_depend_on_it_and_no_others(project, names):
    expected = {rule: n for name in names for rule, n in EDITS[name][-1].items()}
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(project.edited(*EDITS[name][:-1]))
        planned = project.planned()
    following = {rule for made in expected for rule in FOLLOWING.get(made, ())}
    assert following <= set(planned)
    ignored = (following | CHEAP) - set(expected)
    assert {rule: n for rule, n in planned.items() if rule not in ignored} == expected
    assert bool(planned) == bool(expected)


def test_a_copied_and_moved_checkout_has_nothing_to_do_and_a_new_dataset_reruns_nothing_of_the_old(project):
    _, differences, _ = manifest.verify(project.manifest())
    assert differences == []  # the project is a copy
    make_album(project.root / "mine", 30)
    entry = {"loader": "photos", "shards": 1, "options": {"root": "mine"}, "studies": {"annotation": {"sizes": [2, 3]}}}
    (project.root / "mine.yaml").write_text(yaml.safe_dump({"datasets": {"mine": entry}}))
    assert project.planned(overlays=("mine.yaml",)) == {}
    outputs = project.run("--dry-run", "--printshellcmds", "--config", "dataset=mine", overlays=("mine.yaml",))
    assert "rule read_images:" in outputs
    assert "results/collage" not in outputs


def test_own_data_have_a_model_and_a_page_of_only_the_final_fits(project):
    rng, names = np.random.default_rng(0), ["fish", "bird", "frog"]
    X = rng.normal(size=(90, 8)).astype(np.float32)
    (project.root / "own").mkdir()
    np.save(project.root / "own" / "x.npy", X)
    pd.DataFrame(X[:, [0, 0, 1]] > 0, columns=names).to_csv(project.root / "own" / "y.csv", index=False)
    options = {"root": "own", "features": "x.npy", "labels": "y.csv"}
    own = {"loader": "arrays", "options": options, "final": {"norm": ["l2", "l1"]}}
    (project.root / "own.yaml").write_text(yaml.safe_dump({"datasets": {"own": own}}))
    project.run("--config", "dataset=own", targets=("results/own/index.html",), overlays=("own.yaml",))
    results = project.root / "results" / "own"
    assert sorted(file.name for file in results.iterdir() if file.is_dir()) == [
        *("final", "logs", "own-labels", "records", "thumbnails", "timings")
    ]
    assert not (results / "own-labels" / "paths").exists()  # methods are not compared
    norms, model = read_table(results / "norms.csv"), load(results / "model.jointsparse")
    assert norms[["norm", "kept"]].to_numpy().tolist() == [["l2", True], ["l1", False]] and norms["auc"].min() > 0.9
    known = read_table(results / "images.parquet", "split")["split"] != "test"
    scores = model.decision_function(X[~known.to_numpy()])
    above = [(scores >= thresholds(model, p)).any(axis=1).sum() for p in PRECISIONS]
    assert read_table(results / "thresholds.csv")["pictures"].tolist() == above
    page = (results / "index.html").read_text()
    assert "The model recognises 3 of 3 labels" in page and "There are no warnings." in page
    compared = project.planned("--config", "dataset=own", "compare=True", overlays=("own.yaml",))
    assert compared["train_path"] == 2 * 4 and "fit_final" not in compared


def test_corrections_and_sidecars_change_labels_and_neither_features_nor_splits(tmp_path, monkeypatch):
    project = Project(tmp_path / "project")
    monkeypatch.chdir(project.root)
    names = [f"{i:02}.jpg" for i in range(60)]
    make_tagged(
        project.root / "photos", {name: [*["owl"] * (i % 3), ("cat", "dog")[i % 2]] for i, name in enumerate(names)}
    )
    entry = {"loader": "keywords", "options": {"root": "photos", "images": "."}, "shards": 1, "final": {"norm": "l2"}}
    config = project.root / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIG | {"datasets": CONFIG["datasets"] | {"photos": entry}}, sort_keys=False))
    folder, page = project.root / "results" / "photos", ("results/photos/index.html",)
    files = ("images.parquet", "vocabularies.npz", "histograms/0-of-1.npz", "own-classes/basis/features.npy")
    made = [f"results/photos/{name}" for name in (*files, "own-classes/labels.npy")]

    def labels():
        words = read_table(folder / "own-classes" / "tables" / "words.csv")["word"]
        columns = np.load(folder / "own-classes" / "labels.npy").astype(int).T
        return {
            (name, word): has
            for word, own in zip(words, columns, strict=True)
            for name, has in zip(names, own, strict=True)
        }

    project.run("--config", "dataset=photos", targets=page)
    before, features = labels(), [(folder / name).read_bytes() for name in files]
    (project.root / "given.csv").write_text(
        "sample,tag,has\n00.jpg,cat,no\n00.jpg,dog,yes\n01.jpg,owl,no\n02.jpg,owl,yes\n"
    )
    assert main(["correct", "given.csv", "--dataset", "photos"]) == 0
    rules = ("correct_labels", "choose_words", "fit_final", "keep_model", "write_page")
    assert project.planned("--config", "dataset=photos", targets=page) == dict.fromkeys(rules, 1)
    project.run("--config", "dataset=photos", targets=made)
    changed = {("00.jpg", "cat"): 0, ("00.jpg", "dog"): 1, ("01.jpg", "owl"): 0}
    assert labels() == before | changed and before != before | changed
    (project.root / "photos-corrections.csv").touch()
    assert project.planned("--config", "dataset=photos", targets=made) == {}
    # Sidecars are read together with the pictures, so jobs follow; but they find the features that are there.
    assert main(["correct", "given.csv", "--dataset", "photos", "--xmp"]) == 0
    assert "read_images" in project.planned("--config", "dataset=photos", targets=made)
    project.run("--config", "dataset=photos", targets=made)
    assert labels() == before | changed and [(folder / name).read_bytes() for name in files] == features
