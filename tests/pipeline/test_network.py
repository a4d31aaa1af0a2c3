"""The jobs of a run on photographs that a network describes, from `init` to annotated pictures with maps."""

import json
import shutil

import networks
import numpy as np
import pytest
from albums import verdicts_here
from common import run_python
from miniature import run_script_with
from model_files import write_model
from PIL import Image
from plan import Place
from runs import plan_of

from jointsparse.features import network_files, onnx
from jointsparse.features.explain import Explainer
from jointsparse.pipeline import load
from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.datasets import checker
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.provenance.tables import read_table
from jointsparse.pipeline.settings import SettingError

# The jobs until the model is saved, as the workflow plans them: the name of each rule, and what its script is given.
RULES = ("read_images", "choose_words", "embed", "fit_final", "keep_model")
PLAN_JOBS = """
import json, sys
from miniature import BASE, jobs
planned = jobs(BASE, ".")
parts = ("input", "output", "params", "wildcards")
of_rules = [(rule, job) for rule in sys.argv[1:] for job in planned[rule]]
print(json.dumps([(rule, {part: dict(getattr(job, part).items()) for part in parts}) for rule, job in of_rules]))
"""


def draw_pictures(folder, n=24):
    """Draw pictures with a bright red or blue corner, in a folder for each colour."""
    rng = np.random.default_rng(0)
    for name, channel in (("red", 0), ("blue", 2)):
        (folder / name).mkdir(parents=True)
        for i in range(n):
            picture = rng.integers(0, 90, (32, 40, 3), dtype=np.uint8)
            picture[:16, :20, channel] += 120
            Image.fromarray(picture).save(folder / name / f"{i:02}.png")


def run_in(folder, *arguments, n=24):
    """Draw n pictures per colour, and finish the jobs of a run until the model is saved. arguments: of `init`."""
    draw_pictures(folder / "photos", n)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(onnx, "open_network", networks.opened_here)  # tests/test_embedding.py tries networks
        patch.setattr(checker, "verdicts", verdicts_here)
        assert main(["init", "photos", *arguments]) == 0
        text = (folder / "config.yaml").read_text(encoding="utf-8")
        (folder / "config.yaml").write_text(
            text.replace("basis: null", "basis: null\n      norm: l1inf"), encoding="utf-8"
        )
        finish(folder, patch, RULES)
    return folder


