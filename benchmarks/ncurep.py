"""How long reading a .ncu-rep takes: roofctl beside NVIDIA's reader used plainly, for growing numbers of launches.

usage: python benchmarks/ncurep.py [LAUNCHES]...      (default: 2000 20000)

The reports are made here, from the one in tests/data (12 launches of 269 metrics, 15 kB each). Both read the same
metrics of every launch; each run is a process of its own. NVIDIA's reader keeps every launch: 360 kB each.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from roofctl.readers.ncurep import container
from roofctl.readers.ncurep.child import IDENTITY
from roofctl.readers.ncurep.container import small_report

REPORT = Path(__file__).parent.parent / "tests" / "data" / "captures-h200" / "report" / "report.ncu-rep"
BLOCK = 1000

OURS = """
from pathlib import Path
from roofctl.quantities import catalogue
from roofctl.readers.read import read_file
catalogue()
began = time.perf_counter()
(part,) = read_file(Path(sys.argv[1]))
count = len(part.frame)
"""
PLAIN = """
import ncu_report
began = time.perf_counter()
(span,) = ncu_report.load_report(sys.argv[1])
count = span.num_actions()
for number in range(count):
    action = span.action_by_idx(number)
    action.name(ncu_report.IAction.NameBase_DEMANGLED)
    for name in sys.argv[2:]:
        metric = action.metric_by_name(name)
        metric.value()
"""
BEFORE = "import resource, sys, time\n"
AFTER = """
seconds = time.perf_counter() - began
peaks = [resource.getrusage(who).ru_maxrss // 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(f'{{"launches": {count}, "seconds": {seconds:.2f}, "own_MB": {peaks[0]}, "child_MB": {peaks[1]}}}')
"""


def make(path: Path, launches: int) -> None:
    """A report of ``launches``: the results of the one in tests/data, again and again, a thousand a block."""
    found, data = container.index(REPORT), REPORT.read_bytes()
    results = [data[each.offset : each.offset + each.size] for each in found.results]
    with path.open("wb") as file:
        file.write(small_report(found.head, found.sessions, found.texts, []))
        for begin in range(0, launches, BLOCK):
            some = [results[number % len(results)] for number in range(begin, min(begin + BLOCK, launches))]
            file.write(small_report(b"", [], [], some))


def run(program: str, *arguments: str) -> dict[str, float]:
    """What a program of its own measured."""
    argv = [sys.executable, "-c", BEFORE + program + AFTER, *arguments]
    answer = subprocess.run(argv, capture_output=True, text=True, check=True)  # noqa: S603
    measured: dict[str, float] = json.loads(answer.stdout)
    return measured


def main() -> None:
    """Print one line per size and way."""
    sizes = [int(text) for text in sys.argv[1:]] or [2000, 20_000]
    wanted = run_names()
    print("launches   file MB   way       seconds   peak MB   of a child")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.ncu-rep"
        for launches in sizes:
            make(path, launches)
            for way, program, names in (("roofctl", OURS, ()), ("plain", PLAIN, wanted)):
                if way == "plain" and launches > 20_000:  # noqa: PLR2004
                    continue  # 36 GB for 100,000
                it = run(program, str(path), *names)
                size = path.stat().st_size >> 20
                print(f"{launches:8}   {size:7}   {way:8} {it['seconds']:8.2f}   {it['own_MB']:7}   {it['child_MB']:7}")


def run_names() -> tuple[str, ...]:
    """The metrics that roofctl reads of this report."""
    from roofctl.quantities import catalogue  # noqa: PLC0415

    texts = container.index(REPORT).texts
    return tuple(name for name in texts if name in catalogue().counters() or name in IDENTITY)


if __name__ == "__main__":
    main()
