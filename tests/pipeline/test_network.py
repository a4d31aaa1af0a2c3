"""A run on photographs that a network describes, from `init` to annotated pictures with maps."""

import numpy as np
import pytest

for package in ("onnxruntime", "onnx"):
    pytest.importorskip(package)
import networks  # noqa: E402
from PIL import Image  # noqa: E402

from jointsparse import load  # noqa: E402
from jointsparse.features.explain import Explainer  # noqa: E402
from jointsparse.pipeline.app.command_line import main  # noqa: E402


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
    """The folder of a finished run, until its model is saved."""
    folder = tmp_path_factory.mktemp("network")
    draw_pictures(folder / "photos")
    network = networks.maps_of_uint8(folder / "network.onnx")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["init", "photos", "--model", network.name]) == 0
        text = (folder / "config.yaml").read_text(encoding="utf-8")
        (folder / "config.yaml").write_text(
            text.replace("basis: null", "basis: null\n      norm: l1inf"), encoding="utf-8"
        )
        assert main(["run", "--cores", "2", "--", "results/photos/model.skops"]) == 0
    return folder


def test_init_says_how_the_network_reads_pictures(finished):
    text = (finished / "config.yaml").read_text(encoding="utf-8")
    assert "features: {extractor: onnx, options: {model: network.onnx}}" in text


def test_the_saved_model_has_the_decisions_of_its_maps(finished, monkeypatch):
    monkeypatch.chdir(finished)
    model = load("results/photos/model.skops")
    assert [name for name, _ in model.steps] == ["describe", "classifier"]
    picture = finished / "photos" / "red" / "03.png"
    (scores,) = np.atleast_2d(model.decision_function([picture]).T).T
    heats = Explainer(model).heats(picture, range(len(model.card_["words"])))
    sums = [heat.sum(dtype=float) for heat in heats] + model[-1].intercept_
    np.testing.assert_allclose(sums, scores, atol=1e-5 * abs(scores).max())


def test_new_pictures_are_annotated_with_maps(finished, monkeypatch, capsys):
    monkeypatch.chdir(finished)
    assert main(["annotate", "results/photos/model.skops", "photos/blue/05.png", "--html", "page"]) == 0
    assert "blue" in capsys.readouterr().out
    assert len(list((finished / "page" / "thumbnails").glob("*"))) > 2


def test_another_network_is_refused(finished, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    networks.tokens_of_float(tmp_path / "network.onnx")
    picture = str(finished / "photos" / "red" / "00.png")
    assert main(["annotate", str(finished / "results" / "photos" / "model.skops"), picture]) == 2
    assert "error: network.onnx must be the file with SHA-256" in capsys.readouterr().err
