"""Large captures: time and memory of reading them, against pandas in the same run.

usage: python benchmarks/large.py [raw|details|every|each_layout|report|gigabyte|growth]...

Data is made up (benchmarks/made.py) in a temporary folder, up to 1.1 GB of it. Each measurement is a fresh
process, three of each in turn, medians; memory is the peak of the process less that of a bare interpreter.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

import layouts
from made import IDENTITY, NARROW, Pages, page, write

from roofctl.quantities import catalogue

LAUNCHES: Final = 60_000
RUNS: Final = 3

MEASURE: Final = """
import json, pathlib, resource, sys, time
path = pathlib.Path(sys.argv[1])
{prepare}
start, used = time.perf_counter(), time.process_time()
{work}
seconds, cpu = time.perf_counter() - start, time.process_time() - used
peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps([seconds, cpu, peak / 1024]))
"""
ROOFCTL: Final = ("from roofctl.readers.read import read_file", "read_file(path)")
PANDAS: Final = (
    "import warnings, pandas\nwarnings.simplefilter('ignore')",
    "frame = pandas.read_csv(path)",
)
PIVOT: Final = (
    PANDAS[0],
    PANDAS[1]
    + "\nframe.pivot(index=['ID', 'Process ID', 'Kernel Name'], columns='Metric Name', values='Metric Value')",
)
PYARROW: Final = (
    """
