"""Nsight Compute: its command lines (pure), and one run of it (effect)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from roofctl.core import process
from roofctl.core.errors import InputError, NothingProfiled, RoofctlError, ToolFailed
from roofctl.profilers import tools, verdict
from roofctl.profilers.counters import Selected, select
from roofctl.profilers.exported import PASSES_COLUMN, Exported, inspect
from roofctl.profilers.failures import Facts, bare
from roofctl.profilers.log import LogFacts, LogWatcher, Tail
from roofctl.profilers.outcome import Job, Outcome
from roofctl.profilers.request import CacheControl, ClockControl, Command, ProfileRequest, Watch
from roofctl.profilers.tools import Tool, droppable, offers, require

CLOCK_CONTROL: Final[ClockControl] = "none"
CACHE_CONTROL: Final[CacheControl] = "all"

REPORT: Final = "report.ncu-rep"
CSV: Final = "capture.csv"
LOG: Final = "ncu.log"

FACTS: Final = (
    "device__attribute_display_name",
    "device__attribute_max_gpu_frequency_khz",
    "device__attribute_clock_rate",
    "device__attribute_multiprocessor_count",
    "launch__sm_count",
    "launch__waves_per_multiprocessor",
    PASSES_COLUMN,
)
"""Columns that cost no pass and tell of the device and the run; exported beside the counters."""

# Section files would be put into the home folder on the first run.
_ENVIRONMENT: Final = {"NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT": "1"}
# The application keeps the user's locale; only the export must print numbers in one way.
_EXPORT_ENVIRONMENT: Final = {"LC_ALL": "C"}


def find() -> Tool:
    """The ncu on PATH, with its version by asking it. Raises ToolNotFound, ToolFailed, or ToolError when too old."""
    path = tools.locate("ncu")
    tool = Tool("ncu", path, tools.ask_version("ncu", path))
    tools.check_minimum(tool)
    return replace(tool, help=process.run([path, "--help"], timeout=tools.ANSWER_SECONDS).stdout)


def chips(path: str) -> tuple[str, ...]:
    """Chips that the ncu at ``path`` can profile, by asking it; empty when it does not tell."""
    answer = process.run([path, "--list-chips"], timeout=tools.ANSWER_SECONDS)
    return chips_in(answer.stdout) if answer.returncode == 0 else ()


def chips_in(text: str) -> tuple[str, ...]:
    """Names of chips in what ``ncu --list-chips`` prints."""
    return tuple(re.findall(r"\b[a-z]{2}\d{2}[0-9a-z]\b", text))


def askable(counter: str) -> bool:
    """Whether ncu can be asked for it: labels of the details page are no counters."""
    return "__" in counter and not counter.startswith(("device__", "launch__", "profiler__"))


def counters(chip: str | None, sets: Sequence[str]) -> Selected:
    """Counters of the metric sets on a chip, and the quantities that it cannot give."""
    return select("ncu", chip, sets, askable)


def check(request: ProfileRequest, tool: Tool) -> None:
    """Raise InputError for what the user asked and this version, or a combination, does not give."""
    require(tool, "--replay-mode", request.replay)
    require(tool, "--clock-control", request.clock_control or CLOCK_CONTROL)
    require(tool, "--cache-control", request.cache_control or CACHE_CONTROL)
    if request.kernel or request.exclude:
        require(tool, "--kernel-name")
    if request.nvtx is not None:
        require(tool, "--nvtx-include")
    ranges = request.replay in ("range", "app-range")
    if ranges and (request.kernel or request.exclude):
        raise InputError(
            f"--replay {request.replay} profiles ranges, not kernels: --kernel and --exclude do nothing there",
            hint="choose the range with --nvtx, or use --replay kernel",
        )


def build(request: ProfileRequest, tool: Tool, asked: Sequence[str], folder: Path) -> list[Command]:
    """The command lines of one capture into ``folder``: the run, then the export of its report. Pure."""
    return [_capture(request, tool, asked, folder), _export(tool, folder, (*asked, *FACTS))]


def _capture(request: ProfileRequest, tool: Tool, asked: Sequence[str], folder: Path) -> Command:
    words = [tool.path]
    if not (droppable("ncu", "--config-file") and not offers(tool, "--config-file")):
        words += ["--config-file", "off"]
    words += ["--target-processes", "all", "--replay-mode", request.replay]
    words += ["--clock-control", request.clock_control or CLOCK_CONTROL]
    words += ["--cache-control", request.cache_control or CACHE_CONTROL]
    if offers(tool, "--disable-extra-suffixes"):
        words += ["--disable-extra-suffixes"]
    if request.keep_going and request.replay in ("application", "app-range"):
        # Else ncu gives up after the first pass of an application that fails.
        words += ["--check-exit-code", "no"]
    words += _filters(request)
    words += [
        "--metrics",
        ",".join(asked),
        "--log-file",
        str(folder / LOG),
        "-f",
        "-o",
        str((folder / REPORT).with_suffix("")),
    ]
    return Command((*words, *request.argv), {**_ENVIRONMENT, **request.env}, cwd=request.cwd)


def _filters(request: ProfileRequest) -> list[str]:
    words: list[str] = []
    if request.kernel or request.exclude:
        words += ["--kernel-name-base", "function", "--kernel-name", name_filter(request.kernel, request.exclude)]
    if request.launch_skip is not None:
        words += ["--launch-skip", str(request.launch_skip)]
    if request.launch_count is not None:
        words += ["--launch-count", str(request.launch_count)]
    if request.nvtx is not None:
        words += ["--nvtx", *(word for form in _nvtx_forms(request.nvtx) for word in ("--nvtx-include", form))]
    if request.device is not None:
        words += ["--devices", str(request.device)]
    return words


def name_filter(kernel: str, exclude: str) -> str:
    """One expression that keeps names which match ``kernel`` and not ``exclude``, anywhere in them.

    ncu takes one name filter; its engine (Boost, Perl syntax) knows lookahead.
    """
    if not exclude:
        return f"regex:{kernel}"
    return f"regex:^(?!.*(?:{exclude}))" + (f".*(?:{kernel})" if kernel else "")


def _nvtx_forms(name: str) -> list[str]:
    """A plain name stands for a start/end range and for a push/pop range; ncu tells them apart by a slash."""
    return [name] if re.search(r"[/\[\]]", name) else [name, f"{name}/"]


def _export(tool: Tool, folder: Path, columns: Sequence[str]) -> Command:
    words = [tool.path, "--import", str(folder / REPORT), "--csv", "--page", "raw", "--print-units", "base"]
    words += ["--metrics", ",".join(columns)] if columns else []
    return Command(tuple(words), _EXPORT_ENVIRONMENT, output=folder / CSV)


def run(job: Job, watch: Watch | None = None) -> Outcome:
    """Profile into the job's folder and export the report. What went wrong is in the outcome, not raised."""
    request, asked = job.request, job.selected.counters
    capture, _ = build(request, job.tool, asked, job.folder)
    watcher, tail = LogWatcher(), Tail(job.folder / LOG)

    def look() -> None:
        progress = watcher.feed(tail.more())
        if watch:
            watch(progress)

    ran = process.stream(capture.argv, cwd=request.cwd, env=capture.env, timeout=request.timeout, poll=look)
    log = watcher.facts()
    if ran.returncode and not ran.stopped and not log.lines:
        log = _refusal(job, capture)
    exported, commands, trouble = _export_report(job)
    kernels = exported.rows if exported.counted(asked) else 0
    error = verdict.explain(Facts.of(job, log, ran, kernels))
    if not kernels and (error is None or isinstance(error, NothingProfiled)):
        error = (_without_values(job) if exported.rows else trouble) or error
    return Outcome(
        commands=(capture, *commands),
        stopped=ran.stopped,
        returncode=ran.returncode,
        seconds=ran.seconds,
        kernels=kernels,
        passes=exported.passes or log.passes,
        missing=(*exported.missing, *exported.empty) if kernels else (),
        data=(CSV,) if kernels else (),
        log=LOG if (job.folder / LOG).exists() else None,
        error=error,
    )


