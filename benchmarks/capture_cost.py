"""Wall time of `roofctl profile --set instruction` against `ncu --set roofline`, on one application, in one run.

usage: python benchmarks/capture_cost.py [--rounds N] APP [ARGS...]

Rounds interleave the plain run, roofctl and ncu, so that all three meet the same machine; medians are printed.
ncu's roofline set ends with the report on disk; roofctl goes on to print it as CSV and to show the table, so the
share of its run under ncu is given too. Needs a GPU and ncu on PATH.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL = 0.48
"""roofctl's wall time over that of ncu's roofline set."""


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
        "roofctl profile --set instruction": [
            *(sys.executable, "-m", "roofctl", "profile", "-o", str(folder / "captures"), "--", *app)
        ],
        "ncu --set roofline": [*ncu, "--set", "roofline", "-f", "-o", str(folder / "roofline"), *app],
    }


def main() -> int:
    """Print medians and the ratio; 1 when it misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("app", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.app:
        parser.error("name an application that uses the GPU")
    with tempfile.TemporaryDirectory() as folder:
        ways = commands(options.app, Path(folder))
        samples: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, command in ways.items():
                samples[name].append(seconds(command))
        runs = [json.loads(path.read_text())["seconds"] for path in Path(folder).glob("captures/*/capture.json")]
    medians = {name: statistics.median(values) for name, values in samples.items()}
    medians["  of which the run under ncu"] = statistics.median(runs)
    for name, median in medians.items():
        print(f"{median:7.2f} s  {name}")
    roofline = medians["ncu --set roofline"]
    ratio = medians["roofctl profile --set instruction"] / roofline
    run_ratio = medians["  of which the run under ncu"] / roofline
    print(f"ratio {ratio:.2f} (whole command), {run_ratio:.2f} (run under ncu); goal at most {GOAL}")
    return 0 if ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
