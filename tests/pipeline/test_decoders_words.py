"""Messages that decoders write to the standard error become part of the reason, and are logged with the picture."""

import logging
import struct
from io import BytesIO

import numpy as np
from albums import lay
from model_files import fitted, write_model
from PIL import Image
from test_pictures import PICTURES

from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.datasets import checker

NOISE = Image.fromarray(np.kron(np.random.default_rng(0).random((24, 32)) > 0.5, np.ones((4, 4))) > 0)


def tiff(compression, damage=slice(0), **options):
    file = BytesIO()
    NOISE.convert("1" if compression == "group4" else "L").save(file, "TIFF", compression=compression, **options)
    data = bytearray(file.getvalue())
    data[damage] = len(data[damage]) * b"\x01"
    return bytes(data)


# A valid picture whose description (tag 270) claims to be longer than the file. Pillow ignores it.
LONG_TAG = tiff(None, tiffinfo={270: "A note."}).replace(
    struct.pack("<HHI", 270, 2, 8), struct.pack("<HHI", 270, 2, 10**6)
)


def test_warnings_of_decoders_are_logged_and_annotate_does_not_print_them(tmp_path, monkeypatch, capfd, caplog):
    caplog.set_level(logging.INFO)
    (tmp_path / "a.tif").write_bytes(LONG_TAG)
    ((reason, _),) = checker.verdicts([tmp_path / "a.tif"], "check", 32, 320)
    assert reason == "" and capfd.readouterr().err == ""
    assert caplog.messages == [f"{tmp_path / 'a.tif'}: Tag data larger than file. Skipping tag 270"]
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "model.jointsparse", fitted("pictures"))
    assert main(["annotate", "model.jointsparse", "a.tif"]) == 0
    out, err = capfd.readouterr()
    assert "a.tif" in out and not err


def test_errors_of_decoders_are_reported_for_the_right_picture(tmp_path, capfd, caplog):
    caplog.set_level(logging.INFO)
    pictures = {
        "fax": tiff("group4", slice(100, 110)),  # Pillow decodes it with wrong pixels
        "good fax": tiff("group4"),
        "packed": tiff("tiff_adobe_deflate", slice(200, 230)),
        "text": b"text",
        "seven levels": (PICTURES / "misread" / "seven-levels.tif").read_bytes(),  # Pillow logs an error
    }
    lay(tmp_path, pictures)
    found = checker.verdicts([tmp_path / name for name in pictures], "check", 32, 320)
    fax, good, packed, text, levels = (reason for reason, _ in found)
    assert fax.startswith("does not open as a picture: Fax4Decode: ") and good == ""
    assert packed.startswith("does not open as a picture: decoder error -2 (ZIPDecode: ")
    assert text == levels  # without the messages about an earlier picture
    assert {line.split(": ")[0] for line in caplog.messages} == {str(tmp_path / name) for name in ("fax", "packed")}
    assert capfd.readouterr().err == ""
