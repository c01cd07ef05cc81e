"""Damage to profiler output, drawn from a seed, and what readers make of it: shared by tests and by hand.

By hand, any number, with limits of time and memory for each input:

    PYTHONPATH=tests python tests/fuzz/mutation.py 200000 [FIRST [PROCESSES]]

As many processes as there are processors, each with these limits, share the inputs; a number makes the same input
in any of them.
"""

from __future__ import annotations

import gzip
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pyarrow as pa

from roofctl.core.errors import RoofctlError
from roofctl.launches.table import Part
from roofctl.readers import find_tables, streams
from roofctl.readers.read import read_file
from roofctl.roofline.analyse import analyse

from support import reference
from support.shapes import DRAM_R, LSU, THREAD, TIME, L, ncu_details
from support.tables import kernels as table_of

DATA = Path(__file__).parent.parent / "data"
MOST_SEED_BYTES = 6_000
SECONDS = 30
"""Of wall time: a machine that stands still for a while is no fault."""
REPORTS = 0.02
"""Share of inputs that are reports: each costs a child process."""
MEMORY_BYTES = 4 << 30
SHARE = 500
"""Inputs that a process is given at a time."""

PIECES = [
    b'"', b",", b'","', b"\n", b"\r\n", b"\r", b"", b"nan", b"n/a", b"-1", b"1e99", b"1.2.3", b";", b"\t", b"==", b"\x00",
    b"\xff", b"\xc3", "é".encode(), "\u2028".encode(), b" ", b"0", b"0,", b".5", b"9" * 30, b'""', b'"",""', b"inf", b"(!)",
    b"181,600", b"1.234", b"27.595.520", b"65,77", b"1,975,052,229.34", b"9007199254740993", b"\x1b[2J", b"==PROF== x\n",
    b"==ERROR== ERR_NVGPUCTRPERM\n", b'hello, "world", 1,2\n', b"\n\n", b"Mbyte", b"nsecond", b"1" * 3000,
]  # fmt: skip


def seeds() -> list[bytes]:
    """Every text of ``tests/data`` that readers take, the wide ones with some of their columns."""
    found = []
    for path in sorted(DATA.rglob("*")):
        if path.suffix in (".csv", ".txt", ".log"):
            content = path.read_bytes()
            found.append(content if len(content) <= MOST_SEED_BYTES else _narrow(content))
    return [*found, *repeating()]


def repeating() -> list[bytes]:
    """Details pages of many launches with short lines, which are known for what they repeat."""
    counters = {TIME: 5_000, THREAD: 1_234_567, LSU: "12.50", DRAM_R: 0, "device__attribute_display_name": "H200"}
    few = dict(list(counters.items())[:4])
    pages = [
        [L(f"k{i % 2}(int)", counters, id=str(i + 7)) for i in range(8)],
        [L(f'k{i % 3}(int, "x")', few, id=str(i), grid=f"({i}, 1, 1)") for i in range(9)],
        [L(f"k{i % 2}(int)", (few, counters)[i % 2], id=str(i), process=str(i // 4)) for i in range(8)],
    ]
    return [ncu_details(page).encode() for page in pages]


def reports() -> list[bytes]:
    """Every Nsight Compute report of ``tests/data``."""
    return [path.read_bytes() for path in sorted(DATA.rglob("*.ncu-rep"))]


def damaged_report(content: bytes, draw: random.Random) -> bytes:
    """A report with bytes replaced, cut out or put in behind its first four, or with its end cut off."""
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 5, 50])):
        start = draw.randrange(4, draw.choice([200, 2_000, len(changed)]))
        old = draw.choice([1, 1, 1, 4, 40])
        new = draw.choice(
            [
                draw.randbytes(old),
                draw.randbytes(old),
                b"",
                b"\0" * old,
                b"\xff" * old,
                changed[start : start + old] * 2,
            ]
        )
        changed[start : start + old] = new
    return bytes(changed[: draw.randrange(4, len(changed))] if draw.random() < 0.1 else changed)


def _narrow(content: bytes) -> bytes:
    lines = content.split(b"\n")[:60]
    kept = []
    for line in lines:
        fields = line.split(b'","')
        kept.append(b'","'.join(fields[:14] + fields[14::12]) if len(fields) > 40 else line)
    return b"\n".join(kept)[:MOST_SEED_BYTES]


def mutated(content: bytes, draw: random.Random, times: int) -> bytes:
    """``content`` with pieces cut out, doubled or replaced, lines moved, its end cut off, or recoded."""
    for _ in range(times):
        start = draw.randrange(len(content) + 1)
        end = min(len(content), start + draw.choice([0, 1, 1, 5, 40]))
        content = content[:start] + draw.choice([*PIECES, content[start:end] * 2]) + content[end:]
        if draw.random() < 0.2:
            content = _lines_moved(content, draw)
    if draw.random() < 0.1:
        content = _recoded(content, draw)
    return content


