"""The tables that profilers print: their kinds by header, and which lines are rows of one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from roofctl.readers.split import RowLayout, Rows, split_fields

COUNT: Final = r"(?:[0-9]{1,12}|[0-9]{1,3}(?:[,.][0-9]{3}){1,3})"
_DECIMAL: Final = r"[0-9]+(?:\.[0-9]+)?"
_SHARE: Final = rf"{_DECIMAL}%?"
TITLES: Final = (
    "Kernel",
    "Invocations",
    "Time(%)",
    "Time (%)",
    "Grid X",
    "Avg Size",
    "Counter_Name",
    "CorrId",
    "Total (MB)",
)
"""Every header has one of these."""
_TITLE: Final = re.compile("|".join(map(re.escape, TITLES)))
_DELIMITERS: Final = ",;\t"

# Kind of table by the names its header must hold; the first that fits wins.
_SIGNATURES: Final[tuple[tuple[str, frozenset[str]], ...]] = (
    ("ncu_details", frozenset({"ID", "Process ID", "Kernel Name", "Metric Name", "Metric Value"})),
    ("ncu_summary", frozenset({"Process ID", "Kernel Name", "Invocations", "Metric Name", "Minimum", "Average"})),
    ("ncu_raw", frozenset({"ID", "Process ID", "Kernel Name", "Context"})),
    ("nvprof_metrics", frozenset({"Kernel", "Invocations", "Metric Name", "Min", "Max", "Avg"})),
    ("nvprof_events", frozenset({"Kernel", "Invocations", "Event Name", "Min", "Max", "Avg"})),
    ("nvprof_device", frozenset({"Device", "Invocations", "Metric Name", "Avg"})),
    ("nvprof_device", frozenset({"Device", "Invocations", "Event Name", "Avg"})),
    ("nvprof_summary", frozenset({"Time(%)", "Time", "Calls", "Avg", "Min", "Max", "Name"})),
    ("nvprof_trace", frozenset({"Start", "Duration", "Grid X", "Name"})),
    ("nvprof_counts", frozenset({"Device", "Context", "Stream", "Kernel", "Correlation_ID"})),
    ("nvprof_unified", frozenset({"Device", "Count", "Avg Size"})),
    ("foreign_rocprof", frozenset({"Index", "KernelName"})),
    ("foreign_rocprof", frozenset({"Kernel_Name", "Counter_Name"})),
    ("nsys_trace", frozenset({"Duration", "CorrId", "GrdX", "Name"})),
    ("nsys_summary", frozenset({"Total Time", "Instances", "Avg", "Name"})),
    ("nsys_other", frozenset({"Total Time", "Kernel Name", "Kern Inst"})),
    ("nsys_other", frozenset({"Total Time", "Avg"})),
    ("nsys_other", frozenset({"Total (MB)", "Count"})),
)
_REPEATED: Final = frozenset(
    {
        *("Process ID", "Kernel Name", "Metric Name", "Metric Unit", "Invocations"),
        *("Type", "Device", "Kernel", "Name", "Event Name"),
    }
)
"""Columns that are looked at in every row and repeat their texts; ``ID`` is one where a launch has many rows."""
_NVPROF_TYPES: Final = ("GPU activities", "API calls", "OpenACC (excl)", "OpenACC (incl)", "Profiling result")
_TIMES: Final = ("s", "ms", "us", "ns")
_NSYS_TIME: Final = re.compile(r"(Total Time|Avg|Med|Min|Max|StdDev|Start|Duration) \((s|ms|us|ns)\)")
"""A column of Nsight Systems with its unit."""
_NSYS_OLD: Final = {"Average": "Avg", "Minimum": "Min", "Maximum": "Max"}
"""Names of columns until 2021; their unit is that of the total time."""
_LAST_NEEDED: Final = {
    "ncu_details": "Metric Value",
    "ncu_summary": "Average",
    "nvprof_metrics": "Avg",
    "nvprof_events": "Avg",
    "nvprof_summary": "Name",
    "nvprof_trace": "Name",
    "nvprof_counts": "Kernel",
    "nsys_summary": "Name",
    "nsys_trace": "Name",
}
"""The last column that is always read, by kind: details rows are ragged by design (rule columns follow)."""


class Reader(Protocol):
    """Takes the rows of one table."""

    def columns(self) -> list[int]:
        """Places of the columns that ``take`` needs."""

    def take(self, rows: Rows) -> bool:
        """Take rows, which come in order; False where more columns are needed first."""


@dataclass
class CsvTable:
    """One table: its header, the unit row if it has one, and how many rows were read.

    ``pending`` are rows that were read one by one and not yet given to ``reader``. ``malformed`` lists lines that
    begin like a row but have more fields than the header, or too few to hold a value, or end within a quoted cell;
    the last of these are in ``broken``, too. ``uniform``: the last lines that were looked at together were all rows.
    """

    kind: str
    header: list[str]
    line: int
    delimiter: str
    units: list[str] | None = None
    rows: int = 0
    pending: list[tuple[int, list[str]]] = field(default_factory=list)
    malformed: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    reader: Reader | None = None
    uniform: bool = True

    def column(self, name: str) -> int | None:
        """Index of a column by name, or None."""
        return self.header.index(name) if name in self.header else None

    def field(self, row: Sequence[str], name: str) -> str:
        """The cell of ``row`` under ``name``; empty when the column or the cell isn't there."""
        index = self.column(name)
        return row[index].strip() if index is not None and index < len(row) else ""

    def unit(self, index: int) -> str:
        """The unit of a column in the row of units; empty where there is none."""
        return self.units[index] if self.units and index < len(self.units) else ""

    @property
    def begun(self) -> bool:
        """Whether the row of units has come, or a row: no row of units follows."""
        return self.units is not None or self.rows > 0

    def begins_row(self) -> list[tuple[int | None, str]]:
        """Columns and the pattern that their cells have in a row of this table."""
        if self.kind.startswith("ncu_"):
            names = ("Process ID", "Invocations") if self.kind == "ncu_summary" else ("ID", "Process ID")
            return [(self.column(name), COUNT) for name in names]
        if self.kind in ("nvprof_metrics", "nvprof_events", "nvprof_device"):
            return [(self.column("Invocations"), COUNT)]
        if self.kind == "nvprof_summary":
            return [(0, "|".join(map(re.escape, _NVPROF_TYPES)) if "Type" in self.header else _SHARE)]
        if self.kind == "nvprof_trace":
            return [(self.column("Start"), _DECIMAL)]
        if self.kind in ("nsys_summary", "nsys_trace"):
            return [(0, _DECIMAL)]
        return [(self.column("Correlation_ID"), COUNT)] if self.kind == "nvprof_counts" else []

    def count_of_launches(self) -> int | None:
        """The column that holds how many launches a row stands for; None where each stands for one."""
        return self.column({"nvprof_summary": "Calls", "nsys_summary": "Instances"}.get(self.kind, "Invocations"))

    def least_fields(self) -> int:
        """Fields that a row must at least have; a raw row that is short was cut off."""
        if self.kind == "ncu_raw":
            return len(self.header)
        index = self.column(_LAST_NEEDED.get(self.kind, ""))
        return 0 if index is None else index + 1

    def lead(self) -> bytes:
        """Bytes that a row can begin with, but for a quote; empty where the first column says nothing."""
        column, pattern = next(iter(self.begins_row()), (None, ""))
        if column != 0:
            return b""
        if pattern in (COUNT, _DECIMAL, _SHARE):
            return b"0123456789"
        return bytes({ord(name[0]) for name in _NVPROF_TYPES})

    def layout(self) -> RowLayout:
        """How its rows are written."""
        repeated = frozenset(place for place, name in enumerate(self.header) if name in _REPEATED)
        if self.kind != "ncu_raw" and (place := self.column("ID")) is not None:
            repeated |= {place}
        return RowLayout(self.delimiter, self.least_fields(), len(self.header), repeated)


