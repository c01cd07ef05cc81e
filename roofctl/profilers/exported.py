"""What is in the CSV that a profiler left: rows, and which of the counters asked for have values."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PASSES_COLUMN: Final = "profiler__replayer_passes"
_NO_VALUE: Final = frozenset({"", "n/a", "nan", "-nan", "inf", "<ignored>"})
_FIELD_LIMIT: Final = 2**27


@dataclass(frozen=True)
class Exported:
    """A raw page in short. ``missing`` counters have no column, ``empty`` ones a column without any value."""

    rows: int = 0
    columns: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    passes: int | None = None

    def counted(self, asked: Sequence[str]) -> bool:
        """Whether at least one counter asked for has a value."""
        return self.rows > 0 and any(name not in self.missing and name not in self.empty for name in asked)


def inspect(text: str, asked: Sequence[str]) -> Exported:
    """Look through ncu's raw page. Text without a table gives no rows."""
    csv.field_size_limit(_FIELD_LIMIT)
    rows = csv.reader(text.splitlines())
    header = next((row for row in rows if row[:1] == ["ID"]), None)
    if header is None:
        return Exported(missing=tuple(asked))
    launches = [row for row in rows if len(row) == len(header) and row[0]]
    index = {name: position for position, name in enumerate(header)}
    missing = tuple(name for name in asked if name not in index)
    empty = tuple(
        name
        for name in asked
        if name in index and launches and all(row[index[name]].strip().lower() in _NO_VALUE for row in launches)
    )
    passes = [int(row[index[PASSES_COLUMN]]) for row in launches if _is_count(row, index.get(PASSES_COLUMN))]
    return Exported(len(launches), frozenset(index), missing, empty, max(passes, default=None))


def _is_count(row: Sequence[str], position: int | None) -> bool:
    return position is not None and row[position].isdigit()


@dataclass(frozen=True)
class NvprofTable:
    """An nvprof log in short: launches of kernels in it, and the counters that have a row."""

    launches: int = 0
    counters: frozenset[str] = frozenset()


def inspect_nvprof(lines: Sequence[str]) -> NvprofTable:
    """Look through one nvprof log: the timing summary, or the table of metrics or events."""
    csv.field_size_limit(_FIELD_LIMIT)
    rows = csv.reader(line for line in lines if line.strip() and not line.startswith("=="))
    header: list[str] = []
    launches: dict[str, int] = {}
    counters: set[str] = set()
    for row in rows:
        if "Invocations" in row or "Calls" in row:
            header = row
            continue
        cells = dict(zip(header, row, strict=False))
        kernel = cells.get("Kernel") or _timed_kernel(cells)
        calls = cells.get("Invocations") or cells.get("Calls") or ""
        if kernel and calls.isdigit():
            launches[kernel] = max(launches.get(kernel, 0), int(calls))
            counters.add(cells.get("Metric Name") or cells.get("Event Name") or "time")
    return NvprofTable(sum(launches.values()), frozenset(counters))


def _timed_kernel(cells: dict[str, str]) -> str:
    """The kernel of a timing row; empty for copies, fills and API calls."""
    name = cells.get("Name", "")
    return "" if name.startswith("[") or cells.get("Type", "GPU activities") != "GPU activities" else name
