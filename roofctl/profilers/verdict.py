"""The error of a finished run, if any, by its log first, then exit code and launches."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Final

from roofctl.core import profiler_text as messages
from roofctl.core.errors import ApplicationFailed, DeviceError, NothingProfiled, RoofctlError, ToolFailed
from roofctl.core.process import signal_name
from roofctl.profilers.failures import FAILURES, LOCK, NVPROF_FAILURES, bare, fill, find_in
from roofctl.profilers.lock import lock_path
from roofctl.profilers.run import ProfilePlan, ProfilerRun

_LOCK_EXIT: Final = 9
_NVPROF_INTERNAL_EXIT: Final = 4
_SHOWN: Final = 3
# ncu hands on a signal that ended the application by its number, so that a code may be either.
_FATAL: Final = frozenset({signal.SIGABRT, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM})


def explain(plan: ProfilePlan, run: ProfilerRun) -> RoofctlError | None:
    """The error that a run's log, exit code and launches mean; None for a good run.

    Of a run that was stopped from outside only errors of its setup count.
    """
    nvprof = plan.tool.name == "nvprof"
    error = find_in(plan, run, FAILURES) or (None if run.stopped else _application(plan, run))
    if error is None and run.kernels == 0 and nvprof:
        error = find_in(plan, run, NVPROF_FAILURES) or _nvprof_silent(plan, run)
    if error or run.stopped:
        return error
    return (
        _unknown_error(plan, run) or _crashed(plan, run) or (nothing_profiled(plan, run) if run.kernels == 0 else None)
    )


def _application(plan: ProfilePlan, run: ProfilerRun) -> RoofctlError | None:
    lines = run.log.lines
    if messages.match_of("application ended", lines):
        return _ended_by_profiler(plan, run)
    if match := messages.match_of("application failed", lines):
        return _application_failed(plan, run, int(match["code"] or match["nvprof_code"]))
    if match := messages.match_of("application killed", lines):
        return _application_killed(plan, run, int(match["signal"]))
    return None


def _ended_by_profiler(plan: ProfilePlan, run: ProfilerRun) -> ToolFailed:
    """The error of an application that did not fail by itself: ncu ended it after an error of its own."""
    own = [line for line in _error_lines(run) if not messages.match_of("application failed", [line])]
    reason = bare(own[0]) if own else "it does not say why"
    return ToolFailed(
        f"{plan.tool.name} gave up and ended {plan.request.argv[0]} itself: {reason}; {_so_far(run)}",
        hint="run the application without the profiler; where that goes well, fewer counters (--set), "
        "--replay application, or --exclude with the name of the kernel may help",
    )


def _application_failed(plan: ProfilePlan, run: ProfilerRun, code: int) -> ApplicationFailed:
    either = ""
    if plan.tool.name == "ncu" and code in _FATAL:
        either = f", which is also how ncu reports {signal_name(code)}"
    return ApplicationFailed(
        f"the application {plan.request.argv[0]} failed with code {code}{either}; {_so_far(run)}",
        code=code,
        hint=_application_hint(run),
    )


def _application_killed(plan: ProfilePlan, run: ProfilerRun, number: int) -> ApplicationFailed:
    return ApplicationFailed(
        f"the application {plan.request.argv[0]} was ended by {signal_name(number)}; {_so_far(run)}",
        code=128 + number,
        hint=_application_hint(run),
    )


def launches(count: int) -> str:
    """``1 launch was``, ``2 launches were``."""
    return "1 launch was" if count == 1 else f"{count} launches were"


def _so_far(run: ProfilerRun) -> str:
    return f"{launches(run.kernels)} profiled" if run.kernels else "no kernel was profiled"


def _application_hint(run: ProfilerRun) -> str:
    if run.kernels:
        return "what was profiled is kept; --keep-going makes this exit 0"
    return "run the application without the profiler first; its own messages are above"


def _nvprof_silent(plan: ProfilePlan, run: ProfilerRun) -> RoofctlError | None:
    """The error of an nvprof that gave up before the application started: it writes no log then, only an exit code."""
    if run.returncode != _NVPROF_INTERNAL_EXIT:
        return None
    return DeviceError(
        f"nvprof gave up before it started the application: it found no GPU on {plan.host} that it can count on",
        hint="check nvidia-smi, and that the GPU's compute capability is below 7.5; else use --profiler ncu",
    )


def _error_lines(run: ProfilerRun) -> list[str]:
    return [line for line in run.log.lines if line.startswith("==ERROR==") or re.match(r"=+(?:\d+=+)? Error: ", line)]


def _unknown_error(plan: ProfilePlan, run: ProfilerRun) -> RoofctlError | None:
    """The error for an error line that matches no known pattern; None without one."""
    lines = _error_lines(run)
    if not lines:
        return None
    return ToolFailed(
        f"{plan.tool.name} reported an error: {'; '.join(bare(line) for line in lines[:_SHOWN])}",
        hint="the log has more; try the command that `roofctl profile --dry-run` prints by hand",
    )


def _crashed(plan: ProfilePlan, run: ProfilerRun) -> RoofctlError | None:
    name = plan.tool.name
    if run.signal:
        return ToolFailed(
            f"{name} was ended by {signal_name(run.signal)}; {_so_far(run)}", hint="try again, or another version"
        )
    lock = lock_path({**os.environ, **plan.request.env})
    if name == "ncu" and run.returncode == _LOCK_EXIT and run.kernels == 0 and _foreign(lock):
        return fill(LOCK, plan, run, "", {})
    if run.returncode != 0:
        printed = next((line.strip() for line in run.log.lines if line.strip() and not line.startswith("=")), "")
        words = f"and printed: {printed}" if printed else "without a message"
        return ToolFailed(
            f"{name} exited {run.returncode} {words}; {_so_far(run)}",
            hint="its own messages, if any, stand above; `roofctl profile --dry-run` prints the command to try by hand",
        )
    return None


def _foreign(path: Path) -> bool:
    try:
        return path.stat().st_uid != os.getuid()
    except OSError:
        return False


def nothing_profiled(plan: ProfilePlan, run: ProfilerRun) -> NothingProfiled:
    """The error for a run that went through without a kernel: which of the causes, by the log."""
    connected, filters, application = run.log.processes, plan.request.filters(), plan.request.argv[0]
    if filters and (connected or plan.tool.name == "nvprof"):
        return NothingProfiled(
            f"no kernel was profiled: none that ran passed {' and '.join(filters)}",
            hint="try without the filter to see the kernels' names; --kernel is matched against base names",
        )
    if messages.match_of("no CUDA", run.log.lines):
        return NothingProfiled(
            f"no kernel was profiled: {application} ended before it called CUDA",
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
        f"no kernel was profiled: neither {application} nor a process it started called CUDA",
        hint="check that it uses the GPU (nvidia-smi), and that the work isn't done by a process that was already "
        "running or on another machine (server, container, ssh, MPI): profile there",
    )
