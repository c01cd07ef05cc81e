"""nvprof tables (``nvprof --csv``): metrics, events, timing summary, GPU trace."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from roofctl.launches.table import IDENTITY
from roofctl.readers.convert import Cells, Launches, count
from roofctl.readers.long_table import Form, LongTable, unglued
from roofctl.readers.split import Rows, coded, equals, is_dictionary, matches, valued
from roofctl.readers.tables import CsvTable

TIME_AVERAGE: Final = "GPU activities Avg"
TIME_TRACE: Final = "GPU trace Duration"
_AXES: Final = "XYZ"


def _device(text: str) -> str:
    """``Tesla V100S-PCIE-32GB (0)`` without the device index."""
    return re.sub(r"\s*\(\d+\)$", "", text)


def _without_correlation(name: str, correlation: str) -> str:
    """``k(int) [94]`` without its correlation ID: nvprof puts it there where the trace has no column for it."""
    match = re.fullmatch(r"(.*\S)\s+\[(\d+)\]", name)
    return match.group(1) if match and correlation in ("", match.group(2)) else name


def counts(table: CsvTable, known: frozenset[str]) -> LongTable:
    """``--metrics`` or ``--events``: minimum, maximum and rounded mean per kernel."""
    form = Form(
        key=("Device", "Kernel", "Invocations"),
        identity={"kernel": "Kernel", "device": "Device"},
        change={"device": _device},
        values={"": "Avg", "min:": "Min", "max:": "Max"},
        metric="Event Name" if table.kind == "nvprof_events" else "Metric Name",
        first=False,
        launches="Invocations",
    )
    return LongTable(table, known, form)


class _Wide:
    """A table of one row per launch, or per kernel; keeps the rows whose columns are read until the end."""

    what = ""
    names: tuple[str, ...] = ()

    def __init__(self, table: CsvTable, known: frozenset[str]) -> None:
        self.table, self.known = table, known
        self.skipped = 0
        self._pieces: list[Rows] = []

    def columns(self) -> list[int]:
        """Places of the columns that are read."""
        return sorted({place for name in self.names if (place := self.table.column(name)) is not None})

    def kernels(self, rows: Rows) -> Any:
        """Which rows are kernels."""
        return np.ones(len(rows), np.bool_)

    def take(self, rows: Rows) -> bool:
        """Take rows."""
        kept = rows.kept(self.kernels(rows))
        self.skipped += len(rows) - len(kept)
        self._pieces.append(kept)
        return True

    def column(self, rows: Rows, name: str) -> Any:
        """A column by name, without blanks around its cells; empty cells where there is none."""
        place = self.table.column(name)
        if place is None:
            return pa.array([""] * len(rows), pa.string())
        array = rows.columns[place]
        if is_dictionary(array):
            return pa.DictionaryArray.from_arrays(array.indices, pc.utf8_trim_whitespace(array.dictionary))
        return pc.utf8_trim_whitespace(array)

    def values(self, rows: Rows, name: str) -> Cells:
        """A column of values whose unit stands behind each, or in the row of units."""
        place = self.table.column(name)
        return unglued(self.column(rows, name), rows.lines, "" if place is None else self.table.unit(place))

    def taken(self) -> Rows:
        """All rows."""
        return Rows.merged(self._pieces, self.columns())


def _launches(rows: Rows, identity: dict[str, Any], cells: dict[str, Cells], names: set[str]) -> Launches:
    absent = ([""], np.zeros(len(rows), np.int64))
    texts = {name: identity.get(name, absent) for name in IDENTITY}
    return Launches(texts, cells, {"": names} if len(rows) else {}, np.ones(len(rows), np.int64))


def _changed(array: Any, change: Callable[[str], str]) -> tuple[list[str], Any]:
    codes, texts = coded(array)
    return [change(text) for text in texts], codes


class Summary(_Wide):
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
        result = _launches(rows, {"kernel": _changed(self.column(rows, "Name"), str)}, cells, {TIME_AVERAGE})
        calls, codes = _changed(self.column(rows, "Calls"), str)
        result.launches = np.array([count(text) for text in calls] or [0], np.int64)[codes]
        result.is_summary = True
        return result


class Trace(_Wide):
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
            kernel = _changed(both, lambda text: _without_correlation(*text.partition("\n")[::2]))
        else:
            kernel = _changed(name, str)
        identity = {"kernel": kernel, "device": _changed(self.column(rows, "Device"), _device)}
        for kind in ("Block", "Grid"):
            axes = [self.column(rows, f"{kind} {axis}") for axis in _AXES]
            identity[kind.lower()] = _changed(
                pc.binary_join_element_wise("(", pc.binary_join_element_wise(*axes, ", "), ")", ""), str
            )
        return _launches(rows, identity, {TIME_TRACE: self.values(rows, "Duration")}, {TIME_TRACE})


class TraceCounts(_Wide):
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
        identity = {"kernel": _changed(self.column(rows, "Kernel"), str)}
        identity["device"] = _changed(self.column(rows, "Device"), _device)
        return _launches(rows, identity, cells, names)
