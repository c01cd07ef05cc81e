"""Programs of the CUDA toolkit as they are installed: path and version."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roofctl.core import process
from roofctl.core.errors import ToolError, ToolFailed, ToolNotFound

VERSION_SECONDS: Final = 120.0
"""Time limit for `--version`: the first start from a network disk is slow."""

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
    """An installed program. ``help`` is its --help text, empty where it was not run for that."""

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
        """Whether none is installed and the newest version is assumed (dry run)."""
        return self.version == _ASSUMED_VERSION


def assumed(name: str) -> Tool:
    """A tool that has every option: for a dry run on a machine without profilers."""
    return Tool(name, name, _ASSUMED_VERSION)


def numbers(version: str) -> tuple[int, ...]:
    """``2025.3.1`` as ``(2025, 3, 1)``."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def locate(name: str) -> str:
    """Path of a tool on PATH. Raises ToolNotFound that names a copy in one of the usual places."""
    path = shutil.which(name)
    if path:
        return path
    raise ToolNotFound(f"{name} is not on PATH", hint=elsewhere_hint(name, Path("/")) or _install_hint(name))


def elsewhere_hint(name: str, root: Path) -> str:
    """A hint that names the newest installation outside PATH; empty where there is none."""
    paths = [path for place in PLACES[name] for path in sorted(root.glob(place), key=_by_version, reverse=True)]
    return f"there is one at {paths[0]}: put its folder on PATH" if paths else ""


def report_module() -> Path | None:
    """The folder of the Python module ``ncu_report`` that the ncu on PATH brings along; None where there is none."""
    program = shutil.which("ncu")
    if program is None:
        return None
    folder = Path(program).resolve().parent
    # The ncu of a toolkit is a script that starts the one in a folder of its own.
    others = [*folder.parent.glob("nsight-compute-*"), *Path("/opt/nvidia/nsight-compute").glob("*")]
    folders = [each / "extras" / "python" for each in (folder, *sorted(others, key=_by_version, reverse=True))]
    return next((each for each in folders if (each / "ncu_report.py").is_file()), None)


def _by_version(path: Path) -> tuple[int, ...]:
    return numbers(str(path))


def wrapper_hint(name: str) -> str:
    """What to do about a tool on PATH that does not run."""
    return f"it may be a wrapper of an incomplete install: install {name} fully, or put another one earlier on PATH"


def _install_hint(name: str) -> str:
    source = {"ncu": "Nsight Compute", "nvprof": "a CUDA toolkit up to 12"}[name]
    return f"install {source}, or load its module, and try `{name} --version`"


def version_in(name: str, text: str) -> str | None:
    """The version in the text of `--version`; 2025.3.1 for ncu's ``2025.3.1.0``, as in NVIDIA's documents."""
    match = re.search(VERSIONS[name], text)
    return re.sub(r"^(\d+\.\d+\.\d+)\.0$", r"\1", match.group(1)) if match else None


def ask_version(name: str, path: str) -> str:
    """The version that ``path --version`` prints. A wrapper that does not run the tool is an error that names it."""
    try:
        completed = process.run([path, "--version"], timeout=VERSION_SECONDS)
    except ToolError as error:  # a tool that hangs, or is no program, is treated as one that fails
        raise ToolFailed(
            f"{path} is on PATH but does not run {name}: {error.message}", hint=wrapper_hint(name)
        ) from error
    version = version_in(name, completed.stdout + completed.stderr)
    if version and completed.returncode == 0:
        return version
    printed = next(
        (line.strip() for line in (completed.stderr + completed.stdout).splitlines() if line.strip()), "nothing"
    )
    raise ToolFailed(
        f"{path} is on PATH but does not run {name}: `{path} --version` exited {completed.returncode} and printed: "
        f"{printed[:200]}",
        hint=wrapper_hint(name),
    )