import csv, pandas, pyarrow
from pyarrow import csv as arrow
from roofctl.quantities import catalogue
from roofctl.readers.ncu_csv import NCU_IDENTITY
wanted = [name for name in next(csv.reader(path.open())) if name in catalogue().counters() or name in NCU_IDENTITY]
types = dict.fromkeys(wanted, pyarrow.binary())
how = arrow.ConvertOptions(include_columns=wanted, column_types=types, check_utf8=False)
""",
    "arrow.read_csv(path, convert_options=how)",
)
"""The columns that roofctl needs, split and nothing else, by all processors: no numbers, no launches."""
NOTHING: Final = ("", "pass")


Sample = tuple[float, float, float]
"""Seconds, seconds of processor time, MB at the peak."""


def measured(program: tuple[str, str], path: Path) -> Sample:
    """What the work took in a fresh process."""
    text = MEASURE.format(prepare=program[0], work=program[1])
    child = subprocess.run([sys.executable, "-c", text, str(path)], check=True, capture_output=True, text=True)  # noqa: S603
    seconds, cpu, peak = json.loads(child.stdout.splitlines()[-1])
    return seconds, cpu, peak


def in_turn(programs: dict[str, tuple[str, str]], path: Path, runs: int = RUNS) -> dict[str, Sample]:
    """Median seconds and processor time, highest peak above a bare interpreter; run in turn ``runs`` times."""
    *_, bare = measured(NOTHING, path)
    samples: dict[str, list[Sample]] = {name: [] for name in programs}
    for _ in range(runs):
        for name, program in programs.items():
            samples[name].append(measured(program, path))
    return {
        name: (
            statistics.median(seconds for seconds, *_ in found),
            statistics.median(cpu for _, cpu, _ in found),
            max(peak for *_, peak in found) - bare,
        )
        for name, found in samples.items()
    }


def compare(title: str, other: tuple[str, str], path: Path, size: int) -> None:
    """Reading by roofctl against reading by pandas, and against no more than splitting by pyarrow."""
    found = in_turn({"pandas": other, "pyarrow, texts only": PYARROW, "roofctl": ROOFCTL}, path)
    print(f"{title}, {size / 1e6:.0f} MB, pandas {version('pandas')}:")
    for name, (seconds, cpu, peak) in found.items():
        times = found["pandas"][0] / seconds
        print(
            f"  {name}: {seconds:.2f} s ({times:.1f} times as fast), processor {cpu:.2f} s, {peak:.0f} MB", flush=True
        )


def raw(folder: Path) -> None:
    """60,000 launches of 445 columns."""
    path = folder / "raw.csv"
    size = write(path, Pages().raw(LAUNCHES))
    compare(f"raw page, {LAUNCHES:,} launches x 445 columns", PANDAS, path, size)


def details(folder: Path) -> None:
    """The counters of those launches that roofctl knows, as a row each."""
    known = catalogue().counters()
    counters = tuple(name for name in page()[0][IDENTITY:] if name in known)
    path = folder / "details.csv"
    size = write(path, Pages(counters).details(LAUNCHES))
    compare(f"details page, {LAUNCHES:,} launches x {len(counters)} counters, pivoted", PIVOT, path, size)


def every(folder: Path) -> None:
    """All 434 counters of a tenth of those launches, a row each."""
    path = folder / "every.csv"
    size = write(path, Pages().details(LAUNCHES // 10))
    counters = len(page()[0]) - IDENTITY
    compare(f"details page, {LAUNCHES // 10:,} launches x {counters} counters, pivoted", PIVOT, path, size)


LAYOUTS: Final[dict[str, tuple[Callable[[int], Iterator[str]], int, str]]] = {
    "nvprof GPU trace": (layouts.gpu_trace, 300_000, "skiprows=1"),
    "nvprof timing summary": (layouts.timing_summary, 250_000, ""),
    "nvprof metrics": (layouts.metrics, 25_000, ""),
    "nvprof trace with metrics": (layouts.trace_metrics, 200_000, ""),
    "two tables (nvprof events and metrics)": (layouts.two_tables, 25_000, "names=range(8), on_bad_lines='skip'"),
    "ncu per-kernel summary": (layouts.kernel_summary, 15_000, ""),
    "details page with rule rows (ragged)": (layouts.ragged, 15_000, ""),
    "raw page, comma as decimal separator": (layouts.european, 10_000, ""),
    "raw page, CRLF": (layouts.crlf, 10_000, ""),
    "raw page in a log, a foreign line per row": (layouts.raw_log, 10_000, "names=range(445), on_bad_lines='skip'"),
    "details page in a log": (layouts.details_log, 8_000, "names=range(15), on_bad_lines='skip'"),
}
"""Lines of each layout, its launches or kernels, and the options by which pandas reads it."""


def each_layout(folder: Path) -> None:
    """Every layout that is neither a plain raw page nor a plain details page."""
    print("| layout | MB | pandas s | roofctl s | times pandas | roofctl MB of memory |\n|---|---|---|---|---|---|")
    for title, (lines, count, options) in LAYOUTS.items():
        path = folder / "layout.csv"
        size = write(path, lines(count))
        other = (PANDAS[0], f"frame = pandas.read_csv(path, {options})")
        found = in_turn({"pandas": other, "roofctl": ROOFCTL}, path)
        (plain, *_), (seconds, _, peak) = found["pandas"], found["roofctl"]
        factor = seconds / plain
        print(f"| {title} | {size / 1e6:.0f} | {plain:.2f} | {seconds:.2f} | {factor:.1f} | {peak:.0f} |", flush=True)


def report(folder: Path) -> None:
    """``report --top 20`` on a million launches, against reading alone: whole processes, imports and all."""
    path = folder / "million.csv"
    size = write(path, Pages(NARROW).raw(1_000_000))
    command = "import subprocess, sys\n"
    alone = "subprocess.run([sys.executable, '-c', 'import pathlib, sys; from roofctl.readers.read import read_file; "
    alone += "read_file(pathlib.Path(sys.argv[1]))', str(path)], check=True)"
    whole = "subprocess.run([sys.executable, '-m', 'roofctl', 'report', '--top', '20', str(path)], check=True, "
    whole += "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)"
    found = in_turn({"read": (command, alone), "report": (command, whole)}, path)
    (whole_seconds, _, whole_peak), (alone_seconds, _, alone_peak) = found["report"], found["read"]
    print(
        f"report --top 20, 1,000,000 launches, {size / 1e6:.0f} MB: {whole_seconds:.2f} s, {whole_peak:.0f} MB; "
        f"reading alone {alone_seconds:.2f} s, {alone_peak:.0f} MB; factor {whole_seconds / alone_seconds:.2f}"
    )


def gigabyte(folder: Path) -> None:
    """A raw page of more than a gigabyte."""
    path = folder / "gigabyte.csv"
    size = write(path, Pages().raw(340_000))
    seconds, _, peak = in_turn({"roofctl": ROOFCTL}, path, runs=1)["roofctl"]
    print(f"raw page, 340,000 launches, {size / 1e6:.0f} MB: {seconds:.2f} s, {peak:.0f} MB")


def growth(folder: Path) -> None:
    """Time and memory by size."""
    print("| launches | MB | seconds | processor | MB of memory |\n|---|---|---|---|---|")
    for launches in (7_500, 15_000, 30_000, 60_000, 120_000):
        path = folder / "growth.csv"
        size = write(path, Pages().raw(launches))
        seconds, cpu, peak = in_turn({"roofctl": ROOFCTL}, path)["roofctl"]
        print(f"| {launches:,} | {size / 1e6:.0f} | {seconds:.2f} | {cpu:.2f} | {peak:.0f} |", flush=True)


CASES: Final = {case.__name__: case for case in (raw, details, every, each_layout, report, gigabyte, growth)}


def main() -> int:
    """Run the cases named on the command line, or all."""
    chosen = sys.argv[1:] or list(CASES)
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="roofctl-large-") as folder:
            CASES[name](Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
