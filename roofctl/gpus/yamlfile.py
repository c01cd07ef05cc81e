"""Read one YAML file strictly: with the line of every key, and the keys that are written twice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

import yaml

from roofctl.core.errors import InputError
from roofctl.core.yaml_text import LOADER

KeyPath: TypeAlias = tuple[str | int, ...]

_DECIMAL: Final = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][-+]\d+)?|[-+]?\.(?:\d+|inf|nan)", re.IGNORECASE)
"""Numbers that mean what they show. To YAML 0132 is octal, 1:30 is 90, and 1_000 is 1000."""


@dataclass(frozen=True)
class Document:
    """One file's data, the 1-based line of each key, and the keys that were written twice."""

    path: Path
    data: object
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    duplicates: tuple[KeyPath, ...] = ()

    def line(self, key: KeyPath) -> int | None:
        """Line of ``key``, or of the nearest enclosing key that exists."""
        for length in range(len(key), 0, -1):
            if key[:length] in self.lines:
                return self.lines[key[:length]]
        return None


def read_document(path: Path) -> Document:
    """Parse ``path``; raises InputError (with line and column) for text that is not YAML."""
    return _parsed(path, _read_text(path))


@lru_cache(maxsize=128)
def _parsed(path: Path, text: str) -> Document:
    """Each text once per process: whether a file holds ceilings only is asked before it is checked."""
    try:
        loader = LOADER(text)
        try:
            node = loader.get_single_node()
            lines: dict[KeyPath, int] = {}
            duplicates: list[KeyPath] = []
            if node is not None:
                _walk(node, (), lines, duplicates, set())
            data = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise InputError(f"{path}{_where(error)}: not valid YAML: {_what(error)}", hint=_SYNTAX_HINT) from error
    except (ValueError, RecursionError) as error:
        # PyYAML lets a date such as 2024-13-45 or very deep nesting escape as a plain Python error.
        raise InputError(f"{path}: a value cannot be read: {error}", hint=_SYNTAX_HINT) from error
    return Document(path, data, lines, tuple(duplicates))


_SYNTAX_HINT: Final = "check the indentation, the colons and the quotes around that place"


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file in UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def _where(error: yaml.YAMLError) -> str:
    position = getattr(error, "problem_mark", None)
    return "" if position is None else f", line {position.line + 1}, column {position.column + 1}"


def _what(error: yaml.YAMLError) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None)
    return str(problem or error).splitlines()[0]


def _walk(
    node: yaml.Node, at: KeyPath, lines: dict[KeyPath, int], duplicates: list[KeyPath], visited: set[int]
) -> None:
    """Note the line of each key under ``node``, and the keys that appear twice in one mapping."""
    if id(node) in visited:
        # An alias can make a small file endless, and hides the line of a value.
        problem = "references (&name, *name) are not supported; write the value out"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    visited.add(id(node))
    if (
        isinstance(node, yaml.ScalarNode)
        and node.tag.endswith((":int", ":float"))
        and not _DECIMAL.fullmatch(node.value)
    ):
        problem = (
            f"{node.value} is no plain decimal number, YAML reads it as another one; write all digits, or quote it"
        )
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            key = (*at, str(key_node.value))
            if key in lines:
                duplicates.append(key)
            lines[key] = key_node.start_mark.line + 1
            _walk(value_node, key, lines, duplicates, visited)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[(*at, index)] = item.start_mark.line + 1
            _walk(item, (*at, index), lines, duplicates, visited)
