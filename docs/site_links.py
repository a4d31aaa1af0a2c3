"""Additions of the site to Sphinx: links to lines of code, rules and verdicts, and formulas that need no script.

In a page, {src}`norms.l1inf.project` links to the line of that function, and {rule}`train_path` to the rule.
{claim}`auc-order` counts the verdicts on a claim in docs/results/verdicts.csv. A block {steps} sets an algorithm beside
its code. A name that does not exist stops the build.
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
from site_places import ROOT, page_of, place_of_code, place_of_rule, steps_of_code, tally, verdicts
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

import jointsparse

LOGGER = logging.getLogger(__name__)


class LinkRole(SphinxRole):
    """Link to a line of code, or to the verdicts on a claim."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        up = "../" * self.env.docname.count("/")
        try:
            if self.name == "claim":
                text = tally(verdicts()[self.text])
                return [nodes.reference("", text, refuri=f"{up}results.html#{self.text}", internal=True)], []
            file, line = (place_of_rule if self.name == "rule" else place_of_code)(self.text)
        except LookupError as error:
            message = self.inliner.reporter.error(f"{self.name}: {error}", line=self.lineno)
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        name = nodes.literal()
        for part in re.split(r"(?<=[._])(?=[^_])", self.text):  # lines may break here
            name += [nodes.Text(part), nodes.raw("", "<wbr>", format="html")]
        address = f"{up}{page_of(file)}.html#L-{line}"
        return [nodes.reference("", "", name, refuri=address, internal=True)], []


class Steps(SphinxDirective):
    """Set the steps of an algorithm, the items of a list, beside the lines of the function that perform them."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        items = list(self.parse_content_to_nodes()[0].findall(nodes.list_item))
        steps = nodes.container(classes=["steps"])
        for item, code in zip(items, steps_of_code(self.arguments[0]), strict=True):
            steps += nodes.container("", *item.children)
            steps += nodes.literal_block(code, code, language="python")
        return [steps]


def pages_of_code(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each file of the library and of the rules, with an anchor for each line."""
    formatter = HtmlFormatter(lineanchors="L", linenos="inline", anchorlinenos=True, wrapcode=True)
    for file in [*(ROOT / "src/jointsparse").rglob("*.py"), *(ROOT / "workflow/rules").glob("*.smk")]:
        name = file.relative_to(ROOT).as_posix()
        body = f"<h1>{escape(name)}</h1>{highlight(file.read_text(), PythonLexer(), formatter)}"
        yield page_of(file), {"title": name, "body": body}, "page.html"


NORMS = {  # the norm of B or W, its dual norm, and the index of the task if each task has a norm of its own
    "l1inf": (r"\sum_i \max_j \lvert %s_{ij} \rvert", r"\max_i \sum_j \lvert W_{ij} \rvert", ""),
    "l12": (r"\sum_i \sqrt{\sum_j %s_{ij}^2}", r"\max_i \sqrt{\sum_j W_{ij}^2}", ""),
    "l1": (r"\sum_i \lvert %s_{il} \rvert", r"\max_i \lvert W_{il} \rvert", "l"),
    "l2": (r"\sqrt{\sum_i %s_{il}^2}", r"\sqrt{\sum_i W_{il}^2}", "l"),
}


def _formulas() -> dict[str, str]:
    """Return the formulas of the norms by the name of their function, without weights."""
    distance, formulas = r"\min_B \tfrac{1}{2}{\|B-W\|}_F^2", {}
    for name, (norm, dual, task) in NORMS.items():
        sum_over_tasks, index = (rf"\sum_{task} ", f"_{task}") if task else ("", "")
        formulas[f"jointsparse.norms.{name}.project"] = (
            rf"{distance} \quad\text{{subject to}}\quad {norm % 'B'} \le \text{{radius}}{index}"
        )
        formulas[f"jointsparse.norms.{name}.prox"] = rf"{distance} + {sum_over_tasks}\text{{step}}{index} {norm % 'B'}"
        formulas[f"jointsparse.norms.{name}.norm"] = norm % "W"
        formulas[f"jointsparse.norms.{name}.dual_norm"] = dual
    return formulas


