"""Find the tables in a profiler's output: by their header, wherever it stands.

A file may hold banners, the application's own lines (with commas and quotes), several
tables with different headers, and lines between rows. A header opens a table; what does
not look like a row of it is passed over and counted.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from roofctl.core.profiler_text import PERMISSION_TOKEN

_BANNER: Final = re.compile(r"\s*(?:==(?:[A-Z]+|\d+)==|={8,}(?:\s|$))")
_NVPROF_PROCESS: Final = re.compile(r"==(\d+)== NVPROF is profiling process")
_MOST_KEPT: Final = 10_000
_LONGEST_KEPT: Final = 2_000
COUNT: Final = re.compile(r"\d{1,12}|\d{1,3}(?:[,.]\d{3}){1,3}")
_DECIMAL: Final = re.compile(r"\d+(?:\.\d+)?")
HEADER_WORDS: Final = re.compile(r"Kernel|Invocations|Time\s?\(%\)|Grid X|Avg Size|Counter_Name")
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
    ("foreign_nsys", frozenset({"Time (%)", "Total Time (ns)", "Instances", "Name"})),
)
_NVPROF_TYPES: Final = ("GPU activities", "API calls", "OpenACC (excl)", "OpenACC (incl)", "Profiling result")


@dataclass
class Table:
    """One table: its header, the unit row if it has one, and rows with their line numbers.

    ``malformed`` lists lines that begin like a row but have more fields than the header,
    or too few to hold a value, or end within a quoted cell; the last of these are in ``broken``, too.
    """

    kind: str
    header: list[str]
    line: int
    delimiter: str
    units: list[str] | None = None
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    malformed: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)

    def column(self, name: str) -> int | None:
        """Index of a column by name, or None."""
        return self.header.index(name) if name in self.header else None

    def field(self, row: Sequence[str], name: str) -> str:
        """The cell of ``row`` under ``name``; empty when the column or the cell isn't there."""
        index = self.column(name)
        return row[index].strip() if index is not None and index < len(row) else ""


@dataclass
class Scan:
    """What a file holds: tables, banner lines (``==PROF== …``), and lines that are neither.

    ``outside`` are the first lines outside tables, banners too, in order; of the rest only what
    decides is kept, so that a log of any length fits. ``denied``: a foreign line says that the driver
    denied counters.
    """

    tables: list[Table] = field(default_factory=list)
    banners: list[str] = field(default_factory=list)
    foreign: list[int] = field(default_factory=list)
    foreign_lines: int = 0
    outside: list[str] = field(default_factory=list)
    nvprof_processes: set[str] = field(default_factory=set)
    denied: bool = False

    def lines(self) -> list[str]:
        """Lines outside tables by which a file without a usable table is judged."""
        return [*self.outside, *self.banners]

    def add_foreign(self, number: int, line: str) -> None:
        """Count a line that belongs to no table."""
        self.foreign_lines += 1
        if len(self.foreign) < _MOST_KEPT:
            self.foreign.append(number)
        self._keep(line)
        if PERMISSION_TOKEN in line:
            self.denied = True

    def add_banner(self, line: str) -> None:
        """Keep a line of the profiler's own."""
        if len(self.banners) < _MOST_KEPT:
            self.banners.append(line.strip()[:_LONGEST_KEPT])
        self._keep(line)

    def _keep(self, line: str) -> None:
        if len(self.outside) < _MOST_KEPT:
            self.outside.append(line[:_LONGEST_KEPT])
        if match := _NVPROF_PROCESS.search(line):
            self.nvprof_processes.add(match.group(1))


def classify(header: Sequence[str]) -> str | None:
    """Kind of table that a header belongs to, or None."""
    names = frozenset(name.strip() for name in header)
    return next((kind for kind, signature in _SIGNATURES if signature <= names), None)


def split_fields(line: str, delimiter: str = ",") -> list[str]:
    """Fields of one CSV line. A line never continues on the next: application output may hold lone quotes."""
    # Python 3.10's csv refuses NUL, which a damaged file may hold anywhere.
    return next(csv.reader([line.replace("\0", "\ufffd")], delimiter=delimiter), [])


def scan(lines: Iterable[str]) -> Scan:
    """Sort the lines of a file into tables, banners and foreign lines."""
    scanner = Scanner()
    for number, line in enumerate(lines, start=1):
        scanner.feed(number, line)
    return scanner.found


