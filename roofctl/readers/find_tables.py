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
from typing import Any, Final

import numpy as np

from roofctl.core.profiler_text import PATTERNS
from roofctl.readers.split import Lines, Rows, are_counts, matches, split, split_fields
from roofctl.readers.streams import BLOCK_BYTES, Block
from roofctl.readers.tables import COUNT, TITLES, CsvTable, Reader, add_row, open_table

_BANNER: Final = re.compile(r"\s*(?:==(?:[A-Z]+|\d+)==|={8,}(?:\s|$))")
_NVPROF_PROCESS: Final = re.compile(r"==(\d+)== NVPROF is profiling process")
_MOST_KEPT: Final = 10_000
_LONGEST_KEPT: Final = 2_000
FEW: Final = 48
"""Lines that are read one by one faster than many at a time."""

_PERMISSION: Final = re.compile(PATTERNS["permission"])
_HEADER_LIKE: Final = (
    r"Process ID|Metric Name|Event Name|Time\(%\)|Grid X|Correlation_ID|Avg Size|KernelName|Counter_Name"
    r"|Total Time|CorrId|Total \(MB"
    r"|[^,;\t\"]\"[^,;\t\"\n]"
)
"""RE2: a line has one name of each signature, or quotes by which csv may put a name together."""
_TITLED: Final = "|".join(map(re.escape, TITLES))
"""RE2: no header is without one of these."""
_NO_WORD: Final = r"[\x00-\x20\"]|[^\x00-\x7f]"
"""RE2: what may stand before the first digit of a count: quotes and any kind of blank."""
_NOTABLE: Final = rf"{_HEADER_LIKE}|{_PERMISSION.pattern}|NVPROF is profiling|^(?:{_NO_WORD})*(?:=|$|\n)"
"""RE2: a line that may be more than a foreign one while no table is open."""


@dataclass
class Scan:
    """Tables of a file, banner lines (``==PROF== …``), and lines that are neither.

    ``outside`` are the first lines outside tables, banners too, in order; of the rest only what
    decides is kept, so that a log of any length fits. ``denied``: a foreign line says that the driver
    denied counters.
    """

    tables: list[CsvTable] = field(default_factory=list)
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
        if _PERMISSION.search(line):
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


class Scanner:
    """Sorts the lines of a file into tables, banners and foreign lines, block by block; ``open_reader`` per table.

    ``promising``: a word of some header has come.
    """

    def __init__(self, open_reader: Callable[[CsvTable], Reader | None]) -> None:
        csv.field_size_limit(2**27)
        self.found = Scan()
        self.promising = False
        self._table: CsvTable | None = None
        self._open_reader = open_reader
        self._number = 1
        self._window = FEW

    def block_bytes(self) -> int:
        """Bytes that are best read at a time: fewer of wide rows, whose columns all wait for the last block."""
        wide = self._table is not None and self._table.kind == "ncu_raw"
        return BLOCK_BYTES if wide else 2 * BLOCK_BYTES

    def lines(self, block: Block) -> Lines:
        """The next lines of the file, not yet numbered."""
        self.promising = self.promising or any(title.encode() in block for title in TITLES)
        return Lines(block)

    def prepare(self, lines: Lines) -> None:
        """Split lines that are all rows of the table that is open by now; may run in a thread while others are fed."""
        table = self._table
        if table and table.begun and table.reader and FEW < len(lines) <= self._window:
            lines.prepared = table, *_regular(table, lines, np.arange(len(lines)), table.reader.columns())

    def feed(self, lines: Lines) -> None:
        """Take lines, which come in order, and number them."""
        lines.first = self._number
        self._number += len(lines)
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
            rows = rows and Rows(rows.columns, rows.lines + lines.first)
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
        many = len(others) > FEW
        notable = others[matches(lines.array(others), _notable(table), full=False)] if many else others
        done = 0
        for index in notable.tolist():
            if many:
                place = int(np.searchsorted(others, index))
                self.found.add_many(lines, others[done:place])
                done = place + 1
            self._feed_line(lines.first + index, lines.text(index))
            if self._table is not table or (table is not None and table.begun != begun):
                return int(index) + 1
        if many:
            self.found.add_many(lines, others[done:])
        return after

    def _feed_line(self, number: int, line: str) -> None:
        if not line.strip():
            return
        if _BANNER.match(line):
            self.found.add_banner(line)
        elif self._is_ncu() and self._add(number, line):
            return  # Two counts begin it: no header does, whatever names a row may hold.
        elif opened := open_table(line, number):
            self._table = opened
            self.found.tables.append(opened)
        elif self._is_ncu() or not self._add(number, line):
            self.found.add_foreign(number, line)

    def _is_ncu(self) -> bool:
        return self._table is not None and self._table.kind.startswith("ncu_")

    def _add(self, number: int, line: str) -> bool:
        # A quoted cell that is still open takes the line end in.
        return self._table is not None and add_row(
            self._table, number, split_fields(line + "\n", self._table.delimiter)
        )

    def _reader(self, table: CsvTable) -> Reader | None:
        if table.reader is None:
            table.reader = self._open_reader(table)
        return table.reader

    def _deliver(self, table: CsvTable, lines: Lines, rows: Rows | None) -> None:
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


