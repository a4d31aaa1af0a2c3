"""Places that the site's links lead to: lines of code, rules of the workflow, and the verdicts on claims.

Nothing here needs Sphinx, so that `tests/pipeline/test_site.py` finds a wrong name without it.
"""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pandas as pd

from jointsparse.pipeline.papers.verdicts import CLAIMS, overall

ROOT = Path(__file__).parents[1]


def place_of_code(name: str) -> tuple[Path, int]:
    """The file and line of a module, function, class, method or constant, by its name without `jointsparse`."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        stem = ROOT.joinpath("src/jointsparse", *parts[:n])
        for file in (stem.with_suffix(".py"), stem / "__init__.py"):
            if file.exists():
                return file, _line(file, parts[n:])
    raise LookupError(f"no module of jointsparse has the name {name}")


def _line(file: Path, path: list[str]) -> int:
    body, line = _tree(file).body, 1
    for name in path:
        found = [node for node in body if name in _names(node)]
        if not found:
            raise LookupError(f"{file.relative_to(ROOT)} has no {name}")
        body, line = getattr(found[0], "body", []), found[0].lineno
    return line


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes())


def _names(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    return [getattr(one, "id", getattr(one, "name", "")) for one in targets]


def place_of_rule(name: str) -> tuple[Path, int]:
    """The file and line of a rule of the workflow."""
    for file in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            if line.strip() in (f"rule {name}:", f'f"{name}_{{kind}}"'):  # or those of all kinds of experiments
                return file, number
    raise LookupError(f"the workflow has no rule {name}")


@cache
def verdicts() -> dict[str, Counter[str]]:
    """By claim, how many studies of the published tables have each verdict."""
    table = pd.read_csv(ROOT / "docs/results/verdicts.csv")
    found: dict[str, Counter[str]] = {claim: Counter() for claim in CLAIMS}
    for (_, _, claim), rows in table.groupby(["dataset", "study", "id"]):
        found[claim][overall(rows["verdict"])] += 1
    return found


def page_of(file: Path) -> str:
    """The page of the site that shows a file of code."""
    return f"_code/{file.relative_to(ROOT).as_posix().replace('.', '_')}"