FORMULAS = _formulas()  # shown below the first paragraph of a docstring


def _visit_formula(translator: Any, node: nodes.math | nodes.math_block) -> None:
    as_block = isinstance(node, nodes.math_block)
    translator.body.append(tex2mathml(node.astext(), as_block=as_block))
    raise nodes.SkipNode


def plain(_app: Sphinx, _what: str, name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Turn our docstrings into reStructuredText: escape their signs, and add formulas and a heading for examples.

    Signs such as |x| and mu_ are no markup, and "b." begins no list. What stands between two $$ is a formula if it is
    TeX, and shown as it is otherwise. Examples that follow other sections get a heading.
    """
    result: list[str] = []
    in_formula = heading = False
    for number, line in enumerate(lines):
        if line.strip() == "$$":
            in_formula = not in_formula
            is_tex = any("\\" in later for later in lines[number : number + 5])
            result += [".. math::" if is_tex else "::", ""] if in_formula else []
        elif in_formula:
            result.append(f"    {line}")
        elif line.lstrip().startswith(">>>"):
            if heading and "Examples" not in lines:
                result += ["Examples", "--------"]
            heading = False
            result.append(line)
        else:
            heading = heading or re.fullmatch(r"-{3,}", line) is not None
            parts = re.split(r"(`+[^`]*`+)", re.sub(r"^(\s*(?:- )?[A-Za-z])\.$", r"\1\\.", line))
            parts[::2] = [re.sub(r"(\||(?<=\w)_(?!\w))", r"\\\1", part) for part in parts[::2]]
            result.append("".join(parts))
    if name in FORMULAS:
        end = result.index("") if "" in result else len(result)
        result[end:end] = ["", ".. math::", "", f"    {FORMULAS[name]}", ""]
    lines[:] = result


def left_out(_app: Sphinx, what: str, name: str, value: object, skip: bool, _options: object) -> bool | None:
    """Return True for members without an entry: kernels, modules, and names that `jointsparse` itself documents."""
    elsewhere = what == "module" and name in jointsparse.__all__
    of_scikit_learn = name in ("set_output", "get_metadata_routing") or re.fullmatch(r"set_\w+_request", name)
    is_kernel = hasattr(value, "py_func")
    return True if elsewhere or of_scikit_learn or is_kernel or isinstance(value, ModuleType) else None


def pages_with_terms(
    _app: Sphinx, env: BuildEnvironment, _added: set[str], _changed: set[str], _removed: set[str]
) -> list[str]:
    """Return the pages with search terms, for each build to read again: Sphinx would drop their terms otherwise."""
    entries = env.get_domain("index").entries
    return [page for page, rows in entries.items() if any(main for _, _, _, main, _ in rows)]


def link_pages(_app: Sphinx, doctree: nodes.document) -> None:
    """Let links in raw HTML lead to pages of the site. In Markdown they lead to files, as in a checkout."""
    for node in doctree.findall(nodes.raw):
        html = re.sub(r'(href="(?![a-z]+:)[^"#]*)\.md(?=[#"])', r"\1.html", node.astext())
        node.replace_self(nodes.raw("", html, format=node["format"]))


def check_links(app: Sphinx, exception: Exception | None) -> None:
    """Warn of links within the site to pages, or to places in pages, that do not exist."""
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
                LOGGER.warning("%s: the target of the link %s does not exist", page.relative_to(app.outdir), link)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the roles, the formulas and the pages of code with Sphinx."""
    for name in ("src", "rule", "claim"):
        app.add_role(name, LinkRole())
    app.add_directive("steps", Steps)
    app.add_html_math_renderer("mathml", (_visit_formula, None), (_visit_formula, None))
    app.connect("autodoc-process-docstring", plain, priority=0)
    app.connect("autodoc-skip-member", left_out)
    app.connect("env-get-outdated", pages_with_terms)
    app.connect("doctree-read", link_pages)
    app.connect("build-finished", check_links)
    app.connect("html-collect-pages", pages_of_code)
    return {"parallel_read_safe": True}
