"""Read what profilers print. The format is recognised, never asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from roofctl.core.errors import NoKernels
from roofctl.core.kernel_names import some
from roofctl.core.notes import Note
from roofctl.launches.table import Part
from roofctl.quantities import catalogue
from roofctl.readers import databases, diagnose, ncu_csv, nsys, nvprof_csv, text, text_tables
from roofctl.readers.cells import Launches
from roofctl.readers.convert import Converter
from roofctl.readers.decimals import evidence, first_examples
from roofctl.readers.find_tables import Scan, Scanner
from roofctl.readers.ncurep import export, packed
from roofctl.readers.ncurep import read as ncurep
from roofctl.readers.numbers import DecimalSeparator, Evidence, decide
from roofctl.readers.parts import to_parts
from roofctl.readers.split import Rows, save_memory
from roofctl.readers.streams import Block
from roofctl.readers.tables import CsvTable, Reader

__all__ = ["read_file", "read_text"]

_LONGEST_PAGE: Final = 64 << 20
"""Bytes of a text page; a launch with all details has some ten thousand."""

Blocks = Callable[[Scanner], Iterator[Block]]
"""Gives the blocks of a text, from its begin each time; is given whether a table is in sight."""


class _TableReader(Reader, Protocol):
    """Reads one kind of table; ``skipped`` counts rows that are no launches, ``what`` says what they are."""

    skipped: int
    what: str

    def launches(self) -> Launches: ...


_READERS: Final[dict[str, Callable[[CsvTable, frozenset[str]], _TableReader]]] = {
    "ncu_raw": ncu_csv.RawPage,
    "ncu_details": ncu_csv.details_page,
    "ncu_summary": ncu_csv.summary,
    "nvprof_metrics": nvprof_csv.counts,
    "nvprof_events": nvprof_csv.counts,
    "nvprof_summary": nvprof_csv.Summary,
    "nvprof_trace": nvprof_csv.Trace,
    "nvprof_counts": nvprof_csv.TraceCounts,
    **nsys.READERS,
}


def read_file(path: Path, *, decimal: DecimalSeparator | None = None) -> list[Part]:
    """Read one profiler output file into parts, one per table kind and capture in it.

    ``decimal`` states the decimal separator where the file leaves it open. gzip and zstd are unpacked on the way.
    Raises InputError (or CounterAccessError) that says what the file looks like when it holds no usable table.
    """
    if packed.is_report(path):
        return packed.read_report(path, read_file)
    if ncurep.is_meant(path):
        return ncurep.read_report(path) or export.plain(read_text(export.printed(path), str(path)))
    if databases.is_database(path):
        return databases.read(path)
    return _read(partial(text.text_blocks, path), str(path), decimal)


def read_text(content: bytes, source: str, *, decimal: DecimalSeparator | None = None) -> list[Part]:
    """As ``read_file``, for text already read; ``source`` names it in messages."""
    block = text.plain_text(content if content.endswith(b"\n") else content + b"\n")
    return _read(lambda _: iter([block]), source, decimal)


def _read(blocks: Blocks, source: str, decimal: DecimalSeparator | None) -> list[Part]:
    readers: dict[int, _TableReader] = {}

    def open_reader(table: CsvTable) -> Reader | None:
        if table.kind not in _READERS:
            return None
        return readers.setdefault(id(table), _READERS[table.kind](table, catalogue().counters()))

    found = _scan(blocks, source, open_reader)
    kinds = [table.kind for table in found.tables]
    foreign = diagnose.foreign_table(source, kinds) or diagnose.interleaved(source, found)
    if foreign:
        raise foreign
    if not found.tables:
        if printed := _printed(blocks):
            return _of_text(printed, source)
        raise diagnose.no_table(source, found)
    denied = diagnose.permission_error(source, found.banners)
    if denied and not all(kind in ("nvprof_summary", "nvprof_trace") for kind in kinds):
        raise denied
    notes = _scan_notes(found, source)
    parts: list[Part] = []
    for family in ("ncu_raw", "ncu_details", "ncu_summary", "nvprof", "nsys"):
        tables = [table for table in found.tables if table.kind.startswith(family)]
        for batch in [tables] if family not in ("nvprof", "nsys") else [[table] for table in tables]:
            taken = [(table, readers.pop(id(table), None)) for table in batch]
            parts += _parts_of(taken, source, decimal, notes, partial(_all_numbers, blocks, source, family))
    if not parts:
        raise _nothing_read(source, found, notes)
    return [_with_notes(parts[0], notes), *parts[1:]]


def _printed(blocks: Blocks) -> bytes:
    """The text with its text tables as CSV; empty where it holds none, or is longer than a text page is."""
    content = b""
    for block in blocks(Scanner(lambda _: None)):
        content += block
        if len(content) > _LONGEST_PAGE:
            return b""
    return text_tables.as_csv(content.decode(errors="replace").splitlines()).encode()


def _of_text(printed: bytes, source: str) -> list[Part]:
    parts = read_text(printed, source)
    if all(part.names <= {nsys.AVERAGE, nsys.DURATION} for part in parts):
        return parts  # nsys prints nanoseconds
    note = Note(f"{source}: read from tables of text, which hold few digits; --csv prints more")
    return [_with_notes(parts[0], (note, *parts[0].notes)), *parts[1:]]


def _scan(blocks: Blocks, source: str, open_reader: Callable[[CsvTable], Reader | None]) -> Scan:
    save_memory()
    scanner = Scanner(open_reader)
    for lines in text.ahead(map(scanner.lines, blocks(scanner)), scanner.prepare):
        scanner.feed(lines)
        if scanner.found.foreign_lines > text.MOST_LINES:
            raise text.too_long(source)
    return scanner.found


def _parts_of(
    tables: Sequence[tuple[CsvTable, _TableReader | None]],
    source: str,
    decimal: DecimalSeparator | None,
    notes: list[Note],
    all_numbers: Callable[[], Evidence],
) -> list[Part]:
    """Parts of tables of one kind that follow each other."""
    batch: list[Launches] = []
    for number, (table, reader) in enumerate(tables):
        skipped, what = len(table.malformed) + table.rows, "rows that belong to the device, not to a kernel"
        if table.kind == "nsys_other":
            skipped = 0
        if table.kind in _READERS:
            skipped, what = (reader.skipped, reader.what) if reader else (0, "")
        if skipped:
            notes.append(_skipped(source, skipped, what))
        if reader and table.rows:
            batch.append(reader.launches())
            # A header that comes again starts another run: its IDs say nothing about the earlier ones.
            batch[-1].run = f"/{number}" if len(tables) > 1 else ""
    if not any(map(len, batch)):
        return []
    names = frozenset(name for launches in batch for of_process in launches.names.values() for name in of_process)
    amd = diagnose.amd_counters(source, names)
    if amd:
        raise amd
    if tables[0][0].kind.startswith(("nvprof", "nsys")):
        decimal = "point"  # both print numbers with a point in any locale
    converter = Converter(source, decimal or _decimal(batch, source, all_numbers), catalogue())
    parts = to_parts(batch, converter)
    if len(tables) > 1 and len(parts) < len(tables):
        notes.append(
            Note(
                f"{source}: {len(tables)} tables follow each other and count the same: taken as launches of one "
                "capture; give captures to compare as files of their own"
            )
        )
    notes += conversion_notes(converter)
    return parts


def conversion_notes(converter: Converter) -> list[Note]:
    """Notes on values that a spreadsheet rounded, and on those below 0, which profilers print by mistake."""
    notes = _rounded(converter)
    if converter.negative:
        counters = ", ".join(f"{name} ({count})" for name, count in converter.negative.items())
        text = f"{converter.source}: values below 0, which no counter can have, are left out: {counters}"
        notes.append(Note(text, warning=True))
    return notes


def _rounded(converter: Converter) -> list[Note]:
    if not converter.rounded:
        return []
    lost = (
        f"{converter.rounded} values are in exponent form: a spreadsheet or a text page rounded them, and lost digits"
    )
    return [Note(f"{converter.source}: {lost}")]


def _skipped(source: str, rows: int, what: str) -> Note:
    return Note(f"{source}: {rows} {what} passed over")


def _decimal(batch: Sequence[Launches], source: str, all_numbers: Callable[[], Evidence]) -> DecimalSeparator:
    seen = evidence(batch)
    if seen.ambiguous and not (seen.point or seen.comma):
        # Counters that roofctl does not use can still settle how the file writes numbers.
        others = all_numbers()
        seen = Evidence(others.point, others.comma, others.ambiguous or "?")
    return decide(seen, source)


class _NumericCells:
    """Looks through all cells that may hold a counter's value: not names, shapes, or ``CC`` (8.9 in any locale)."""

    def __init__(self, table: CsvTable) -> None:
        long = table.kind != "ncu_raw"
        values = {"Metric Value", "Minimum", "Maximum", "Average"}
        self._columns = [i for i, name in enumerate(table.header) if (name in values if long else "__" in name)]
        self.found = Evidence()

    def columns(self) -> list[int]:
        return self._columns

    def take(self, rows: Rows) -> bool:
        new = first_examples([rows.columns[place] for place in self._columns])
        self.found = _first(self.found, new)
        return True