def _lines_moved(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    line = lines[draw.randrange(len(lines))]
    action = draw.randrange(4)
    if action == 0:
        lines.insert(draw.randrange(len(lines) + 1), line)
    elif action == 1:
        lines.remove(line)
    elif action == 2:
        lines[draw.randrange(len(lines))] = line[: draw.randrange(len(line) + 1)]
    else:
        lines = lines * 2
    return b"\n".join(lines)


def _recoded(content: bytes, draw: random.Random) -> bytes:
    action = draw.randrange(7)
    if action == 0:
        return content.replace(b"\n", b"\r\n")
    if action == 1:
        return content[: draw.randrange(len(content) + 1)]
    if action == 2:
        return gzip.compress(content)[: draw.choice([None, -1, -9, 20])]
    if action == 6:
        return bytes(pa.compress(content, codec="zstd", asbytes=True))[: draw.choice([None, -1, -9, 20])]
    text = content.decode("utf-8", errors="replace")
    encoding = ("utf-16", "utf-16-le", "utf-8-sig")[action - 3]
    return text.encode(encoding)


def outcome(read: Callable[[], list[Part]]) -> tuple[Any, ...]:
    """The parts that ``read`` gives, or its error as text."""
    try:
        return ("parts", read())
    except RoofctlError as error:
        return ("error", type(error).__name__, error.message, error.hint)


def check_same(one: Sequence[Part], two: Sequence[Part]) -> None:
    """Assert that two readings are one: frames to the last bit and type, names, notes, sources."""
    assert len(one) == len(two)
    for mine, theirs in zip(one, two, strict=True):
        assert (mine.source, mine.names, mine.notes) == (theirs.source, theirs.names, theirs.notes)
        if not plainly_equal(mine.frame, theirs.frame):
            pd.testing.assert_frame_equal(mine.frame, theirs.frame, check_exact=True)


def plainly_equal(one: pd.DataFrame, two: pd.DataFrame) -> bool:
    """Whether frames are the same beyond doubt, in a fraction of the time; if not, they may still be."""
    types, own = list(one.dtypes), one.columns
    doubtful = object in types or (type(own), own.dtype, own.names) != (
        type(two.columns),
        two.columns.dtype,
        two.columns.names,
    )
    indices = [(type(frame.index), frame.index.dtype, frame.index.names) for frame in (one, two)]
    return not doubtful and types == list(two.dtypes) and indices[0] == indices[1] and one.equals(two)


def compared(path: Path, block_bytes: int = 700, few: int = 2) -> str:
    """Read ``path`` by roofctl and by the plain reference; assert that both give the same. What it was, in one word.

    Lines are split together from ``few`` on, in blocks of ``block_bytes``.
    """
    with mock.patch.object(streams, "BLOCK_BYTES", block_bytes), mock.patch.object(find_tables, "FEW", few):
        ours = outcome(lambda: read_file(path))
    plain = outcome(lambda: reference.read_file(path))
    assert ours[0] == plain[0], (ours, plain)
    if ours[0] == "error":
        assert ours == plain
        return "error"
    check_same(ours[1], plain[1])
    return "same"


def survive(path: Path) -> str:
    """All that ``report`` does with a file, up to printing: an error of ours or kernels. Anything else is raised."""
    try:
        parts = read_file(path)
        analyse(table_of(parts, "kernel", "gh100"), None)
    except RoofctlError as error:
        if error.message and error.hint:
            return "refused"
        raise
    assert sum(len(part.frame) for part in parts) > 0
    return "read"


def _timed_out(*_: object) -> None:
    raise TimeoutError


def run(count: int, first: int, processes: int) -> None:
    """Check inputs number ``first`` to ``first + count``; the first fault is shown with the number that makes it."""
    starts = range(first, first + count, SHARE)
    ends = [min(start + SHARE, first + count) for start in starts]
    seen: Counter[str] = Counter()
    began, peak = time.monotonic(), 0
    # Spawned, not forked: a worker's threads are its own.
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_limit) as pool:
        for end, (found, used) in zip(ends, pool.map(run_share, starts, ends), strict=True):
            seen, peak = seen + found, max(peak, used)
            print(f"{end - first} inputs, {time.monotonic() - began:.0f} s: {dict(seen)}", flush=True)
    print(f"{count} inputs from {first}: {dict(seen)}; {time.monotonic() - began:.0f} s, peak {peak} MiB")


def _limit() -> None:
    """Limits of a process: memory at once, time for each input."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGALRM, _timed_out)


def run_share(first: int, end: int) -> tuple[Counter[str], int]:
    """Check inputs number ``first`` up to ``end``: what they were, and the peak of this process's memory in MiB."""
    contents, binaries = seeds(), reports()
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        for number in range(first, end):
            draw = random.Random(number)  # noqa: S311 - reproducible, not secret
            report = draw.random() < REPORTS
            if report:
                path.write_bytes(damaged_report(draw.choice(binaries), draw))
            else:
                path.write_bytes(mutated(draw.choice(contents), draw, draw.randint(1, 6)))
            signal.alarm(SECONDS)
            try:
                seen[("report " if report else "") + survive(path)] += 1
                if not report:
                    found = compared(path, draw.choice([64, 700, 1_100, 1 << 20]), draw.choice([2, 2, 8, 48]))
                    seen[f"compared: {found}"] += 1
            except BaseException:
                print(f"input {number}: {path.read_bytes()[:300]!r}", file=sys.stderr, flush=True)
                raise
            finally:
                signal.alarm(0)
    return seen, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    run(given[0], given[1] if len(given) > 1 else 0, given[2] if len(given) > 2 else len(os.sched_getaffinity(0)))
