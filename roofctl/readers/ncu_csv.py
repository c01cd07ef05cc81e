"""Nsight Compute tables (``ncu --csv``): raw page, details page, per-kernel summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from roofctl.quantities import catalogue
from roofctl.readers.cells import Cells, Launches, Texts, shape
from roofctl.readers.long_table import Form, LongTable
from roofctl.readers.split import Rows, coded, valued
from roofctl.readers.tables import CsvTable

# Columns of ncu tables that describe a launch; everything else in a raw page is a counter.
NCU_IDENTITY: Final = frozenset(
    {
        *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream"),
        *("Block Size", "Grid Size", "Device", "Device Id", "CC", "Invocations", "Minimum", "Maximum", "Average"),
        *("Section Name", "Body Item Label", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type"),
        *("Rule Description", "Estimated Speedup Type", "Estimated Speedup"),
    }
)
GPU: Final = "device__attribute_display_name"
_IDENTITY: Final = {
    "kernel": "Kernel Name",
    "process": "Process ID",
    "block": "Block Size",
    "grid": "Grid Size",
    "compute_capability": "CC",
}
"""Columns that say what a launch is; the device is called by a counter."""
_SHAPES: Final[dict[str, Callable[[str], str]]] = {"block": shape, "grid": shape}


class RawPage:
    """Raw page: one row per launch, one column per counter, units in a row of their own."""

    skipped = 0
    what = ""

    def __init__(self, table: CsvTable, known: frozenset[str]) -> None:
        self._table = table
        header = table.header
        self._identity = {
            name: (table.column(column), Texts()) for name, column in (*_IDENTITY.items(), ("device", GPU))
        }
        # A header may name a counter twice: the last counts.
        self._counters = {name: place for place, name in enumerate(header) if name in known}
        self._names = [(place, name) for place, name in enumerate(header) if name not in NCU_IDENTITY]
        self._cells: dict[str, list[Any]] = {name: [] for name in self._counters}
        self._lines: list[Any] = []
        self._seen: dict[str, set[str]] = {}
        self._unseen = dict(self._names)

    def columns(self) -> list[int]:
        """Places of the columns that are read, and of those in which no value was seen yet."""
        fixed = [place for place, _ in self._identity.values() if place is not None]
        return sorted({*fixed, *self._counters.values(), *self._unseen})

    def take(self, rows: Rows) -> bool:
        """Take launches; False where a process begins and counters that others have must be looked at again."""
        codes, processes = coded(rows.columns[self._table.header.index("Process ID")])
        new = [process for process in processes if process not in self._seen]
        self._seen.update((process, set()) for process in new)
        if new:
            self._unseen = dict(self._names)
            if not rows.columns.keys() >= set(self._unseen):
                return False
        self._look(rows, codes, processes)
        for place, texts in self._identity.values():
            texts.add(rows.columns[place] if place is not None else pa.array([""] * len(rows), pa.string()))
        for name, place in self._counters.items():
            self._cells[name].append(rows.columns[place])
        self._lines.append(rows.lines)
        return True

    def _look(self, rows: Rows, codes: Any, processes: list[str]) -> None:
        """See which counters have a value, by process."""
        if not self._unseen:
            return
        # All columns as one: a call on each costs more than its cells.
        cells = valued(pa.concat_arrays([rows.columns[place] for place in self._unseen]))
        order = np.argsort(codes, kind="stable")
        begins = np.searchsorted(codes[order], np.arange(len(processes)))
        seen = np.logical_or.reduceat(cells.reshape(-1, len(rows))[:, order], begins, axis=1)
        names = np.array(list(self._unseen.values()), np.object_)
        for process, column in zip(processes, seen.T, strict=True):
            self._seen[process].update(names[column])
        self._unseen = {
            place: name
            for place, name in self._unseen.items()
            if not all(name in of_process for of_process in self._seen.values())
        }

    def launches(self) -> Launches:
        """What was taken."""
        lines = np.concatenate(self._lines)
        order = {name: self._table.header.index(name) for name in self._counters}
        cells = {
            name: Cells(pa.concat_arrays(self._cells.pop(name)), lines, [self._table.unit(place)], place=order[name])
            for name, place in self._counters.items()
        }
        identity = {name: texts.column(_SHAPES.get(name, str)) for name, (_, texts) in self._identity.items()}
        return Launches(identity, cells, self._seen, np.ones(len(lines), np.int64))


def details_page(table: CsvTable, known: frozenset[str]) -> LongTable:
    """Details page: one row per launch and metric.

    A launch is identified by process, ID and kernel. A metric that stands in two sections
    is taken once, from the first. Rows without a metric hold rules.
    """
    form = Form(
        key=("Process ID", "ID", "Kernel Name"),
        identity=_IDENTITY,
        change=_SHAPES,
        values={"": "Metric Value"},
        unit="Metric Unit",
        device=GPU,
        skip="rule rows",
        labels=catalogue().labels,
        percentages=catalogue().percentages,
    )
    return LongTable(table, known, form)


def summary(table: CsvTable, known: frozenset[str]) -> LongTable:
    """``--print-summary per-kernel``: means over launches, grouped by kernel and launch shape."""
    form = Form(
        key=("Process ID", "Kernel Name", "Block Size", "Grid Size", "Device", "Device Id", "Invocations"),
        identity=_IDENTITY,
        change=_SHAPES,
        values={"": "Average", "min:": "Minimum", "max:": "Maximum"},
        unit="Metric Unit",
        launches="Invocations",
        labels=catalogue().labels,
        percentages=catalogue().percentages,
    )
    return LongTable(table, known, form)
