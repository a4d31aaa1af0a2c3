"""Create folders of data like those of users, with known content, and check whether `init` reads them correctly.

python trials/folders.py [--cases 500] [--seed 1]

Each folder is of one kind (pictures in class folders, pictures with captions, tables, libsvm) and has a few oddities:
hidden copies, file names in another Unicode normalisation, file names with splits and part numbers, drafts, columns of
all kinds, unusual encodings. The data that are read must be the data that were created, or there must be an error
message of one sentence. Exits with 1 if anything is read differently, or if any other error is raised.
"""

import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
import traceback
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from PIL import Image
from scipy import sparse

from jointsparse.pipeline.app import config
from jointsparse.registry import pick

WORKFLOW = Path(__file__).parents[1]
WORDS = ("cat", "dog", "sea")
XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag>{}</rdf:Bag></dc:subject>
</rdf:Description></rdf:RDF></x:xmpmeta>"""
SAME, SENTENCE, OTHER, ERROR = OUTCOMES = ("as made", "one sentence", "otherwise", "another error")


class Case:
    """A folder under construction, and the data that should be read from it.

    labels: the known labels of each image or row. unknown: the unknown labels of each image or row. X: the rows of
    features. splits: the split of each image or row, if the folder assigns one. groups: the group of each row, if there
    are groups. done: the oddities in the folder, for the report.
    """

    def __init__(self, root: Path, rng: np.random.Generator) -> None:
        self.root, self.rng, self.done = root, rng, list[str]()
        self.labels, self.unknown = dict[str, set[str]](), dict[str, set[str]]()
        self.splits: dict[str, str] = {}
        self.groups: dict[str, str] = {}
        self.X: np.ndarray | None = None

    def chance(self, p: float, said: str = "") -> bool:
        """Return True with probability p, and then note the oddity that this means for the folder."""
        yes = bool(self.rng.random() < p)
        self.done += [said] * (yes and bool(said))
        return yes

    def one_of(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def write(self, name: str, text: str, encoding: str = "utf-8") -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode(encoding))

    def picture(self, name: str, seed: int) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(seed).integers(0, 255, (20, 24, 3), dtype=np.uint8)).save(path)

    def clutter(self, some: str) -> None:
        """Add hidden files, and files that operating systems create, to the folder. Some are copies of a data file."""
        for place in (".ipynb_checkpoints", "__MACOSX", "@eaDir", "#recycle", ".Trash-1000", "lost+found"):
            if self.chance(0.25, f"{place}/"):
                stem, dot, end = Path(some).name.rpartition(".")
                name = self.one_of(f"{stem}{dot}{end}", f"{stem}-checkpoint{dot}{end}", f"._{stem}{dot}{end}")
                (self.root / place).mkdir(exist_ok=True)
                shutil.copy(self.root / some, self.root / place / name)
        for name in ("Thumbs.db", "desktop.ini", ".DS_Store", f"._{Path(some).name}", f"{Path(some).name}~"):
            if self.chance(0.15, name):
                self.write(name, "left behind")


def in_form(case: Case, name: str) -> str:
    """Return a name in one of two Unicode normalisations, chosen at random."""
    return unicodedata.normalize(case.one_of("NFC", "NFD"), name)


def classes(case: Case) -> None:
    """Create pictures in class folders, one folder per class."""
    below = case.one_of("", "images/", "data/")
    names = [in_form(case, name) for name in case.one_of(WORDS, ("Café", "Bär", "Meer"))]
    parts = ("",)
    if case.chance(0.3, "folders of splits"):
        parts = case.one_of(("train/", "test/"), ("training_set/", "test_set/"), ("train2017/", "val2017/", "extra/"))
    for k, name in enumerate(names):
        for i in range(12):
            path = f"{parts[i % len(parts)]}{name}/{name}{i:02}.png"
            case.picture(below + path, 100 * k + i)
            case.labels[path] = {unicodedata.normalize("NFC", name)}
            case.splits |= {path: "test"} if parts[i % len(parts)].startswith(("test", "val")) else {}
    if len(parts) == 3:
        case.labels = {"an error": {"is expected"}}
    if len(parts) > 1:
        return
    if case.chance(0.3, "a picture in two classes"):
        first, second = f"{names[0]}/{names[0]}00.png", f"{names[1]}/also.png"
        shutil.copy(case.root / below / first, case.root / below / second)
        both = case.labels.pop(first) | {unicodedata.normalize("NFC", names[1])}
        case.labels[min(first, second)] = both
    case.clutter(f"{below}{names[2]}/{names[2]}03.png")


def captioned(case: Case) -> None:
    """Create pictures with captions in one of several file formats, or in two files."""
    below, word = case.one_of("", "images/", "train2017/"), "naïve" if case.chance(0.3, "accents") else "img"
    names = [in_form(case, f"{word}{i:02}.png") for i in range(36)]
    rows = [(name, f"a {WORDS[i % 3]} there") for i, name in enumerate(names)]
    for i, name in enumerate(names):
        case.picture(below + name, i)
    pairs = [(in_form(case, name), text) for name, text in rows]
    form = case.one_of(
        *("csv", "semicolon", "tab", "coco", "karpathy", "token", "results", "bom", "two", "draft", "latin", "none"),
        *("lines", "parquet", "split", "tags", "beside", "carried"),
    )
    case.done.append(form)
    case.labels = {name: {text} for name, text in rows}
    header, some = "image,caption\n", "captions.csv"

    def csv(part: list[tuple[str, str]], sign: str = ",") -> str:
        return header.replace(",", sign) + "".join(f"{name}{sign}{text}\n" for name, text in part)

    if form in ("csv", "semicolon", "tab"):
        case.write(some, csv(pairs, {"csv": ",", "semicolon": ";", "tab": "\t"}[form]))
    elif form == "split":
        splits = np.resize(["train", "train", "validation", "test"], len(names)).tolist()
        case.splits = dict(zip(names, splits, strict=True))
        lines = [f"{name},{text},{own}\n" for (name, text), own in zip(pairs, splits, strict=True)]
        case.write(some, "image,caption,split\n" + "".join(lines))
    elif form in ("tags", "beside", "carried"):
        tags = ("polar bear", "fire", "TV", "東京")
        cells = [[tag for k, tag in enumerate(tags) if (5 * i + 3) >> k & 1] for i in range(len(names))]
        case.labels = {name: set(own) for name, own in zip(names, cells, strict=True)}
        sign = case.one_of(";", ", ", " | ")
        if form == "tags":
            heads = case.one_of("tags", "Keywords", "caption"), case.one_of("image", "SourceFile", "x")
            rows_of = [f'"{name}"\t"{sign.join(own)}"\n' for (name, _), own in zip(pairs, cells, strict=True)]
            case.write(some, f"{heads[1]}\t{heads[0]}\n" + "".join(rows_of))
        for name, own in zip(names, cells, strict=True):
            stem = below + name.rpartition(".")[0]
            if form == "beside":
                case.write(f"{stem}.txt", sign.join(own))
            elif form == "carried" and own:
                case.write(
                    f"{stem}.xmp" if case.chance(0.5) else f"{below}{name}.xmp",
                    XMP.format("".join(f"<rdf:li>{tag}</rdf:li>" for tag in own)),
                )
        if form == "carried":
            case.labels = {name: own for name, own in case.labels.items() if own}
        if form != "tags":
            return
    elif form in ("lines", "parquet"):
        table = pd.DataFrame(pairs, columns=["file_name", "text"])
        some = "metadata.jsonl" if form == "lines" else "captions.parquet"
        table.to_json(case.root / some, orient="records", lines=True) if form == "lines" else table.to_parquet(
            case.root / some
        )
    elif form == "coco":
        images = [{"id": i, "file_name": name} for i, (name, _) in enumerate(pairs)]
        notes = [{"id": i, "image_id": i, "caption": text} for i, (_, text) in enumerate(pairs)]
        some = "annotations/captions_all.json"
        case.write(some, json.dumps({"images": images, "annotations": notes}))
    elif form == "karpathy":
        some = "dataset.json"
        images = [{"filename": name, "sentences": [{"raw": text}]} for name, text in pairs]
        case.write(some, json.dumps({"images": images}))
    elif form == "token":
        some = "tokens.txt"
        case.write(some, "".join(f"{name}#0\t{text}\n" for name, text in pairs))
    elif form == "results":
        some = "results.csv"
        case.write(some, "image_name| comment_number| comment\n" + "".join(f"{n}| 0| {t}\n" for n, t in pairs))
    elif form == "bom":
        case.write(some, "\ufeff" + csv(pairs))
    elif form == "two":
        case.write("captions_a.csv", csv(pairs[:20]))
        some = "captions_b.csv"
        case.write(some, csv(pairs[20:]))
    elif form == "draft":
        case.write(some, csv(pairs))
        case.write(
            case.one_of("captions old.csv", "captions (copy).csv"), csv([(name, "a draft") for name, _ in pairs])
        )
    else:
        pairs = [(unicodedata.normalize("NFC", name), f"{text} – déjà") for name, text in pairs]
        case.write(some, csv(pairs), "cp1252")
    if case.chance(0.2, "a draft in a folder below"):
        case.write("old/captions.csv", csv([(name, "a draft") for name, _ in pairs]))
        if some.count("/"):
            case.labels = {}  # the draft cannot be distinguished from the file in the parent folder
    case.clutter(some)


def tables(case: Case) -> None:
    """Create features and labels in files of all kinds."""
    n, d = 60, 5
    X = case.rng.normal(size=(n, d)).astype(np.float32)
    Y = (X[:, :3] > 0).astype(int)
    case.X = X
    frame = pd.DataFrame(Y, columns=list(WORDS))
    form = case.one_of("tasks", "unknown", "tags", "lists", "text lists", "classes", "numbers")
    case.done.append(form)
    rows = [f"row {i + 1}" for i in range(n)]
    case.labels = {
        row: {word for word, has in zip(WORDS, of, strict=True) if has} for row, of in zip(rows, Y, strict=True)
    }
    if form == "unknown":
        hidden = case.rng.random((n, 3)) < 0.1
        frame = frame.astype(object).mask(hidden)
        case.unknown = {
            row: {w for w, h in zip(WORDS, of, strict=True) if h} for row, of in zip(rows, hidden, strict=True)
        }
        case.labels = {row: has - case.unknown[row] for row, has in case.labels.items()}
    elif form in ("tags", "lists", "text lists"):
        lists = [sorted(case.labels[row]) for row in rows]
        cells: list[Any] = [";".join(own) or case.one_of("", "NA", "None", "nan") for own in lists]
        if form == "lists":
            cells = [[*own, None] if case.rng.random() < 0.2 else own for own in lists]
        elif form == "text lists":
            forms = str, json.dumps, lambda own: str(np.array(own)), lambda own: repr(frozenset(own)), repr
            cells = [case.one_of(*forms)([case.one_of(np.str_, str)(word) for word in own]) for own in lists]
        frame = pd.DataFrame({case.one_of("tags", "labels"): cells})
    elif form in ("classes", "numbers"):
        k = X[:, :3].argmax(axis=1)
        names = np.array(WORDS if form == "classes" else (3, 7, 12))
        frame = pd.DataFrame({case.one_of("label", "class", "species", "y"): names[k]})
        case.labels = {row: {str(names[i])} for row, i in zip(rows, k, strict=True)}
    more: dict[str, Any] = {}
    if case.chance(0.2, "smiles"):
        more["smiles"] = [f"C{'C' * i}O" for i in range(n)]
    if case.chance(0.2, "age"):
        more["age"] = case.rng.integers(18, 80, n)
    if case.chance(0.2, "id"):
        more["id"] = [f"s{i:03}" for i in range(n)]
        renamed = {row: f"s{i:03}" for i, row in enumerate(rows)}
        case.labels = {renamed[row]: has for row, has in case.labels.items()}
        case.unknown = {renamed[row]: has for row, has in case.unknown.items()}
    if case.chance(0.2, "split"):
        more["split"] = np.resize(["train", "train", "val", "test"], n)
        names = more.get("id", rows)
        case.splits = {row: "validation" if s == "val" else s for row, s in zip(names, more["split"], strict=True)}
    if form in ("tasks", "unknown") and case.chance(0.2, "a task called file"):
        frame = frame.rename(columns={"cat": "file"})
        for table in (case.labels, case.unknown):
            for row in table:
                table[row] = {"file" if word == "cat" else word for word in table[row]}
    group = case.one_of("patient", "Patient ID", "subjectNumber", "session_id", "burst")
    if case.chance(0.2, "groups"):
        more[group] = [case.one_of("p{}", "{}").format(i) for i in range(n // 3)] * 3
        case.groups = dict(zip(more.get("id", rows), more[group], strict=True))
    frame = frame.assign(**more)
    parts = [("", slice(0, n))]
    of_split = not case.splits and case.chance(0.25, "by split")
    if of_split:
        parts = [("train", slice(0, 30)), (case.one_of("val", "valid", "dev"), slice(30, 40)), ("test", slice(40, n))]
        for name, part in parts:
            split = name if name in ("train", "test") else "validation"
            case.splits |= dict.fromkeys(list(more.get("id", rows))[part], split)
    elif case.chance(0.15, "in parts"):
        parts = [(f"{i:05}-of-00003", slice(20 * i, 20 * i + 20)) for i in range(3)]
        if case.chance(0.2, "a part is missing"):
            parts.pop(case.rng.integers(3))
    before = case.one_of(True, False)
    if form in ("tags", "classes") and more.keys() <= {group} and case.chance(0.3, "one table"):
        both = pd.DataFrame(X, columns=[f"f{j}" for j in range(d)]).join(frame)
        for part, own in parts:
            both[own].to_csv(case.root / f"{part or 'table'}.csv", index=False)
        return
    kind, ending = case.one_of("npy", "npz", "sparse", "csv", "parquet", "embedding"), "csv"
    if form == "lists" or (form != "text lists" and case.chance(0.4)):
        ending = "parquet"
    elif form in ("tasks", "numbers") and not more and list(frame) != ["file", "dog", "sea"] and case.chance(0.3):
        ending = "npy"
    case.done += [kind, ending]
    if ending == "npy":
        values = frame.to_numpy()
        values = values.astype(case.one_of("<i8", ">i4", "f4", "f2", "u1"))
        values = values[:, 0] if form == "numbers" else values
        words = {word: f"label {i + 1}" for i, word in enumerate(frame)} if form == "tasks" else {}
        case.labels = {row: {words.get(word, word) for word in has} for row, has in case.labels.items()}
    features = pd.DataFrame(X, columns=[f"f{j}" for j in range(d)])
    if kind in ("csv", "parquet") and form in ("tasks", "unknown") and case.chance(0.2, "labels among features"):
        features = features.assign(**{name: frame[name] for name in frame if name not in more})
    if kind in ("csv", "parquet") and case.chance(0.2, "a number of the row among features"):
        features.insert(0, case.one_of("id", "idx", "Unnamed: 0") if "id" not in more else "index", range(n))
    if kind in ("csv", "parquet") and case.chance(0.2, "a copy of a label among features"):
        features["copy"] = k + 7 if form in ("classes", "numbers") else Y[:, 0]
    if kind in ("csv", "parquet") and ending != "npy" and case.chance(0.1, "rows in another order"):
        features["image_id"], frame["image_id"] = range(n), range(n)[::-1]
        case.labels = {}  # the order cannot be known

    def name_of(word: str, part: str, end: str) -> str:
        both = [part, word] if before and not part[:1].isdigit() else [word, part]
        return "_".join(filter(None, both)).replace("_0", "-0") + f".{end}"

    for part, own in parts:
        path = case.root / name_of("features", part, {"sparse": "npz", "embedding": "parquet"}.get(kind, kind))
        if kind == "npy":
            np.save(path, X[own])
        elif kind == "npz":
            np.savez(path, X[own])
        elif kind == "sparse":
            sparse.save_npz(path, sparse.csr_matrix(X[own]))
        elif kind == "csv":
            features[own].to_csv(path, index=False)
        elif kind == "parquet":
            features[own].to_parquet(path)
        else:
            pd.DataFrame({"embedding": X[own].tolist()}).to_parquet(path)
        path = case.root / name_of("labels", part, ending)
        if ending == "npy":
            np.save(path, values[own])
        elif ending == "csv":
            frame[own].to_csv(
                path, index=False, encoding="utf-8", sep=case.one_of(",", ";", "\t") if form != "tags" else ","
            )
        else:
            frame[own].to_parquet(path)
    some = name_of("labels", parts[0][0], ending)
    if case.chance(0.15, "a copy"):
        stem, _, end = some.rpartition(".")
        stale = (1 - Y[parts[0][1]]) if ending == "npy" else None
        copy = case.root / case.one_of(
            f"{stem} (copy).{end}", f"{stem} copy.{end}", f"{stem} (1).{end}", f"{stem}_old.{end}"
        )
        shutil.copy(case.root / some, copy)
        del stale
    if case.chance(0.15, "an older version below"):
        (case.root / "old").mkdir()
        shutil.copy(case.root / some, case.root / "old" / some)
    case.clutter(some)


def libsvm(case: Case) -> None:
    """Create samples in LIBSVM format, in one file or in a file per split."""
    X = np.round(case.rng.normal(size=(60, 4)), 3).astype(np.float32)
    k = X[:, :3].argmax(axis=1)
    lines = [f"{k[i]} " + " ".join(f"{j + 1}:{X[i, j]:g}" for j in range(4)) + "\n" for i in range(60)]
    case.X = X
    form = case.one_of("one", "_t", "train test", "two others")
    case.done.append(form)
    parts = {"one": {"media.svm": slice(0, 60)}, "_t": {"media.svm": slice(0, 40), "media_t.svm": slice(40, 60)}}
    parts |= {"train test": {"m_train.libsvm": slice(0, 40), "m_test.libsvm": slice(40, 60)}}
    parts |= {"two others": {"a.svm": slice(0, 40), "b.svm": slice(40, 60)}}
    for name, own in parts[form].items():
        case.write(name, "".join(lines[own]))
        split = "test" if "_t" in name and "train" not in name else "train"
        for i in range(60)[own]:
            row = f"{split}:{i - own.start + 1}"
            case.labels[row] = {str(k[i])}
            case.splits |= {row: split} if split == "test" else {}
    case.clutter(next(iter(parts[form])))


KINDS: dict[str, Callable[[Case], None]] = {
    "classes": classes,
    "captions": captioned,
    "tables": tables,
    "libsvm": libsvm,
}


def differences(case: Case, entry: dict[str, Any]) -> Iterator[str]:
    """Yield the differences between the data that a dataset's settings lead to and the data of the case."""
    more = {"smallest_side": 8} if pick("datasets", entry["loader"]).SHOWS == "pictures" else {}
    read = pick("datasets", entry["loader"]).read(**entry["options"], **more)
    captions = read.captions
    known = captions["known"] if "known" in captions else pd.Series(True, captions.index)
    has = captions[known.astype(bool)].groupby("image")["caption"].agg(set).to_dict()
    names = read.images["image"].tolist()
    base = os.path.commonpath([os.path.dirname(name) for name in case.labels]) if more and not case.splits else ""
    expected = {name.removeprefix(f"{base}/") if base else name: own for name, own in case.labels.items()}
    if set(names) != set(expected):
        yield f"samples {sorted(set(names) ^ set(expected))[:4]}"
    wrong = [name for name in names if has.get(name, set()) != expected.get(name, set())]
    if wrong:
        yield f"{len(wrong)} labels, {wrong[0]}: {has.get(wrong[0], set())}, not {expected.get(wrong[0])}"
    hidden = captions[~known.astype(bool)].groupby("image")["caption"].agg(set).to_dict()
    wrong = [name for name in names if hidden.get(name, set()) != case.unknown.get(name, set())]
    if wrong:
        yield f"{len(wrong)} unknown labels, {wrong[0]}: {hidden.get(wrong[0])}"
    if case.X is not None:
        X = read.X.toarray() if sparse.issparse(read.X) else np.asarray(read.X)
        if X.shape != case.X.shape or not np.allclose(X, case.X, atol=1e-6):
            yield f"features {X.shape}"
    split = dict(zip(names, read.images["split"], strict=True))
    if ("group" in read.images) != bool(case.groups):
        yield f"groups in {list(read.images)}"
    elif case.groups:
        of_rows = (read.images["group"], [case.groups[name] for name in names])
        codes = [pd.factorize(pd.Series(list(of_row), dtype=object))[0] for of_row in of_rows]
        n_torn = read.images.groupby("group")["split"].nunique().gt(1).sum()
        if not np.array_equal(*codes) or (n_torn and not case.splits):
            yield f"other groups, or {n_torn} groups in several splits"
    wrong = [name for name, own in case.splits.items() if split.get(name) != own]
    if wrong:
        yield f"{len(wrong)} splits, {wrong[0]}: {split.get(wrong[0])}, not {case.splits[wrong[0]]}"


