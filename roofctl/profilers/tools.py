"""The profilers as they are installed: where, which version, and what that version can do."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml

from roofctl.core import process
from roofctl.core.errors import InputError, ToolError, ToolFailed, ToolNotFound

ANSWER_SECONDS: Final = 120.0
"""How long a tool may take to tell its version: the first start from a network disk is slow."""

VERSIONS: Final = {
    "ncu": r"Version (\d+(?:\.\d+)+)",
    "nvprof": r"Release version (\d+(?:\.\d+)+)",
    "nvcc": r"\bV(\d+(?:\.\d+)+)",
}
"""What ``--version`` prints, by tool."""

PLACES: Final = {
    "ncu": (
        "usr/local/cuda*/bin/ncu",
        "opt/nvidia/nsight-compute/*/ncu",
        "opt/nvidia/hpc_sdk/*/*/compilers/bin/ncu",
        "opt/cuda/bin/ncu",
    ),
    "nvprof": ("usr/local/cuda*/bin/nvprof", "opt/cuda/bin/nvprof"),
    "nvcc": ("usr/local/cuda*/bin/nvcc", "opt/cuda/bin/nvcc"),
}
"""Where installers put a tool, below the root: patterns."""

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


def locate(name: str) -> str:
    """Path of a tool on PATH. Raises ToolNotFound that names a copy in one of the usual places."""
    found = shutil.which(name)
    if found:
        return found
    raise ToolNotFound(f"{name} is not on PATH", hint=elsewhere_hint(name, Path("/")) or _install_hint(name))


def elsewhere_hint(name: str, root: Path) -> str:
    """Where a tool that is not on PATH is after all, the newest first; empty where it is nowhere."""
    found = [path for place in PLACES[name] for path in sorted(root.glob(place), key=_by_version, reverse=True)]
    return f"there is one at {found[0]}: put its folder on PATH" if found else ""


def _by_version(path: Path) -> tuple[int, ...]:
    return numbers(str(path))


def wrapper_hint(name: str) -> str:
    """What to do about a tool on PATH that does not run."""
    return f"it may be a wrapper of an incomplete install: install {name} fully, or put another one earlier on PATH"


def _install_hint(name: str) -> str:
    source = {"ncu": "Nsight Compute", "nvprof": "a CUDA toolkit up to 12"}[name]
    return f"install {source}, or load its module, and try `{name} --version`"


def version_in(name: str, text: str) -> str | None:
    """The version in what a tool printed, as NVIDIA speaks of it: 2025.3.1 for ncu's ``2025.3.1.0``."""
    match = re.search(VERSIONS[name], text)
    return re.sub(r"^(\d+\.\d+\.\d+)\.0$", r"\1", match.group(1)) if match else None


def ask_version(name: str, path: str) -> str:
    """The version that ``path --version`` prints. A wrapper that does not run the tool is an error that names it."""
    try:
        answer = process.run([path, "--version"], timeout=ANSWER_SECONDS)
    except ToolError as error:  # it hangs, or is no program: as useless as one that fails
        raise ToolFailed(
            f"{path} is on PATH but does not run {name}: {error.message}", hint=wrapper_hint(name)
        ) from error
    version = version_in(name, answer.stdout + answer.stderr)
    if version and answer.returncode == 0:
        return version
    said = next((line.strip() for line in (answer.stderr + answer.stdout).splitlines() if line.strip()), "nothing")
    raise ToolFailed(
        f"{path} is on PATH but does not run {name}: `{path} --version` exited {answer.returncode} and said: "
        f"{said[:200]}",
        hint=wrapper_hint(name),
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
