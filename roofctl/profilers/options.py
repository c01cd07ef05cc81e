"""Options of the profilers by version: by the tool's own --help, else by the table in ``options.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from roofctl.core import yaml_text
from roofctl.core.errors import InputError, ToolError
from roofctl.cuda.tools import Tool, numbers


@cache
def _table() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath("options.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml_text.load(text)
    return table


def check_minimum(tool: Tool) -> None:
    """Raise ToolError for a version that is older than roofctl can drive."""
    minimum: str = _table()[tool.name]["minimum"]
    if tool.numbers < numbers(minimum):
        raise ToolError(
            f"{tool.path} is {tool.name} {tool.version}; roofctl needs {minimum} or newer", hint="install a newer one"
        )


def offers(tool: Tool, option: str, value: str | None = None) -> bool:
    """Whether this version has the option (and the value of it): by its own --help, else by the table."""
    if tool.help:
        block = _help_block(tool.help, option)
        return block is not None and (
            value is None or re.search(rf"^\s+{re.escape(value)}\b", block, re.MULTILINE) is not None
        )
    return tool.numbers >= numbers(since(tool.name, option, value))


def since(name: str, option: str, value: str | None = None) -> str:
    """The first version with the option, or with the value of it."""
    entry = _table()[name]["options"][option]
    version: str = entry["since"] if value is None else entry["values"][value]
    return version


def droppable(name: str, option: str) -> bool:
    """Whether roofctl can do without the option where a version lacks it."""
    return bool(_table()[name]["options"][option]["lacking"] == "drop")


def _help_block(text: str, option: str) -> str | None:
    """The lines of --help that belong to an option: its own and the further indented ones after it."""
    start = re.search(
        rf"^ {{2}}(?:-\w \[ )?{re.escape(option)}[ \]].*$|^ {{2}}{re.escape(option)}$", text, re.MULTILINE
    )
    if start is None:
        return None
    rest = text[start.end() :]
    end = re.search(r"^ {2}-|^\S", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def require(tool: Tool, option: str, value: str | None = None) -> None:
    """Raise InputError, naming the option and the version that brought it, where this version lacks it."""
    if offers(tool, option, value):
        return
    asked = option if value is None else f"{option} {value}"
    brought = since(tool.name, option, value)
    raise InputError(
        f"{tool.name} {tool.version} has no {asked}: it came with {tool.name} {brought}",
        hint=f"leave it out, or use {tool.name} {brought} or newer ({tool.path} is what PATH gives)",
    )