def _refusal(job: Job, capture: Command) -> LogFacts:
    """Why ncu did not even start: it says that on its output, which went to the user's, not into its log.

    The same command line with a program that does nothing is refused for the same reason.
    """
    options = capture.argv[: len(capture.argv) - len(job.request.argv)]
    answer = process.run([*options, "true"], cwd=job.request.cwd, env=capture.env, timeout=tools.ANSWER_SECONDS)
    said = answer.stdout + answer.stderr
    (job.folder / LOG).write_text(said, encoding="utf-8")
    watcher = LogWatcher()
    watcher.feed(said)
    return watcher.facts()


def _export_report(job: Job) -> tuple[Exported, list[Command], RoofctlError | None]:
    """Write the CSV of the report, if there is one. Returns what is in it, the commands, and what went wrong."""
    asked = job.selected.counters
    exported, said = Exported(missing=asked), ""
    commands: list[Command] = []
    if not (job.folder / REPORT).exists():
        return exported, commands, None
    # A version that cannot filter on import, or drops the facts, gives them all on the whole page.
    for columns in ((*asked, *FACTS), ()):
        command = _export(job.tool, job.folder, columns)
        commands.append(command)
        answer = process.run(command.argv, env=command.env)
        exported, said = inspect(answer.stdout, asked), answer.stdout + answer.stderr
        if exported.rows:
            (job.folder / CSV).write_text(answer.stdout, encoding="utf-8")
        if exported.rows and FACTS[0] in exported.columns and len(exported.missing) < len(asked):
            break
    return exported, commands, None if exported.rows else _unprintable(job, said)


def _unprintable(job: Job, said: str) -> ToolFailed:
    line = next((line for line in said.splitlines() if line.startswith("==ERROR==")), said.strip().partition("\n")[0])
    return ToolFailed(
        f"{job.tool.path} could not print its own report: {bare(line)[:200] or 'it said nothing'}",
        hint="the report may be cut off: profile again, with more time or fewer launches (--launch-count)",
    )


def _without_values(job: Job) -> ToolFailed:
    driver = job.gpu.driver if job.gpu and job.gpu.driver else "of unknown version"
    return ToolFailed(
        f"kernels were profiled but no counter has a value (n/a or nan): ncu {job.tool.version} and the GPU driver "
        f"{driver} may not fit each other",
        hint="use an ncu of the driver's own CUDA version or newer (nvidia-smi shows it)",
    )
