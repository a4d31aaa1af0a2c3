"""config.yaml as a file: plain YAML that is what it looks like, checked before Snakemake reads it."""

from collections.abc import Iterable
from pathlib import Path
from textwrap import shorten
from typing import Any

import yaml

# What nobody writes by hand, and what Snakemake needs hours or all memory for.
MOST_CHARACTERS = 1_000_000

DEEPEST = 50

LARGEST = 2**63


class ConfigError(ValueError):
    """A value in config.yaml that must be changed."""


def check_file(path: Path) -> None:
    """Raise ConfigError with one line where a file is no plain YAML, or YAML that would be read as something else.

    That is, before Snakemake reads it: a key given twice, of which the last would win; numbers that YAML takes for
    octal or for minutes; aliases and deep nesting, which can stand for more than any memory holds; dates, tags and
    templates (`__use_yte__`), which run code.
    """

    def refuse(what: str, line: int) -> ConfigError:
        return ConfigError(f"{what} ({path.name}, line {line + 1})")

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n")
        raise refuse(f"the file must be UTF-8 text, got byte {error.object[error.start]:#04x}", line) from None
    if len(text) > MOST_CHARACTERS:
        raise refuse(f"the file must have at most {MOST_CHARACTERS:,} characters, got {len(text):,}", 0)
    blocks: list[set[str] | None] = []  # the keys so far of each block that is open, None of a list
    is_key: list[bool] = []  # whether the next item of it is a key
    documents = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            line = event.start_mark.line
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise refuse("the file must hold one YAML document, got a second", line)
            if isinstance(event, yaml.AliasEvent):
                raise refuse(f"aliases are not read: write the value again, got *{event.anchor}", line)
            if isinstance(event, yaml.CollectionEndEvent):
                blocks.pop()
                is_key.pop()
            if not isinstance(event, yaml.NodeEvent):
                continue
            if event.tag is not None:
                raise refuse(f"tags are not read, got {event.tag}", line)
            expects_key = bool(blocks) and blocks[-1] is not None and is_key[-1]
            if blocks:
                is_key[-1] = not is_key[-1]
            if isinstance(event, yaml.CollectionStartEvent):
                if expects_key:
                    raise refuse("a key must be text, got a list or block", line)
                if len(blocks) == DEEPEST:
                    raise refuse(f"blocks and lists must be nested at most {DEEPEST} deep", line)
                blocks.append(set() if isinstance(event, yaml.MappingStartEvent) else None)
                is_key.append(True)
                continue
            wrong = _misread(event)
            if wrong:
                raise refuse(wrong, line)
            keys = blocks[-1] if expects_key else None
            if keys is not None:
                if event.value in keys:
                    raise refuse(f"the key {event.value!r} stands twice in one block", line)
                if event.value == "__use_yte__":
                    raise refuse("templates (__use_yte__) are not read", line)
                keys.add(event.value)
    except yaml.MarkedYAMLError as error:
        problem = f"{error.context or ''} {error.problem or ''}"
        place = error.problem_mark or error.context_mark
        raise refuse(f"the file is no YAML: {problem.strip()}", place.line if place else 0) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n")
        raise refuse(f"the file is no YAML: it holds the character {error.character:#04x}", line) from None


def _misread(scalar: yaml.ScalarEvent) -> str:
    """Why a value would not be what it looks like; nothing if it would."""
    value = scalar.value
    try:
        value.encode()
    except UnicodeEncodeError:
        return "text must be UTF-8, got half a character"
    if scalar.style is None:  # not in quotes
        kind = _RESOLVER.resolve(yaml.ScalarNode, value, (True, False)).rpartition(":")[2]
        number = value.replace("_", "").lstrip("+-")
        if kind == "int" and (number.strip("0123456789") or (number[0] == "0" and number != "0")):
            return f"{value} is not what it seems to YAML: write it as a decimal number, or in quotes as text"
        if kind == "int" and len(number) > len(str(LARGEST)):
            return f"numbers must be below {LARGEST}, got one of {len(number)} digits"
        if (kind == "float" and ":" in value) or kind in ("timestamp", "merge", "value"):
            return f"{shorten(value, 40)} is not what it seems to YAML: put it in quotes"
    return ""


_RESOLVER = yaml.resolver.Resolver()


def one_of(key: str, known: Iterable[str], got: Any, where: str) -> str:
    """One line for an unknown name."""
    return f"{key} must be one of {', '.join(known)}, got {got!r} {place(where)}"


def place(where: str) -> str:
    return f"(config.yaml: {where.lstrip('.') or 'top level'})"
