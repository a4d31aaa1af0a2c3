"""Our English, as far as a machine can check it: openings of docstrings, long sentences, sections of parameters."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
CODE = sorted(
    str(path.relative_to(ROOT))
    for top in ("src", "workflow", "tests", "docs", "benchmarks", "trials")
    for path in (ROOT / top).rglob("*.py")
    if not {"_build", "gallery"} & {*path.parts}  # what a build of the site leaves
)
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "data/README.md",
    *sorted(str(path.relative_to(ROOT)) for top in ("docs", "docs/papers") for path in (ROOT / top).glob("*.md")),
]

MOST_WORDS = 30  # in a sentence
MOST_UNSECTIONED = 3  # parameters that may stay in one sentence
BAD_OPENING = re.compile(r"(What|Where|Which|Whether|How|Those|That|It|The same)\b")
# A full stop after these does not end a sentence.
ABBREVIATIONS = (
    r"(?<!\bsec\.)(?<!\beq\.)(?<!\bFig\.)(?<!\bfig\.)(?<!\bal\.)(?<!\bAlg\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)"
)
END = re.compile(rf"(?<=[.!?]){ABBREVIATIONS}[\"')*]*\s+")


class Docstring(NamedTuple):
    name: str
    line: int
    text: str
    node: ast.AST


def docstrings(file: str) -> Iterator[Docstring]:
    """The docstrings of a file."""
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield Docstring(getattr(node, "name", "module"), getattr(node, "lineno", 1), text, node)


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs and list items of a text, without code, tables, headings and numpydoc's underlines."""
    text = re.sub(r"(?ms)^\s*(```|\$\$).*?^\s*\1\s*$|(?<=::\n\n)( {4}[^\n]*\n)+", "\n\n", text)
    text = re.sub(r"(?m)^\s*(>>>.*(\n(?!\s*\n).*)*|\|.*|#.*|-{3,}|!\[.*|<.*)$", "\n", text)
    text = re.sub(r"(?m)^\s*([-*]|\d+\.) ", "\n\n", text)
    text = re.sub(r"(?m)^(\w[\w, *]* : .*)$", r"\1\n", text)  # numpydoc: name : type
    yield from re.split(r"\n\s*\n", text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text; inline code, a formula and a link's address are one word each."""
    for paragraph in paragraphs(text):
        plain = re.sub(r"`[^`]*`|\$[^$]*\$", "X", paragraph)
        plain = re.sub(r"\]\([^)]*\)", "]", plain)
        yield from END.split(" ".join(plain.split()))


def long_sentences(text: str) -> list[str]:
    """Sentences with more words, or more semicolons, than a reader takes in at once."""
    return [
        f"{len(words)} words: {sentence}"
        for sentence in sentences(text)
        if len(words := re.findall(r"\S*\w\S*", sentence)) > MOST_WORDS or sentence.count(";") > 1
    ]


def parameters(node: ast.FunctionDef) -> list[str]:
    every = [*node.args.posonlyargs, *node.args.args, node.args.vararg, *node.args.kwonlyargs, node.args.kwarg]
    return [one.arg for one in every if one is not None and one.arg not in ("self", "cls")]


def is_public(node: ast.AST) -> bool:
    """True for a function that users may call: no private one, no compiled kernel, no overload."""
    if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
        return False
    return not any(word in ast.unparse(one) for one in node.decorator_list for word in ("njit", "overload"))


def documented(text: str) -> list[str]:
    """The parameters that a numpydoc section documents, one a line."""
    section = re.search(r"(?ms)^Parameters\n-{3,}\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)|\Z", text)
    lines = re.findall(r"(?m)^([*\w][*\w, ]*) : ", section[1] or "")
    return [name.strip(" *") for line in lines for name in line.split(",")]


def complaints(file: str) -> Iterator[str]:
    """Say what is wrong with the docstrings of a file."""
    for one in docstrings(file):
        place = f"{file}:{one.line} {one.name}"
        if BAD_OPENING.match(one.text):
            yield f"{place}: opens with {one.text[:60]}"
        yield from (f"{place}: {long}" for long in long_sentences(one.text))
        if file.startswith("src/") and is_public(one.node) and len(parameters(one.node)) > MOST_UNSECTIONED:
            missing = [name for name in parameters(one.node) if name not in documented(one.text)]
            yield from (f"{place}: no line 'name : type' under Parameters for {name}" for name in missing)


@pytest.mark.parametrize("file", CODE)
def test_docstrings_are_in_our_english(file):
    assert not list(complaints(file))


@pytest.mark.parametrize("page", PAGES)
def test_sentences_of_pages_are_short(page):
    assert not long_sentences((ROOT / page).read_text())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Short. " + "word " * 30 + "end.", 1),
        ("See sec. 5 of Quattoni et al. 2009. Then stop.", 0),
        ("One; two; three.", 1),
        ("- " + "word " * 20 + "\n- " + "word " * 20, 0),
        ("Code `a b c d` is a word.\n\n```\n" + "word " * 50 + "\n```\n", 0),
        (">>> f(x)  # " + "word " * 40, 0),
    ],
)
def test_long_sentences_are_found(text, expected):
    assert len(long_sentences(text)) == expected


def test_parameters_are_found():
    text = "Do.\n\nParameters\n----------\nX : array (n,)\n    Text.\n**options : Any\n\nReturns\n-------\nW : array\n"
    assert documented(text) == ["X", "options"]
