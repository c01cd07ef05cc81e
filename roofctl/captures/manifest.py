"""The manifest of a capture folder, ``capture.json``: what one profiler run left and how it was made."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from roofctl.core.errors import RoofctlError
from roofctl.core.gpu import Gpu

SCHEMA: Final = 1
MANIFEST: Final = "capture.json"
ROOT: Final = "roofctl-captures"


@dataclass(frozen=True)
class Manifest:
    """One capture. None means unknown.

    ``commands`` are the exact command lines, with the folder's final name. ``left_out`` and ``missing`` give, per
    quantity and per counter, why there is no value. ``data`` names the files to read, in the folder. ``gpu`` is as
    nvidia-smi described it before the run.
    ``kernel``, ``kernel_base`` and ``exclude`` are the user's filters; ``filter_when_read``: the profiler
    did not apply all of them, so that the reader must. ``incomplete`` is empty for a complete capture, else the reason.
    """

    argv: tuple[str, ...]
    cwd: str
    profiler: str
    profiler_version: str
    profiler_path: str
    metric_sets: tuple[str, ...]
    counters: tuple[str, ...]
    host: str
    started: str
    ended: str
    data: tuple[str, ...]
    commands: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    gpu: Gpu | None = None
    rank: int | None = None
    seconds: float | None = None
    profiler_exit_code: int | None = None
    application_exit_code: int | None = None
    clock_control: str | None = None
    cache_control: str | None = None
    replay_mode: str | None = None
    passes: int | None = None
    kernels: int | None = None
    kernel: str = ""
    kernel_base: str = ""
    exclude: str = ""
    filter_when_read: bool = False
    incomplete: str = ""
    roofctl_version: str = ""
    schema: int = SCHEMA


@dataclass(frozen=True)
class Capture:
    """A capture on disk. ``failure``: the error of the run that made it, where it was kept in spite of one."""

    folder: Path
    manifest: Manifest
    failure: RoofctlError | None = None


def is_capture(folder: Path) -> bool:
    """Whether a folder holds a capture."""
    return (folder / MANIFEST).is_file()


def captures_in(root: Path) -> list[Path]:
    """The capture folders directly in ``root``, by name; none where there is no such folder."""
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if not path.name.startswith(".") and is_capture(path))


def newest(folders: Iterable[Path]) -> Path | None:
    """The capture whose run ended last, by the text of manifests, which are not checked; None without any."""
    return max(folders, key=lambda folder: (_ended(folder / MANIFEST), folder.name), default=None)


def _ended(manifest: Path) -> float:
    with contextlib.suppress(OSError, ValueError, OverflowError):
        match = re.search(r'"ended":\s*"([^"]+)"', manifest.read_text(encoding="utf-8"))
        return datetime.fromisoformat(match.group(1)).timestamp() if match else -math.inf
    return -math.inf
