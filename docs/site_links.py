"""Additions of the site to Markdown: links to lines of code, rules and verdicts, and formulas without a script.

In a page, {src}`norms.l1inf.project` links to the line of that function, and {rule}`train_path` to the rule.
{claim}`auc-order` tells how often a claim holds in docs/results/verdicts.csv. A name that does not exist ends the
build.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

import jointsparse
from jointsparse.papers.verdicts import CLAIMS, overall

ROOT = Path(__file__).parents[1]
LOGGER = logging.getLogger(__name__)
ORDER = ("holds", "level", "undecided", "does not hold", "not tested")


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
    for file in [*sorted((ROOT / "workflow/rules").glob("*.smk")), ROOT / "Snakefile"]:
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            if line.strip() == f"rule {name}:":
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


class LinkRole(SphinxRole):
    """Link to a line of code, or to the verdicts on a claim."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        up = "../" * self.env.docname.count("/")
        try:
            if self.name == "claim":
                told = verdicts()[self.text]
                text = ", ".join(f"{verdict} ({told[verdict]})" for verdict in ORDER if told[verdict]) or "not tested"
                return [nodes.reference("", text, refuri=f"{up}results.html#{self.text}", internal=True)], []
            file, line = (place_of_rule if self.name == "rule" else place_of_code)(self.text)
        except LookupError as error:
            message = self.inliner.reporter.error(f"{self.name}: {error}", line=self.lineno)
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        link = nodes.reference("", "", refuri=f"{up}{page_of(file)}.html#L-{line}", internal=True)
        return [link + nodes.literal("", self.text)], []


def pages_of_code(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each file of the library and of the rules, with an anchor for each line."""
    formatter = HtmlFormatter(lineanchors="L", linenos="inline", anchorlinenos=True, wrapcode=True)
    for file in [*(ROOT / "src/jointsparse").rglob("*.py"), *(ROOT / "workflow/rules").glob("*.smk")]:
        name = file.relative_to(ROOT).as_posix()
        body = f"<h1>{escape(name)}</h1>{highlight(file.read_text(), PythonLexer(), formatter)}"
        yield page_of(file), {"title": name, "body": body}, "page.html"


def _visit_formula(translator: Any, node: nodes.math | nodes.math_block) -> None:
    as_block = isinstance(node, nodes.math_block)
    translator.body.append(tex2mathml(node.astext(), as_block=as_block))
    raise nodes.SkipNode


def plain(_app: Sphinx, _what: str, _name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Let signs of formulas in our docstrings, such as |x| and mu_, stand as they are."""
    for i, line in enumerate(lines):
        parts = re.split(r"(`+[^`]*`+)", line)
        parts[::2] = [re.sub(r"(\||(?<=\w)_(?!\w))", r"\\\1", part) for part in parts[::2]]
        lines[i] = line if line.lstrip().startswith(">>>") else "".join(parts)


def left_out(_app: Sphinx, what: str, name: str, one: object, skip: bool, _options: object) -> bool | None:
    """Leave out compiled kernels, and what `jointsparse` itself offers where it is told of a module."""
    elsewhere = what == "module" and name in jointsparse.__all__
    of_scikit_learn = name in ("set_output", "get_metadata_routing") or re.fullmatch(r"set_\w+_request", name)
    return True if elsewhere or of_scikit_learn or hasattr(one, "py_func") else None


def check_links(app: Sphinx, exception: Exception | None) -> None:
    """Warn of links within the site that lead nowhere, to a page or to a place in it."""
    if exception or app.builder.format != "html":
        return
    texts = {page: page.read_text() for page in Path(app.outdir).rglob("*.html")}
    places = {page: set(re.findall(r"""\bid=["']([^"']+)""", text)) for page, text in texts.items()}
    for page, text in texts.items():
        for link in set(re.findall(r"""<(?:a|img|link|script)\b[^>]*?\b(?:href|src)=["']([^"']+)""", text)):
            path, _, place = unescape(link).partition("#")
            if re.match(r"[a-z]+:|//", path) or {"_code", "_static"} & {*page.parts}:
                continue
            target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
            if not target.exists() or (place and target in places and place not in places[target]):
                LOGGER.warning("%s: nothing is at %s", page.relative_to(app.outdir), link)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of it with Sphinx."""
    for name in ("src", "rule", "claim"):
        app.add_role(name, LinkRole())
    app.add_html_math_renderer("mathml", (_visit_formula, None), (_visit_formula, None))
    app.connect("autodoc-process-docstring", plain, priority=0)
    app.connect("autodoc-skip-member", left_out)
    app.connect("build-finished", check_links)
    app.connect("html-collect-pages", pages_of_code)
    return {"parallel_read_safe": True}