def finish(folder, patch, rules):
    """Run the jobs of some rules."""
    for rule, given in json.loads(run_python("-c", PLAN_JOBS, *rules, cwd=folder)):
        run_script_with(patch, rule, **given)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run with a small network."""
    folder = tmp_path_factory.mktemp("network")
    return run_in(folder, "--model", networks.maps_of_uint8(folder / "network.onnx").name)


@pytest.mark.usefixtures("checked_here")
def test_photographs_are_described_by_the_built_in_network_which_a_model_finds_by_digest(tmp_path, monkeypatch, capsys):
    folder = run_in(tmp_path / "run", n=16)
    assert "efficientnet-lite0: the built-in network" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    (tmp_path / "efficientnet-lite0").write_text("no network")
    (tmp_path / "network.onnx").write_text("no network")
    model = load(folder / "results/photos/model.jointsparse")
    assert (model.card_.features.file, model.card_.features.grid) == ("efficientnet-lite0", (7, 7))
    write_model(tmp_path / "model.jointsparse", model, ("card.features.file", "network.onnx"))
    assert main(["annotate", "model.jointsparse", str(folder / "photos" / "blue" / "15.png"), "--words", "1"]) == 0
    assert "blue" in capsys.readouterr().out


@pytest.mark.usefixtures("checked_here")
def test_init_takes_visual_words_if_the_user_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draw_pictures(tmp_path / "photos")
    assert main(["init", "photos", "--visual-words", "--model", "network.onnx"]) == 2
    assert "leave one of them out" in capsys.readouterr().err
    assert main(["init", "photos", "--visual-words"]) == 0
    assert "features:" not in (tmp_path / "config.yaml").read_text(encoding="utf-8")
    assert "network" not in capsys.readouterr().out


def test_a_run_lists_every_label_of_every_split_as_it_stands(finished):
    listed = read_table(finished / "results" / "photos" / "tags_to_check.csv")
    pictures = [f"{colour}/{i:02}.png" for colour in ("blue", "red") for i in range(24)]
    expected = {
        (name, tag, "wrong" if name.startswith(tag) else "missing") for name in pictures for tag in ("blue", "red")
    }
    assert {*listed[["sample", "tag", "kind"]].itertuples(index=False, name=None)} == expected


def test_decided_labels_are_learnt_and_not_listed_again(finished, tmp_path, monkeypatch):
    folder = shutil.copytree(finished, tmp_path / "run")
    monkeypatch.chdir(folder)
    wrong, right = [name for name in load("results/photos/model.jointsparse").known_names_ if "red" in name][:2]
    (folder / "decided.csv").write_text(f"sample,tag,has\n{wrong},red,no\n{right},red,yes\n", encoding="utf-8")
    text = (folder / "config.yaml").read_text(encoding="utf-8")
    corrected = text.replace("    loader:", "    corrections: decided.csv\n    loader:")
    (folder / "config.yaml").write_text(corrected, encoding="utf-8")
    finish(folder, monkeypatch, ("correct_labels", "choose_words", "fit_final", "keep_model"))
    listed = read_table(folder / "results" / "photos" / "tags_to_check.csv").set_index(["sample", "tag"])["kind"]
    assert (wrong, "red") not in listed and right not in listed and len(listed) == 93
    learnt = load("results/photos/model.jointsparse")
    assert learnt.known_labels_[learnt.known_names_.index(wrong)].tolist() == [0, 0]


def test_init_writes_the_network_into_the_config(finished):
    text = (finished / "config.yaml").read_text(encoding="utf-8")
    assert "features: {extractor: onnx, options: {model: network.onnx}}" in text


@pytest.mark.usefixtures("checked_here")
@pytest.mark.parametrize(
    ("make", "arguments", "expected"),
    [
        (
            networks.maps_of_uint8,
            (),
            "16 x 16 pixels (NHWC, uint8, RGB), 5 features of output y, the mean over 4 x 4 places",
        ),
        (networks.tokens_in_a_row, (201,), "the mean over 14 x 14 places and without the first 5 of 201 tokens"),
        (networks.of_type, (), "(NCHW, float32, RGB in [0, 1], mean (0.485, 0.456, 0.406), standard deviation (0.229,"),
        (networks.vector_of_float, (), ", as preprocessor_config.json says), 5 features of output y, without places"),
    ],
)
def test_init_says_how_the_network_reads_pictures(tmp_path, monkeypatch, capsys, make, arguments, expected):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(onnx, "open_network", networks.opened_here)
    draw_pictures(tmp_path / "photos")
    make(tmp_path / "network.onnx", *arguments)
    if "preprocessor" in expected:
        (tmp_path / "preprocessor_config.json").write_text('{"size": 16}')
    assert main(["init", "photos", "--model", "network.onnx"]) == 0
    assert expected in capsys.readouterr().out


def plan_with(album, network):
    entry = {"options": {"root": str(album)}, "features": {"options": {"model": str(network)}}}
    return plan_of("flickr8k-embedding", "annotation-embedding", entry=entry)


def test_the_digest_of_a_run_is_that_of_the_kept_model_and_covers_all_files(album, tmp_path):
    path, place = tmp_path / "network.onnx", Place("flickr8k-embedding", "annotation-embedding")
    networks.with_weights_in(networks.maps_of_uint8(path), "weights")
    first = plan_with(album, path).network(place)["digest"]
    assert first == network_files.digest(path)
    (tmp_path / "weights").write_bytes((2 * networks.WEIGHTS).tobytes())
    assert plan_with(album, path).network(place)["digest"] == network_files.digest(path) != first
    built_in = plan_with(album, "efficientnet-lite0").network(place)
    assert built_in == {"path": None, "digest": network_files.digest("efficientnet-lite0")}


def test_a_network_without_all_its_files_is_an_error_of_one_line(album, tmp_path):
    path = networks.with_weights_in(networks.maps_of_uint8(tmp_path / "network.onnx"), "weights")
    plan_with(album, path).require_raw_files()
    (tmp_path / "weights").unlink()
    with pytest.raises(SettingError, match=r"weights', which is not there \(config.yaml: datasets.flickr8k-embedding"):
        plan_with(album, path).require_raw_files()


@pytest.fixture
def in_folder(finished, monkeypatch, checked_here):
    monkeypatch.chdir(finished)
    monkeypatch.setattr(onnx, "open_network", networks.opened_here)


@pytest.mark.usefixtures("in_folder")
def test_the_saved_model_has_the_decisions_of_its_maps(finished):
    model = load("results/photos/model.jointsparse", network="network.onnx")
    assert [name for name, _ in model.steps] == ["describe", "classifier"]
    picture = finished / "photos" / "red" / "03.png"
    (scores,) = np.atleast_2d(model.decision_function([picture]).T).T
    heats = Explainer(model).heats(picture, range(len(model.card_.words)))
    sums = [heat.sum(dtype=float) for heat in heats] + model[-1].intercept_
    assert model.card_.words[scores.argmax()] == "red"
    np.testing.assert_allclose(sums, scores, atol=1e-5 * abs(scores).max())


@pytest.mark.usefixtures("in_folder")
def test_the_card_of_the_saved_model_states_its_origin():
    card = load("results/photos/model.jointsparse").card_
    raw = records.digest(records.checksums(["photos"]))
    expected = {"dataset": "photos", "study": "own-classes", "seed": 1, "raw": raw}
    assert card.model_dump(include=expected.keys()) == expected


@pytest.mark.usefixtures("in_folder")
def test_new_pictures_are_annotated_with_maps(finished, capsys):
    given = ["annotate", "results/photos/model.jointsparse", "photos/blue/05.png", "--html", "page"]
    assert main([*given, "--network", "network.onnx"]) == 0
    assert "blue" in capsys.readouterr().out
    files = {file.name for file in (finished / "page" / "thumbnails").iterdir()}
    assert files == {"000000.webp", "000000-000.webp"}  # and the map of the tag that reaches its threshold


def test_another_network_is_refused(finished, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    networks.tokens_of_float(tmp_path / "network.onnx")
    model, picture = (str(finished / name) for name in ("results/photos/model.jointsparse", "photos/red/00.png"))
    assert main(["annotate", model, picture, "--network", "network.onnx"]) == 2
    said = capsys.readouterr().err
    assert "error: network.onnx must be the network with SHA-256" in said
    assert network_files.digest(tmp_path / "network.onnx") not in said


@pytest.mark.usefixtures("in_folder")
def test_a_loaded_model_finds_its_network_beside_its_file_or_where_the_user_says(finished, tmp_path):
    model = load("results/photos/model.jointsparse", network="network.onnx")
    picture = finished / "photos" / "red" / "00.png"
    write_model(tmp_path / "model.jointsparse", model, ("card.features.file", "C:\\elsewhere\\network.onnx"))
    (tmp_path / "network.onnx").write_bytes((finished / "network.onnx").read_bytes())
    got = load(tmp_path / "model.jointsparse").decision_function([picture])
    np.testing.assert_array_equal(got, model.decision_function([picture]))


@pytest.mark.usefixtures("in_folder")
@pytest.mark.parametrize("place", ["{file}", "../{name}", "/dev/zero", "..", ""])
def test_a_model_cannot_have_a_file_of_the_machine_read(finished, tmp_path, monkeypatch, capsys, place):
    secret, path = tmp_path / "secret.onnx", tmp_path / "folder" / "model.jointsparse"
    networks.tokens_of_float(secret)
    path.parent.mkdir()
    file = place.format(file=secret, name=secret.name)
    write_model(path, load("results/photos/model.jointsparse"), ("card.features.file", file))
    monkeypatch.setattr(network_files, "_sha256", None)  # nothing is read
    assert main(["annotate", str(path), "photos/red/00.png"]) == 2
    said = capsys.readouterr().err
    assert "needs its network, an ONNX file, got" in said and "which is not there: name it with --network" in said
