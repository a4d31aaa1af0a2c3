"""The jobs of a run on photographs that a network describes, from `init` to annotated pictures with maps."""

import json

import networks
import numpy as np
import pytest
from albums import verdicts_here
from common import run_python
from miniature import run_script_with
from model_files import fitted, write_model
from pages import data_of
from PIL import Image
from plan import Place
from runs import plan_of

from jointsparse.features import efficientnet, network_files, onnx
from jointsparse.features.explain import Explainer
from jointsparse.pipeline import load
from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.provenance.tables import read_table

# The jobs until the page is written, as the workflow plans them: the name of each rule, and what its script is given.
RULES = ("read_images", "correct_labels", "choose_words", "embed", "inspect_features", "fit_final", "keep_model")
RULES += ("write_page",)
PLAN_JOBS = """
import json, sys
from miniature import BASE, jobs
planned = jobs(BASE, ".")
parts = ("input", "output", "params", "wildcards")
of_rules = [(rule, job) for rule in sys.argv[1:] for job in planned[rule]]
print(json.dumps([(rule, {part: dict(getattr(job, part).items()) for part in parts}) for rule, job in of_rules]))
"""
PICTURES = [f"{colour}/{i:02}.png" for colour in ("blue", "dark red") for i in range(16)]
MODEL = ["--model", "network.onnx"]
DECIDED = {("dark red/00.png", "dark red"): "no", ("dark red/01.png", "dark red"): "yes"}