class Scanner:
    """Sorts lines one by one; ``table`` is the one that is open."""

    def __init__(self) -> None:
        csv.field_size_limit(2**27)
        self.found = Scan()
        self.table: Table | None = None

    def feed(self, number: int, line: str) -> None:
        """Take the next line, which is line ``number`` of its file."""
        if not line.strip():
            return
        if _BANNER.match(line):
            self.found.add_banner(line)
        elif self._is_ncu() and self._add(number, line):
            return  # Two counts begin it: no header does, whatever names a row may hold.
        elif opened := _open_table(line, number):
            self.table = opened
            self.found.tables.append(opened)
        elif self._is_ncu() or not self._add(number, line):
            self.found.add_foreign(number, line)

    def _is_ncu(self) -> bool:
        return self.table is not None and self.table.kind.startswith("ncu_")

    def _add(self, number: int, line: str) -> bool:
        # A quoted cell that is still open takes the line end in.
        return self.table is not None and _add_row(self.table, number, split_fields(line + "\n", self.table.delimiter))


def _open_table(line: str, number: int) -> Table | None:
    if not HEADER_WORDS.search(line):
        return None
    for delimiter in _DELIMITERS:
        if delimiter in line:
            # A byte-order mark may stand twice, or in the middle where files were joined.
            header = [name.strip() for name in split_fields(line.lstrip("\ufeff"), delimiter)]
            kind = classify(header)
            if kind:
                return Table(kind, header, number, delimiter)
    return None


def _add_row(table: Table, number: int, fields: list[str]) -> bool:
    """Take ``fields`` as a row of ``table``; False when the line is foreign to it."""
    if table.units is None and not table.rows and _is_unit_row(table, fields):
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
    if not least_fields(table) <= len(fields) <= len(table.header) or not _counts_launches(table, fields):
        table.malformed.append(number)
    else:
        table.rows.append((number, fields))
    return True


def _is_unit_row(table: Table, fields: Sequence[str]) -> bool:
    if table.kind == "ncu_raw":
        return len(fields) > 1 and not fields[0].strip() and not fields[1].strip()
    if table.kind == "nvprof_summary":
        return table.field(fields, "Avg") in ("s", "ms", "us", "ns")
    if table.kind == "nvprof_trace":
        return table.field(fields, "Duration") in ("s", "ms", "us", "ns")
    if table.kind == "nvprof_counts":
        return not table.field(fields, "Correlation_ID") and not table.field(fields, "Kernel")
    return False


def _begins_like_row(table: Table, fields: Sequence[str]) -> bool:
    if table.kind.startswith("ncu_"):
        names = ("Process ID", "Invocations") if table.kind == "ncu_summary" else ("ID", "Process ID")
        return all(COUNT.fullmatch(table.field(fields, name)) for name in names)
    if table.kind in ("nvprof_metrics", "nvprof_events", "nvprof_device"):
        return COUNT.fullmatch(table.field(fields, "Invocations")) is not None
    if table.kind == "nvprof_summary":
        typed = "Type" in table.header
        return (fields[0] in _NVPROF_TYPES) if typed else _DECIMAL.fullmatch(fields[0].strip()) is not None
    if table.kind == "nvprof_trace":
        return _DECIMAL.fullmatch(table.field(fields, "Start")) is not None
    if table.kind == "nvprof_counts":
        return COUNT.fullmatch(table.field(fields, "Correlation_ID")) is not None
    return len(fields) == len(table.header)


def _counts_launches(table: Table, fields: Sequence[str]) -> bool:
    """Whether a summary's row says how many launches it stands for; other rows stand for one."""
    column = "Calls" if table.kind == "nvprof_summary" else "Invocations"
    text = table.field(fields, column)
    return column not in table.header or (COUNT.fullmatch(text) is not None and text.strip("0,.") != "")


def least_fields(table: Table) -> int:
    """Fields that a row must at least have: those up to the last column that is always read.

    Details rows are ragged by design (rule columns follow); a raw row that is short was cut off.
    """
    if table.kind == "ncu_raw":
        return len(table.header)
    needed = {
        "ncu_details": "Metric Value",
        "ncu_summary": "Average",
        "nvprof_metrics": "Avg",
        "nvprof_events": "Avg",
        "nvprof_summary": "Name",
        "nvprof_trace": "Name",
        "nvprof_counts": "Kernel",
    }.get(table.kind)
    index = table.column(needed) if needed else None
    return 0 if index is None else index + 1
