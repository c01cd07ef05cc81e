"""Nsight Compute: its command lines (pure), and one run of it (effect)."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from roofctl.core import process
from roofctl.core.errors import InputError, NoKernels, NothingProfiled, RoofctlError, ToolFailed
from roofctl.cuda import tools
from roofctl.cuda.tools import Tool
from roofctl.profilers import verdict
from roofctl.profilers.counters import Selected, select
from roofctl.profilers.failures import bare
from roofctl.profilers.log import LogWatcher, ProfilerLog, Tail
from roofctl.profilers.options import check_minimum, droppable, offers, require
from roofctl.profilers.request import CacheControl, ClockControl, Command, ProfileRequest, Watch
from roofctl.profilers.run import ProfilePlan, ProfilerRun

CLOCK_CONTROL: Final[ClockControl] = "none"
CACHE_CONTROL: Final[CacheControl] = "all"

REPORT: Final = "report.ncu-rep"
CSV: Final = "capture.csv"
LOG: Final = "ncu.log"
SCRATCH: Final = frozenset({CSV, LOG})
"""Files beside the report."""
_REPORT_LINE: Final = re.compile(r"==PROF== Report: (?P<path>\S.*?)\s*$")

PASSES_COLUMN: Final = "profiler__replayer_passes"

DEVICE_COLUMNS: Final = (
    "device__attribute_display_name",
    "device__attribute_max_gpu_frequency_khz",
    "device__attribute_clock_rate",
    "device__attribute_multiprocessor_count",
    "launch__sm_count",
    "launch__waves_per_multiprocessor",
    PASSES_COLUMN,
)
"""Columns on the device and the run that cost no pass; written beside the counters."""

# Section files would be put into the home folder on the first run.
_ENVIRONMENT: Final = {"NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT": "1"}
# The application keeps the user's locale; only the export must print numbers in one way.
_EXPORT_ENVIRONMENT: Final = {"LC_ALL": "C"}
_LONGEST_CELL: Final = 2**27


def find() -> Tool:
    """The ncu on PATH, with its version and --help. Raises ToolNotFound, ToolFailed, or ToolError when too old."""
    path = tools.locate("ncu")
    with ThreadPoolExecutor(1) as pool:  # each start of ncu takes a tenth of a second or more
        help_text = pool.submit(process.run, [path, "--help"], timeout=tools.VERSION_SECONDS)
        tool = Tool("ncu", path, tools.ask_version("ncu", path))
        check_minimum(tool)
        return replace(tool, help=help_text.result().stdout)


def chips(path: str) -> tuple[str, ...]:
    """Chips that the ncu at ``path`` can profile, from its own list; empty when it prints none."""
    completed = process.run([path, "--list-chips"], timeout=tools.VERSION_SECONDS)
    return chips_in(completed.stdout) if completed.returncode == 0 else ()


def chips_in(text: str) -> tuple[str, ...]:
    """Names of chips in what ``ncu --list-chips`` prints."""
    return tuple(re.findall(r"\b[a-z]{2}\d{2}[0-9a-z]\b", text))


def askable(counter: str) -> bool:
    """Whether ncu must be asked for it: labels of the details page are no counters, and some come unasked."""
    return "__" in counter and counter not in DEVICE_COLUMNS and not counter.startswith(("device__", "profiler__"))


def counters(chip: str | None, sets: Sequence[str]) -> Selected:
    """Counters of the metric sets on a chip, and the quantities that it cannot give."""
    return select("ncu", chip, sets, askable, frozenset(DEVICE_COLUMNS))


def check(request: ProfileRequest, tool: Tool) -> None:
    """Raise InputError for what the user asked and this version, or a combination, does not give."""
    require(tool, "--replay-mode", request.replay)
    require(tool, "--clock-control", request.clock_control or CLOCK_CONTROL)
    require(tool, "--cache-control", request.cache_control or CACHE_CONTROL)
    named = request.kernel or request.kernel_base or request.exclude
    if named:
        require(tool, "--kernel-name")
    if request.kernel and request.kernel_base:
        raise InputError(
            "ncu has one name filter: --kernel and --kernel-base cannot be profiled together",
            hint="give one of them here, and the other to roofctl report",
        )
    if request.nvtx is not None:
        require(tool, "--nvtx-include")
    ranges = request.replay in ("range", "app-range")
    if ranges and named:
        raise InputError(
            f"--replay {request.replay} profiles ranges, not kernels: name filters do nothing there",
            hint="choose the range with --nvtx, or use --replay kernel",
        )


def build(request: ProfileRequest, tool: Tool, asked: Sequence[str], folder: Path) -> list[Command]:
    """The command lines of one capture into ``folder``: the run, then the export of its report. Pure.

    ``run`` exports only where NVIDIA's report reader is absent.
    """
    return [_capture(request, tool, asked, folder), _export(tool, folder / REPORT, (*asked, *DEVICE_COLUMNS))]


def _capture(request: ProfileRequest, tool: Tool, asked: Sequence[str], folder: Path) -> Command:
    words = [tool.path]
    if not (droppable("ncu", "--config-file") and not offers(tool, "--config-file")):
        words += ["--config-file", "off"]
    words += ["--target-processes", "all", "--replay-mode", request.replay]
    words += ["--clock-control", request.clock_control or CLOCK_CONTROL]
    words += ["--cache-control", request.cache_control or CACHE_CONTROL]
    if offers(tool, "--disable-extra-suffixes"):
        words += ["--disable-extra-suffixes"]
    if offers(tool, "--section-folder"):
        # A folder without sections: else ncu reads its own section files for nothing (0.3 of 3.7 s with 2025.3.1).
        words += ["--section-folder", str(folder)]
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
    if request.kernel or request.kernel_base or request.exclude:
        base = "function" if request.kernel_base else "mangled" if request.kernel.startswith("_Z") else "demangled"
        expression = name_filter(request.kernel_base or request.kernel, request.exclude)
        words += ["--kernel-name-base", base, "--kernel-name", expression]
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
    kernel, exclude = _with_casts(kernel), _with_casts(exclude)
    if not exclude:
        return f"regex:{kernel}"
    return f"regex:^(?!.*(?:{exclude}))" + (f".*(?:{kernel})" if kernel else "")


def _with_casts(pattern: str) -> str:
    """``f<4`` as an expression for ``f<(int)4`` too, as ncu spells demangled names."""
    return re.sub(r"(<|, )(?=-?\d)", r"\1(?:\\([a-z ]+\\))?", pattern)


def _nvtx_forms(name: str) -> list[str]:
    """A plain name stands for a start/end range and for a push/pop range; a slash selects the second form."""
    return [name] if re.search(r"[/\[\]]", name) else [name, f"{name}/"]


def _export(tool: Tool, report: Path, columns: Sequence[str]) -> Command:
    words = [tool.path, "--import", str(report), "--csv", "--page", "raw", "--print-units", "base"]
    words += ["--metrics", ",".join(columns)] if columns else []
    return Command(tuple(words), _EXPORT_ENVIRONMENT, output=report.parent / CSV)


def run(plan: ProfilePlan, folder: Path, watch: Watch | None = None) -> ProfilerRun:
    """Profile into ``folder`` and write the report's raw page. What went wrong is in the result, not raised."""
    asked = plan.selected.counters
    command = _capture(plan.request, plan.tool, asked, folder)
    watcher, tail = LogWatcher(), Tail(folder / LOG)

    def look() -> None:
        progress = watcher.feed(tail.more())
        if watch:
            watch(progress)

    request = plan.request
    ran = process.stream(command.argv, cwd=request.cwd, env=command.env, timeout=request.timeout, poll=look)
    log = watcher.log()
    if ran.returncode and not ran.stopped and not log.lines:
        log = _refusal(plan, command, folder)
    exports, launches, counters, problem = _page(plan, folder, log)
    kernels = launches if counters.intersection(asked) else 0
    result = ProfilerRun(
        commands=(command, *exports),
        log=replace(log, passes=passes(folder / CSV) or log.passes),
        returncode=ran.returncode,
        signal=ran.signal,
        stopped=ran.stopped,
        seconds=ran.seconds,
        kernels=kernels,
        counters=counters,
        data=(CSV,) if kernels else (),
        log_file=LOG if (folder / LOG).exists() else None,
    )
    error = verdict.explain(plan, result)
    if not kernels and (error is None or isinstance(error, NothingProfiled)):
        error = (_without_values(plan) if launches else problem) or error
    return replace(result, error=error)


