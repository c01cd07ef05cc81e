"""Wall time of `roofctl profile --set instruction` against `ncu --set roofline`, on one application, in one run.

usage: python benchmarks/capture_cost.py [--rounds N] APP [ARGS...]

Rounds interleave the plain run, roofctl and ncu, so that all three meet the same machine; medians are printed, then
the phases of `roofctl profile`. ncu's roofline set ends with the report on disk; roofctl goes on to write its CSV page
and to print the table. Needs a GPU and ncu on PATH.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

GOAL = 0.52
"""roofctl's wall time over that of ncu's roofline set."""

PHASES = {
    "roofctl.profilers.capture.find_gpu": "  nvidia-smi (at the same time as ncu)",
    "roofctl.cuda.tools.ask_version": "  ncu --version",
    "roofctl.profilers.ncu.find": "  ncu --version and --help (at the same time)",
    "roofctl.profilers.plan": "plan: GPU, profiler, counters",
    "roofctl.core.process.stream": "run under ncu",
    "roofctl.cli.profile._load_report": "  load libraries (during the run)",
    "roofctl.profilers.ncu._page": "report to page, and read it",
    "roofctl.readers.ncurep.page.ask": "  read the report",
    "roofctl.profilers.results.counted": "  read the page",
    "roofctl.captures.draft.Draft.finish": "write the manifest",
    "roofctl.cli.profile._report": "print the table",
    "roofctl.study.analyse.analyse_inputs": "  analyse",
}
"""Functions that are timed; indented ones are part of the phase that they stand under."""
AFTER_RUN = ("roofctl.readers", "roofctl.profilers.results", "roofctl.study")
"""Modules that load heavy libraries: their functions are wrapped once the run has ended."""


def timed(path: str, spans: dict[str, float]) -> None:
    """Wrap the function at a dotted path, so that its time is added to ``spans``."""
    owner, _, name = path.rpartition(".")
    try:
        holder: Any = importlib.import_module(owner)
    except ModuleNotFoundError:
        module, _, kind = owner.rpartition(".")
        holder = getattr(importlib.import_module(module), kind)
    inner: Callable[..., Any] = getattr(holder, name)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        try:
            return inner(*args, **kwargs)
        finally:
            spans[path] = spans.get(path, 0.0) + time.perf_counter() - begin
            if path == "roofctl.core.process.stream":
                begin = time.perf_counter()
                for late in PHASES:
                    if late.startswith(AFTER_RUN):
                        timed(late, spans)
                spans["waiting"] = time.perf_counter() - begin

    setattr(holder, name, wrapper)


def phases(out: Path, arguments: list[str]) -> int:
    """Run `roofctl profile` in this process with its phases timed, and write them to ``out`` as JSON."""
    spans: dict[str, float] = {}
    begin = time.perf_counter()
    main = importlib.import_module("roofctl.cli.main").main
    for path in PHASES:
        if not path.startswith(AFTER_RUN):
            timed(path, spans)
    spans["imports"] = time.perf_counter() - begin
    code: int = main(["profile", *arguments])
    spans["command"] = time.perf_counter() - begin
    out.write_text(json.dumps(spans), encoding="utf-8")
    gc.freeze()  # as the console script does, so that Python ends at once
    return code


def seconds(command: list[str]) -> float:
    """Wall time of one run; its output is thrown away, a failure ends the benchmark."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    return time.perf_counter() - start


def commands(app: list[str], folder: Path) -> dict[str, list[str]]:
    """The three ways to run ``app``; ncu leaves clocks alone, as roofctl does."""
    ncu = ["ncu", "--config-file", "off", "--clock-control", "none", "--target-processes", "all"]
    return {
        "plain": app,
        "roofctl profile": [*(sys.executable, "-m", "roofctl", "profile", "-o", str(folder / "captures"), "--", *app)],
        "ncu --set roofline": [*ncu, "--set", "roofline", "-f", "-o", str(folder / "roofline"), *app],
    }


def breakdown(app: list[str], folder: Path, rounds: int) -> None:
    """Print the medians of the phases of `roofctl profile`."""
    out = folder / "phases.json"
    command = [sys.executable, __file__, "--phases", str(out), "-o", str(folder / "phased"), "--", *app]
    runs = []
    for _ in range(rounds):
        total = seconds(command)
        runs.append({**json.loads(out.read_text(encoding="utf-8")), "total": total})
    medians = {name: statistics.median(run.get(name, 0.0) for run in runs) for name in runs[-1]}
    titles = {"imports": "imports before the run", **PHASES, "waiting": "wait for libraries after the run"}
    print("\nphases of roofctl profile:")
    for name, title in titles.items():
        if name in medians:
            print(f"{medians[name]:7.3f} s  {title}")
    print(f"{medians['total'] - medians['command']:7.3f} s  start and end of Python")
    print(f"{medians['total']:7.3f} s  all of it")


def main() -> int:
    """Print medians, the ratio and the phases; 1 when it misses the goal."""
    if sys.argv[1:2] == ["--phases"]:  # how `breakdown` starts it
        return phases(Path(sys.argv[2]), sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("app", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.app:
        parser.error("name an application that uses the GPU")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ways = commands(options.app, folder)
        samples: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, command in ways.items():
                samples[name].append(seconds(command))
        runs = [json.loads(path.read_text()) for path in folder.glob("captures/*/capture.json")]
        medians = {name: statistics.median(values) for name, values in samples.items()}
        run = statistics.median(each["seconds"] for each in runs)
        for name, median in medians.items():
            print(f"{median:7.2f} s  {name}")
        print(f"{run:7.2f} s    of which the run under ncu")
        printed = sum(len(each["commands"]) > 1 for each in runs)
        print(f"{printed} of {len(runs)} reports were printed by a second start of ncu, the others read directly")
        roofline = medians["ncu --set roofline"]
        ratio = medians["roofctl profile"] / roofline
        print(f"ratio {ratio:.2f} (whole command), {run / roofline:.2f} (run under ncu); goal at most {GOAL}")
        breakdown(options.app, folder, options.rounds)
    return 0 if ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
