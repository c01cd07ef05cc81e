"""The profilers as they are installed: where, which version, and what that version can do."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml

from roofctl.errors import InputError, ToolError, ToolFailed, ToolNotFound
from roofctl.profilers import process

ANSWER_SECONDS: Final = 120.0
"""How long a tool may take to tell its version: the first start from a network disk is slow."""

_ASSUMED_VERSION: Final = "9999"


@dataclass(frozen=True)
class Tool:
    """An installed profiler. ``help`` is its own --help text, empty where that was not asked."""

    name: str
    path: str
    version: str
    help: str = ""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers that compare."""
        return numbers(self.version)

    @property
    def assumed(self) -> bool:
        """Whether no tool was found and the newest one is taken for a dry run."""
        return self.version == _ASSUMED_VERSION


def assumed(name: str) -> Tool:
    """A tool that has every option: for a dry run on a machine without profilers."""
    return Tool(name, name, _ASSUMED_VERSION)


def numbers(version: str) -> tuple[int, ...]:
    """``2025.3.1`` as ``(2025, 3, 1)``."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def locate(name: str, places: Sequence[str]) -> str:
    """Path of a tool on PATH. Raises ToolNotFound that names a copy in one of the usual ``places`` (glob patterns)."""
    found = shutil.which(name)
    if found:
        return found
    elsewhere = [str(path) for place in places for path in sorted(Path("/").glob(place), reverse=True)]
    hint = f"there is one at {elsewhere[0]}: put its folder on PATH" if elsewhere else _install_hint(name)
    raise ToolNotFound(f"{name} is not on PATH", hint=hint)


def _install_hint(name: str) -> str:
    source = {"ncu": "Nsight Compute", "nvprof": "a CUDA toolkit up to 12"}[name]
    return f"install {source}, or load its module, and try `{name} --version`"


def ask_version(name: str, path: str, pattern: str) -> str:
    """The version that ``path --version`` prints. A wrapper that does not run the tool is an error that names it."""
    answer = process.run([path, "--version"], timeout=ANSWER_SECONDS)
    match = re.search(pattern, answer.stdout + answer.stderr)
    if match and answer.returncode == 0:
        return match.group(1)
    said = next((line.strip() for line in (answer.stderr + answer.stdout).splitlines() if line.strip()), "nothing")
    raise ToolFailed(
        f"{path} is on PATH but does not run {name}: `{path} --version` exited {answer.returncode} and said: "
        f"{said[:200]}",
        hint=f"it may be a wrapper of an incomplete install: install {name} fully, or put another one earlier on PATH",
    )


@cache
def _table() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath("options.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.safe_load(text)
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
    found: str = entry["since"] if value is None else entry["values"][value]
    return found


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