def _refusal(plan: ProfilePlan, command: Command, folder: Path) -> ProfilerLog:
    """Why ncu did not even start: it prints that on its output, which went to the user's, not into its log.

    The same command line with a program that does nothing is refused for the same reason.
    """
    options = command.argv[: len(command.argv) - len(plan.request.argv)]
    completed = process.run([*options, "true"], cwd=plan.request.cwd, env=command.env, timeout=tools.VERSION_SECONDS)
    text = completed.stdout + completed.stderr
    (folder / LOG).write_text(text, encoding="utf-8")
    watcher = LogWatcher()
    watcher.feed(text)
    return watcher.log()


def _page(
    plan: ProfilePlan, folder: Path, log: ProfilerLog
) -> tuple[list[Command], int, frozenset[str], RoofctlError | None]:
    """Write the raw page of the report, if there is one: from the report itself, else by a second start of ncu.

    Returns the commands run for it, its launches, its counters with values, and what went wrong.
    """
    from roofctl.profilers import results  # noqa: PLC0415 - loads pandas: not before the application runs

    asked = plan.selected.counters
    report = report_in(folder, log.lines)
    if report is None:
        return [], 0, frozenset(), None
    # Where NVIDIA's reader fails, ncu may print the report, or the reason why it cannot.
    with suppress(InputError):
        if results.write_page(report, (*asked, *DEVICE_COLUMNS), folder / CSV):
            return [], *results.counted(folder / CSV), None
    launches, counters = 0, frozenset[str]()
    problem: RoofctlError | None = None
    commands: list[Command] = []
    # A version that cannot filter on import, or leaves out the device's columns, prints them all on the full page.
    for columns in ((*asked, *DEVICE_COLUMNS), ()):
        command = _export(plan.tool, report, columns)
        commands.append(command)
        completed = process.run(command.argv, env=command.env)
        (folder / CSV).write_text(completed.stdout, encoding="utf-8")
        try:
            launches, counters = results.counted(folder / CSV)
        except NoKernels:
            problem = _unprintable(plan, completed.stdout + completed.stderr)
        except RoofctlError as error:
            problem = error if completed.stdout.strip() else _unprintable(plan, completed.stderr)
        if DEVICE_COLUMNS[0] in counters and counters.intersection(asked):
            break
    return commands, launches, counters, problem