def draw_pictures(folder):
    """Draw pictures with a bright red or blue corner, in a folder for each colour."""
    rng = np.random.default_rng(0)
    for name in PICTURES:
        picture = rng.integers(0, 90, (32, 40, 3), dtype=np.uint8)
        picture[:16, :20, 0 if "red" in name else 2] += 120
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / name)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run with a small network and two decided labels, until the page is written."""
    folder = tmp_path_factory.mktemp("network")
    draw_pictures(folder / "photos")
    networks.write(folder / "network.onnx", "maps")
    rows = [f"{name},{tag},{has}\n" for (name, tag), has in DECIDED.items()]
    (folder / "decided.csv").write_text("sample,tag,has\n" + "".join(rows), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(onnx, "open_network", networks.opened_here)  # tests/test_embedding.py tries networks
        patch.setattr("jointsparse.pipeline.datasets.checker.verdicts", verdicts_here)
        assert main(["init", "photos", *MODEL]) == 0
        text = (folder / "config.yaml").read_text(encoding="utf-8")
        text = text.replace("    loader:", "    corrections: decided.csv\n    note: Two colours.\n    loader:").replace(
            "basis: null", "basis: null\n      norm: l1inf"
        )
        (folder / "config.yaml").write_text(text, encoding="utf-8")
        for rule, given in json.loads(run_python("-c", PLAN_JOBS, *RULES)):
            run_script_with(patch, rule, **given)
    return folder


@pytest.fixture
def in_folder(finished, monkeypatch, checked_here):
    monkeypatch.chdir(finished)
    monkeypatch.setattr(onnx, "open_network", networks.opened_here)
    return load("results/photos/model.jointsparse", network="network.onnx")


def test_every_label_is_listed_except_for_decided_ones_which_are_learnt(in_folder):
    listed = read_table("results/photos/tags_to_check.csv")[["sample", "tag", "kind"]]
    kinds = {(name, tag): "wrong" if tag in name else "missing" for name in PICTURES for tag in ("blue", "dark red")}
    expected = {(*label, kind) for label, kind in kinds.items() if label not in DECIDED}
    got = {*listed.itertuples(index=False, name=None)}
    assert got <= expected and len(got) > 0.9 * len(expected)
    assert in_folder.known_labels_[in_folder.known_names_.index("dark red/00.png")].tolist() == [0, 0]


def test_the_saved_model_has_the_decisions_of_its_maps_and_states_its_origin(in_folder):
    card, picture = in_folder.card_, "photos/dark red/03.png"
    scores = np.asarray(in_folder.decision_function([picture]))[0]
    sums = [heat.sum(dtype=float) for heat in Explainer(in_folder).heats(picture, range(2))] + in_folder[-1].intercept_
    np.testing.assert_allclose(sums, scores, atol=1e-5 * np.abs(scores).max())
    assert card.words[scores.argmax()] == "dark red"
    raw = records.digest(records.checksums(["photos"]))
    assert (card.dataset, card.study, card.seed, card.raw) == ("photos", "own-classes", 1, raw)


def test_the_page_shows_the_photographs_with_maps_and_how_to_annotate_others(finished):
    folder = finished / "results" / "photos"
    page = (folder / "index.html").read_text("utf-8")
    data = data_of(page)
    assert {"base": "../../photos/", "tag": "scene", "key": "jointsparse photos"}.items() <= data.items()
    assert "Two colours." in page and "--html annotated --network network.onnx" in page
    places = [(image["file"], ["", *(f"-{k:03}" for k in image["maps"])]) for image in data["images"].values()]
    expected = {file.replace(".webp", f"{place}.webp") for file, many in places for place in many}
    assert {f"thumbnails/{file.name}" for file in (folder / "thumbnails").iterdir()} == expected


def test_new_pictures_are_annotated_with_maps(finished, in_folder, capsys):
    options = ["--html", "page", "--network", "network.onnx"]
    assert main(["annotate", "results/photos/model.jointsparse", "photos/blue/05.png", *options]) == 0
    assert "blue" in capsys.readouterr().out
    # A thumbnail, and the map of a tag that reaches its threshold
    assert {file.name for file in (finished / "page" / "thumbnails").iterdir()} >= {"000000.webp", "000000-000.webp"}


@pytest.mark.usefixtures("checked_here")
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("maps", MODEL, "16 x 16 pixels (NHWC, uint8, RGB), 5 features of output y, the mean over 4 x 4 places"),
        (
            "tokens",
            MODEL,
            "(NCHW, float32, RGB in [0, 1], mean (0.485, 0.456, 0.406), standard deviation (0.229, 0.224, 0.225), "
            "as preprocessor_config.json says), 5 features of output y, the mean over 4 x 4 places and without the "
            "first 1 of 17 tokens",
        ),
        ("vector", MODEL, ", without places"),
        ("maps", [], "efficientnet-lite0: the built-in network"),
        ("maps", ["--visual-words"], "Wrote config.yaml"),
        ("maps", ["--visual-words", *MODEL], "leave one of them out"),
    ],
)
def test_init_says_how_pictures_are_described(tmp_path, monkeypatch, capsys, name, arguments, expected):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(onnx, "open_network", networks.opened_here)
    draw_pictures(tmp_path / "photos")
    networks.write(tmp_path / "network.onnx", name)
    if name == "tokens":
        (tmp_path / "preprocessor_config.json").write_text('{"size": 16}')
    assert main(["init", "photos", *arguments]) == (2 if expected.startswith("leave") else 0)
    said = capsys.readouterr()
    assert expected in said.out + said.err and ("network" in said.out) == ("--visual-words" not in arguments)


def plan_with(album, network):
    entry = {"options": {"root": str(album)}, "features": {"options": {"model": str(network)}}}
    return plan_of("flickr8k-embedding", "annotation-embedding", entry=entry)


def test_a_run_knows_its_network_by_all_its_files(album, tmp_path):
    path, place = tmp_path / "network.onnx", Place("flickr8k-embedding", "annotation-embedding")
    networks.write(path, "maps", location="weights")
    (tmp_path / "weights").write_bytes(networks.WEIGHTS.tobytes())
    assert plan_with(album, path).network(place)["digest"] == network_files.digest(path)
    assert plan_with(album, "efficientnet-lite0").network(place) == {"path": None, "digest": efficientnet.DIGEST}
    (tmp_path / "weights").unlink()
    with pytest.raises(ValueError, match=r"weights', which is not there \(config.yaml: datasets.flickr8k-embedding"):
        plan_with(album, path).require_raw_files()


@pytest.mark.parametrize(
    ("file", "given", "expected"),
    [
        *((file, [], "needs its network, an ONNX file, got") for file in ("{secret}", "../secret", "/dev/zero", "")),
        ("", ["--network", "secret"], "error: secret must be the network with SHA-256 000000"),
    ],
)
def test_a_model_cannot_have_a_file_of_the_machine_read(tmp_path, monkeypatch, capsys, file, given, expected):
    monkeypatch.chdir(tmp_path)
    secret = networks.write(tmp_path / "secret", "tokens")
    draw_pictures(tmp_path)
    write_model(tmp_path / "dark red" / "model", fitted("network"), ("card.features.file", file.format(secret=secret)))
    assert main(["annotate", "dark red/model", PICTURES[0], *given]) == 2
    said = capsys.readouterr().err
    assert expected in said and network_files.digest(secret) not in said