def _first(one: Evidence, two: Evidence) -> Evidence:
    return Evidence(one.point or two.point, one.comma or two.comma, one.ambiguous or two.ambiguous)


def _all_numbers(blocks: Blocks, source: str, family: str) -> Evidence:
    """What all numeric cells of a kind of tables say of the decimal separator: the file is read once more."""
    readers: list[_NumericCells] = []

    def open_reader(table: CsvTable) -> Reader:
        readers.append(_NumericCells(table))
        if not table.kind.startswith(family):
            readers.pop()
            return _NumericCells(table)
        return readers[-1]

    _scan(blocks, source, open_reader)
    found = Evidence()
    for reader in readers:
        found = _first(found, reader.found)
    return found


def _scan_notes(found: Scan, source: str) -> list[Note]:
    notes = [
        Note(f"{'incomplete capture ' if cut else ''}{source}: the profiler says: {line}", warning=True, incomplete=cut)
        for line in diagnose.error_lines(found)
        for cut in (diagnose.ended_early(line),)
    ]
    for table in found.tables:
        if table.broken:
            shown = some([str(line) for line in table.broken], 5)
            notes.append(
                Note(
                    f"{source}: {len(table.broken)} rows end within a quoted cell (the file was cut there, or written "
                    f"into) and were passed over: line {shown}",
                    warning=True,
                )
            )
        unfit = sorted({*table.malformed}.difference(table.broken))
        if unfit and table.kind != "nvprof_device":
            shown = some([str(line) for line in unfit], 5)
            notes.append(
                Note(
                    f"{source}: {len(unfit)} rows do not fit the header of line {table.line} "
                    f"({len(table.header)} columns) and were passed over: line {shown}",
                    warning=True,
                )
            )
    if found.foreign_lines:
        first = found.foreign[0]
        notes.append(
            Note(
                f"{source}: {found.foreign_lines} lines that belong to no table passed over, the first is line {first}",
                detail=True,
            )
        )
    return notes


def _with_notes(part: Part, notes: Sequence[Note]) -> Part:
    return replace(part, notes=tuple(notes))


def _nothing_read(source: str, found: Scan, notes: Sequence[Note]) -> Exception:
    denied = diagnose.permission_error(source, found.lines(), denied=found.denied)
    if denied:
        return denied
    rows = sum(table.rows + len(table.malformed) for table in found.tables)
    if not rows:
        kinds = ", ".join(sorted({table.kind.replace("_", " ") for table in found.tables}))
        return NoKernels(
            f"{source} has the header of a table ({kinds}) but no row under it: no kernel was profiled",
            hint="check the kernel filter, and that the profiler run finished",
        )
    reasons = "; ".join(note.text.partition(": ")[2] for note in notes)
    return NoKernels(
        f"{source}: all {rows} rows were passed over, none is a kernel ({reasons})",
        hint="capture kernels: ncu --csv --page raw …, or nvprof --csv --print-gpu-summary",
    )
