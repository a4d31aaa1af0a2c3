"""config.yaml as a file: plain YAML without surprises, checked before Snakemake reads it."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from textwrap import shorten
from typing import Any

import yaml

# Limits that no file written by hand reaches, and beyond which Snakemake needs hours or all memory.
MOST_CHARACTERS = 1_000_000
DEEPEST_NESTING = 50
LARGEST_NUMBER = 2**63


class ConfigError(ValueError):
    """A value in config.yaml that must be changed."""


class Surprise(yaml.MarkedYAMLError):
    """YAML that is well formed, but not what it looks like."""


def check_file(path: Path) -> None:
    """Raise ConfigError with one line if a file is not plain YAML, or would be read as something else.

    Refused are

    - a key given twice, of which YAML would keep the last;
    - numbers that YAML takes for octal or for minutes, and dates;
    - aliases and deep nesting, which can stand for more than any memory holds;
    - tags and templates (`__use_yte__`), which run code.
    """
    mistake = _first_mistake(path.read_bytes())
    if mistake:
        said, line = mistake
        raise ConfigError(f"{said} ({path.name}, line {line + 1})")


def _first_mistake(content: bytes) -> tuple[str, int] | None:
    """The first mistake in a file and its line, counted from 0."""
    text = ""
    try:
        text = content.decode("utf-8-sig")
        if len(text) > MOST_CHARACTERS:
            return f"the file must have at most {MOST_CHARACTERS:,} characters, got {len(text):,}", 0
        _PlainLoader(text).get_single_node()
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start)
        return f"the file must be UTF-8 text, got byte {error.object[error.start]:#04x}", line
    except Surprise as error:
        return str(error.problem), error.problem_mark.line
    except yaml.MarkedYAMLError as error:
        problem = f"{error.context or ''} {error.problem or ''}"
        place = error.problem_mark or error.context_mark
        return f"the file is no YAML: {problem.strip()}", place.line if place else 0
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position)
        return f"the file is no YAML: it holds the character {error.character:#04x}", line
    return None


class _PlainLoader(yaml.SafeLoader):
    """Reads the nodes of one document, and raises Surprise at the first that is not plain."""

    depth = 0  # open blocks and lists

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        alias = isinstance(event, yaml.AliasEvent)
        _require_plain(not alias, f"aliases are not read: write the value again, got *{event.anchor}", event)
        _require_plain(event.tag is None, f"tags are not read, got {event.tag}", event)
        too_deep = isinstance(event, yaml.CollectionStartEvent) and self.depth == DEEPEST_NESTING
        _require_plain(not too_deep, f"blocks and lists must be nested at most {DEEPEST_NESTING} deep", event)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        if isinstance(node, yaml.ScalarNode):
            _check_scalar(node)
        elif isinstance(node, yaml.MappingNode):
            _check_keys(node)
        return node


def _require_plain(holds: bool, said: str, place: yaml.Event | yaml.Node) -> None:
    """Raise Surprise with the place in the file unless something holds."""
    if not holds:
        raise Surprise(problem=said, problem_mark=place.start_mark)


def _check_keys(block: yaml.MappingNode) -> None:
    seen = set()
    for key, _ in block.value:
        _require_plain(isinstance(key, yaml.ScalarNode), "a key must be text, got a list or block", key)
        _require_plain(key.value not in seen, f"the key {key.value!r} stands twice in one block", key)
        _require_plain(key.value != "__use_yte__", "templates (__use_yte__) are not read", key)
        seen.add(key.value)


def _check_scalar(scalar: yaml.ScalarNode) -> None:
    """Raise Surprise for a number or text that YAML takes for something else."""
    value, kind = scalar.value, scalar.tag.rpartition(":")[2]
    half = any("\ud800" <= letter <= "\udfff" for letter in value)
    _require_plain(not half, "text must be UTF-8, got half a character", scalar)
    if kind == "int":
        number = value.replace("_", "").lstrip("+-")
        _require_plain(
            re.fullmatch("0|[1-9][0-9]*", number) is not None,
            f"{value} is not what it seems to YAML: write it as a decimal number, or in quotes as text",
            scalar,
        )
        _require_plain(
            len(number) <= len(str(LARGEST_NUMBER)),
            f"numbers must be below {LARGEST_NUMBER}, got one of {len(number)} digits",
            scalar,
        )
    if kind in ("timestamp", "merge", "value") or (kind == "float" and ":" in value):
        # Not by `_require_plain`: to shorten every value would take as long as all other checks.
        raise Surprise(
            problem=f"{shorten(value[:80], 40)} is not what it seems to YAML: put it in quotes",
            problem_mark=scalar.start_mark,
        )


def require(holds: object, said: str, where: str) -> None:
    """Raise ConfigError with a place in config.yaml unless something holds."""
    if not holds:
        raise ConfigError(f"{said} {place(where)}")


def require_known(key: str, known: Collection[Any], got: Any, where: str) -> None:
    """Raise ConfigError with all known names for another one."""
    if got not in known:
        raise ConfigError(one_of(key, known, got, where))


def one_of(key: str, known: Iterable[Any], got: Any, where: str) -> str:
    """One line for an unknown name."""
    return f"{key} must be one of {', '.join(map(str, known))}, got {got!r} {place(where)}"


def place(where: str) -> str:
    """A place in config.yaml, in brackets."""
    return f"(config.yaml: {where.lstrip('.') or 'top level'})"
