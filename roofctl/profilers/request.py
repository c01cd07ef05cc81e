"""The request for a profiler run, its command lines, and its progress."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from roofctl.captures.manifest import ROOT

ProfilerChoice = Literal["auto", "ncu", "nvprof"]
Replay = Literal["kernel", "application", "range", "app-range"]
ClockControl = Literal["none", "base", "boost"]
CacheControl = Literal["all", "none"]

DEFAULT_ROOT: Final = ROOT


@dataclass(frozen=True)
class ProfileRequest:
    """One run of an application under a profiler.

    ``argv`` is the application and its arguments. ``output`` is the folder that holds captures; None means
    ``roofctl-captures`` in the current folder. ``cwd`` is the application's folder, ``env`` is added to its
    environment, ``timeout`` counts seconds per profiler run. ``kernel``, ``kernel_base`` and ``exclude`` are
    regular expressions, as in ``NameFilter``. ``clock_control`` and ``cache_control`` None mean roofctl's defaults:
    clocks left alone, and caches flushed where the profiler can.
    """

    argv: tuple[str, ...]
    sets: tuple[str, ...] = ("default",)
    profiler: ProfilerChoice = "auto"
    kernel: str = ""
    kernel_base: str = ""
    exclude: str = ""
    launch_skip: int | None = None
    launch_count: int | None = None
    nvtx: str | None = None
    replay: Replay = "kernel"
    clock_control: ClockControl | None = None
    cache_control: CacheControl | None = None
    device: int | None = None
    timeout: float | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    name: str | None = None
    output: Path | None = None
    keep_going: bool = False

    def filters(self) -> list[str]:
        """The options that choose launches, as the user wrote them; empty when all are profiled."""
        named = {
            "--kernel": self.kernel,
            "--kernel-base": self.kernel_base,
            "--exclude": self.exclude,
            "--nvtx": self.nvtx,
            "--launch-skip": self.launch_skip,
            "--launch-count": self.launch_count,
            "--device": self.device,
        }
        return [f"{option} {value}" for option, value in named.items() if value not in (None, "")]


@dataclass(frozen=True)
class Command:
    """One command line, with what it adds to the environment, its folder, and the file that keeps what it prints."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    output: Path | None = None

    def line(self) -> str:
        """The command as one can paste it into a shell."""
        assignments = [f"{shlex.quote(name)}={shlex.quote(value)}" for name, value in self.env.items()]
        # A shell takes only its own kind of names for assignments; env takes any.
        program = [] if all(re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) for name in self.env) else ["env"]
        line = " ".join([*program, *assignments, shlex.join(self.argv)])
        line += f" > {shlex.quote(str(self.output))}" if self.output else ""
        return f"(cd {shlex.quote(str(self.cwd))} && {line})" if self.cwd else line


@dataclass(frozen=True)
class Progress:
    """State of a run: launches done, the kernel at work and its percentage, passes per launch, new messages to show.

    ``run`` names the run where a profiler needs several.
    """

    run: str = ""
    kernels: int = 0
    kernel: str = ""
    percent: int | None = None
    passes: int | None = None
    messages: tuple[str, ...] = ()


Watch = Callable[[Progress], None]
