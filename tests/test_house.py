"""The house as the imports draw it: rooms, arrows, floors, and who may know whom.

A room is a folder or file of src/jointsparse. An arrow is an import of one room by another, wherever it stands, also in
a function or for types alone. `checks`, which all may import, is left out; `__init__` and `__main__` are the doors.
"""

import ast
import shutil
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from jointsparse import registry

PACKAGE = Path(__file__).parents[1] / "src" / "jointsparse"
MOST_ROOMS, MOST_FLOORS = 15, 5
NO_ROOMS = ("__init__", "__main__", "__pycache__", "py.typed")

# Who may import which rooms; of others see below.
KNOWS = {"norms": set(), "tables": set(), "registry": set(), "checks": set()}
KNOWS_NONE_OF = {
    "datasets": {"learning", "norms", "scores", "figures", "estimators", "papers", "app"},
    "features": {"learning", "norms", "scores", "figures", "estimators", "papers", "app"},
    "figures": {"papers", "learning", "norms", "datasets", "features"},
}
# Plug-ins that rest on others of their room: rows are projected as vectors of l1, their lengths are those of l2.
RESTS_ON = {"norms/l12.py": {"norms/l1.py", "norms/l2.py"}}


class Import(NamedTuple):
    """A line that imports something of the library: where it stands, and the file that it imports."""

    file: str
    line: int
    target: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.target.removesuffix('.py').removesuffix('/__init__')}"


def room_of(file: str) -> str:
    return file.partition("/")[0].removesuffix(".py")


def rooms(package: Path) -> list[str]:
    return sorted({path.stem for path in package.iterdir()} - {Path(name).stem for name in NO_ROOMS})


def imports(package: Path) -> list[Import]:
    """Every import of a file of the library by another."""
    found = set()
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package).as_posix()
        for line, module in modules(path.read_text(), file):
            target = file_of(package, module)
            if target and target != file:
                found.add(Import(file, line, target))
    return sorted(found)


