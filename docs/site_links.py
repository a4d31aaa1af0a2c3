"""Additions of the site to Markdown: links to lines of code, rules and verdicts, and formulas without a script.

In a page, {src}`norms.l1inf.project` links to the line of that function, and {rule}`train_path` to the rule.
{claim}`auc-order` tells how often a claim holds in docs/results/verdicts.csv. A name that does not exist ends the
build.
"""

import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from site_places import ROOT, page_of, place_of_code, place_of_rule, verdicts
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

import jointsparse
from jointsparse.pipeline.papers.verdicts import DOES_NOT_HOLD, HOLDS, LEVEL, NOT_TESTED, UNDECIDED

LOGGER = logging.getLogger(__name__)
ORDER = (HOLDS, LEVEL, UNDECIDED, DOES_NOT_HOLD, NOT_TESTED)


class LinkRole(SphinxRole):
    """Link to a line of code, or to the verdicts on a claim."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        up = "../" * self.env.docname.count("/")
        try:
            if self.name == "claim":
                told = verdicts()[self.text]
                text = ", ".join(f"{verdict} ({told[verdict]})" for verdict in ORDER if told[verdict]) or NOT_TESTED
                return [nodes.reference("", text, refuri=f"{up}results.html#{self.text}", internal=True)], []
            file, line = (place_of_rule if self.name == "rule" else place_of_code)(self.text)
        except LookupError as error:
            message = self.inliner.reporter.error(f"{self.name}: {error}", line=self.lineno)
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        name = nodes.literal()
        for part in re.split(r"(?<=[._])(?=[^_])", self.text):  # a line may end after each
            name += [nodes.Text(part), nodes.raw("", "<wbr>", format="html")]
        address = f"{up}{page_of(file)}.html#L-{line}"
        return [nodes.reference("", "", name, refuri=address, internal=True)], []


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
    """Make reStructuredText of our docstrings, in which formulas and examples stand as they are.

    Signs such as |x| and mu_ are no markup, and "b." begins no list. What stands between two $$ is shown as it is. An
    example behind sections gets a heading of its own.
    """
    told, formula, heading = [], False, False
    for line in lines:
        if line.strip() == "$$":
            formula = not formula
            told += ["::", ""] if formula else []
        elif formula:
            told.append(f"    {line}")
        elif line.lstrip().startswith(">>>"):
            if heading and "Examples" not in lines:
                told += ["Examples", "--------"]
            heading = False
            told.append(line)
        else:
            heading = heading or re.fullmatch(r"-{3,}", line) is not None
            parts = re.split(r"(`+[^`]*`+)", re.sub(r"^(\s*(?:- )?[A-Za-z])\.$", r"\1\\.", line))
            parts[::2] = [re.sub(r"(\||(?<=\w)_(?!\w))", r"\\\1", part) for part in parts[::2]]
            told.append("".join(parts))
    lines[:] = told


def left_out(_app: Sphinx, what: str, name: str, one: object, skip: bool, _options: object) -> bool | None:
    """Leave out compiled kernels, and what `jointsparse` itself offers where it is told of a module."""
    elsewhere = what == "module" and name in jointsparse.__all__
    of_scikit_learn = name in ("set_output", "get_metadata_routing") or re.fullmatch(r"set_\w+_request", name)
    return True if elsewhere or of_scikit_learn or hasattr(one, "py_func") or isinstance(one, ModuleType) else None


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
