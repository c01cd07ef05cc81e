"""Captures as a Parquet dataset: one row per launch, partitioned by capture, for DuckDB, Dask or Spark.

Columns are the same in every file. A row stands for ``launches`` launches: 1, or those that a summary counted.
Counts and ``seconds`` are sums over them, so that sums of rows are right; counts are integers. Clocks, ratios
and ``sm_count`` are not summed. What is not known is null, and ``caveats`` lists what is not exact.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from roofctl import __version__
from roofctl.core.errors import InputError, RoofctlError
from roofctl.core.notes import Note
from roofctl.core.parallel import each
from roofctl.launches.aggregate import aggregate
from roofctl.launches.evaluate import PASSED_BY, l1_was_passed_by, launch_table
from roofctl.launches.table import LaunchTable
from roofctl.quantities import catalogue
from roofctl.readers.numbers import DecimalSeparator
from roofctl.study import load as inputs
from roofctl.study.device import describe_device
from roofctl.study.load import Source, Watch

SCHEMA: Final = 1
MARKER: Final = "_roofctl.json"
"""File by which a folder is recognised as an export; readers of datasets skip names that begin like this."""
_SECONDS: Final = 0.01
"""Rough cost of a capture beside reading it."""
_TEXTS: Final = ("kernel", "grid", "block", "process", "device", "compute_capability")


@dataclass(frozen=True)
class Written:
    """One source after writing: the rows of each capture in it, and notes for the user."""

    rows: tuple[int, ...]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Export:
    """What was written, and why some of many sources were not."""

    captures: int
    rows: int
    notes: tuple[Note, ...]
    unread: tuple[RoofctlError, ...]


def _not_summed() -> frozenset[str]:
    """Clocks, ratios and facts of the device, which are not summed over launches."""
    ratios = ("hertz", "ratio", "fraction")
    return frozenset({"sm_count"}) | {n for n, each in catalogue().quantities.items() if each.dimension in ratios}


def schema() -> pa.Schema:
    """Columns of every file: names with units, types."""
    types = {"count": pa.int64(), **dict.fromkeys(("seconds", "hertz", "ratio", "fraction"), pa.float64())}
    return pa.schema(
        [
            ("file", pa.string()),
            ("rank", pa.int32()),
            *((name, pa.string()) for name in _TEXTS),
            ("launches", pa.int64()),
            ("is_summary", pa.bool_()),
            *((quantity.name, types[quantity.dimension]) for quantity in catalogue().shown.values()),
            ("caveats", pa.string()),
        ]
    )


def to_parquet(
    sources: Sequence[Source],
    folder: Path,
    decimal: DecimalSeparator | None,
    *,
    force: bool = False,
    watch: Watch | None = None,
) -> Export:
    """Write sources to ``folder``, which is complete at the end or as it was before.

    One capture at a time is in memory, per process. Raises InputError when the folder exists (and without ``force``,
    or when it is no export), and for a source that cannot be read where few are named, or none can. Raises OSError.
    """
    # A link stays one: what it points to is written.
    folder = Path(os.path.realpath(folder))
    _check(folder, sources, force=force)
    temporary = folder.with_name(f".{folder.name[:40]}-{secrets.token_hex(4)}.partial")
    temporary.mkdir()
    try:
        export = _write(sources, temporary, decimal, watch or inputs.unwatched)
        facts = {"schema": SCHEMA, "roofctl": __version__, "captures": export.captures, "rows": export.rows}
        (temporary / MARKER).write_text(json.dumps(facts) + "\n", encoding="utf-8")
        notes = _replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return replace(export, notes=(*export.notes, *notes))


def _check(folder: Path, sources: Sequence[Source], *, force: bool) -> None:
    here = Path.cwd()
    if folder in (here, *here.parents):
        raise InputError(
            f"{folder} is the folder that you are in, or above it: an export would replace it",
            hint="name a folder below it, such as launches",
        )
    if not folder.parent.is_dir():
        raise InputError(f"the folder {folder.parent} does not exist", hint="create it, or choose another")
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / MARKER).is_file():
        raise InputError(
            f"{folder} exists and is no export of roofctl", hint="choose another folder; this one is never replaced"
        )
    if not force:
        raise InputError(f"{folder} exists", hint="choose another folder, or replace it with --force")
    _check_nothing_is_lost(folder, sources)


def _check_nothing_is_lost(folder: Path, sources: Sequence[Source]) -> None:
    """Raise InputError when an export that is to be replaced holds more than what an export writes."""
    given = next((path for source in sources for path in source.files if path.resolve().is_relative_to(folder)), None)
    if given:
        raise InputError(
            f"{given} lies in the folder that is to be replaced, {folder}", hint="export into another folder"
        )
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        part = name.match("capture=*/part-*.parquet") and len(name.parts) == 2  # noqa: PLR2004 - a folder and a file
        ours = part or name == Path(MARKER) or (name.match("capture=*") and path.is_dir() and len(name.parts) == 1)
        if not ours:
            raise InputError(
                f"{folder} holds {name}, which is no part of an export",
                hint="move it elsewhere, or export into another folder",
            )


def _replace(temporary: Path, folder: Path) -> list[Note]:
    """Put ``temporary`` in the place of ``folder``; a warning where the earlier one could not be removed."""
    if not folder.exists():
        temporary.rename(folder)
        return []
    old = temporary.with_suffix(".old")
    folder.rename(old)
    try:
        temporary.rename(folder)
    except BaseException:
        old.rename(folder)
        raise
    try:
        shutil.rmtree(old)
    except OSError as error:
        text = f"the earlier export could not be removed ({error.strerror}): it is now {old}; remove it"
        return [Note(text, warning=True)]
    return []


def _write(sources: Sequence[Source], folder: Path, decimal: DecimalSeparator | None, watch: Watch) -> Export:
    names = capture_names(sources)
    tasks = list(zip(sources, names, _numbers_taken(names), strict=True))
    rows: list[int] = []
    notes: list[Note] = []
    unread: list[RoofctlError] = []
    results = each(
        partial(_attempt, folder, decimal),
        tasks,
        worthwhile=inputs.worthwhile(sources, _SECONDS),
        preload=["roofctl.output.parquet"],
    )
    try:
        # Closed before the folder is cleared away: nobody writes into it then.
        with closing(results):
            for number, (source, result) in enumerate(zip(sources, results, strict=True), start=1):
                if isinstance(result, RoofctlError):
                    unread.append(result)
                    inputs.check_enough(source, unread, len(sources))
                else:
                    rows += result.rows
                    notes += result.notes
                watch(number, len(sources))
    finally:
        watch(len(sources), len(sources))
    return Export(len(rows), sum(rows), tuple(notes), tuple(unread))


def capture_names(sources: Sequence[Source]) -> list[str]:
    """A name for each source, no two alike: its path without the suffix, from the folder that all have in common.

    Where two would be alike (x.csv, x.txt) the later one is numbered: x-2.
    """
    places = [Path(os.path.abspath(_place(source))) for source in sources]  # noqa: PTH100 - links keep their names
    common = Path(os.path.commonpath([place.parent for place in places]))
    names = [_utf8(str(place.relative_to(common))) for place in places]
    taken, used = set(names), set[str]()
    numbers: dict[str, int] = {}
    result: list[str] = []
    for name in names:
        unique = name
        while unique in used or (unique != name and unique in taken):
            numbers[name] = numbers.get(name, 1) + 1
            unique = f"{name}-{numbers[name]}"
        used.add(unique)
        result.append(unique)
    return result


def _numbers_taken(names: Sequence[str]) -> list[frozenset[int]]:
    """For each name NAME the numbers N of which NAME-N is the name of another source."""
    taken: dict[str, set[int]] = {}
    for name in names:
        stem, _, number = name.rpartition("-")
        if number.isdecimal():
            taken.setdefault(stem, set()).add(int(number))
    return [frozenset(taken.get(name, ())) for name in names]


def _utf8(path: str) -> str:
    """A path as text that can be written; bytes that are not UTF-8 are written as Python escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _place(source: Source) -> Path:
    if source.manifest and source.files:
        return source.files[0].parent
    path = Path(source.label)
    return path.with_name(path.name.removesuffix(path.suffix) or path.name)


