"""nvprof tables (``nvprof --csv``): metrics, events, timing summary, GPU trace."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from roofctl.readers.cells import Cells, Launches, count
from roofctl.readers.long_table import Form, LongTable, unglued
from roofctl.readers.split import Rows, equals, matches, valued
from roofctl.readers.tables import CsvTable
from roofctl.readers.wide_table import WideTable, device_name, rewritten, to_launches

TIME_AVERAGE: Final = "GPU activities Avg"
TIME_TRACE: Final = "GPU trace Duration"
_AXES: Final = "XYZ"


def _without_correlation(name: str, correlation: str) -> str:
    """``k(int) [94]`` without its correlation ID: nvprof puts it there where the trace has no column for it."""
    match = re.fullmatch(r"(.*\S)\s+\[(\d+)\]", name)
    return match.group(1) if match and correlation in ("", match.group(2)) else name


def counts(table: CsvTable, known: frozenset[str]) -> LongTable:
    """``--metrics`` or ``--events``: minimum, maximum and rounded mean per kernel."""
    form = Form(
        key=("Device", "Kernel", "Invocations"),
        identity={"kernel": "Kernel", "device": "Device"},
        change={"device": device_name},
        values={"": "Avg", "min:": "Min", "max:": "Max"},
        metric="Event Name" if table.kind == "nvprof_events" else "Metric Name",
        first=False,
        launches="Invocations",
    )
    return LongTable(table, known, form)


class Summary(WideTable):
    """Timing summary: every column has its own unit."""

    what = "rows that are no kernels (copies, fills, API calls)"
    names = ("Type", "Time", "Calls", "Avg", "Min", "Max", "Name")

    def kernels(self, rows: Rows) -> Any:
        """Activities of the GPU that are no copies or fills."""
        activity, name = self.column(rows, "Type"), self.column(rows, "Name")
        of_gpu = equals(activity, "GPU activities") | equals(activity, "")
        return of_gpu & ~equals(name, "") & ~matches(name, r"(?s)\[.*\]")

    def launches(self) -> Launches:
        """What was taken."""
        rows = self.taken()
        columns = {"": "Avg", "min:": "Min", "max:": "Max", "total:": "Time"}
        cells = {prefix + TIME_AVERAGE: self.values(rows, name) for prefix, name in columns.items()}
        result = to_launches(rows, {"kernel": rewritten(self.column(rows, "Name"), str)}, cells, {TIME_AVERAGE})
        calls, codes = rewritten(self.column(rows, "Calls"), str)
        result.launches = np.array([count(text) for text in calls] or [0], np.int64)[codes]
        result.is_summary = True
        return result


class Trace(WideTable):
    """GPU trace: kernels are the rows with a grid; copies, fills and page faults have none."""

    what = "rows that are no kernels (copies, fills, page faults)"
    names = (
        *("Start", "Duration", "Device", "Name", "Correlation_ID"),
        *(f"{kind} {axis}" for kind in ("Grid", "Block") for axis in _AXES),
    )

    def kernels(self, rows: Rows) -> Any:
        """Rows with a grid."""
        return ~equals(self.column(rows, "Grid X"), "")

    def launches(self) -> Launches:
        """What was taken."""
        rows = self.taken()
        name = self.column(rows, "Name")
        if matches(name, r"\s\[[0-9]+\]$", full=False).any():
            both = pc.binary_join_element_wise(name.cast(pa.string()), self.column(rows, "Correlation_ID"), "\n")
            kernel = rewritten(both, lambda text: _without_correlation(*text.partition("\n")[::2]))
        else:
            kernel = rewritten(name, str)
        identity = {"kernel": kernel, "device": rewritten(self.column(rows, "Device"), device_name)}
        for kind in ("Block", "Grid"):
            identity[kind.lower()] = self.shapes(rows, [f"{kind} {axis}" for axis in _AXES])
        return to_launches(rows, identity, {TIME_TRACE: self.values(rows, "Duration")}, {TIME_TRACE})


class TraceCounts(WideTable):
    """``--print-gpu-trace`` with ``--metrics`` or ``--events``: one row per launch, one column per counter."""

    def columns(self) -> list[int]:
        """Places of all columns."""
        return list(range(len(self.table.header)))

    def launches(self) -> Launches:
        """What was taken; a counter without a value has no cell."""
        rows = self.taken()
        names: set[str] = set()
        cells: dict[str, Cells] = {}
        for place, counter in enumerate(self.table.header):
            if counter in ("Device", "Context", "Stream", "Kernel", "Correlation_ID"):
                continue
            there = valued(rows.columns[place])
            if not there.any():
                continue
            names.add(counter)
            if counter in self.known:
                texts = rows.columns[place]
                if not there.all():
                    # A header may name a counter twice: the last value counts.
                    before = cells[counter].texts if counter in cells else pa.nulls(len(rows), pa.string())
                    texts = pc.if_else(pa.array(there), texts, before)
                cells[counter] = unglued(texts, rows.lines, self.table.unit(place), self.table.header.index(counter))
        identity = {"kernel": rewritten(self.column(rows, "Kernel"), str)}
        identity["device"] = rewritten(self.column(rows, "Device"), device_name)
        return to_launches(rows, identity, cells, names)
