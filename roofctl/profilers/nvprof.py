"""nvprof: its command lines (pure), and the three runs that make one capture (effect).

One run times, one counts metrics, one counts events: nvprof's times are only good where it counts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from roofctl.core import process
from roofctl.core.errors import InputError, NoKernels, NothingProfiled, RoofctlError
from roofctl.cuda import tools
from roofctl.cuda.tools import Tool
from roofctl.profilers import verdict
from roofctl.profilers.counters import Selected, select
from roofctl.profilers.log import LogWatcher, ProfilerLog, Tail
from roofctl.profilers.options import check_minimum
from roofctl.profilers.request import CacheControl, ClockControl, Command, ProfileRequest, Progress, Watch
from roofctl.profilers.run import ProfilePlan, ProfilerRun

CLOCK_CONTROL: Final[ClockControl] = "none"
CACHE_CONTROL: Final[CacheControl] = "none"
"""nvprof leaves clocks and caches alone; there is nothing to choose."""

EVENTS: Final = frozenset({"thread_inst_executed", "not_predicated_off_thread_inst_executed"})
"""Counters that nvprof calls events; all others are metrics."""

_TIMES: Final = frozenset({"GPU activities Avg"})


def find() -> Tool:
    """The nvprof on PATH, with its version. Raises ToolNotFound, ToolFailed, or ToolError when too old."""
    path = tools.locate("nvprof")
    tool = Tool("nvprof", path, tools.ask_version("nvprof", path))
    check_minimum(tool)
    return tool


def askable(counter: str) -> bool:
    """Whether nvprof can be asked for it: columns of its timing tables are no counters."""
    return " " not in counter and counter != "time"


def counters(chip: str | None, sets: Sequence[str]) -> Selected:
    """Counters of the metric sets, and the quantities that nvprof cannot give."""
    return select("nvprof", chip, sets, askable, _TIMES)


def check(request: ProfileRequest, tool: Tool) -> None:
    """Raise InputError for what the user asked and nvprof does not give."""
    del tool
    lacking = {
        "--nvtx": request.nvtx is not None,
        "--launch-skip": request.launch_skip is not None,
        "--launch-count": request.launch_count is not None,
        f"--replay {request.replay}": request.replay not in ("kernel", "application"),
        f"--clock-control {request.clock_control}": request.clock_control not in (None, CLOCK_CONTROL),
        f"--cache-control {request.cache_control}": request.cache_control not in (None, CACHE_CONTROL),
    }
    for option, asked in lacking.items():
        if asked:
            raise InputError(
                f"nvprof has no {option}", hint="leave it out, or use ncu where the GPU allows (--profiler ncu)"
            )
    if ":" in request.kernel_base:
        raise InputError(
            f"nvprof cannot filter by {request.kernel_base!r}: a colon separates the parts of its filter",
            hint="filter by the base name, without its scope",
        )


def build(request: ProfileRequest, tool: Tool, asked: Sequence[str], folder: Path) -> list[Command]:
    """The command lines of one capture into ``folder``: timing, then metrics and events where any are asked. Pure."""
    return [command for _, command in _runs(request, tool, asked, folder)]


def _runs(request: ProfileRequest, tool: Tool, asked: Sequence[str], folder: Path) -> list[tuple[str, Command]]:
    metrics = [name for name in asked if name not in EVENTS]
    events = [name for name in asked if name in EVENTS]
    counted = {"metrics": metrics, "events": events}
    runs = [("timing", _command(request, tool, folder, "timing", ["--print-gpu-summary"]))]
    for name, wanted in counted.items():
        if wanted:
            words = [*_scope(request), f"--{name}", ",".join(wanted)]
            runs.append((name, _command(request, tool, folder, name, words)))
    return runs


def _scope(request: ProfileRequest) -> list[str]:
    """Options that hold for the counters named after them."""
    words = ["--devices", str(request.device)] if request.device is not None else []
    words += ["--kernels", f"::{request.kernel_base}:"] if request.kernel_base else []
    return [*words, "--replay-mode", request.replay]


def _command(request: ProfileRequest, tool: Tool, folder: Path, name: str, words: Sequence[str]) -> Command:
    # Every process that uses CUDA writes a file of its own; %p is its number.
    log = folder / f"{name}-%p.csv"
    fixed = [tool.path, "--profile-child-processes", "--csv", "-u", "ns", "--log-file", str(log)]
    return Command((*fixed, *words, *request.argv), dict(request.env), cwd=request.cwd)


def run(plan: ProfilePlan, folder: Path, watch: Watch | None = None) -> ProfilerRun:
    """Profile into ``folder``, counting only where the timing run saw kernels. What went wrong is in the result."""
    runs: list[ProfilerRun] = []
    for name, command in _runs(plan.request, plan.tool, plan.selected.counters, folder):
        runs.append(_one(plan, folder, name, command, watch))
        if runs[-1].stopped or not runs[-1].kernels:
            break
    kernels = max((each.kernels for each in runs[1:]), default=0)
    return replace(
        runs[-1],
        commands=tuple(command for each in runs for command in each.commands),
        returncode=next((each.returncode for each in runs if each.returncode), 0),
        seconds=sum(each.seconds for each in runs),
        kernels=kernels,
        counters=frozenset[str]().union(*(each.counters for each in runs)),
        data=tuple(name for each in runs for name in each.data) if kernels else (),
        error=next((each.error for each in runs if each.error), None),
    )


def _one(plan: ProfilePlan, folder: Path, name: str, command: Command, watch: Watch | None) -> ProfilerRun:
    """One of the three runs; ``data`` are its files that hold kernels."""
    watchers: dict[Path, tuple[LogWatcher, Tail]] = {}
    if watch:
        watch(Progress(run=name))

    def look() -> None:
        for path in sorted(folder.glob(f"{name}-*.csv")):
            watcher, tail = watchers.setdefault(path, (LogWatcher(name), Tail(path)))
            progress = watcher.feed(tail.more())
            if watch:
                watch(progress)

    request = plan.request
    ran = process.stream(command.argv, cwd=request.cwd, env=command.env, timeout=request.timeout, poll=look)
    messages = [line for watcher, _ in watchers.values() for line in watcher.log().lines if line.startswith("==")]
    counted, problem = _counted(sorted(watchers))
    result = ProfilerRun(
        commands=(command,),
        log=ProfilerLog(tuple(messages), (), 0, None),
        returncode=ran.returncode,
        signal=ran.signal,
        stopped=ran.stopped,
        seconds=ran.seconds,
        kernels=sum(launches for launches, _ in counted.values()),
        counters=frozenset[str]().union(*(names for _, names in counted.values())),
        data=tuple(path.name for path in counted),
        log_file=next((path.name for path in sorted(watchers)), None),
    )
    error = verdict.explain(plan, result)
    return replace(result, error=problem if problem and isinstance(error, NothingProfiled) else error)


def _counted(paths: Sequence[Path]) -> tuple[dict[Path, tuple[int, frozenset[str]]], RoofctlError | None]:
    """Launches and counters of the files that hold kernels, and the error of one that cannot be read."""
    from roofctl.profilers.results import counted  # noqa: PLC0415 - loads pandas: not before the application runs

    files: dict[Path, tuple[int, frozenset[str]]] = {}
    problem: RoofctlError | None = None
    for path in paths:
        try:
            files[path] = counted(path)
        except NoKernels:
            continue
        except RoofctlError as error:
            problem = error
    return files, problem