def _attempt(
    folder: Path, decimal: DecimalSeparator | None, task: tuple[Source, str, frozenset[int]]
) -> Written | RoofctlError:
    try:
        return _write_source(folder, decimal, *task)
    except RoofctlError as error:
        return error


def _write_source(
    folder: Path, decimal: DecimalSeparator | None, source: Source, name: str, taken: frozenset[int]
) -> Written:
    parts = inputs.read_one(source, decimal)
    file = _utf8(", ".join(str(path) for path in source.files))
    notes = tuple(note for part in parts for note in part.notes)
    device = describe_device(parts)
    chip = catalogue().chip_of(next(iter(device.compute_capabilities), None), next(iter(device.names), ""))
    launches = launch_table(parts, chip)
    # All are made before the first is written, so that an unreadable source leaves nothing.
    known = catalogue().chips.get(chip or "")
    bulk_copy = known is not None and known.bulk_copy
    captures = [launches.of_capture(number) for number in range(len(launches.captures))]
    tables = [_table(capture, file, source.rank, bulk_copy=bulk_copy) for capture in captures]
    # A file's second capture is NAME-2, unless that is a source's name: so no process takes another's.
    numbers = (number for number in count(2) if number not in taken)
    for table, partition in zip(tables, chain([name], (f"{name}-{number}" for number in numbers)), strict=False):
        target = folder / f"capture={quote(partition, safe=' ')}"
        target.mkdir()
        pq.write_table(table, target / "part-0.parquet", compression="zstd")
    return Written(tuple(table.num_rows for table in tables), notes)