@cache
def modules(text: str, file: str) -> list[tuple[int, str]]:
    """The line and the dotted name, without jointsparse, of all that a file imports from the library."""
    folders = file.split("/")[:-1]
    found = []
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = ["jointsparse", *folders[: len(folders) + 1 - node.level]] if node.level else []
            start = ".".join([*above, *filter(None, [node.module])])
            names = [f"{start}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            names = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        found += [(node.lineno, name[len("jointsparse.") :]) for name in names if name.startswith("jointsparse.")]
    return found


def file_of(package: Path, module: str) -> str:
    """The file of a module or of the module that holds a name; nothing for a name of the package, as __version__."""
    parts = module.split(".")
    for end in (len(parts), len(parts) - 1):
        path = "/".join(parts[:end])
        for file in (f"{path}.py", f"{path}/__init__.py"):
            if path and (package / file).is_file():
                return file
    return ""


def arrows(package: Path) -> dict[tuple[str, str], list[Import]]:
    """The imports between two rooms, by these rooms."""
    found = defaultdict(list)
    for one in imports(package):
        ends = room_of(one.file), room_of(one.target)
        if ends[0] != ends[1] and "checks" not in ends:
            found[ends].append(one)
    return found


def plug_ins(package: Path) -> dict[str, dict[str, str]]:
    """The dictionaries of plug-ins: the file of each, and of the room that lists it."""
    found = {}
    for name in registry.ROOMS:
        listed = registry.room(name).values()
        dotted = [one if isinstance(one, str) else one.__name__ for one in listed]
        found[name] = {file_of(package, one.removeprefix("jointsparse.")) for one in dotted}
    return found


# Facts: a list of what contradicts each, with the files and lines to change


def too_many_rooms(package: Path) -> list[str]:
    found = rooms(package)
    return [f"{len(found)} rooms: {', '.join(found)}"] if len(found) > MOST_ROOMS else []


def too_many_floors(package: Path) -> list[str]:
    """The longest chain of arrows, each a floor above the next."""
    between = arrows(package)
    longest: list[str] = []

    def climb(chain: list[str]) -> None:
        nonlocal longest
        longest = max(longest, chain, key=len)
        for start, end in between:
            if start == chain[-1] and end not in chain:
                climb([*chain, end])

    for room in rooms(package):
        climb([room])
    if len(longest) <= MOST_FLOORS:
        return []
    return [str(between[pair][0]) for pair in pairwise(longest)]


def circles(package: Path) -> list[str]:
    """Imports between rooms from which one comes back to where one started."""
    between = arrows(package)

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        todo = [start]
        while todo:
            at = todo.pop()
            new = {end for begin, end in between if begin == at} - found
            found |= new
            todo += new
        return found

    return [str(one) for (start, end), lines in between.items() if start in reached(end) for one in lines]


def imports_of_the_top(package: Path) -> list[str]:
    """Imports of papers, and of app but by `python -m jointsparse`."""
    tops = {("papers", room) for room in rooms(package)} | {("papers", "__init__"), ("papers", "__main__")}
    tops |= {("app", room) for room in [*rooms(package), "__init__"]}
    return [str(one) for (start, end), lines in arrows(package).items() if (end, start) in tops for one in lines]


def strangers(package: Path) -> list[str]:
    """Imports of rooms that the importing room must not know."""
    wrong = []
    for one in imports(package):
        start, end = room_of(one.file), room_of(one.target)
        known = start not in KNOWS or end in {start, "checks"} | KNOWS[start]
        if not known or end in KNOWS_NONE_OF.get(start, set()):
            wrong.append(str(one))
    return wrong


def plug_ins_that_know_each_other(package: Path) -> list[str]:
    """Imports of the room's dictionary or of another plug-in by a plug-in; experiments may import each other."""
    wrong = []
    for name, files in plug_ins(package).items():
        own = registry.ROOMS[name].removeprefix("jointsparse.").replace(".", "/") + "/__init__.py"
        for one in imports(package):
            inside = next((file for file in files if one.file == file or lies_in(one.file, file)), None)
            others = {own} if name == "experiments" else {own, *files} - {inside} - RESTS_ON.get(one.file, set())
            if inside and one.target in others:
                wrong.append(str(one))
    return wrong


def lies_in(file: str, plug_in: str) -> bool:
    """Whether a file belongs to a plug-in that is a folder."""
    return plug_in.endswith("/__init__.py") and file.startswith(plug_in.removesuffix("__init__.py"))


def papers_that_know_each_other(package: Path) -> list[str]:
    """Imports of one paper's folder by another's."""
    wrong = []
    for one in imports(package):
        folders = [file.split("/")[1] for file in (one.file, one.target) if file.count("/") > 1]
        of_papers = room_of(one.file) == room_of(one.target) == "papers"
        if of_papers and len(set(folders)) > 1:
            wrong.append(str(one))
    return wrong


FACTS = [
    too_many_rooms,
    too_many_floors,
    circles,
    imports_of_the_top,
    strangers,
    plug_ins_that_know_each_other,
    papers_that_know_each_other,
]


@pytest.mark.parametrize("fact", FACTS)
def test_the_house_has_no(fact):
    assert fact(PACKAGE) == []


def test_what_is_imported_is_found():
    """Else no import could be wrong."""
    between = arrows(PACKAGE)
    assert {("papers", "figures"), ("figures", "scores"), ("scores", "learning")} <= set(between)
    assert {("estimators", "learning"), ("papers", "norms"), ("app", "records")} <= set(between)
    found = {str(one).replace(f":{one.line}", "") for one in imports(PACKAGE)}
    assert "__init__.py imports estimators" in found  # for types alone
    assert "app/command_line.py imports records" in found  # in a function
    assert "records.py imports " not in found  # jointsparse.__version__


def test_every_exception_is_needed():
    found = {(one.file, one.target) for one in imports(PACKAGE)}
    assert {(file, target) for file, targets in RESTS_ON.items() for target in targets} <= found


BAD = [
    (circles, "learning/tasks.py", "from jointsparse.estimators import classifier", "estimators/classifier"),
    (circles, "tables.py", "from jointsparse import records", "records"),
    (imports_of_the_top, "estimators/classifier.py", "from jointsparse.papers import EXPERIMENTS", "papers"),
    (imports_of_the_top, "records.py", "import jointsparse.papers.claims", "papers/claims"),
    (imports_of_the_top, "__main__.py", "from jointsparse.papers.claims import judge", "papers/claims"),
    (imports_of_the_top, "scores/flags.py", "from jointsparse.app import command_line", "app/command_line"),
    (strangers, "figures/style.py", "from jointsparse.papers.quattoni import numbers", "papers/quattoni/numbers"),
    (strangers, "datasets/idx.py", "from ..norms import l1", "norms/l1"),
    (strangers, "datasets/collage/scenes.py", "from ...scores.flags import GAP", "scores/flags"),
    (strangers, "features/basis.py", "def late():\n    import jointsparse.learning.tasks", "learning/tasks"),
    (strangers, "norms/l2.py", "from jointsparse.registry import pick", "registry"),
    (strangers, "checks.py", "from jointsparse import tables", "tables"),
    (plug_ins_that_know_each_other, "norms/l1.py", "from jointsparse.norms import l2", "norms/l2"),
    (plug_ins_that_know_each_other, "norms/l12.py", "from jointsparse.norms import NORMS", "norms"),
    (plug_ins_that_know_each_other, "learning/losses/hinge.py", "from . import logistic", "learning/losses/logistic"),
    (
        plug_ins_that_know_each_other,
        "learning/solvers/pdhg.py",
        "from jointsparse.learning.solvers.subgradient import fit",
        "learning/solvers/subgradient",
    ),
    (plug_ins_that_know_each_other, "datasets/photos.py", "from jointsparse.datasets import scenes", "datasets/scenes"),
    (plug_ins_that_know_each_other, "datasets/collage/painting.py", "from .. import photos", "datasets/photos"),
    (plug_ins_that_know_each_other, "papers/duchi/race.py", "from jointsparse.papers import EXPERIMENTS", "papers"),
    (
        papers_that_know_each_other,
        "papers/duchi/race.py",
        "from jointsparse.papers.quattoni.cost import run",
        "papers/quattoni/cost",
    ),
]


@pytest.mark.parametrize(("fact", "file", "line", "target"), BAD)
def test_a_bad_import_is_told_with_its_file_and_line(tmp_path, fact, file, line, target):
    copy = tmp_path / "jointsparse"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = (copy / file).read_text()
    (copy / file).write_text(f"{before}\n{line}\n")
    number = before.count("\n") + 2 + line.count("\n")
    assert f"{file}:{number} imports {target}" in fact(copy)


def test_a_floor_too_many_is_told_as_the_chain_of_imports(tmp_path):
    copy = tmp_path / "jointsparse"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for room in ("lower", "lowest"):
        (copy / f"{room}.py").touch()
    (copy / "lower.py").write_text("from jointsparse import lowest\n")
    for file in ("registry.py", "norms/l1.py", "datasets/splits.py"):
        (copy / file).write_text(f"from jointsparse import lower\n{(copy / file).read_text()}")
    got = too_many_floors(copy)
    assert len(got) >= MOST_FLOORS
    assert got[-1] == "lower.py:1 imports lowest"
    assert got[0].startswith("papers/")


def test_a_room_too_many_is_told_with_all_names(tmp_path):
    copy = tmp_path / "jointsparse"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for i in range(MOST_ROOMS + 1 - len(rooms(copy))):
        (copy / f"room{i}").mkdir()
    (told,) = too_many_rooms(copy)
    assert told.startswith("16 rooms: app, checks, datasets, ")
