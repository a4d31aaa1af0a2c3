"""A run's datasets and studies, and what a job looks up there."""

import os

import pytest
from configuration.wildcards import Study
from runs import CONFIG, run_of, with_bare

COLLAGE, DOCUMENTS = Study("collage", "annotation"), Study("documents", "text")


def test_a_glance_is_an_entry_of_its_own_whose_settings_have_the_name_of_its_dataset():
    run, glance = run_of(quick=True, seed=7), Study("collage-quick", "annotation")
    assert (run.chosen, run.named(glance), run.runs(glance)) == (["collage-quick"], "collage", [1])
    assert run.config["datasets"]["collage-quick"]["studies"] == run.dataset(glance)["studies"]
    assert (run.drawn(glance), run.drawn(COLLAGE)) == ([500, 7], [None, None])


@with_bare
@pytest.mark.parametrize(("extractor", "expected"), [("dense_sift", {"step", "clip"}), ("bare", {"step"})])
def test_a_dataset_has_only_the_options_of_its_own_extractor(extractor, expected):
    features = {"extractor": extractor, "options": {"step": 4, "clip": 0.3}}
    assert {*run_of(entry={"features": features}).features(COLLAGE)["options"]} & {"step", "clip"} == expected


def test_a_dataset_grows_the_vocabularies_that_its_studies_use():
    run = run_of(entry={"studies": {name: {"vocabulary": "tree"} for name in CONFIG["datasets"]["collage"]["studies"]}})
    assert run.vocabularies(COLLAGE, "depth") == {
        "tree": {"depth": CONFIG["features"]["vocabularies"]["tree"]["depth"]}
    }


@pytest.mark.parametrize(("w", "expected"), [(COLLAGE, "tree"), (DOCUMENTS, None)])
def test_only_studies_of_pictures_have_a_vocabulary(w, expected):
    run = run_of(w.dataset, w.study, vocabulary="tree", entry={"final": {"study": w.study, "norm": "l1"}})
    assert run.vocabulary(w) == run.final_vocabulary(w) == expected
    assert run.final_vocabulary(Study("synthetic", "race")) is None


@pytest.mark.parametrize(("basis", "expected"), [({"power": 0.5}, [0.5]), ({"power": [0, 1]}, [0, 1]), (None, [])])
def test_the_powers_of_a_basis_are_a_list(basis, expected):
    assert run_of(basis=basis).powers(COLLAGE) == expected


@pytest.mark.parametrize(
    ("values", "smallest", "shown"),
    [({"sizes": [5, 50]}, 5, 50), ({"sizes": [5, 50], "at_size": 5}, 5, 5), ({"sizes": "auto"}, 10, 40)],
)
def test_figures_for_a_single_size_show_the_first_of_at_least_30_unless_told(values, smallest, shown):
    run = run_of(**values)
    assert (min(run.sizes(COLLAGE)), run.at_size(COLLAGE)) == (smallest, shown)


def test_measured_seconds_lie_in_a_folder_of_their_own():
    run, w = run_of("documents", "exponentiated"), Study("documents", "exponentiated")
    assert run.table_file(w, "exponentiated") == f"{w.folder}/tables/exponentiated.csv"
    assert run.table_file(w, "exponentiated_seconds") == f"{w.folder}/timings/exponentiated_seconds.csv"


def test_a_digest_of_raw_files_follows_their_contents_and_not_their_dates(album):
    def digest():
        return run_of("flickr8k", entry={"options": {"root": str(album)}}).raw(Study("flickr8k", ""))["digest"]

    before, captions = digest(), album / "captions.csv"
    os.utime(captions, (0, 0))
    assert digest() == before
    captions.write_text(captions.read_text().replace("dog", "cow"))
    assert digest() != before


def test_each_dataset_has_its_own_raw_files_and_shards_and_each_network_its_own_digest(album, tmp_path):
    networks = pytest.importorskip("networks")  # needs ONNX
    run = run_of("flickr8k", entry={"options": {"root": str(album)}, "shards": 3})
    assert run.raw_of("flickr8k")["digest"] != run.raw_of("collage")["digest"]
    assert (run.shards("flickr8k"), run.shards("collage")) == (3, 4)
    digests = set()
    for name, made in (("flickr8k", networks.maps_of_uint8), ("collage", networks.vector_of_float)):
        options = {"model": str(made(tmp_path / f"{name}.onnx"))}
        run.datasets[name]["features"] |= {"extractor": "onnx", "options": options}
        digests.add(run.network(Study(name, ""))["digest"])
    assert len(digests) == 2
