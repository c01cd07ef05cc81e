"""Find the tables in a profiler's output: by their header, wherever it stands.

A file may hold banners, the application's own lines (with commas and quotes), several tables with different
headers, and lines between rows. A header opens a table; what does not look like a row of it is passed over and
counted. Lines that are plainly rows of the open table are split by pyarrow, many at a time; lines that are plainly
foreign are counted; every other line is looked at by itself.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np

from roofctl.core.profiler_text import PERMISSION_TOKEN
from roofctl.readers.streams import Block
from roofctl.readers.split import Layout, Lines, Rows, are_counts, matches, split, split_fields

_BANNER: Final = re.compile(r"\s*(?:==(?:[A-Z]+|\d+)==|={8,}(?:\s|$))")
_NVPROF_PROCESS: Final = re.compile(r"==(\d+)== NVPROF is profiling process")
_MOST_KEPT: Final = 10_000
_LONGEST_KEPT: Final = 2_000
_COUNT: Final = r"(?:[0-9]{1,12}|[0-9]{1,3}(?:[,.][0-9]{3}){1,3})"
_DECIMAL: Final = r"[0-9]+(?:\.[0-9]+)?"
_TITLES: Final = ("Kernel", "Invocations", "Time(%)", "Time (%)", "Grid X", "Avg Size", "Counter_Name")
"""Every header has one of these."""
_TITLE: Final = re.compile("|".join(map(re.escape, _TITLES)))
_DELIMITERS: Final = ",;\t"
FEW: Final = 48
"""Lines that are read one by one faster than many at a time."""

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
_HEADER_LIKE: Final = (
    r"Process ID|Metric Name|Event Name|Time\(%\)|Grid X|Correlation_ID|Avg Size|KernelName|Counter_Name|Total Time"
    r"|[^,;\t\"]\"[^,;\t\"]"
)
"""RE2: a line has one name of each signature, or quotes by which csv may put a name together."""
_NO_WORD: Final = r"[\x00-\x20\"]|[^\x00-\x7f]"
"""RE2: what may stand before the first digit of a count: quotes and any kind of blank."""
_NOTABLE: Final = rf"{_HEADER_LIKE}|{PERMISSION_TOKEN}|NVPROF is profiling|^(?:{_NO_WORD})*(?:=|$|\n)"
"""RE2: a line that may be more than a foreign one while no table is open."""

_NVPROF_TYPES: Final = ("GPU activities", "API calls", "OpenACC (excl)", "OpenACC (incl)", "Profiling result")
_TIMES: Final = ("s", "ms", "us", "ns")
_LAST_NEEDED: Final = {
    "ncu_details": "Metric Value",
    "ncu_summary": "Average",
    "nvprof_metrics": "Avg",
    "nvprof_events": "Avg",
    "nvprof_summary": "Name",
    "nvprof_trace": "Name",
    "nvprof_counts": "Kernel",
}
"""The last column that is always read, by kind: details rows are ragged by design (rule columns follow)."""


class Reader(Protocol):
    """Takes the rows of one table."""

    def columns(self) -> list[int]:
        """Places of the columns that ``take`` needs."""

    def take(self, rows: Rows) -> bool:
        """Take rows, which come in order; False where more columns are needed first."""


@dataclass
class Table:
    """One table: its header, the unit row if it has one, and how many rows were read.

    ``pending`` are rows that were read one by one and not yet given to ``reader``. ``malformed`` lists lines that
    begin like a row but have more fields than the header, or too few to hold a value, or end within a quoted cell;
    the last of these are in ``broken``, too.
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
            return [(self.column(name), _COUNT) for name in names]
        if self.kind in ("nvprof_metrics", "nvprof_events", "nvprof_device"):
            return [(self.column("Invocations"), _COUNT)]
        if self.kind == "nvprof_summary":
            return [(0, "|".join(map(re.escape, _NVPROF_TYPES)) if "Type" in self.header else _DECIMAL)]
        if self.kind == "nvprof_trace":
            return [(self.column("Start"), _DECIMAL)]
        return [(self.column("Correlation_ID"), _COUNT)] if self.kind == "nvprof_counts" else []

    def count_of_launches(self) -> int | None:
        """The column that holds how many launches a row stands for; None where each stands for one."""
        return self.column("Calls" if self.kind == "nvprof_summary" else "Invocations")

    def least_fields(self) -> int:
        """Fields that a row must at least have; a raw row that is short was cut off."""
        if self.kind == "ncu_raw":
            return len(self.header)
        index = self.column(_LAST_NEEDED.get(self.kind, ""))
        return 0 if index is None else index + 1

    def layout(self) -> Layout:
        """How its rows are written."""
        return Layout(self.delimiter, self.least_fields(), len(self.header))


