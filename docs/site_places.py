"""Targets of the site's links: lines of code, rules of the workflow, and the verdicts on claims.

This module does not import Sphinx, so that `tests/pipeline/test_site.py` can find wrong names without it.
"""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pandas as pd

from jointsparse.pipeline.papers.judging import DEMONSTRATION, NOT_TESTED, VERDICTS
from jointsparse.pipeline.papers.verdicts import CLAIMS

ROOT = Path(__file__).parents[1]


def place_of_code(name: str) -> tuple[Path, int]:
    """Return the file and line of a module, function, class, method or constant. name: without `jointsparse`."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        stem = ROOT.joinpath("src/jointsparse", *parts[:n])
        for file in (stem.with_suffix(".py"), stem / "__init__.py"):
            if file.exists():
                return file, _line(file, parts[n:])
    raise LookupError(f"jointsparse has no module {name}")


def _line(file: Path, path: list[str]) -> int:
    body, line = _tree(file).body, 1
    for name in path:
        statements = [node for node in body if name in _names(node)]
        if not statements:
            raise LookupError(f"{file.relative_to(ROOT)} has no {name}")
        body, line = getattr(statements[0], "body", []), statements[0].lineno
    return line


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes())


def _names(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    return [getattr(target, "id", getattr(target, "name", "")) for target in targets]


def place_of_rule(name: str) -> tuple[Path, int]:
    """Return the file and line of a rule of the workflow."""
    for file in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            # The second form is that of rules which exist once for each kind of experiment.
            if line.strip() in (f"rule {name}:", f'f"{name}_{{kind}}"'):
                return file, number
    raise LookupError(f"the workflow has no rule {name}")


@cache
def verdicts() -> dict[str, Counter[str]]:
    """Return by claim how many numbers have each verdict, on the datasets that have a page of their own."""
    table = pd.read_csv(ROOT / "docs/results/verdicts.csv")
    counts: dict[str, Counter[str]] = {claim: Counter() for claim in CLAIMS}
    for (dataset, claim), rows in table.groupby(["dataset", "id"]):
        if (ROOT / f"docs/results/{dataset}.md").exists():
            counts[claim].update(rows["verdict"])
    return counts


def tally(counts: Counter[str]) -> str:
    """Write counts of verdicts as text.

    >>> tally(Counter({"holds": 13, "level": 1, "not tested": 2}))
    'holds (13 of 14), level (1)'
    """
    tested = [verdict for verdict in VERDICTS if counts[verdict] and verdict not in (NOT_TESTED, DEMONSTRATION)]
    total = sum(counts[verdict] for verdict in tested)
    parts = [f"{verdict} ({counts[verdict]}{f' of {total}' * (not place)})" for place, verdict in enumerate(tested)]
    return ", ".join(parts) or NOT_TESTED


def page_of(file: Path) -> str:
    """Return the page of the site that shows a file of code."""
    return f"_code/{file.relative_to(ROOT).as_posix().replace('.', '_')}"