def classify(header: Sequence[str]) -> str | None:
    """Kind of table that a header belongs to, or None."""
    names = frozenset(name.strip() for name in header)
    return next((kind for kind, signature in _SIGNATURES if signature <= names), None)


def open_table(line: str, number: int) -> CsvTable | None:
    if not _TITLE.search(line):
        return None
    for delimiter in _DELIMITERS:
        if delimiter in line:
            # A byte-order mark may stand twice, or in the middle where files were joined.
            header = [name.strip() for name in split_fields(line.lstrip("\ufeff"), delimiter)]
            kind = classify(header)
            if kind:
                return CsvTable(kind, header, number, delimiter)
            names, units = without_units(header)
            kind = classify(names)
            if kind and kind.startswith("nsys_"):
                return CsvTable(kind, names, number, delimiter, units)
    return None


def without_units(header: Sequence[str]) -> tuple[list[str], list[str]]:
    """Columns of Nsight Systems, which hold their units, as names and units."""
    matches = [_NSYS_TIME.fullmatch(name) for name in header]
    unit = next((match[2] for match in matches if match), "")
    names = [match[1] if match else _NSYS_OLD.get(name, name) for match, name in zip(matches, header, strict=True)]
    old = [unit if name in _NSYS_OLD else "" for name in header]
    return names, [match[2] if match else of_old for match, of_old in zip(matches, old, strict=True)]


def add_row(table: CsvTable, number: int, fields: list[str]) -> bool:
    """Take ``fields`` as a row of ``table``; False when the line is foreign to it."""
    if not table.begun and _is_unit_row(table, fields):
        table.units = [text.strip() for text in fields]
        return True
    if not _begins_like_row(table, fields):
        return False
    if fields[-1].endswith("\n"):
        table.malformed.append(number)
        table.broken.append(number)
        return True
    while len(fields) > len(table.header) and not fields[-1].strip():
        fields.pop()
    if not table.least_fields() <= len(fields) <= len(table.header) or not _counts_launches(table, fields):
        table.malformed.append(number)
    else:
        table.rows += 1
        table.pending.append((number, fields))
    return True


def _is_unit_row(table: CsvTable, fields: Sequence[str]) -> bool:
    if table.kind == "ncu_raw":
        return len(fields) > 1 and not fields[0].strip() and not fields[1].strip()
    if table.kind == "nvprof_summary":
        return table.field(fields, "Avg") in _TIMES
    if table.kind == "nvprof_trace":
        return table.field(fields, "Duration") in _TIMES
    if table.kind == "nvprof_counts":
        return len(fields) > 1 and not table.field(fields, "Correlation_ID") and not table.field(fields, "Kernel")
    return False


def _begins_like_row(table: CsvTable, fields: Sequence[str]) -> bool:
    checks = table.begins_row()
    if not checks:
        return len(fields) == len(table.header)
    texts = [(fields[column] if column is not None and column < len(fields) else "", p) for column, p in checks]
    # Types of nvprof stand as they are, numbers may have blanks around them.
    typed = table.kind == "nvprof_summary" and "Type" in table.header
    return all(re.fullmatch(pattern, text if typed else text.strip()) for text, pattern in texts)


def _counts_launches(table: CsvTable, fields: Sequence[str]) -> bool:
    """Whether a summary's row says how many launches it stands for; other rows stand for one."""
    column = table.count_of_launches()
    if column is None:
        return True
    text = fields[column].strip() if column < len(fields) else ""
    return re.fullmatch(COUNT, text) is not None and text.strip("0,.") != ""
