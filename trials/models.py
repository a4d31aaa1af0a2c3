"""Write damaged and hostile model files, and show and use each file as the commands do.

    python trials/models.py --cases 300 --seed 1

The models in `tests/pipeline/model_files.py` are changed and written as by somebody who knows the format. A file is
either refused with one clear line, or used, because it is valid. No command may write control characters on the
terminal or into the page, read files outside of the folders that the user has named, or take more than 1 GB. The ways
in which a case can end are listed in `harness.py`.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import unicodedata
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
import pandas as pd
from harness import one_of, require
from PIL import Image

from jointsparse.pipeline.app.command_line import main as command
from jointsparse.pipeline.models import model_file

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "pipeline"))
from model_files import content_of, entries_of, fitted

SECONDS, MEGABYTES = 120, 1000
HOSTILE = "\x1b[2J\x07\x9b31m\u202egnp.\x85\u2028\x7f\n\r\t\u2066x"
Rng = np.random.Generator
SCALARS: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31 - 1, 10**40, 1e308, float("nan"), float("inf"), 10**9, 0.5, "", "l3", "A" * 10**6),
    *(HOSTILE, "../../etc/passwd", "/etc/passwd", "\ud800", "=1+1", [], {}, [[[[1]]]], {"a": HOSTILE}, [1, 2]),
    *([0] * 10**6, [""] * 10**6, {f"{i}": 1 for i in range(10**5)}),
)


# Files


def changed_text(entries: dict[str, Any], rng: Rng) -> bytes:
    """Change, remove or add a value somewhere in the card or in the names."""
    block, depth = entries[one_of(["card", "card", "card", "names"], rng)], 0
    while True:
        key = one_of(list(block) if isinstance(block, dict) else range(len(block)), rng)
        if not isinstance(block[key], dict | list) or not block[key] or (depth and rng.random() < 0.3):
            break
        block, depth = block[key], depth + 1
    match int(rng.integers(8)):
        case 0 if isinstance(block, dict):
            del block[key]
        case 1 if isinstance(block, dict):
            block[one_of([HOSTILE, "x", "\ud800"], rng)] = block[key]
        case _:
            block[key] = one_of(SCALARS, rng)
    return content_of(entries)


def changed_array(entries: dict[str, Any], rng: Rng) -> bytes:
    """Change the numbers, the type or the shape of an array, or the bytes of its file."""
    name = one_of([name for name in entries if name not in ("card", "names")], rng)
    array = entries[name].copy()
    flat = array.reshape(-1)
    numbers = [np.nan, np.inf, 1e300, -1e38, -1.0, 2.0**31] if array.dtype.kind == "f" else [-1, 2, 10**6, 2**31 - 1, 0]
    match int(rng.integers(5)):
        case 0:
            shapes = array[:-1] if array.ndim else array, np.concatenate([flat, flat]), array[np.newaxis], array.T, flat
            entries[name] = one_of(shapes, rng)
        case 1:
            entries[name] = array.astype(one_of([np.float16, np.int64, ">f8", bool, np.float64, "U3"], rng))
        case 2:
            shape = one_of([(10**12,), (2**40, 0), (2**62,), (-1, -5), (10**5, 10**5), (1,) * 40, (3,)], rng)
            file = io.BytesIO()
            descr = one_of(["<f8", "|O", "<U0", "|V1000000000", "<M8[s]", ">f4", "<c16"], rng)
            np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
            entries[name] = file.getvalue() + array.tobytes()
        case 3:
            entries[name] = one_of([b"", bytes(500), b"\x93NUMPY\x02\x00" + b"\xff" * 200, rng.bytes(1000)], rng)
        case _:
            with contextlib.suppress(OverflowError), np.errstate(over="ignore"):
                flat[int(rng.integers(len(flat)))] = one_of(numbers, rng)
            entries[name] = array if rng.random() < 0.7 else flat[::-1].reshape(array.shape)
    return content_of(entries)


def changed_archive(entries: dict[str, Any], rng: Rng) -> bytes:
    """Damage the archive itself, or write it in another way than `save` does."""
    whole, others = content_of(entries), io.BytesIO()
    place = int(rng.integers(len(whole)))
    with (
        warnings.catch_warnings(action="ignore"),
        zipfile.ZipFile(others, "w", one_of([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], rng)) as archive,
    ):
        archive.writestr("card.json", one_of([json.dumps(entries["card"]), "[" * 10**6, " " * 10**8], rng))
        archive.writestr(one_of(["names.json", "card.json", "../x.npy", HOSTILE], rng), bytes(10**7))
    head, n = b"PK\x01\x02" + bytes(42), one_of([10**4, 10**6], rng)
    return one_of(
        [
            whole[:place],
            whole[:place] + bytes([whole[place] ^ int(rng.integers(1, 256))]) + whole[place + 1 :],
            whole + b"x" * int(rng.integers(1, 99)),
            content_of(entries | {f"{i}": b"" for i in range(int(rng.integers(11_000)))}),
            content_of({name: entry for name, entry in entries.items() if rng.random() < 0.8}),
            head * n + model_file.END.pack(b"PK\5\6", 0, 0, 5, 5, len(head) * n, 0, 0),
            others.getvalue(),
            rng.bytes(10_000),
        ],
        rng,
    )


def hostile_text(entries: dict[str, Any], rng: Rng) -> bytes:
    """Write a valid model whose words, names or origin move the cursor or name files outside the folder."""
    card, names = entries["card"], entries["names"]
    card |= {"words": [f"{HOSTILE}{k}<script>" for k in range(2)], "dataset": HOSTILE, "study": "\u202e"}
    known = (str(OUTSIDE_FILE), "../elsewhere/secret.png", "link.png", HOSTILE, "known.png")
    names["known"] = [one_of(known, rng) for _ in names["known"]]
    names["columns"] = [f"{HOSTILE}{i}" for i in range(len(names["columns"]))]
    return content_of(entries)


def large(entries: dict[str, Any], rng: Rng) -> bytes:
    """Write a valid model of pictures close to the largest allowed size: its basis, tree, or known images are large."""
    n_words, rank, n_tasks, n_known = one_of([(11_000, 4_200, 9, 50), (290_000, 10, 9, 50), (90, 10, 400, 90_000)], rng)
    first, ones = np.arange(n_words + 1) == 0, np.ones(n_words + 1, np.int32)
    entries["card"]["features"]["weighting"] = "sqrt"
    del entries["tree_idf"]
    scores = rng.normal(size=(n_known, n_tasks)).astype(np.float32)
    entries |= {
        "tree_centres": rng.integers(0, 256, (n_words + 1, 128)).astype(np.float32),
        "tree_level": ones * ~first,
        "tree_first_child": ones * first,
        "tree_n_children": n_words * ones * first,
        "basis_mean": np.zeros(n_words, np.float32),
        "basis_components": rng.random((n_words, rank), np.float32),
        "basis_singular_values": np.ones(rank),
        "basis_factors": np.ones(rank),
        "basis_columns": np.arange(rank),
        "coef": rng.normal(size=(n_tasks, rank)),
        "intercept": np.zeros(n_tasks),
        "calibration": np.ones((n_tasks, 2)),
        "known_scores": scores,
        "known_labels": (scores > 0).astype(np.int8),
        "check_data": np.zeros(0),
        "check_indices": np.zeros(0, np.int32),
        "check_indptr": np.zeros(2, np.int32),
        "check_scores": np.zeros((1, n_tasks)),
    }
    card = {"words": [f"w{k}" for k in range(n_tasks)], "thresholds": [0.0] * n_tasks, "known_images": n_known}
    entries["card"] |= card | {"statistics": {name: [0.5] * (n_tasks + 1) for name in entries["card"]["statistics"]}}
    entries["names"]["known"] = [f"{i}.png" for i in range(n_known)]
    return content_of(entries)


def valid(entries: dict[str, Any], rng: Rng) -> bytes:
    return (large if rng.random() < 0.1 else hostile_text)(entries, rng)


# Judging


def is_control(sign: str) -> bool:
    """Return True if a terminal would do something other than draw the character."""
    kind = unicodedata.category(sign)
    return kind in ("Cc", "Cs", "Zl", "Zp") or (kind == "Cf" and sign not in "\u200c\u200d")


def run(arguments: list[str]) -> None:
    """Run a command. Raise Refused if it ends with one error, and Wrong if it says anything else than warnings."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = command(arguments)
    text, lines = out.getvalue() + err.getvalue(), err.getvalue().splitlines()
    require(not any(map(is_control, text.replace("\n", ""))), f"control characters: {text[:500]!r}")
    lines = [line for line in lines if not line.startswith(("warning: ", "left out: ", "not shown: "))]
    if status == 2 and len(lines) == 1 and lines[0].startswith("error: ") and not out.getvalue():
        harness.refuse(ValueError(lines[0]), longest=2000)
    require(not lines and status == 0, f"exit status {status}: {text[:1000]}")


