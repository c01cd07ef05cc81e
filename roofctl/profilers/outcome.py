"""One job for a profiler, and what it left behind, whichever it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roofctl.core.errors import ApplicationFailed, RoofctlError
from roofctl.core.process import Stop
from roofctl.profilers.counters import Selected
from roofctl.profilers.gpu import Gpu
from roofctl.profilers.request import Command, ProfileRequest
from roofctl.profilers.tools import Tool


@dataclass(frozen=True)
class Job:
    """A request, what it was decided to mean, and the folder to write into."""

    request: ProfileRequest
    tool: Tool
    selected: Selected
    folder: Path
    gpu: Gpu | None = None


@dataclass(frozen=True)
class Outcome:
    """``kernels``: launches with counts (0: nothing usable); ``missing``: counters asked for that have no value.

    ``data`` names the files in the folder to read, ``log`` the one that holds what the profiler said.
    ``error`` is what went wrong, also where something usable came of it.
    """

    commands: tuple[Command, ...]
    stopped: Stop | None
    returncode: int
    seconds: float
    kernels: int
    passes: int | None
    missing: tuple[str, ...]
    data: tuple[str, ...]
    log: str | None
    error: RoofctlError | None

    @property
    def application_code(self) -> int | None:
        """The code of the application: its own, 0 where all went well, None where nobody knows."""
        if isinstance(self.error, ApplicationFailed):
            return self.error.code
        return 0 if self.returncode == 0 and self.stopped is None and self.error is None else None
