"""Write damaged and hostile model files, and show and use each file as the commands do.

    python trials/models.py --cases 300 --seed 1

The models in `tests/pipeline/model_files.py` are changed and written as by somebody who knows the format. Every case
ends in one of these ways:

- refused: with an error message of one sentence.
- used: the file is valid, and is a model like the original or another one, whose answers nobody knows.
- traceback, not one sentence, control characters (on the terminal or in the page), read outside (of the folders that
  the user has named), memory (more than 1 GB), slow (more than two minutes).

If a case ends in one of the last ways, it is printed, and the exit status is 1. Seed and number determine a case:
--only N repeats it.
"""

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import unicodedata
import warnings
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from jointsparse.pipeline.app.command_line import main as command
from jointsparse.pipeline.models import model_file

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "pipeline"))
from model_files import content_of, entries_of, fitted

FINE = REFUSED, USED = "refused", "used"
BAD = TRACEBACK, WORDY, CONTROL, OUTSIDE, MEMORY, SLOW = (
    *("traceback", "not one sentence", "control characters", "read outside", "memory", "slow"),
)
SECONDS, MEGABYTES, LARGE_EVERY = 120, 1000, 40
HOSTILE = "\x1b[2J\x07\x9b31m\u202egnp.\x85\u2028\x7f\n\r\t\u2066x"
FORK = multiprocessing.get_context("fork")  # forks this process, because imports take seconds
Rng = np.random.Generator
SCALARS: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31 - 1, 10**40, 1e308, float("nan"), float("inf"), 10**9, 0.5, "", "l3", "A" * 10**6),
    *(HOSTILE, "../../etc/passwd", "/etc/passwd", "\ud800", "=1+1", [], {}, [[[[1]]]], {"a": HOSTILE}, [1, 2]),
    *([0] * 10**6, [""] * 10**6, {f"{i}": 1 for i in range(10**5)}),
)


def one_of(things: Any, rng: Rng) -> Any:
    return things[int(rng.integers(len(things)))]


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
    whole, place = content_of(entries), 0
    place = int(rng.integers(len(whole)))
    others = io.BytesIO()
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
    """Write a valid model whose words, names or origin move the cursor or are paths of files outside the folder."""
    card, names = entries["card"], entries["names"]
    card |= {"words": [f"{HOSTILE}{k}<script>" for k in range(2)], "dataset": HOSTILE, "study": "\u202e"}
    known = (OUTSIDE_FILE, f"../{Path(OUTSIDE_FILE).parent.name}/secret.png", "link.png", HOSTILE, "known.png")
    names["known"] = [known[int(rng.integers(5))] for _ in names["known"]]
    names["columns"] = [f"{HOSTILE}{i}" for i in range(len(names["columns"]))]
    return content_of(entries)


def large(entries: dict[str, Any], rng: Rng) -> bytes:
    """Write a valid model of pictures close to the largest allowed size: its basis, tree, or known images are large."""
    n_words, rank, n_tasks, n_known = one_of([(11_000, 4_200, 9, 50), (290_000, 10, 9, 50), (90, 10, 400, 90_000)], rng)
    first, ones = np.arange(n_words + 1) == 0, np.ones(n_words + 1, np.int32)
    entries["card"]["features"]["weighting"] = "sqrt"
    del entries["tree_idf"]
    entries |= {
        "tree_centres": rng.integers(0, 256, (n_words + 1, 128)).astype(np.float32),
        "tree_level": ones * ~first,
    }
    entries |= {"tree_first_child": ones * first, "tree_n_children": n_words * ones * first}
    entries |= {
        "basis_mean": np.zeros(n_words, np.float32),
        "basis_components": rng.random((n_words, rank), np.float32),
    }
    entries |= {
        "basis_singular_values": np.ones(rank),
        "basis_factors": np.ones(rank),
        "basis_columns": np.arange(rank),
    }
    entries |= {"coef": rng.normal(size=(n_tasks, rank)), "calibration": np.ones((n_tasks, 2))}
    entries |= {"intercept": np.zeros(n_tasks), "known_scores": rng.normal(size=(n_known, n_tasks)).astype(np.float32)}
    entries["known_labels"] = (entries["known_scores"] > 0).astype(np.int8)
    entries |= {
        "check_data": np.zeros(0),
        "check_indices": np.zeros(0, np.int32),
        "check_indptr": np.zeros(2, np.int32),
    }
    entries["check_scores"] = np.zeros((1, n_tasks))
    card = {"words": [f"w{k}" for k in range(n_tasks)], "thresholds": [0.0] * n_tasks, "known_images": n_known}
    entries["card"] |= card | {"statistics": {name: [0.5] * (n_tasks + 1) for name in entries["card"]["statistics"]}}
    entries["names"]["known"] = [f"{i}.png" for i in range(n_known)]
    return content_of(entries)


KINDS = {
    "text": changed_text,
    "array": changed_array,
    "archive": changed_archive,
    "hostile text": hostile_text,
    "large": large,
}


def kind_of(number: int) -> str:
    return "large" if number % LARGE_EVERY == LARGE_EVERY - 1 else list(KINDS)[number % 8 % 4]


def make(number: int, seed: int, path: Path) -> str:
    """Draw a case, write its model file, and return the name of the original model."""
    kind, rng = kind_of(number), np.random.default_rng([seed, number])
    name = "pictures" if kind in ("large", "hostile text") else one_of(["pictures", "rows", "texts", "network"], rng)
    path.write_bytes(KINDS[kind](entries_of(fitted(name)), rng))
    return name


