"""Read config.yaml, and refuse YAML that is not plain, before Snakemake reads it."""

import re
from pathlib import Path
from typing import Any

import yaml

# Limits that no file written by hand reaches, and beyond which Snakemake needs hours or all memory.
MOST_BYTES = 1_000_000
DEEPEST_NESTING = 50
# For each YAML type, a pattern for values that mean what they look like. It excludes numbers that YAML reads as octal,
# hexadecimal or minutes, numbers that are too long, dates, characters with a special meaning, and lone surrogates.
PLAIN = {"int": "[-+]?(0|[1-9][0-9_]{,18})", "float": "[^:]*", "str": "[^\ud800-\udfff]*", "null": ".*", "bool": ".*"}


class Surprise(yaml.MarkedYAMLError):
    """Well-formed YAML that does not mean what it seems to mean."""


def load_file(path: Path) -> Any:
    """Return the values in a file, or raise ValueError with one line if it is not plain YAML, see `load`."""
    return load(path.read_bytes(), path.name)


def load(content: bytes, name: str) -> Any:
    """Return the values in the content of a file, or None if it is empty.

    Raises ValueError with one line if the content is not plain YAML, or if YAML would misread it.

    The following are refused:

    - repeated keys, for which YAML would keep only the last value;
    - values that do not mean what they look like (see `PLAIN`);
    - aliases and deep nesting, which can expand beyond any memory;
    - tags and templates (`__use_yte__`), which run code.
    """
    if len(content) > MOST_BYTES:
        raise ValueError(f"the file may have at most {MOST_BYTES:,} bytes, got {len(content):,} ({name}, line 1)")
    try:
        text = content.decode("utf-8-sig")
        return _PlainLoader(text).get_single_data()
    except UnicodeDecodeError as error:
        said, line = (
            f"the file must be UTF-8 text, got byte {content[error.start]:#04x}",
            content[: error.start].count(10),
        )
    except yaml.reader.ReaderError as error:
        said = f"the file is not YAML: it contains the character {error.character:#04x}"
        line = text.count("\n", 0, error.position)
    except yaml.MarkedYAMLError as error:
        words = [] if isinstance(error, Surprise) else ["the file is not YAML:", error.context]
        said = " ".join(filter(None, [*words, error.problem]))
        line = (error.problem_mark or error.context_mark).line
    raise ValueError(f"{said} ({name}, line {line + 1})")


class _PlainLoader(yaml.SafeLoader):
    """A loader of a single document, which raises Surprise at the first node that is not plain."""

    depth = 0  # number of open blocks and lists

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        alias = isinstance(event, yaml.AliasEvent)
        _require_plain(not alias, f"aliases are not allowed: repeat the value instead, got *{event.anchor}", event)
        _require_plain(event.tag is None, f"tags are not allowed, got {event.tag}", event)
        too_deep = isinstance(event, yaml.CollectionStartEvent) and self.depth == DEEPEST_NESTING
        _require_plain(not too_deep, f"blocks and lists may be nested at most {DEEPEST_NESTING} deep", event)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        if isinstance(node, yaml.ScalarNode):
            plain = re.fullmatch(PLAIN.get(node.tag.rpartition(":")[2], "(?!)"), node.value, re.DOTALL)
            fit = "put it in quotes, or write a decimal number of at most 18 digits"
            _require_plain(plain, f"{node.value[:40]!a} is not read as it looks: {fit}", node)
        elif isinstance(node, yaml.MappingNode):
            _check_keys(node)
        return node


def _require_plain(holds: object, said: str, place: yaml.Event | yaml.Node) -> None:
    if not holds:
        raise Surprise(problem=said, problem_mark=place.start_mark)


def _check_keys(block: yaml.MappingNode) -> None:
    seen = set()
    for key, _ in block.value:
        _require_plain(isinstance(key, yaml.ScalarNode), "a key must be text, got a list or block", key)
        _require_plain(key.value not in seen, f"the key {key.value!r} occurs twice in one block", key)
        _require_plain(key.value != "__use_yte__", "templates (__use_yte__) are not allowed", key)
        seen.add(key.value)
