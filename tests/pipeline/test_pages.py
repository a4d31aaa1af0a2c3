"""The files and values that the pages of a run are made of."""

from types import SimpleNamespace

import pytest
from configuration.inputs import Inputs
from configuration.pages import Pages
from configuration.wildcards import Study
from runs import run_of

W = Study("collage", "annotation")
KEPT = ["model", "labels", "words", "images", "features", "norms", "thresholds"]
CLAIMS = ["claims.csv", "timings/claims.csv"]


def pages_of(*arguments, **options):
    run = run_of(*arguments, **options)
    return Pages(run, Inputs(run))


def test_claims_are_judged_by_the_tables_that_a_study_makes():
    methods = dict.fromkeys(("hinge-l1", "hinge-l2", "svm-l2"))
    values = {"methods": methods, "claims": ["auc-significant", "joint-sparsity"]}
    pages = pages_of("mine", "annotation", entry={"loader": "collage", "demonstration": True}, **values)
    (judged,) = pages.judged(SimpleNamespace(datasets="mine"))
    assert (judged["dataset"], judged["study"], judged["demonstration"]) == ("mine", "annotation", True)
    assert judged["tables"] == pages.judged_tables(SimpleNamespace(datasets="mine"))
    assert judged["tables"] == ["results/mine/annotation/tables/chosen.csv"]  # with several methods, also significance


def test_a_study_without_claims_is_not_judged():
    judged = pages_of("documents", "text", claims=[]).judged(SimpleNamespace(datasets="documents"))
    assert [study["study"] for study in judged] == ["exponentiated"]


@pytest.mark.parametrize(
    ("dataset", "folder"), [("collage", "collage+documents"), ("documents", "collage+documents"), ("digits", "digits")]
)
def test_a_page_shows_the_verdicts_of_the_run_or_of_its_dataset_if_the_run_has_others(dataset, folder):
    pages = pages_of()
    pages.run.chosen = ["collage", "documents"]
    assert pages.claims(Study(dataset, "")) == [f"results/claims/{folder}/{name}" for name in CLAIMS]


def test_a_page_shows_no_verdicts_if_no_study_has_claims():
    assert pages_of("digits", "digits", claims=[]).claims(Study("digits", "digits")) == []


@pytest.mark.parametrize(("dataset", "keys"), [("collage", KEPT), ("digits", [])])
def test_a_page_shows_the_saved_model_of_a_dataset_if_there_is_one(dataset, keys):
    assert list(pages_of().kept(Study(dataset, ""))) == keys


def test_a_page_gathers_the_warnings_that_no_study_gathers():
    entry = {"loader": "collage", "final": {"like": "annotation"}}
    for compare, keys in ((False, [*KEPT, "odd_features"]), (True, KEPT)):
        pages = pages_of("mine", entry=entry, compare=compare)
        assert list(pages.kept(Study("mine", ""))) == keys
        assert [study["name"] for study in pages.studies(Study("mine", ""))] == ["annotation"] * compare


def test_a_page_shows_how_often_features_are_selected_if_the_run_counts_it():
    final = {"like": "annotation", "stability": 3}
    pages = pages_of("mine", entry={"loader": "collage", "final": final}, compare=True)
    assert list(pages.kept(Study("mine", ""))) == [*KEPT, "stability"]


def test_a_page_reads_the_samples_of_its_dataset_and_their_features_if_no_job_makes_them():
    pages = pages_of()
    files = {name: pages.files(Study(name, "")) for name in ("collage", "digits", "synthetic")}
    given = {name: {f"results/{name}/{file}" for file in ("images.parquet", "features.npz")} for name in files}
    assert {name: len(given[name] & set(several)) for name, several in files.items()} == {
        "collage": 1, "digits": 2, "synthetic": 0
    }  # fmt: skip


def test_a_picture_is_listed_with_both_tables_that_its_figure_shows():
    pictures = pages_of(figures=["auc", "sparsity"]).pictures(W)["annotation"]
    shown = {table: files for table, files in pictures.items() if files}
    auc, sparsity = (f"annotation/figures/{name}.png" for name in ("auc", "sparsity"))
    assert shown == {"chosen": [auc], "differences": [auc], "sparsity": [sparsity]}


def test_a_page_shows_the_inputs_of_a_study_of_words_and_the_tables_and_figures_of_an_experiment():
    pages = pages_of()
    annotation = pages.studies(W)[0]
    assert (annotation["features"], annotation["words"]) == (f"{W.folder}/basis/features.npy", "tree")
    assert {key for key, files in annotation["files"].items() if files} == {
        *("tables", "figures", "scores", "labels", "images", "features", "sweeps")
    }
    (digits,) = pages.studies(Study("digits", ""))
    assert (digits["features"], digits["words"], digits["files"].keys()) == ([], None, {"tables", "figures"})
