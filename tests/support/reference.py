"""A plain, slow reader of profilers' tables, line by line with ``csv``: what the reader of the package is compared with."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pandas as pd

from roofctl.core.notes import Note
from roofctl.core.profiler_text import PATTERNS
from roofctl.core.units import parse_unit
from roofctl.launches.table import IDENTITY, Part
from roofctl.quantities import catalogue
from roofctl.readers import diagnose, streams
from roofctl.readers.cells import Cell, count, shape
from roofctl.readers.convert import Converter, array
from roofctl.readers.ncu_csv import NCU_IDENTITY
from roofctl.readers.numbers import DecimalSeparator, Evidence, Number, decide, gather, is_missing, split_glued
from roofctl.readers.parts import captures_of
from roofctl.readers.read import _nothing_read, _scan_notes, _skipped, _with_notes, conversion_notes
from roofctl.readers.tables import classify
from roofctl.readers.text import _empty, check_text

_BANNER: Final = re.compile(r"\s*(?:==(?:[A-Z]+|\d+)==|={8,}(?:\s|$))")
_NVPROF_PROCESS: Final = re.compile(r"==(\d+)== NVPROF is profiling process")
_MOST_KEPT: Final = 10_000
_LONGEST_KEPT: Final = 2_000
COUNT: Final = re.compile(r"\d{1,12}|\d{1,3}(?:[,.]\d{3}){1,3}")
_DECIMAL: Final = re.compile(r"\d+(?:\.\d+)?")
HEADER_WORDS: Final = re.compile(r"Kernel|Invocations|Time\s?\(%\)|Grid X|Avg Size|Counter_Name")
_DELIMITERS: Final = ",;\t"

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
        if re.search(PATTERNS["permission"], line):
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


def split_fields(line: str, delimiter: str = ",") -> list[str]:
    """Fields of one CSV line. A line never continues on the next: application output may hold lone quotes."""
    # Python 3.10's csv refuses NUL, which a damaged file may hold anywhere.
    return next(csv.reader([line.replace("\0", "\ufffd")], delimiter=delimiter), [])


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
        return len(fields) > 1 and not table.field(fields, "Correlation_ID") and not table.field(fields, "Kernel")
    return False


def _begins_like_row(table: Table, fields: Sequence[str]) -> bool:
    if table.kind.startswith("ncu_"):
        names = ("Process ID", "Invocations") if table.kind == "ncu_summary" else ("ID", "Process ID")
        return all(COUNT.fullmatch(table.field(fields, name)) for name in names)
    if table.kind in ("nvprof_metrics", "nvprof_events", "nvprof_device"):
        return COUNT.fullmatch(table.field(fields, "Invocations")) is not None
    if table.kind == "nvprof_summary":
        typed = "Type" in table.header
        return (
            (fields[0] in _NVPROF_TYPES)
            if typed
            else re.fullmatch(rf"{_DECIMAL.pattern}%?", fields[0].strip()) is not None
        )
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


@dataclass
class Launch:
    """One launch, or the summary of ``launches`` of them, before its cells are numbers.

    ``cells`` maps counters to mean (or only) values; ``minimum``, ``maximum`` and ``total``
    hold what a summary prints beside the mean. ``names`` are all counters with a value,
    known to roofctl or not.
    """

    kernel: str
    process: str = ""
    block: str = ""
    grid: str = ""
    device: str = ""
    compute_capability: str = ""
    launches: int = 1
    is_summary: bool = False
    cells: dict[str, Cell] = field(default_factory=dict)
    minimum: dict[str, Cell] = field(default_factory=dict)
    maximum: dict[str, Cell] = field(default_factory=dict)
    total: dict[str, Cell] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def all_cells(self) -> Iterator[Cell]:
        for cells in (self.cells, self.minimum, self.maximum, self.total):
            yield from cells.values()


def _identity(table: Table, row: list[str]) -> Launch:
    return Launch(
        kernel=table.field(row, "Kernel Name"),
        process=table.field(row, "Process ID"),
        block=shape(table.field(row, "Block Size")),
        grid=shape(table.field(row, "Grid Size")),
        compute_capability=table.field(row, "CC"),
    )


def read_raw(table: Table, known: frozenset[str]) -> list[Launch]:
    """Raw page: one row per launch, one column per counter, units in a row of their own."""
    units = table.units or []
    wanted = [(i, name) for i, name in enumerate(table.header) if name in known]
    counters = [(i, name) for i, name in enumerate(table.header) if name not in NCU_IDENTITY]
    launches = []
    for line, row in table.rows:
        launch = _identity(table, row)
        launch.device = table.field(row, "device__attribute_display_name")
        launch.cells = {name: Cell(row[i], units[i] if i < len(units) else "", line) for i, name in wanted}
        launch.names = {name for i, name in counters if not is_missing(row[i])}
        launches.append(launch)
    return launches


def _metric(table: Table, row: list[str]) -> str:
    printed, names = table.field(row, "Metric Name"), catalogue()
    if table.field(row, "Metric Unit") == "%" and printed in names.percentages:
        return names.percentages[printed]
    return names.labels.get(printed, printed)


def read_details(table: Table, known: frozenset[str]) -> tuple[list[Launch], int]:
    """Details page: one row per launch and metric. Returns launches and the number of rule rows passed over.

    A launch is identified by process, ID and kernel. A metric that stands in two sections
    is taken once, from the first.
    """
    launches: dict[tuple[str, str, str], Launch] = {}
    rules = 0
    for line, row in table.rows:
        key = (table.field(row, "Process ID"), table.field(row, "ID"), table.field(row, "Kernel Name"))
        launch = launches.get(key) or launches.setdefault(key, _identity(table, row))
        metric = _metric(table, row)
        if not metric:
            rules += 1
            continue
        value = table.field(row, "Metric Value")
        if metric == "device__attribute_display_name":
            launch.device = value
        if not is_missing(value):
            launch.names.add(metric)
        if metric in known:
            launch.cells.setdefault(metric, Cell(value, table.field(row, "Metric Unit"), line))
    return list(launches.values()), rules


def read_summary(table: Table, known: frozenset[str]) -> list[Launch]:
    """``--print-summary per-kernel``: means over launches, grouped by kernel and launch shape."""
    launches: dict[tuple[str, ...], Launch] = {}
    keys = ("Process ID", "Kernel Name", "Block Size", "Grid Size", "Device", "Device Id", "Invocations")
    for line, row in table.rows:
        key = tuple(table.field(row, name) for name in keys)
        launch = launches.get(key)
        if launch is None:
            launch = launches.setdefault(key, _identity(table, row))
            launch.launches = count(table.field(row, "Invocations"))
            launch.is_summary = True
        metric, unit = _metric(table, row), table.field(row, "Metric Unit")
        value = table.field(row, "Average")
        if not is_missing(value):
            launch.names.add(metric)
        if metric in known:
            launch.cells.setdefault(metric, Cell(value, unit, line))
            launch.minimum.setdefault(metric, Cell(table.field(row, "Minimum"), unit, line))
            launch.maximum.setdefault(metric, Cell(table.field(row, "Maximum"), unit, line))
    return list(launches.values())


TIME_AVERAGE: Final = "GPU activities Avg"
TIME_TRACE: Final = "GPU trace Duration"


def _device(text: str) -> str:
    """``Tesla V100S-PCIE-32GB (0)`` without the device index."""
    return re.sub(r"\s*\(\d+\)$", "", text)


def _without_correlation(name: str, correlation: str) -> str:
    """``k(int) [94]`` without its correlation ID: nvprof puts it there where the trace has no column for it."""
    match = re.fullmatch(r"(.*\S)\s+\[(\d+)\]", name)
    return match.group(1) if match and correlation in ("", match.group(2)) else name


def _cell(text: str, line: int, unit: str = "") -> Cell:
    value, glued = split_glued(text)
    return Cell(value, glued or unit, line)


def read_counts(table: Table, known: frozenset[str]) -> list[Launch]:
    """``--metrics`` or ``--events``: minimum, maximum and rounded mean per kernel."""
    name_column = "Event Name" if table.kind == "nvprof_events" else "Metric Name"
    launches: dict[tuple[str, ...], Launch] = {}
    for line, row in table.rows:
        key = tuple(table.field(row, name) for name in ("Device", "Kernel", "Invocations"))
        launch = launches.get(key)
        if launch is None:
            launch = Launch(key[1], device=_device(key[0]), launches=count(key[2]), is_summary=True)
            launches[key] = launch
        counter = table.field(row, name_column)
        if not is_missing(table.field(row, "Avg")):
            launch.names.add(counter)
        if counter in known:
            launch.cells[counter] = _cell(table.field(row, "Avg"), line)
            launch.minimum[counter] = _cell(table.field(row, "Min"), line)
            launch.maximum[counter] = _cell(table.field(row, "Max"), line)
    return list(launches.values())


def read_timing(table: Table) -> tuple[list[Launch], int]:
    """Timing summary: every column has its own unit. Returns kernels and the number of rows that are none."""
    launches = []
    for line, row in table.rows:
        name = table.field(row, "Name")
        activity = table.field(row, "Type") or "GPU activities"
        if activity != "GPU activities" or not name or re.fullmatch(r"\[.*\]", name):
            continue
        launch = Launch(name, launches=count(table.field(row, "Calls")), is_summary=True, names={TIME_AVERAGE})
        for target, column in (
            (launch.cells, "Avg"),
            (launch.minimum, "Min"),
            (launch.maximum, "Max"),
            (launch.total, "Time"),
        ):
            unit = table.field(table.units or [], column)
            target[TIME_AVERAGE] = _cell(table.field(row, column), line, unit)
        launches.append(launch)
    return launches, len(table.rows) - len(launches)


def read_trace(table: Table) -> tuple[list[Launch], int]:
    """GPU trace: kernels are the rows with a grid; copies, fills and page faults have none."""
    unit = table.field(table.units or [], "Duration")
    launches = []
    for line, row in table.rows:
        if not table.field(row, "Grid X"):
            continue
        block, grid = (
            "(" + ", ".join(table.field(row, f"{kind} {axis}") for axis in "XYZ") + ")" for kind in ("Block", "Grid")
        )
        launches.append(
            Launch(
                _without_correlation(table.field(row, "Name"), table.field(row, "Correlation_ID")),
                block=block,
                grid=grid,
                device=_device(table.field(row, "Device")),
                cells={TIME_TRACE: _cell(table.field(row, "Duration"), line, unit)},
                names={TIME_TRACE},
            )
        )
    return launches, len(table.rows) - len(launches)


def read_trace_counts(table: Table, known: frozenset[str]) -> list[Launch]:
    """``--print-gpu-trace`` with ``--metrics`` or ``--events``: one row per launch, one column per counter."""
    units = table.units or []
    fixed = ("Device", "Context", "Stream", "Kernel", "Correlation_ID")
    launches = []
    for line, row in table.rows:
        launch = Launch(table.field(row, "Kernel"), device=_device(table.field(row, "Device")))
        for index, counter in enumerate(table.header):
            text = row[index] if index < len(row) else ""
            if counter in fixed or is_missing(text):
                continue
            launch.names.add(counter)
            if counter in known:
                launch.cells[counter] = _cell(text, line, units[index] if index < len(units) else "")
        launches.append(launch)
    return launches


def to_parts(launches: Sequence[Launch], converter: Converter) -> list[Part]:
    """Frames of one file, one per capture found in it.

    Processes of one capture collect the same counters. Two processes that share none stand
    for two captures put into one file; their times are never mixed.
    """
    return [
        Part(
            frame=_frame(group, converter),
            source=converter.source,
            names=frozenset(name for launch in group for name in launch.names),
        )
        for group in _split(launches)
    ]


def _split(launches: Sequence[Launch]) -> list[list[Launch]]:
    counters: dict[str, set[str]] = {}
    for launch in launches:
        counters.setdefault(launch.process, set()).update(launch.names)
    return [[launch for launch in launches if launch.process in group] for group in captures_of(counters)]


def _frame(launches: Sequence[Launch], converter: Converter) -> pd.DataFrame:
    identity: dict[str, list[Any]] = {name: [getattr(launch, name) or None for launch in launches] for name in IDENTITY}
    identity["launches"] = [launch.launches for launch in launches]
    identity["is_summary"] = [launch.is_summary for launch in launches]
    counters: dict[str, list[Number | None]] = {}
    for prefix, attribute in (("", "cells"), ("min:", "minimum"), ("max:", "maximum"), ("total:", "total")):
        for counter in _counters(getattr(launch, attribute) for launch in launches):
            counters[prefix + counter] = [
                converter.number(counter, cell) if (cell := getattr(launch, attribute).get(counter)) else None
                for launch in launches
            ]
    columns = {name: array(values) for name, values in counters.items()}
    for counter in (name for name in counters if name in converter.catalogue.rounded()):
        steps = [_step(launch.cells.get(counter), converter.decimal) for launch in launches]
        if any(steps):
            columns[f"step:{counter}"] = steps
    return pd.DataFrame({**identity, **columns})


def _step(cell: Cell | None, decimal: DecimalSeparator) -> float:
    _, separated, digits = (cell.text if cell else "").partition("." if decimal == "point" else ",")
    unit = parse_unit(cell.unit) if cell else None
    return 0.5 * 10.0 ** -min(len(digits), 30) * (unit.factor if unit else 1.0) if separated else 0.0


def _counters(cells: Iterable[dict[str, Cell]]) -> list[str]:
    return list(dict.fromkeys(counter for each in cells for counter in each))


def read_text(lines: Iterable[str], source: str, *, decimal: DecimalSeparator | None = None) -> list[Part]:
    """As ``read_file``, for lines already read; ``source`` names them in messages."""
    found = scan(lines)
    kinds = [table.kind for table in found.tables]
    foreign = diagnose.foreign_table(source, kinds) or diagnose.interleaved(source, found)
    if foreign:
        raise foreign
    if not found.tables:
        raise diagnose.no_table(source, found)
    denied = diagnose.permission_error(source, found.banners)
    if denied and not all(kind in ("nvprof_summary", "nvprof_trace") for kind in kinds):
        raise denied
    notes = _scan_notes(found, source)
    parts: list[Part] = []
    for family in ("ncu_raw", "ncu_details", "ncu_summary", "nvprof"):
        tables = [table for table in found.tables if table.kind.startswith(family)]
        for batch in [tables] if family != "nvprof" else [[table] for table in tables]:
            parts += _read_batch(batch, source, decimal, notes)
    if not parts:
        for table in found.tables:
            table.rows = len(table.rows)  # type: ignore[assignment]
        raise _nothing_read(source, found, notes)  # type: ignore[arg-type]
    return [_with_notes(parts[0], notes), *parts[1:]]


def _read_batch(
    tables: Sequence[Table], source: str, decimal: DecimalSeparator | None, notes: list[Note]
) -> list[Part]:
    launches: list[Launch] = []
    for index, table in enumerate(tables):
        read = _read_table(table, source, notes)
        for launch in read:
            # A header that comes again starts another run: its IDs say nothing about the earlier ones.
            launch.process = f"{launch.process}/{index}" if len(tables) > 1 else launch.process
        launches += read
    if not launches:
        return []
    names = frozenset(name for launch in launches for name in launch.names)
    amd = diagnose.amd_counters(source, names)
    if amd:
        raise amd
    quoted = not tables[0].kind.startswith("nvprof")  # nvprof prints numbers unquoted, always with a point
    converter = Converter(source, (decimal or _mark(launches, tables, source)) if quoted else "point", catalogue())
    parts = to_parts(launches, converter)
    if len(tables) > 1 and len(parts) < len(tables):
        notes.append(
            Note(
                f"{source}: {len(tables)} tables follow each other and count the same: taken as launches of one "
                "capture; give captures to compare as files of their own"
            )
        )
    notes += conversion_notes(converter)
    return parts


def _mark(launches: Sequence[Launch], tables: Sequence[Table], source: str) -> DecimalSeparator:
    evidence = gather(cell.text for launch in launches for cell in launch.all_cells())
    if evidence.ambiguous and not (evidence.point or evidence.comma):
        # Counters that roofctl does not use can still settle how the file writes numbers.
        evidence = gather(_numeric_cells(tables))
        evidence = Evidence(evidence.point, evidence.comma, evidence.ambiguous or "?")
    return decide(evidence, source)


def _numeric_cells(tables: Sequence[Table]) -> list[str]:
    """All cells that may hold a counter's value: not names, shapes, or ``CC`` (8.9 whatever the locale)."""
    cells: list[str] = []
    for table in tables:
        long = table.kind != "ncu_raw"
        values = {"Metric Value", "Minimum", "Maximum", "Average"}
        columns = [i for i, name in enumerate(table.header) if (name in values if long else "__" in name)]
        cells += [row[i] for _, row in table.rows for i in columns if i < len(row)]
    return cells


