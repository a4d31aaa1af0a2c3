"""The page of annotated pictures, by a model that may be anyone's: what it shows, and which files it reads."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from model_files import model_of
from PIL import Image

from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.models.model_file import save

ORDERS = [*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))]


def picture(path, seed=0):
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (16, 16), dtype=np.uint8)).save(path)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with pictures, known ones, and others elsewhere."""
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate(("in/0.png", "known/a.png", "known/b.png", "elsewhere/secret.png")):
        picture(tmp_path / name, i)
    return tmp_path


def annotated(names):
    """Write a page by a model that knows pictures of these names."""
    model = model_of("pictures")
    model.known_names_ = [names[i % len(names)] for i in range(len(model.known_names_))]
    model.known_scores_ = np.arange(56, dtype=np.float32).reshape(28, 2) % 7  # so that several are alike
    model.known_labels_ = (model.known_scores_ > 3).astype(np.int8)
    save(model, Path("model.jointsparse"))
    return main(["annotate", "model.jointsparse", "in", "--html", "page", "--known", "known"])


def data_of(page):
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    return json.loads(data)


OPENED = []
sys.addaudithook(lambda event, values: OPENED.append(str(values[0])) if event == "open" else None)


@pytest.mark.parametrize(
    "name",
    [
        "{place}/elsewhere/secret.png",
        "../elsewhere/secret.png",
        "a/../../elsewhere/secret.png",
        "link.png",
        "folder/secret.png",
    ],
)
def test_a_known_picture_outside_of_its_folder_is_neither_read_nor_shown(place, capsys, name):
    (place / "known" / "link.png").symlink_to(place / "elsewhere" / "secret.png")
    (place / "known" / "folder").symlink_to(place / "elsewhere")
    name = name.format(place=place)
    OPENED.clear()
    assert annotated([name]) == 0
    assert capsys.readouterr().err == f"not shown: {name}: it lies outside of the folder of known pictures\n"
    assert not [file for file in OPENED if "secret" in file]
    assert not list((place / "page" / "thumbnails").glob("*-known-*"))


def test_known_pictures_of_the_folder_are_shown_and_links_within_it_lead_to_them(place, capsys):
    (place / "known" / "same.png").symlink_to("a.png")
    assert annotated(["a.png", "./b.png", "same.png"]) == 0
    assert capsys.readouterr().err == ""
    assert len(list((place / "page" / "thumbnails").glob("*-known-*"))) == 3


@pytest.mark.parametrize("name", ["bad.png", "\0", "x" * 5000, "loop"])
def test_a_known_picture_that_does_not_open_is_one_line_and_the_page_is_written(place, capsys, name):
    (place / "known" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    (place / "known" / "loop").symlink_to("loop")
    assert annotated([name]) == 0
    err = capsys.readouterr().err
    assert err.startswith("not shown: ") and err.count("\n") == 1
    assert len(data_of(place / "page" / "index.html")["photos"][0]["alike"]) == 1


def test_no_sign_of_a_word_reorders_letters_of_the_page(place):
    model = model_of("pictures")
    model.card_ = model.card_.model_copy(update={"words": [f"a{''.join(ORDERS)}b", "שלום"]})
    (place / "in" / "\u202egnp.png").write_bytes((place / "in" / "0.png").read_bytes())
    save(model, place / "model.jointsparse")
    assert main(["annotate", "model.jointsparse", "in", "--html", "page"]) == 0
    page = place / "page" / "index.html"
    data = data_of(page)
    assert not set(page.read_text()) & set(ORDERS)
    assert data["words"][1] == "שלום" and data["words"][0].startswith(r"a\u202a")
    assert {photo["name"] for photo in data["photos"]} == {"in/0.png", r"in/\u202egnp.png"}


def test_tags_that_are_not_listed_in_the_table_are_on_the_page(place, capsys):
    model = model_of("pictures")
    model[-1].calibration_ = np.array([[0.0, 0.0], [0.0, -1.0]])  # probabilities of .5 and .27
    save(model, place / "model.jointsparse")
    assert main(["annotate", "model.jointsparse", "in", "--words", "1", "--html", "page"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 1
    (photo,) = data_of(place / "page" / "index.html")["photos"]
    assert [p for _, p, *_ in photo["tags"]] == [0.5, 0.269]