def report_in(folder: Path, lines: Sequence[str] = ()) -> Path | None:
    """The report that ncu wrote into ``folder``, whatever its name, or where it says it did; None without one.

    ncu is asked for ``REPORT``, and calls it ``report.ncu-repz`` from 2026.3 on.
    """
    if (folder / REPORT).exists():
        return folder / REPORT
    others = sorted(each for each in folder.iterdir() if each.is_file() and each.name not in SCRATCH)
    matches = (_REPORT_LINE.match(line) for line in lines)
    others += [path for match in matches if match and (path := Path(match["path"])).is_file()]
    return next(iter(others), None)


def passes(page: Path) -> int | None:
    """The most passes that a launch on a raw page took; None where there is no page, or no such column on it."""
    if not page.exists():
        return None
    csv.field_size_limit(_LONGEST_CELL)
    with page.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        place = header.index(PASSES_COLUMN) if PASSES_COLUMN in header else len(header)
        cells = [row[place] for row in rows if len(row) > place]
    return max((int(cell) for cell in cells if cell.isdigit()), default=None)


def _unprintable(plan: ProfilePlan, text: str) -> ToolFailed:
    line = next((line for line in text.splitlines() if line.startswith("==ERROR==")), text.strip().partition("\n")[0])
    return ToolFailed(
        f"{plan.tool.path} could not print its own report: {bare(line)[:200] or 'no message'}",
        hint="the report may be cut off: profile again, with more time or fewer launches (--launch-count)",
    )


def _without_values(plan: ProfilePlan) -> ToolFailed:
    driver = plan.gpu.driver if plan.gpu and plan.gpu.driver else "of unknown version"
    return ToolFailed(
        f"kernels were profiled but no counter has a value (n/a or nan): ncu {plan.tool.version} and the GPU driver "
        f"{driver} may not fit each other",
        hint="use an ncu of the driver's own CUDA version or newer (nvidia-smi shows it)",
    )
