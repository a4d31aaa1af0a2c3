"""The house as the imports draw it: rooms, arrows, floors, and who may know whom.

A room is a folder or file of src/jointsparse. An arrow is an import of one room by another, wherever it stands, also in
a function or for types alone. `checks`, which all may import, is left out; `__init__` and `__main__` are the doors.
"""

import ast
import re
import shutil
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from jointsparse import registry

PACKAGE = Path(__file__).parents[1] / "src" / "jointsparse"
MOST_ROOMS, MOST_FLOORS = 16, 5
NO_ROOMS = ("__init__", "__main__", "__pycache__", "py.typed")

SHARED = {"checks", "compiled"}  # what every file may import

# Who may import which rooms.
KNOW_NONE = ("norms", "provenance", "registry", "checks", "compiled")
KNOWS_NONE_OF = {
    "datasets": {"learning", "norms", "scores", "figures", "estimators"},
    "features": {"learning", "norms", "scores", "figures", "estimators"},
    "figures": {"learning", "norms", "datasets", "features"},
}
TOP = ("papers", "explorer", "app")  # none may import these, but for `python -m jointsparse`
# Plug-ins that rest on others of their room: rows are projected as vectors of l1, their lengths are those of l2; and
# iterations on a working set are those of pdhg.
RESTS_ON = {
    "norms/l12.py": {"norms/l1.py", "norms/l2.py"},
    "learning/solvers/working_set.py": {"learning/solvers/pdhg.py"},
}


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
    package = ".".join(["jointsparse", *file.split("/")[:-1]])
    found = []
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = resolve_name("." * node.level + (node.module or ""), package)
            names = [f"{start}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            names = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        found += [(node.lineno, name[len("jointsparse.") :]) for name in names if name.startswith("jointsparse.")]
    return found


def file_of(package: Path, module: str) -> str:
    """The file of a module or of the module that holds a name; nothing for a name of the package, as __version__."""
    path = module.replace(".", "/")
    outer = path.rpartition("/")[0]
    files = [f"{one}{end}" for one in (path, outer) if one for end in (".py", "/__init__.py")]
    return next((file for file in files if (package / file).is_file()), "")


def arrows(package: Path) -> dict[tuple[str, str], list[Import]]:
    """The imports between two rooms, by these rooms."""
    found = defaultdict(list)
    for one in imports(package):
        ends = room_of(one.file), room_of(one.target)
        if ends[0] != ends[1] and not SHARED & set(ends):
            found[ends].append(one)
    return found


def below(package: Path) -> dict[str, set[str]]:
    """The rooms that each room imports."""
    found = {room: set() for room in rooms(package)}
    for start, end in arrows(package):
        found.setdefault(start, set()).add(end)
    return found


def plug_ins(package: Path) -> dict[str, set[str]]:
    """The dictionaries of plug-ins, and the file of each plug-in."""
    modules = {name: [registry.pick(name, one).__name__ for one in registry.room(name)] for name in registry.ROOMS}
    return {name: {file_of(package, one.removeprefix("jointsparse.")) for one in modules[name]} for name in modules}


# Facts: a list of what contradicts each, with the files and lines to change


def too_many_rooms(package: Path) -> list[str]:
    found = rooms(package)
    return [f"{len(found)} rooms: {', '.join(found)}"] if len(found) > MOST_ROOMS else []


def too_many_floors(package: Path) -> list[str]:
    """The longest chain of arrows, each a floor above the next."""
    imported = below(package)
    chains: dict[str, list[str]] = {}
    for room in TopologicalSorter(imported).static_order():
        chains[room] = [room, *max((chains[end] for end in imported[room]), key=len, default=[])]
    longest = max(chains.values(), key=len)
    return [str(arrows(package)[pair][0]) for pair in pairwise(longest)] if len(longest) > MOST_FLOORS else []


def circles(package: Path) -> list[str]:
    """Imports between rooms from which one comes back to where one started."""
    try:
        TopologicalSorter(below(package)).prepare()
    except CycleError as error:
        return [str(one) for pair in pairwise(reversed(error.args[1])) for one in arrows(package)[pair]]
    return []


def strangers(package: Path) -> list[str]:
    """Imports of rooms that the importing room must not know."""

    def may_know(start: str, end: str) -> bool:
        if start == end or end in SHARED:
            return True
        if end in TOP:
            return (start, end) == ("__main__", "app")
        return start not in KNOW_NONE and end not in KNOWS_NONE_OF.get(start, ())

    return [str(one) for one in imports(package) if not may_know(room_of(one.file), room_of(one.target))]


def plug_ins_that_know_each_other(package: Path) -> list[str]:
    """Imports of the room's dictionary or of another plug-in by a plug-in; experiments may import each other."""
    wrong = []
    for name, files in plug_ins(package).items():
        room_file = registry.ROOMS[name].removeprefix("jointsparse.").replace(".", "/") + "/__init__.py"
        for one in imports(package):
            own = {file for file in files if one.file.startswith(file.removesuffix("__init__.py"))}
            others = set() if name == "experiments" else files - own - RESTS_ON.get(one.file, set())
            if own and one.target in {room_file} | others:
                wrong.append(str(one))
    return wrong


def papers_that_know_each_other(package: Path) -> list[str]:
    """Imports of one paper's folder by another's."""
    folders = re.compile(r"papers/(\w+)/.* papers/(?!\1/)\w+/")
    return [str(one) for one in imports(package) if folders.match(f"{one.file} {one.target}")]


FACTS = [
    too_many_rooms,
    too_many_floors,
    circles,
    strangers,
    plug_ins_that_know_each_other,
    papers_that_know_each_other,
]


@pytest.mark.parametrize("fact", FACTS)
def test_the_house_has_no(fact):
    assert fact(PACKAGE) == []


def test_imports_of_all_kinds_are_found():
    of_library = {("papers", "figures"), ("figures", "scores"), ("scores", "learning"), ("papers", "norms")}
    assert of_library | {("estimators", "learning"), ("app", "provenance")} <= set(arrows(PACKAGE))
    found = {str(one).replace(f":{one.line}", "") for one in imports(PACKAGE)}
    assert "__init__.py imports estimators" in found  # for types alone
    assert "app/command_line.py imports provenance/manifest" in found  # in a function
    assert "provenance/records.py imports " not in found  # jointsparse.__version__


def test_every_exception_is_needed():
    found = {(one.file, one.target) for one in imports(PACKAGE)}
    assert {(file, target) for file, targets in RESTS_ON.items() for target in targets} <= found


BAD = [
    (circles, "learning/tasks.py", "from jointsparse.estimators import classifier", "estimators/classifier"),
    (circles, "registry.py", "from jointsparse.learning import tasks", "learning/tasks"),
    (strangers, "estimators/classifier.py", "from jointsparse.papers import EXPERIMENTS", "papers"),
    (strangers, "provenance/records.py", "import jointsparse.papers.verdicts", "papers/verdicts"),
    (strangers, "__main__.py", "from jointsparse.papers.verdicts import judge", "papers/verdicts"),
    (strangers, "scores/flags.py", "from jointsparse.app import command_line", "app/command_line"),
    (strangers, "figures/style.py", "from jointsparse.papers.quattoni import numbers", "papers/quattoni/numbers"),
    (strangers, "datasets/idx.py", "from ..norms import l1", "norms/l1"),
    (strangers, "datasets/collage/scenes.py", "from ...scores.flags import GAP", "scores/flags"),
    (strangers, "features/basis.py", "def late():\n    import jointsparse.learning.tasks", "learning/tasks"),
    (strangers, "norms/l2.py", "from jointsparse.registry import pick", "registry"),
    (strangers, "checks.py", "from jointsparse.provenance import tables", "provenance/tables"),
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


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the library."""
    return shutil.copytree(PACKAGE, tmp_path / "jointsparse", ignore=shutil.ignore_patterns("__pycache__"))


@pytest.mark.parametrize(("fact", "file", "line", "target"), BAD)
def test_a_bad_import_is_told_with_its_file_and_line(copy, fact, file, line, target):
    before = (copy / file).read_text()
    (copy / file).write_text(f"{before}\n{line}\n")
    number = before.count("\n") + 2 + line.count("\n")
    assert f"{file}:{number} imports {target}" in fact(copy)


def test_a_floor_too_many_is_told_as_the_chain_of_imports(copy):
    (copy / "lower.py").write_text("from jointsparse import lowest\n")
    (copy / "lowest.py").touch()
    for file in ("registry.py", "norms/l1.py", "datasets/splits.py"):
        (copy / file).write_text(f"from jointsparse import lower\n{(copy / file).read_text()}")
    got = too_many_floors(copy)
    assert len(got) >= MOST_FLOORS
    assert got[-1] == "lower.py:1 imports lowest"
    assert got[0].startswith("papers/")


def test_a_room_too_many_is_told_with_all_names(copy):
    for i in range(MOST_ROOMS + 1 - len(rooms(copy))):
        (copy / f"room{i}").mkdir()
    (told,) = too_many_rooms(copy)
    assert told.startswith(f"{MOST_ROOMS + 1} rooms: app, checks, compiled, ")