@dataclass
class Scan:
    """Tables of a file, banner lines (``==PROF== …``), and lines that are neither.

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
        """Lines outside tables by which a file without a usable table is diagnosed."""
        return [*self.outside, *self.banners]

    def add_foreign(self, number: int, line: str) -> None:
        """Count a line that belongs to no table."""
        self.foreign_lines += 1
        if len(self.foreign) < _MOST_KEPT:
            self.foreign.append(number)
        self._keep(line)
        if PERMISSION_TOKEN in line:
            self.denied = True

    def add_many(self, lines: Lines, which: Any) -> None:
        """As ``add_foreign`` for lines without any word that decides."""
        self.foreign_lines += len(which)
        self.foreign += (which[: _MOST_KEPT - len(self.foreign)] + lines.first).tolist()
        self.outside += [lines.text(i)[:_LONGEST_KEPT] for i in which[: _MOST_KEPT - len(self.outside)].tolist()]

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


class Scanner:
    """Sorts the lines of a file into tables, banners and foreign lines, block by block; ``open_reader`` per table.

    ``promising``: a word of some header has come.
    """

    def __init__(self, open_reader: Callable[[Table], Reader | None]) -> None:
        csv.field_size_limit(2**27)
        self.found = Scan()
        self.promising = False
        self._table: Table | None = None
        self._open_reader = open_reader
        self._number = 1
        self._window = FEW

    def prepare(self, block: Block) -> Lines:
        """The next lines of the file, with their rows where they are all rows of the table that is open by now.

        May run in a thread while lines before these are fed.
        """
        lines = Lines(block, self._number)
        self._number += len(lines)
        self.promising = self.promising or any(title.encode() in block for title in _TITLES)
        table = self._table
        if table and table.begun and table.reader and FEW < len(lines) <= self._window:
            lines.prepared = table, *_regular(table, lines, np.arange(len(lines)), table.reader.columns())
        return lines

    def feed(self, lines: Lines) -> None:
        """Take lines, which come in order."""
        at = 0
        while at < len(lines):
            # Where tables follow each other closely, little is looked at again.
            at, opened = self._feed_some(lines, np.arange(at, min(at + self._window, len(lines))))
            self._window = FEW if opened else 8 * self._window

    def _feed_some(self, lines: Lines, which: Any) -> tuple[int, bool]:
        """Take some lines, up to a header or to the first row under it: where to go on, and whether it was that."""
        table, after = self._table, int(which[-1]) + 1
        rows, others = None, which
        if lines.prepared and lines.prepared[0] is table and len(which) == len(lines):
            _, rows, others = lines.prepared
        elif len(which) > FEW and table and table.begun and (reader := self._reader(table)):
            rows, others = _regular(table, lines, which, reader.columns())
        stop = self._feed_others(lines, others, after)
        if table:
            self._deliver(table, lines, rows.kept(rows.lines < lines.first + stop) if rows else None)
        return stop, stop < after

    def _feed_others(self, lines: Lines, others: Any, after: int) -> int:
        """Take lines one by one, all at once those that are plainly foreign; where the next lines begin."""
        table = self._table
        begun = table is not None and table.begun
        if len(others) > FEW:
            notable = others[matches(lines.array(others), _notable(table), full=False)]
        else:
            notable = others
        done = 0
        for index in notable.tolist():
            if len(notable) < len(others):
                place = int(np.searchsorted(others, index))
                self.found.add_many(lines, others[done:place])
                done = place + 1
            self._feed_line(lines.first + index, lines.text(index))
            if self._table is not table or (table is not None and table.begun != begun):
                return index + 1
        if len(notable) < len(others):
            self.found.add_many(lines, others[done:])
        return after

    def _feed_line(self, number: int, line: str) -> None:
        if not line.strip():
            return
        if _BANNER.match(line):
            self.found.add_banner(line)
        elif self._is_ncu() and self._add(number, line):
            return  # Two counts begin it: no header does, whatever names a row may hold.
        elif opened := _open_table(line, number):
            self._table = opened
            self.found.tables.append(opened)
        elif self._is_ncu() or not self._add(number, line):
            self.found.add_foreign(number, line)

    def _is_ncu(self) -> bool:
        return self._table is not None and self._table.kind.startswith("ncu_")

    def _add(self, number: int, line: str) -> bool:
        # A quoted cell that is still open takes the line end in.
        return self._table is not None and _add_row(
            self._table, number, split_fields(line + "\n", self._table.delimiter)
        )

    def _reader(self, table: Table) -> Reader | None:
        if table.reader is None:
            table.reader = self._open_reader(table)
        return table.reader

    def _deliver(self, table: Table, lines: Lines, rows: Rows | None) -> None:
        """Give the reader of ``table`` rows that were split together and those that were read one by one, in order."""
        pending, table.pending = table.pending, []
        table.rows += len(rows) if rows else 0
        reader = self._reader(table) if rows or pending else None
        while reader:
            places = reader.columns()
            if rows and not rows.columns.keys() >= set(places):
                rows = split(lines, rows.lines - lines.first, table.layout(), places)
            pieces = [Rows.of_fields(pending, places)] if pending else []
            if reader.take(Rows.merged([*pieces, *([rows] if rows else [])], places)):
                return


def _notable(table: Table | None) -> str:
    """RE2: lines that may be more than foreign ones while ``table`` is open."""
    if table is None:
        return _NOTABLE
    delimiter = re.escape(table.delimiter)
    if table.begun and table.kind.startswith("ncu_") and table.begins_row()[0][0] == 0:
        return rf"{_NOTABLE}|^(?:{_NO_WORD}|[0-9.,])*[0-9](?:{_NO_WORD}|[0-9.,])*{delimiter}"
    # One field is enough where only the first column says what a row is.
    lead = f"|^(?:{_NO_WORD})*[{_lead(table).decode()}]" if _lead(table) else ""
    return f"{_NOTABLE}|{delimiter}{lead}"


def _regular(table: Table, lines: Lines, which: Any, places: Sequence[int]) -> tuple[Rows | None, Any]:
    """Those of some lines that are plainly rows of ``table``, split, and which lines the others are."""
    kept = np.ones(len(which), np.bool_)
    if lead := _lead(table):
        begins = lines.starts[which]
        begins = np.minimum(begins + (lines.bytes[begins] == ord('"')), lines.ends[which])
        kept = _table_of(lead)[lines.bytes[begins]]
    if not table.kind.startswith("ncu_"):
        kept &= ~matches(lines.array(which), rf"{_HEADER_LIKE}|^(?:{_NO_WORD})*=", full=False)
    checks = table.begins_row()
    launches = table.count_of_launches()
    needed = [column for column, _ in checks if column is not None]
    if np.count_nonzero(kept) <= FEW or len(needed) < len(checks):
        return None, which
    rows = split(lines, which[kept], table.layout(), [*places, *needed, *([] if launches is None else [launches])])
    good = np.ones(len(rows), np.bool_)
    for column, pattern in checks:
        array = rows.columns[column or 0]
        if pattern != _COUNT or not are_counts(array):
            good &= matches(array, pattern)
    if launches is not None:
        good &= matches(rows.columns[launches], _COUNT) & matches(rows.columns[launches], "[1-9]", full=False)
    rows = rows.kept(good)
    return rows, np.setdiff1d(which, rows.lines - lines.first, assume_unique=True)


def _lead(table: Table) -> bytes:
    """Bytes that a row can begin with, but for a quote; empty where the first column says nothing."""
    column, pattern = next(iter(table.begins_row()), (None, ""))
    if column != 0:
        return b""
    if pattern in (_COUNT, _DECIMAL):
        return b"0123456789"
    return b"".join(sorted({name[:1].encode() for name in _NVPROF_TYPES}))


def _table_of(lead: bytes) -> Any:
    """Which bytes are in ``lead``, by byte."""
    return np.isin(np.arange(256), list(lead))


def _open_table(line: str, number: int) -> Table | None:
    if not _TITLE.search(line):
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


def _is_unit_row(table: Table, fields: Sequence[str]) -> bool:
    if table.kind == "ncu_raw":
        return len(fields) > 1 and not fields[0].strip() and not fields[1].strip()
    if table.kind == "nvprof_summary":
        return table.field(fields, "Avg") in _TIMES
    if table.kind == "nvprof_trace":
        return table.field(fields, "Duration") in _TIMES
    if table.kind == "nvprof_counts":
        return not table.field(fields, "Correlation_ID") and not table.field(fields, "Kernel")
    return False


def _begins_like_row(table: Table, fields: Sequence[str]) -> bool:
    checks = table.begins_row()
    if not checks:
        return len(fields) == len(table.header)
    texts = [(fields[column] if column is not None and column < len(fields) else "", p) for column, p in checks]
    # Types of nvprof stand as they are, numbers may have blanks around them.
    typed = table.kind == "nvprof_summary" and "Type" in table.header
    return all(re.fullmatch(pattern, text if typed else text.strip()) for text, pattern in texts)


def _counts_launches(table: Table, fields: Sequence[str]) -> bool:
    """Whether a summary's row says how many launches it stands for; other rows stand for one."""
    column = table.count_of_launches()
    if column is None:
        return True
    text = fields[column].strip() if column < len(fields) else ""
    return re.fullmatch(_COUNT, text) is not None and text.strip("0,.") != ""
