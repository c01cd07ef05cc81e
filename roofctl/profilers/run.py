"""The plan of a profiler run, and its result: the same two types for ncu and nvprof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from roofctl.core.errors import ApplicationFailed, RoofctlError
from roofctl.core.gpu import Gpu
from roofctl.core.process import Stop
from roofctl.cuda.tools import Tool
from roofctl.profilers.counters import Selected
from roofctl.profilers.log import ProfilerLog
from roofctl.profilers.request import Command, ProfileRequest


@dataclass(frozen=True)
class ProfilePlan:
    """A request with all decisions taken, before anything is run. ``remarks`` are notes for the user."""

    request: ProfileRequest
    tool: Tool
    selected: Selected
    gpu: Gpu | None = None
    sets: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    host: str = ""


@dataclass(frozen=True)
class ProfilerRun:
    """One run of a profiler, or (nvprof) the runs of one capture together.

    ``kernels`` counts launches with values (0: nothing usable), ``counters`` names the counters that have any.
    ``data`` names the files in the capture's folder to read, ``log_file`` the one with the profiler's messages.
    ``error`` is what went wrong, also where launches were counted in spite of it.
    """

    commands: tuple[Command, ...]
    log: ProfilerLog
    returncode: int = 0
    signal: int | None = None
    stopped: Stop | None = None
    seconds: float = 0.0
    kernels: int = 0
    counters: frozenset[str] = frozenset()
    data: tuple[str, ...] = ()
    log_file: str | None = None
    error: RoofctlError | None = None

    def missing(self, asked: Sequence[str]) -> tuple[str, ...]:
        """Counters asked for that have no value; none of a run without launches."""
        return tuple(name for name in asked if name not in self.counters) if self.kernels else ()

    @property
    def application_code(self) -> int | None:
        """The exit code of the application: its own, 0 where all went well, None where it is unknown."""
        if isinstance(self.error, ApplicationFailed):
            return self.error.code
        return 0 if self.returncode == 0 and self.stopped is None and self.error is None else None
