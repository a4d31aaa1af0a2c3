"""The house: who may import whom, by the contracts in pyproject.toml, and how much each room may hold."""

import ast
from collections import Counter
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

BASE = Path(__file__).parents[1]
# Statements (`ast.stmt`) that each room may hold. A new capability pays with an old weight, or raises its ceiling with
# a reason. A room may exceed its own by 5 %, the total of the library, the workflow and the tests not.
CEILINGS = {
    "norms": 1440,
    "learning": 1960,
    "estimators": 1050,
    "datasets": 1220,
    "features, scores, figures, explorer": 2135,
    "kept": 370,
    "papers": 2060,
    "loose files, app, provenance": 1095,
    "workflow": 965,
    "tests": 8405,
    "trials": 1585,
    "benchmarks": 1275,
}
MOST, MARGIN = 21_426, 1.05
BESIDE = ("trials", "benchmarks")  # not in the total, and without a margin


def test_every_room_imports_only_what_it_may():
    assert lint_imports(config_filename=str(BASE / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS


@pytest.fixture(scope="module")
def counted():
    """The number of statements in each room."""
    found = Counter(dict.fromkeys(CEILINGS, 0))
    for top in ("src/jointsparse", "workflow", "tests", *BESIDE):
        for file in (BASE / top).rglob("*.py"):
            room = file.relative_to(BASE / "src/jointsparse").parts[0] if top.startswith("src") else top
            name = next((name for name in CEILINGS if room in name.split(", ")), "loose files, app, provenance")
            found[name] += sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(file.read_bytes())))
    return found


@pytest.mark.parametrize("room", CEILINGS)
def test_every_room_is_light(counted, room):
    most = CEILINGS[room] * (1 if room in BESIDE else MARGIN)
    assert counted[room] <= most, f"{room} holds {counted[room]} statements, its ceiling is {CEILINGS[room]}"


def test_the_whole_is_light(counted):
    total = sum(n for room, n in counted.items() if room not in BESIDE)
    assert total <= MOST, f"library, workflow and tests hold {total} statements, of at most {MOST}: {counted}"