def commands(file: Path, of_pictures: bool) -> None:
    """Show and use a model file."""
    place, opened = file.parent, set[str]()

    def note(event: str, values: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir"):
            opened.add(str(values[0]))

    sys.addaudithook(note)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets how much memory was used to make the file
    try:
        run(["show", str(file)])
        page = ["--html", str(place / "page"), "--known", str(KNOWN)] if of_pictures else []
        run(["annotate", str(file), str(PICTURES if of_pictures else ROWS), *page])
    finally:
        allowed = (str(place), str(PICTURES), str(KNOWN), str(ROWS), *READ)
        named = {path for path in opened if os.path.isabs(path)} - {tempfile.gettempdir()}  # unnamed temporary files
        outside = [path for path in named if not os.path.realpath(path).startswith(allowed)]
        require(not outside, f"read outside: {outside}")
        peak = [
            line
            for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines()
            if line.startswith("VmHWM")
        ]
        require(int(peak[0].split()[1]) < 1000 * MEGABYTES, f"memory: {peak[0]}")
    text = "".join(page.read_text() for page in place.rglob("*.html"))
    require(not any("\u202a" <= sign <= "\u202e" or "\u2066" <= sign <= "\u2069" for sign in text), "page: controls")


def case(change: Callable[[dict[str, Any], Rng], bytes], rng: Rng, folder: Path) -> None:
    name = "pictures" if change is valid else one_of(["pictures", "rows", "texts", "network"], rng)
    warnings.simplefilter("ignore")
    file = folder / "model.jointsparse"
    file.write_bytes(change(entries_of(fitted(name)), rng))
    commands(file, name in ("pictures", "network"))


def prepare(root: Path) -> None:
    """Write pictures and rows, fit the models, and compile all that the cases need."""
    rng = np.random.default_rng(2)
    for path in (*(PICTURES / f"{i}.png" for i in range(3)), KNOWN / "known.png", OUTSIDE_FILE):
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (16, 16), dtype=np.uint8)).save(path)
    (KNOWN / "link.png").symlink_to(OUTSIDE_FILE)
    pd.DataFrame(rng.normal(size=(3, 5)), columns=list("abcde")).to_csv(ROWS, index=False)
    for name, data in (("pictures", PICTURES), ("rows", ROWS), ("texts", None), ("network", None)):
        model_file.save(fitted(name), root / "model.jointsparse")
        file = str(root / "model.jointsparse")
        run(["annotate", file, str(data)] if data else ["show", file])


KINDS = {
    "text": partial(case, changed_text),
    "array": partial(case, changed_array),
    "archive": partial(case, changed_archive),
    "valid": partial(case, valid),
}

if __name__ == "__main__":
    given = harness.parser(__doc__, 300).parse_args()
    with tempfile.TemporaryDirectory(prefix="models-") as temporary:
        root = Path(temporary).resolve()
        PICTURES, KNOWN, ROWS, OUTSIDE_FILE = (
            root / name for name in ("pictures", "known", "rows.csv", "elsewhere/secret.png")
        )
        system = map(os.path.realpath, ("/proc", "/sys", "/dev", "/usr", "/lib", "/etc"))
        READ = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[1]), *system)
        prepare(root)
        sys.exit(harness.run(KINDS, given, seconds=SECONDS, at_once=1))