def _table(capture: LaunchTable, file: str, rank: int | None, *, bulk_copy: bool) -> pa.Table:
    """The table of one capture: launches as they are, or of several files what they have in common."""
    columns, means, texts = _of_launches(capture) if len(capture.parts) == 1 else _of_kernels(capture)
    count = len(means)
    _write_caveats(columns, texts, _passed_by(means, texts, bulk_copy=bulk_copy))
    columns.update(file=[file] * count, rank=[rank] * count)
    return pa.table(
        [_array(columns.get(field.name, [None] * count), field.type) for field in schema()], schema=schema()
    )


def _of_launches(capture: LaunchTable) -> tuple[dict[str, Any], Any, dict[str, str]]:
    """Columns of a capture of one file, row by row as the profiler printed them; means per launch; caveats."""
    (part,), frame = capture.parts, capture.frame
    columns: dict[str, Any] = {name: frame[name] for name in (*_TEXTS, "launches", "is_summary")}
    not_summed = _not_summed()
    for name in part.quantities:
        given = frame.get(f"{name}_total")
        total = frame[name] if name in not_summed else frame[name] * frame["launches"]
        columns[name] = total if given is None else given.where(given.notna(), total)
    return columns, frame, {name: part.caveats.get(name, "") for name in part.quantities}


def _of_kernels(capture: LaunchTable) -> tuple[dict[str, Any], Any, dict[str, str]]:
    """Columns of a capture of several files, by kernel (or launch, where each has launches); means; caveats."""
    summary = bool(capture.frame["is_summary"].any())
    kernels = aggregate(capture, "kernel" if summary else "launch")
    frame = kernels.frame
    columns: dict[str, Any] = {name: frame[name] for name in ("kernel", "grid", "block", "launches")}
    columns["is_summary"] = [summary] * len(frame)
    for name in ("device", "compute_capability"):
        known = list(dict.fromkeys(capture.frame[name].dropna()))
        columns[name] = (known if len(known) == 1 else [None]) * len(frame)
    names = [name for name in catalogue().quantities if kernels.has(name)]
    not_summed = _not_summed()
    columns.update({name: frame[name if name in not_summed else f"{name}_total"] for name in names})
    return columns, frame, {name: kernels.caveats[0].get(name, "") for name in names}


def _passed_by(means: Any, texts: dict[str, str], *, bulk_copy: bool) -> list[bool]:
    """Row by row, whether L1's count is not known, as in a report: some traffic passed it by."""
    if not {"l1_transactions", "l2_transactions"} <= set(means.columns):
        return [False] * len(means)
    names = [name for name in ("l1_transactions", "l2_transactions", "shared_wavefronts") if name in means]
    known = means["l1_transactions"].notna() & means["l2_transactions"].notna()
    values = zip(*(means[name].astype("Float64").fillna(0.0).tolist() for name in names), strict=True)
    exact = not texts.get("l2_transactions")
    return [
        known_here and l1_was_passed_by(l1, l2, sum(shared), exact=exact, bulk_copy=bulk_copy)
        for known_here, (l1, l2, *shared) in zip(known.tolist(), values, strict=True)
    ]


def _write_caveats(columns: dict[str, Any], texts: dict[str, str], passed_by: Sequence[bool]) -> None:
    """The column of caveats; L1 traffic of rows where some passed it by is null."""
    if any(passed_by):
        columns["l1_transactions"] = columns["l1_transactions"].mask(list(passed_by))
    caveats = _caveats(texts, columns, len(passed_by))
    columns["caveats"] = [
        "; ".join(filter(None, (f"l1_transactions: {PASSED_BY}", text))) if passed else text
        for passed, text in zip(passed_by, caveats, strict=True)
    ]


def _caveats(texts: dict[str, str], columns: dict[str, Any], count: int) -> list[str | None]:
    """Per row what is not exact, of those quantities that it has."""
    by_row: list[list[str]] = [[] for _ in range(count)]
    for name, text in texts.items():
        for row, known in enumerate(columns[name].notna() if text else ()):
            by_row[row] += [f"{name}: {text}"] if known else []
    counted = any(name in columns for name in catalogue().quantities if name not in ("seconds", *_not_summed()))
    several = zip(columns["launches"], columns["is_summary"], strict=True)
    for row, (launches, is_summary) in enumerate(several):
        if counted and is_summary and launches > 1:
            by_row[row].append(f"sums of counts are means times {launches} launches, rounded")
    return ["; ".join(row_texts) or None for row_texts in by_row]


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    array = pa.array(values, from_pandas=True)
    if pa.types.is_int64(kind) and pa.types.is_floating(array.type):
        # Only a summary's mean can make a sum that is not an integer; the true sum is one.
        array = pc.round(array)
    return array.cast(kind)