# Judging


def is_control(sign: str) -> bool:
    """Return True if a terminal would do something other than draw the character."""
    kind = unicodedata.category(sign)
    return kind in ("Cc", "Cs", "Zl", "Zp") or (kind == "Cf" and sign not in "\u200c\u200d")


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def judged(name: str, place: Path) -> tuple[str, str, float]:
    """Run the commands. Return how a case ends, why, and the megabytes that it used."""
    model, read = str(place / "model.jointsparse"), set[str]()

    def note(event: str, values: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir"):
            read.add(str(values[0]))

    sys.addaudithook(note)
    of_pictures = name in ("pictures", "network")
    page = ["--html", str(place / "page"), "--known", str(KNOWN)] if of_pictures else []
    status = 0
    for arguments in (["show", model], ["annotate", model, str(PICTURES if of_pictures else ROWS), *page]):
        out, err = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = command(arguments)
        except BaseException:
            return TRACEBACK, traceback.format_exc(), memory()
        said, lines = out.getvalue() + err.getvalue(), err.getvalue().split("\n")[:-1]
        if any(map(is_control, said.replace("\n", ""))):
            return CONTROL, repr(said[:500]), memory()
        lines = [line for line in lines if not line.startswith(("warning: ", "left out: ", "not shown: "))]
        one = len(lines) == 1 and lines[0].startswith("error: ") and len(lines[0]) < 2000 and not out.getvalue()
        if lines and not (one and status == 2):
            return WORDY, said[:1000], memory()
    pages = "".join(page.read_text() for page in place.rglob("*.html"))
    if any("\u202a" <= sign <= "\u202e" or "\u2066" <= sign <= "\u2069" for sign in pages):
        return CONTROL, "in the page", memory()
    allowed = (str(place), str(PICTURES), str(KNOWN), str(ROWS), *READ)
    named = {file for file in read if os.path.isabs(file)} - {tempfile.gettempdir()}  # unnamed temporary files
    outside = [file for file in named if not os.path.realpath(file).startswith(allowed)]
    if outside:
        return OUTSIDE, str(outside), memory()
    return (MEMORY if memory() > MEGABYTES else REFUSED if status == 2 else USED), err.getvalue(), memory()


def run_case(number: int, seed: int) -> tuple[str, str, float]:
    """Make and judge a case in a process of its own. Return how it ends, why, and the megabytes that it used."""
    steps = (
        lambda place, _: make(number, seed, place / "model.jointsparse"),
        lambda place, name: judged(name, place),
    )
    with tempfile.TemporaryDirectory(prefix="models-") as folder:
        answer: Any = None
        for step in steps:  # a process each, because making a file takes memory as well
            ours, theirs = FORK.Pipe(duplex=False)
            work = partial(step, Path(folder).resolve(), answer)
            child = FORK.Process(target=lambda work=work, theirs=theirs: theirs.send(work()))
            child.start()
            theirs.close()
            answer = None
            with contextlib.suppress(EOFError):
                answer = ours.recv() if ours.poll(SECONDS) else child.kill()
            child.join()
            if answer is None:
                end = SLOW if child.exitcode == -signal.SIGKILL else TRACEBACK
                return end, f"the process ended with {child.exitcode}", 0.0
        return answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run only the case with this number")
    given = parser.parse_args()
    with warnings.catch_warnings(action="ignore"), tempfile.TemporaryDirectory(prefix="models-") as folder:
        for name in ("pictures", "rows", "texts", "network"):  # fits the models, and compiles all that the cases need
            path = Path(folder) / "model.jointsparse"
            model_file.save(fitted(name), path)
            print(name, judged(name, Path(folder).resolve())[:2], flush=True)
    numbers = range(given.cases) if given.only is None else [given.only]
    counts, most, begun = pd.DataFrame(0, index=list(KINDS), columns=[*FINE, *BAD]), 0.0, time.monotonic()
    for number in numbers:
        end, why, used = run_case(number, given.seed)
        counts.loc[kind_of(number), end] += 1
        most = max(most, used)
        if end in BAD or given.only is not None:
            print(f"seed {given.seed}, case {number}, {kind_of(number)}, {end}: {why}", flush=True)
    print(counts.loc[:, counts.any()].to_string())
    print(f"{counts.to_numpy().sum()} files, at most {most:.0f} MB, {time.monotonic() - begun:.0f} s")
    return int(counts[list(BAD)].to_numpy().any())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="models-") as above:
        root = Path(above).resolve()
        PICTURES, KNOWN, ROWS = root / "pictures", root / "known", root / "rows.csv"
        OUTSIDE_FILE = str(root / "elsewhere" / "secret.png")
        drawn = np.random.default_rng(2)
        for place, pictures in ((PICTURES, "012"), (KNOWN, ["known"]), (root / "elsewhere", ["secret"])):
            place.mkdir()
            for picture in pictures:
                Image.fromarray(drawn.integers(0, 256, (16, 16), dtype=np.uint8)).save(place / f"{picture}.png")
        (KNOWN / "link.png").symlink_to(OUTSIDE_FILE)
        pd.DataFrame(drawn.normal(size=(3, 5)), columns=list("abcde")).to_csv(ROWS, index=False)
        system = map(os.path.realpath, ("/proc", "/sys", "/dev", "/usr", "/lib", "/etc"))
        READ = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[1]), *system)
        sys.exit(main())
