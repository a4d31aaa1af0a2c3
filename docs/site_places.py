"""Targets of the site's links: lines of code, rules of the workflow, and the verdicts on claims.

This module does not import Sphinx, so that `tests/pipeline/test_site.py` can find wrong names without it.
"""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pandas as pd

from jointsparse.pipeline.papers.judging import DEMONSTRATION, NOT_TESTED, VERDICTS
from jointsparse.pipeline.papers.verdicts import CLAIMS

ROOT = Path(__file__).parents[1]


def place_of_code(name: str) -> tuple[Path, int]:
    """Return the file and line of a module, function, class, method or constant. name: without `jointsparse`."""
    file, node = _definition(name)
    return file, getattr(node, "lineno", 1)


def _definition(name: str) -> tuple[Path, ast.AST]:
    """Return the file of a name, and the statement that defines it, or the whole module."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        stem = ROOT.joinpath("src/jointsparse", *parts[:n])
        for file in (stem.with_suffix(".py"), stem / "__init__.py"):
            if file.exists():
                return file, _within(file, parts[n:])
    raise LookupError(f"jointsparse has no module {name}")


def _within(file: Path, path: list[str]) -> ast.AST:
    node: ast.AST = _tree(file)
    for name in path:
        statements = [statement for statement in getattr(node, "body", []) if name in _names(statement)]
        if not statements:
            raise LookupError(f"{file.relative_to(ROOT)} has no {name}")
        node = statements[0]
    return node


def steps_of_code(name: str) -> list[str]:
    """Return the code of a function, cut before each comment that begins with `Paper:` or `Choice:`.

    These comments, and what stands before the first of them, are left out.
    """
    file, node = _definition(name)
    steps: list[list[str]] = []
    in_comment = opens = False
    for line in file.read_text().splitlines()[node.lineno : node.end_lineno]:  # type: ignore[attr-defined]
        continues, in_comment = in_comment, line.lstrip().startswith("#")
        opens = in_comment and (opens if continues else bool(re.match(r"\s*# (Paper|Choice): ", line)))
        if opens and not continues:
            steps.append([])
        elif steps and not opens:
            steps[-1].append(line[node.body[0].col_offset :])  # type: ignore[attr-defined]
    return ["\n".join(step) for step in steps]


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
