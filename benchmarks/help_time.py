"""How long `roofctl --help` takes over a bare interpreter: medians of N fresh processes, in one run.

usage: python benchmarks/help_time.py [N]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

GOAL_SECONDS = 0.080


def median_seconds(arguments: list[str], runs: int) -> float:
    """Median wall time of a fresh interpreter with ``arguments``; the first run warms the disk cache."""
    samples = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        samples.append(time.perf_counter() - start)
    return statistics.median(samples[1:])


def main() -> int:
    """Print both medians and the difference; 1 when it misses the goal."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    bare = median_seconds(["-c", "pass"], runs)
    shown = median_seconds(["-m", "roofctl", "--help"], runs)
    over = shown - bare
    print(f"bare interpreter {bare * 1e3:.1f} ms, roofctl --help {shown * 1e3:.1f} ms, difference {over * 1e3:.1f} ms")
    print(f"goal: at most {GOAL_SECONDS * 1e3:.0f} ms over a bare interpreter")
    return 0 if over <= GOAL_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
