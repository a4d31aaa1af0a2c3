"""The jobs of a run on photographs that a network describes, from `init` to annotated pictures with maps."""

import json

import numpy as np
import pytest

for package in ("onnxruntime", "onnx"):
    pytest.importorskip(package)
import networks  # noqa: E402
from albums import verdicts_here  # noqa: E402
from common import run_python  # noqa: E402
from miniature import run_script_with  # noqa: E402
from PIL import Image  # noqa: E402

from jointsparse import load  # noqa: E402
from jointsparse.features import onnx  # noqa: E402
from jointsparse.features.explain import Explainer  # noqa: E402
from jointsparse.pipeline.app.command_line import main  # noqa: E402
from jointsparse.pipeline.datasets import folder as checked  # noqa: E402
from jointsparse.pipeline.provenance import records  # noqa: E402

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


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run whose jobs are finished until the model is saved."""
    folder = tmp_path_factory.mktemp("network")
    draw_pictures(folder / "photos")
    network = networks.maps_of_uint8(folder / "network.onnx")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(onnx, "open_network", networks.opened_here)  # tests/test_embedding.py tries networks
        patch.setattr(checked, "verdicts", verdicts_here)
        assert main(["init", "photos", "--model", network.name]) == 0
        text = (folder / "config.yaml").read_text(encoding="utf-8")
        (folder / "config.yaml").write_text(
            text.replace("basis: null", "basis: null\n      norm: l1inf"), encoding="utf-8"
        )
        for rule, given in json.loads(run_python("-c", PLAN_JOBS, *RULES, cwd=folder)):
            run_script_with(patch, rule, **given)
    return folder


def test_init_says_how_the_network_reads_pictures(finished):
    text = (finished / "config.yaml").read_text(encoding="utf-8")
    assert "features: {extractor: onnx, options: {model: network.onnx}}" in text


@pytest.fixture
def in_folder(finished, monkeypatch, checked_here):
    monkeypatch.chdir(finished)
    monkeypatch.setattr(onnx, "open_network", networks.opened_here)


@pytest.mark.usefixtures("in_folder")
def test_the_saved_model_has_the_decisions_of_its_maps(finished):
    model = load("results/photos/model.skops")
    assert [name for name, _ in model.steps] == ["describe", "classifier"]
    picture = finished / "photos" / "red" / "03.png"
    (scores,) = np.atleast_2d(model.decision_function([picture]).T).T
    heats = Explainer(model).heats(picture, range(len(model.card_["words"])))
    sums = [heat.sum(dtype=float) for heat in heats] + model[-1].intercept_
    assert model.card_["words"][scores.argmax()] == "red"
    np.testing.assert_allclose(sums, scores, atol=1e-5 * abs(scores).max())


@pytest.mark.usefixtures("in_folder")
def test_the_card_of_the_saved_model_states_its_origin():
    card = load("results/photos/model.skops").card_
    raw = records.digest(records.checksums(["photos"]))
    expected = {"dataset": "photos", "study": "own-classes", "seed": 1, "raw": raw}
    assert {key: card[key] for key in expected} == expected


@pytest.mark.usefixtures("in_folder")
def test_new_pictures_are_annotated_with_maps(finished, capsys):
    assert main(["annotate", "results/photos/model.skops", "photos/blue/05.png", "--html", "page"]) == 0
    assert "blue" in capsys.readouterr().out
    assert len(list((finished / "page" / "thumbnails").glob("*"))) > 2


def test_another_network_is_refused(finished, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    networks.tokens_of_float(tmp_path / "network.onnx")
    picture = str(finished / "photos" / "red" / "00.png")
    assert main(["annotate", str(finished / "results" / "photos" / "model.skops"), picture]) == 2
    assert "error: network.onnx must be the file with SHA-256" in capsys.readouterr().err