def _read_table(table: Table, source: str, notes: list[Note]) -> list[Launch]:
    known = catalogue().counters()
    skipped = 0
    what = ""
    launches: list[Launch] = []
    if table.kind == "ncu_raw":
        launches = read_raw(table, known)
    elif table.kind == "ncu_details":
        launches, skipped = read_details(table, known)
        what = "rule rows"
    elif table.kind == "ncu_summary":
        launches = read_summary(table, known)
    elif table.kind in ("nvprof_metrics", "nvprof_events"):
        launches = read_counts(table, known)
    elif table.kind == "nvprof_summary":
        launches, skipped = read_timing(table)
        what = "rows that are no kernels (copies, fills, API calls)"
    elif table.kind == "nvprof_trace":
        launches, skipped = read_trace(table)
        what = "rows that are no kernels (copies, fills, page faults)"
    elif table.kind == "nvprof_counts":
        launches = read_trace_counts(table, known)
    else:
        skipped = len(table.rows) + len(table.malformed)
        what = "rows that belong to the device, not to a kernel"
    if skipped:
        notes.append(_skipped(source, skipped, what))
    return launches


def scan(lines: Iterable[str]) -> Scan:
    """Sort the lines of a file into tables, banners and foreign lines."""
    scanner = Scanner()
    for number, line in enumerate(lines, start=1):
        scanner.feed(number, line)
    return scanner.found


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a text file one by one, without line ends; damaged bytes as replacement characters."""
    check_text(path)
    blank = True
    for block in streams.blocks(path):
        blank = blank and not block.strip()
        text = block.decode("utf-8", errors="replace").replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")
        yield from text.removesuffix("\n").split("\n")
    if blank:
        raise _empty(path)


def read_file(path: Path, *, decimal: DecimalSeparator | None = None) -> list[Part]:
    """As ``roofctl.readers.read.read_file``, for texts."""
    return read_text(read_lines(path), str(path), decimal=decimal)
