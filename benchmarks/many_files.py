"""Many captures: reading in one process and in several, and the report and the export of all of them.

usage: python benchmarks/many_files.py [FILES]...      (default: 100 1000)

The captures are made here, from the one in tests/data (12 launches, 4 kB), each with times of its own. Every line is
one run of its own; only lines of one run of this program compare, as the machine may be shared.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TABLE = Path(__file__).parent.parent / "tests" / "data" / "captures-h200" / "report" / "capture.csv"
READ = """
import sys, time
from pathlib import Path
from roofctl.study import load as inputs
from roofctl.core import parallel
parallel.processors = inputs.processors = lambda: int(sys.argv[2])
inputs._WORTH_SECONDS = 0
sources = inputs.locate([Path(sys.argv[1])])
began = time.perf_counter()
assert len(inputs.read_many(sources, None).parts) == len(sources)
print(time.perf_counter() - began)
"""


def make(folder: Path, count: int) -> None:
    """``count`` captures, ``rank0.csv`` and so on."""
    header, units, *launches = csv.reader(TABLE.read_text(encoding="utf-8").splitlines())
    at = header.index("gpu__time_duration.sum")
    for rank in range(count):
        rows = [[*row[:at], str(int(row[at].replace(",", "")) + rank), *row[at + 1 :]] for row in launches]
        with (folder / f"rank{rank}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([header, units, *rows])


def reading(folder: Path, processes: int) -> float:
    """Seconds that reading the folder takes with so many processes."""
    argv = [sys.executable, "-c", READ, str(folder), str(processes)]
    return float(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)  # noqa: S603


def command(*words: str) -> float:
    """Seconds that a roofctl command takes, with its start."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "roofctl", *words], check=True, capture_output=True)  # noqa: S603
    return time.perf_counter() - began


def main() -> None:
    """Print one line per number of files."""
    most = len(os.sched_getaffinity(0))
    print(f"files   read, 1 process   read, {most} processes   report --top 20   export")
    for count in [int(text) for text in sys.argv[1:]] or [100, 1000]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "ranks"
            folder.mkdir()
            make(folder, count)
            alone, together = reading(folder, 1), reading(folder, most)
            report = command("report", str(folder), "--top", "20")
            export = command("export", str(folder), "--parquet", str(Path(name) / "launches"))
            print(f"{count:5}   {alone:13.2f} s   {together:14.2f} s   {report:13.2f} s   {export:5.2f} s")


if __name__ == "__main__":
    main()