def run(kind: str, seed: int) -> tuple[str, str]:
    """Create a folder and read it. Return the outcome, and a line that describes the case."""
    with tempfile.TemporaryDirectory() as place:
        case = Case(Path(place) / "data", np.random.default_rng(seed))
        case.root.mkdir()
        KINDS[kind](case)
        os.chdir(place)
        said = f"{kind} {seed} ({', '.join(case.done)})"
        try:
            with warnings.catch_warnings(action="ignore"):
                config.write(case.root, Path("config.yaml"), WORKFLOW)
                (entry,) = yaml.safe_load(Path("config.yaml").read_text(encoding="utf-8"))["datasets"].values()
                wrong = list(differences(case, entry))
        except ValueError as error:
            text = str(error).replace(place, "")
            return (SENTENCE if "\n" not in text else ERROR), f"{said}: {text[:300]}"
        except Exception:
            return ERROR, f"{said}: {traceback.format_exc()[-600:]}"
        finally:
            os.chdir("/")
        return (OTHER, f"{said}: {'; '.join(wrong)}") if wrong else (SAME, said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS)
    given = parser.parse_args()
    kinds = [given.kind] if given.kind else list(KINDS)
    found = [run(kinds[i % len(kinds)], given.seed * 10**6 + i) for i in range(given.cases)]
    counts = Counter(outcome for outcome, _ in found)
    print("\n".join(f"{outcome}: {line}" for outcome, line in found if outcome in (OTHER, ERROR)))
    sentences = Counter(line.partition("): ")[2][:90] for outcome, line in found if outcome == SENTENCE)
    print("\n".join(f"{n:5} {said}" for said, n in sentences.most_common()))
    print(", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES))
    return int(counts[OTHER] + counts[ERROR] > 0)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
