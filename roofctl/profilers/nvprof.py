"""nvprof: its command lines (pure), and the three runs that make one capture (effect).

One run times, one counts metrics, one counts events: nvprof's times are only good where it counts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roofctl.core import process
from roofctl.core.errors import InputError
from roofctl.profilers import tools, verdict
from roofctl.profilers.counters import Selected, select
from roofctl.profilers.exported import inspect_nvprof
from roofctl.profilers.failures import Facts
from roofctl.profilers.log import LogFacts, LogWatcher, Tail
from roofctl.profilers.outcome import Job, Outcome
from roofctl.profilers.request import CacheControl, ClockControl, Command, ProfileRequest, Progress, Watch
from roofctl.profilers.tools import Tool

CLOCK_CONTROL: Final[ClockControl] = "none"
CACHE_CONTROL: Final[CacheControl] = "none"
"""nvprof leaves clocks and caches alone; there is nothing to choose."""

EVENTS: Final = frozenset({"thread_inst_executed", "not_predicated_off_thread_inst_executed"})
"""Counters that nvprof calls events; all others are metrics."""

_TIMES: Final = frozenset({"GPU activities Avg"})


def find() -> Tool:
    """The nvprof on PATH, with its version by asking it. Raises ToolNotFound, ToolFailed, or ToolError when too old."""
    path = tools.locate("nvprof")
    tool = Tool("nvprof", path, tools.ask_version("nvprof", path))
    tools.check_minimum(tool)
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
    if ":" in request.kernel:
        raise InputError(
            f"nvprof cannot filter by {request.kernel!r}: a colon separates the parts of its filter",
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
    words += ["--kernels", f"::{request.kernel}:"] if request.kernel else []
    return [*words, "--replay-mode", request.replay]


def _command(request: ProfileRequest, tool: Tool, folder: Path, name: str, words: Sequence[str]) -> Command:
    # Every process that uses CUDA writes a file of its own; %p is its number.
    log = folder / f"{name}-%p.csv"
    fixed = [tool.path, "--profile-child-processes", "--csv", "-u", "ns", "--log-file", str(log)]
    return Command((*fixed, *words, *request.argv), dict(request.env), cwd=request.cwd)


@dataclass(frozen=True)
class _Run:
    """One of the three runs. ``data`` are its files that hold kernels."""

    name: str
    command: Command
    ran: process.Streamed
    log: LogFacts
    data: tuple[str, ...]
    launches: int
    counters: frozenset[str]


def run(job: Job, watch: Watch | None = None) -> Outcome:
    """Profile into the job's folder, counting only where timing met kernels. What went wrong is in the outcome."""
    runs: list[_Run] = []
    error = None
    for name, command in _runs(job.request, job.tool, job.selected.counters, job.folder):
        done = _one(job, name, command, watch)
        runs.append(done)
        error = error or verdict.explain(Facts.of(job, done.log, done.ran, done.launches))
        if done.ran.stopped or not done.launches:
            break
    had = frozenset[str]().union(*(each.counters for each in runs))
    kernels = max((each.launches for each in runs[1:]), default=0)
    return Outcome(
        commands=tuple(each.command for each in runs),
        stopped=runs[-1].ran.stopped,
        returncode=next((each.ran.returncode for each in runs if each.ran.returncode), 0),
        seconds=sum(each.ran.seconds for each in runs),
        kernels=kernels,
        passes=None,
        missing=tuple(name for name in job.selected.counters if name not in had) if kernels else (),
        data=tuple(name for each in runs for name in each.data) if kernels else (),
        log=next((path.name for path in sorted(job.folder.glob(f"{runs[-1].name}-*.csv"))), None),
        error=error,
    )


def _one(job: Job, name: str, command: Command, watch: Watch | None) -> _Run:
    seen: dict[str, tuple[LogWatcher, Tail]] = {}
    if watch:
        watch(Progress(run=name))

    def look() -> None:
        for path in sorted(job.folder.glob(f"{name}-*.csv")):
            watcher, tail = seen.setdefault(path.name, (LogWatcher(name), Tail(path)))
            progress = watcher.feed(tail.more())
            if watch:
                watch(progress)

    request = job.request
    ran = process.stream(command.argv, cwd=request.cwd, env=command.env, timeout=request.timeout, poll=look)
    texts = {file: watcher.facts().lines for file, (watcher, _) in seen.items()}
    tables = {file: inspect_nvprof(lines) for file, lines in texts.items()}
    return _Run(
        name=name,
        command=command,
        ran=ran,
        log=LogFacts(tuple(line for lines in texts.values() for line in lines if line.startswith("==")), (), 0, None),
        data=tuple(file for file, table in tables.items() if table.launches),
        launches=sum(table.launches for table in tables.values()),
        counters=frozenset[str]().union(*(table.counters for table in tables.values())),
    )
