"""Output to the terminal: letters of all scripts stay, and characters that move the cursor or reorder text do not."""

import io

import pytest

from jointsparse.messages import printable
from jointsparse.pipeline.app import terminal
from jointsparse.pipeline.app.command_line import main

HOSTILE = "\x1b[2J\u202e\x9b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *(
            (text, text)
            for text in ("café", "naïve", "Ελλάδα", "кошка", "שלום", "مَرْحَبًا", "हिन्दी", "ไทย", "日本語", "🐈")
        ),
        *((text, text) for text in ("می\u200cخواهم", "क्\u200dष", "👩\u200d🔬", "10\u00a0000", "全\u3000角", "a\\b")),
        ("\x00\x07\x1b[31m\x7f", r"\x00\x07\x1b[31m\x7f"),
        ("\x85\x9b", r"\x85\x9b"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\u200e\u200f\u061c\u202a\u202e\u2066\u2069", r"\u200e\u200f\u061c\u202a\u202e\u2066\u2069"),
        ("\ufeff\u00ad\U000e0041", r"\ufeff\xad\U000e0041"),
        ("\ud800", r"\ud800"),
    ],
)
def test_letters_stay_and_control_characters_are_escaped(text, shown):
    assert printable(text) == shown and printable(shown) == shown


def test_letters_that_the_encoding_lacks_are_escaped():
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    terminal.say("é 日本", "a", to=stream)
    assert stream.buffer.getvalue() == b"\\xe9 \\u65e5\\u672c\na\n"


@pytest.mark.parametrize("arguments", [["verify", HOSTILE], ["init", HOSTILE]])
def test_errors_of_commands_have_no_control_characters(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") and err.count("\n") == 1 and err.rstrip("\n").isprintable() and "x1b[2J" in err
