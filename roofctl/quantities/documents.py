"""Reads the YAML files of this folder."""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

from roofctl.core import yaml_text
from roofctl.core.errors import InputError

_SCHEMA: Final = 1


def document(name: str) -> dict[str, Any]:
    """One YAML file of this folder. Raises InputError when its schema is not the one known here."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    tree: dict[str, Any] = yaml_text.load(text)
    if tree.get("schema") != _SCHEMA:
        raise fault(name, f"schema {tree.get('schema')!r}", f"schema {_SCHEMA}")
    return tree


def fault(file: str, seen: str, expected: str) -> InputError:
    """The error for a shipped file that is not as it was written."""
    return InputError(f"{file}: {seen}; expected {expected}", hint="reinstall roofctl, or report this")
