"""Read what profilers print. The format is recognised, never asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from roofctl.core.errors import NoKernels
from roofctl.core.kernel_names import some
from roofctl.core.notes import Note
from roofctl.launches.table import Part
from roofctl.quantities import catalogue
from roofctl.readers import databases, diagnose
from roofctl.readers import ncu_csv as ncu
from roofctl.readers import nvprof_csv as nvprof
from roofctl.readers.arrow import Irregular
from roofctl.readers.columnar import Page, read
from roofctl.readers.convert import Converter, Launch, to_parts
from roofctl.readers.details import DetailsPage
from roofctl.readers.find_tables import Scan, Table, scan
from roofctl.readers.ncurep import export, packed
from roofctl.readers.ncurep import read as ncurep
from roofctl.readers.numbers import Evidence, Mark, decide, gather
from roofctl.readers.pages import RawPage
from roofctl.readers.text import check_text, read_lines

__all__ = ["read_file", "read_text"]


def read_file(path: Path, *, mark: Mark | None = None) -> list[Part]:
    """Read one profiler output file into parts, one per table kind and capture found in it.

    ``mark`` states the decimal mark where the file leaves it open. gzip and zstd are unpacked on the way.
    Raises InputError (or CounterAccessError) that says what the file looks like when it holds no usable table.
    """
    if packed.is_report(path):
        return packed.read_report(path, read_file)
    if ncurep.is_meant(path):
        return ncurep.read_report(path) or export.plain(read_text(export.printed_lines(path), str(path)))
    if databases.is_database(path):
        raise databases.refusal(path)
    check_text(path)
    # Behind the handler: inside, all that was read by the block would be kept.
    with suppress(Irregular):
        return read_columns(path, mark=mark)
    return read_text(read_lines(path), str(path), mark=mark)


def read_columns(path: Path, *, mark: Mark | None = None, **how: int) -> list[Part]:
    """As ``read_file`` by the block, for files that are nothing but one raw or details page.

    ``how`` goes to ``columnar.read``. Raises Irregular for any other file.
    """
    source = str(path)
    known = catalogue().counters()

    def page_of(table: Table) -> Page:
        return (RawPage if table.kind == "ncu_raw" else DetailsPage)(table, known, mark)

    found, page = read(path, page_of, **how)
    denied = diagnose.permission_error(source, found.banners)
    if denied:
        raise denied
    notes = _scan_notes(found, source)
    if page.skipped:
        notes.append(_skipped(source, page.skipped, "rule rows"))
    names = page.names()
    if amd := diagnose.amd_counters(source, names):
        raise amd
    converter = Converter(source, mark or page.mark(), catalogue())
    parts = page.parts(converter)
    notes += _rounded(converter)
    return [_with_notes(parts[0], notes), *parts[1:]]


def read_text(lines: Iterable[str], source: str, *, mark: Mark | None = None) -> list[Part]:
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
            parts += _read_batch(batch, source, mark, notes)
    if not parts:
        raise _nothing_read(source, found, notes)
    return [_with_notes(parts[0], notes), *parts[1:]]


def _read_batch(tables: Sequence[Table], source: str, mark: Mark | None, notes: list[Note]) -> list[Part]:
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
    converter = Converter(source, (mark or _mark(launches, tables, source)) if quoted else "point", catalogue())
    parts = to_parts(launches, converter, ())
    if len(tables) > 1 and len(parts) < len(tables):
        notes.append(
            Note(
                f"{source}: {len(tables)} tables follow each other and count the same: taken as launches of one "
                "capture; give captures to compare as files of their own"
            )
        )
    notes += _rounded(converter)
    return parts


def _rounded(converter: Converter) -> list[Note]:
    if not converter.rounded:
        return []
    lost = f"{converter.rounded} values are in exponent form: a spreadsheet rounded them, and lost digits"
    return [Note(f"{converter.source}: {lost}")]


def _skipped(source: str, rows: int, what: str) -> Note:
    return Note(f"{source}: {rows} {what} passed over")


def _mark(launches: Sequence[Launch], tables: Sequence[Table], source: str) -> Mark:
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
        launches = ncu.read_raw(table, known)
    elif table.kind == "ncu_details":
        launches, skipped = ncu.read_details(table, known)
        what = "rule rows"
    elif table.kind == "ncu_summary":
        launches = ncu.read_summary(table, known)
    elif table.kind in ("nvprof_metrics", "nvprof_events"):
        launches = nvprof.read_counts(table, known)
    elif table.kind == "nvprof_summary":
        launches, skipped = nvprof.read_summary(table)
        what = "rows that are no kernels (copies, fills, API calls)"
    elif table.kind == "nvprof_trace":
        launches, skipped = nvprof.read_trace(table)
        what = "rows that are no kernels (copies, fills, page faults)"
    elif table.kind == "nvprof_counts":
        launches = nvprof.read_trace_counts(table, known)
    else:
        skipped = len(table.rows) + len(table.malformed)
        what = "rows that belong to the device, not to a kernel"
    if skipped:
        notes.append(_skipped(source, skipped, what))
    return launches


def _scan_notes(found: Scan, source: str) -> list[Note]:
    notes = [Note(f"{source}: the profiler says: {line}", warning=True) for line in diagnose.error_lines(found)]
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
    return Part(part.frame, part.source, part.names, tuple(notes))


def _nothing_read(source: str, found: Scan, notes: Sequence[Note]) -> Exception:
    denied = diagnose.permission_error(source, found.lines(), denied=found.denied)
    if denied:
        return denied
    rows = sum(len(table.rows) + len(table.malformed) for table in found.tables)
    if not rows:
        kinds = ", ".join(sorted({table.kind.replace("_", " ") for table in found.tables}))
        return NoKernels(
            f"{source} has the header of a table ({kinds}) but no row under it: no kernel was profiled",
            hint="check the kernel filter, and that the profiler run finished",
        )
    said = "; ".join(note.text.partition(": ")[2] for note in notes)
    return NoKernels(
        f"{source}: all {rows} rows were passed over, none is a kernel ({said})",
        hint="capture kernels: ncu --csv --page raw …, or nvprof --csv --print-gpu-summary",
    )