def _notable(table: CsvTable | None) -> str:
    """RE2: lines that may be more than foreign ones while ``table`` is open."""
    if table is None:
        return _NOTABLE
    delimiter = re.escape(table.delimiter)
    if table.begun and table.kind.startswith("ncu_") and table.begins_row()[0][0] == 0:
        return rf"{_NOTABLE}|^(?:{_NO_WORD}|[0-9.,])*[0-9](?:{_NO_WORD}|[0-9.,])*{delimiter}"
    # One field is enough where only the first column says what a row is.
    lead = f"|^(?:{_NO_WORD})*[{table.lead().decode()}]" if table.lead() else ""
    return f"{_NOTABLE}|{delimiter}{lead}"


def _regular(table: CsvTable, lines: Lines, which: Any, places: Sequence[int]) -> tuple[Rows | None, Any]:
    """Those of some lines that are plainly rows of ``table``, split, and which lines the others are."""
    needed = [*(column for column, _ in table.begins_row()), table.count_of_launches()]
    if None in needed[:-1]:
        return None, which
    places = [*places, *(column for column in needed if column is not None)]
    ncu = table.kind.startswith("ncu_")
    if ncu and table.uniform and len(which) == len(lines):
        # All at once, without a look at where each begins.
        rows = _rows(table, lines, which, places)
        if len(rows) == len(which):
            return rows, which[:0]
    kept = np.ones(len(which), np.bool_)
    if lead := table.lead():
        begins = lines.starts[which]
        begins = np.minimum(begins + (lines.bytes[begins] == ord('"')), lines.ends[which])
        kept = np.isin(np.arange(256), list(lead))[lines.bytes[begins]]
    if not ncu:
        kept &= ~_doubtful(lines, which)
    if np.count_nonzero(kept) <= FEW:
        return None, which
    rows = _rows(table, lines, which[kept], places)
    table.uniform = len(rows) == len(which)
    return rows, np.setdiff1d(which, rows.lines - lines.first, assume_unique=True)


def _rows(table: CsvTable, lines: Lines, which: Any, places: Sequence[int]) -> Rows:
    """Those of some lines that are rows of ``table``, split."""
    rows = split(lines, which, table.layout(), places)
    good = np.ones(len(rows), np.bool_)
    for column, pattern in table.begins_row():
        array = rows.columns[column or 0]
        if pattern != COUNT or not are_counts(array):
            good &= matches(array, pattern)
    if (launches := table.count_of_launches()) is not None:
        good &= matches(rows.columns[launches], COUNT) & matches(rows.columns[launches], "[1-9]", full=False)
    return rows.kept(good)


def _doubtful(lines: Lines, which: Any) -> Any:
    """Which lines may be headers or banners."""
    first = lines.bytes[lines.starts[which]]
    doubtful = (first == ord("=")) | (first <= ord(" ")) | (first > 127)  # noqa: PLR2004
    array = lines.array(which)
    titled = matches(array, _TITLED, full=False)
    # Names of kernels may hold a title, too.
    return doubtful | (titled & matches(array, _HEADER_LIKE, full=False) if titled.any() else titled)
