"""Messages that decoders write to the standard error become part of the reason, and are logged with the picture."""

import logging
import struct
from io import BytesIO

import numpy as np
from model_files import fitted, write_model
from PIL import Image
from test_pictures import PICTURES

from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.datasets import checker

NOISE = Image.fromarray(np.kron(np.random.default_rng(0).random((24, 32)) > 0.5, np.ones((4, 4))) > 0)


def tiff(compression, damage=slice(0)):
    file = BytesIO()
    NOISE.convert("1" if compression == "group4" else "L").save(file, "TIFF", compression=compression)
    data = bytearray(file.getvalue())
    data[damage] = len(data[damage]) * b"\x01"
    return bytes(data)


def with_a_long_tag():
    """Return a valid picture whose description (tag 270) claims to be longer than the file. Pillow ignores it."""
    file = BytesIO()
    NOISE.convert("L").save(file, "TIFF", tiffinfo={270: "A note."})
    return file.getvalue().replace(struct.pack("<HHI", 270, 2, 8), struct.pack("<HHI", 270, 2, 10**6))


def test_warnings_of_decoders_are_logged_with_the_name_of_the_picture(tmp_path, capfd, caplog):
    caplog.set_level(logging.INFO)
    (tmp_path / "a.tif").write_bytes(with_a_long_tag())
    ((reason, _),) = checker.verdicts([tmp_path / "a.tif"], "check", 32, 320)
    assert reason == "" and capfd.readouterr().err == ""
    assert caplog.messages == [f"{tmp_path / 'a.tif'}: Tag data larger than file. Skipping tag 270"]


def test_annotate_does_not_print_warnings_of_decoders(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "model.jointsparse", fitted("pictures"))
    (tmp_path / "a.tif").write_bytes(with_a_long_tag())
    assert main(["annotate", "model.jointsparse", "a.tif"]) == 0
    out, err = capsys.readouterr()
    assert "a.tif" in out and not err


def test_errors_of_decoders_are_reported_for_the_right_picture(tmp_path, capfd, caplog):
    caplog.set_level(logging.INFO)
    pictures = {
        "fax": tiff("group4", slice(100, 110)),  # Pillow decodes it with wrong pixels
        "good fax": tiff("group4"),
        "packed": tiff("tiff_adobe_deflate", slice(200, 230)),
        "good": tiff("tiff_adobe_deflate"),
        "text": b"text",
        "seven levels": (PICTURES / "misread" / "seven-levels.tif").read_bytes(),  # Pillow logs an error
    }
    for name, data in pictures.items():
        (tmp_path / name).write_bytes(data)
    found = checker.verdicts([tmp_path / name for name in pictures], "check", 32, 320)
    reasons = {name: reason for name, (reason, _) in zip(pictures, found, strict=True)}
    assert reasons["good fax"] == reasons["good"] == ""
    assert reasons["fax"].startswith("does not open as a picture: Fax4Decode: ")
    assert reasons["packed"].startswith("does not open as a picture: decoder error -2 (ZIPDecode: ")
    assert reasons["text"] == reasons["seven levels"]  # without the messages about an earlier picture
    assert {line.split(": ")[0] for line in caplog.messages} == {str(tmp_path / name) for name in ("fax", "packed")}
    assert capfd.readouterr().err == ""
