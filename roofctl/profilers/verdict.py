"""What a finished run amounts to: good, or which error. The log decides, then exit code and counts."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Final

from roofctl.core import profiler_text as messages
from roofctl.core.errors import ApplicationFailed, DeviceError, NothingProfiled, RoofctlError, ToolFailed
from roofctl.core.process import signal_name
from roofctl.profilers.failures import FAILURES, LOCK, NVPROF_FAILURES, Facts, bare, fill, find_in
from roofctl.profilers.lock import lock_path

_LOCK_EXIT: Final = 9
_NVPROF_INTERNAL_EXIT: Final = 4
_SHOWN: Final = 3
# ncu hands on a signal that ended the application by its number, so that a code may be either.
_FATAL: Final = frozenset({signal.SIGABRT, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM})


def explain(facts: Facts) -> RoofctlError | None:
    """The error that a run's log, exit code and counts amount to; None for a good run.

    A run that was stopped from outside is only judged by what was wrong with it from the start.
    """
    nvprof = facts.tool.name == "nvprof"
    named = find_in(facts, FAILURES)
    if named:
        return named
    failed = None if facts.stopped else _application(facts)
    if failed:
        return failed
    if facts.kernels == 0 and nvprof:
        named = find_in(facts, NVPROF_FAILURES) or _nvprof_silent(facts)
        if named:
            return named
    if facts.stopped:
        return None
    return _said_error(facts) or _crashed(facts) or (nothing_profiled(facts) if facts.kernels == 0 else None)


def _application(facts: Facts) -> RoofctlError | None:
    for line in facts.log.lines:
        match = re.search(messages.APPLICATION_FAILED, line) or re.search(
            r"Application returned non-zero code (?P<code>\d+)", line
        )
        if match:
            return _application_failed(facts, int(match["code"]))
        match = re.search(r"Application received signal (?P<signal>\d+)", line)
        if match:
            return _application_killed(facts, int(match["signal"]))
    return None


def _application_failed(facts: Facts, code: int) -> ApplicationFailed:
    either = ""
    if facts.tool.name == "ncu" and code in _FATAL:
        either = f", which is also how ncu reports {signal_name(code)}"
    return ApplicationFailed(
        f"the application {facts.application} failed with code {code}{either}; {_so_far(facts)}",
        code=code,
        hint=_application_hint(facts),
    )


def _application_killed(facts: Facts, number: int) -> ApplicationFailed:
    return ApplicationFailed(
        f"the application {facts.application} was ended by {signal_name(number)}; {_so_far(facts)}",
        code=128 + number,
        hint=_application_hint(facts),
    )


def launches(count: int) -> str:
    """``1 launch was``, ``2 launches were``."""
    return "1 launch was" if count == 1 else f"{count} launches were"


def _so_far(facts: Facts) -> str:
    return f"{launches(facts.kernels)} profiled" if facts.kernels else "no kernel was profiled"


def _application_hint(facts: Facts) -> str:
    if facts.kernels:
        return "what was profiled is kept; --keep-going makes this exit 0"
    return "run the application without the profiler first; its own messages are above"


def _nvprof_silent(facts: Facts) -> RoofctlError | None:
    """The error of nvprof, which writes no log when it gives up before the application starts; its exit code tells."""
    if facts.returncode != _NVPROF_INTERNAL_EXIT:
        return None
    return DeviceError(
        f"nvprof gave up before it started the application: it found no GPU on {facts.host} that it can count on",
        hint="check nvidia-smi, and that the GPU's compute capability is below 7.5; else use --profiler ncu",
    )


def _said_error(facts: Facts) -> RoofctlError | None:
    """An error line that no pattern knows still is an error."""
    said = [line for line in facts.log.lines if line.startswith("==ERROR==") or re.match(r"=+(?:\d+=+)? Error: ", line)]
    if not said:
        return None
    return ToolFailed(
        f"{facts.tool.name} reported an error: {'; '.join(bare(line) for line in said[:_SHOWN])}",
        hint="the log has more; try the command that `roofctl profile --dry-run` prints by hand",
    )


def _crashed(facts: Facts) -> RoofctlError | None:
    name = facts.tool.name
    if facts.signal:
        return ToolFailed(
            f"{name} was ended by {signal_name(facts.signal)}; {_so_far(facts)}", hint="try again, or another version"
        )
    lock = lock_path({**os.environ, **facts.env})
    if name == "ncu" and facts.returncode == _LOCK_EXIT and facts.kernels == 0 and _foreign(lock):
        return fill(LOCK, facts, "", {})
    if facts.returncode != 0:
        said = next((line.strip() for line in facts.log.lines if line.strip() and not line.startswith("=")), "")
        words = f"and said: {said}" if said else "without saying why"
        return ToolFailed(
            f"{name} exited {facts.returncode} {words}; {_so_far(facts)}",
            hint="its own messages, if any, stand above; `roofctl profile --dry-run` prints the command to try by hand",
        )
    return None


def _foreign(path: Path) -> bool:
    try:
        return path.stat().st_uid != os.getuid()
    except OSError:
        return False


def nothing_profiled(facts: Facts) -> NothingProfiled:
    """The error for a run that went through without a kernel: which of the causes, by the log."""
    connected = facts.log.processes
    if facts.filters and (connected or facts.tool.name == "nvprof"):
        return NothingProfiled(
            f"no kernel was profiled: none that ran passed {' and '.join(facts.filters)}",
            hint="try without the filter to see the kernels' names; --kernel is matched against base names",
        )
    if any("terminated before first instrumented API call" in line for line in facts.log.lines):
        return NothingProfiled(
            f"no kernel was profiled: {facts.application} ended before it called CUDA",
            hint="check that it reaches its GPU work with these arguments",
        )
    if connected:
        shown = ", ".join(connected[:_SHOWN]) + (
            f" and {len(connected) - _SHOWN} more" if len(connected) > _SHOWN else ""
        )
        return NothingProfiled(
            f"no kernel was profiled: {shown} used CUDA but launched no kernel that the profiler saw",
            hint="check that it launches kernels with these arguments, and does not switch profiling off "
            "(cudaProfilerStop)",
        )
    return NothingProfiled(
        f"no kernel was profiled: neither {facts.application} nor a process it started called CUDA",
        hint="check that it uses the GPU (nvidia-smi), and that the work isn't done by a process that was already "
        "running or on another machine (server, container, ssh, MPI): profile there",
    )
