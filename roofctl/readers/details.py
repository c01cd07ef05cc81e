"""What is taken of ncu's details page (a row per launch and counter): turned into columns as it is read."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

from roofctl.counts import Part
from roofctl.readers.arrow import Cells, Irregular, Rows, text_of, valued
from roofctl.readers.columns import Counted, Grown, Numbers, Parsed, Sheet, part_frame, texts, to_array
from roofctl.readers.launches import Converter, captures_of, shape
from roofctl.readers.numbers import Mark
from roofctl.readers.repeats import ID_DIGITS, Lines, Repeats, Values
from roofctl.readers.streams import Block
from roofctl.readers.tables import Table

_GPU: Final = "device__attribute_display_name"
_LAUNCH: Final = ("Process ID", "Kernel Name", "Block Size", "Grid Size", "CC")
_ABSENT: Final = -1
_MOST_EMPTY: Final = 8
_FREE_CELLS: Final = 1 << 20
"""So many cells the table made of a page may have, and ``_MOST_EMPTY`` for each row of the page."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class _Found:
    """Rows looked at: runs of rows of one launch, and cells of known ``counters`` by counter and run.

    ``lines`` (from ``first`` on) and ``unit``, codes into ``units``, lie as the cells do, _ABSENT where no row is.
    ``present`` holds processes and metrics that have values, ``gpus`` what GPUs are called, by run.
    """

    ids: Any
    launch_of: Any
    launches: list[tuple[str, ...]]
    counters: list[str]
    cells: Parsed
    lines: Any
    first: int
    unit: Any
    units: list[str]
    present: set[tuple[str, str]]
    gpus: list[tuple[int, str]]
    skipped: int


class DetailsPage:
    """Launches of a details page, put together from a row per counter."""

    read_apart = False
    times = 3
    columns: Sequence[str] = (*_LAUNCH[1:], "Metric Name", "Metric Unit", "Metric Value")

    def __init__(self, table: Table, known: frozenset[str], mark: Mark | None) -> None:
        self._known = known
        self._repeats = Repeats(table.header, _LAUNCH)
        self._ids = Grown("int64")
        self._odd_ids: dict[str, int] = {}
        self._odd_id = itertools.count(-1, -1)
        self._launch_of = Grown("int64")
        self._launches: dict[tuple[str, ...], int] = {}
        self._gpu: dict[int, str] = {}
        self._counters: dict[str, int] = {}
        self._numbers = Numbers(0, mark, stripped=True)
        self._lines = Sheet("int64", _ABSENT)
        self._unit = Sheet("int32", 0)
        self._units: dict[str, int] = {}
        self._present: set[tuple[str, str]] = set()
        self._expected = 0
        self._rows = 0
        self.skipped = 0

    def expect(self, rows: int) -> None:
        """Be told about how many rows will come; room is made when it is known how many a launch has."""
        self._expected = rows

    def prepare(self, block: Block) -> Lines | None:
        """Lines of a block compared with each other; None where it must be split."""
        return self._repeats.lines(block)

    def recognise(self, prepared: Lines) -> tuple[int, _Found] | None:
        """How many rows a block has and what ``look`` says of them, if they repeat what was split before."""
        values = self._repeats.values(prepared)
        return None if values is None else (len(values.run), self._found(values))

    def look(self, rows: Rows) -> _Found:
        """Where launches change, what counters there are, and numbers of those that are known."""
        return self._found(self._values(rows))

    def _values(self, rows: Rows) -> Values:
        run, begins = _runs(rows)
        launches: dict[tuple[str, ...], int] = {}
        told = zip(*(rows.texts(name, begins) for name in _LAUNCH), strict=True)
        launch_of = [launches.setdefault(launch, len(launches)) for launch in told]
        metric, metrics = rows.stripped("Metric Name")
        unit, units = rows.stripped("Metric Unit")
        cells = rows.cells(["Metric Value"])
        ids = np.array([self._id(text) for text in rows.texts("ID", begins)], np.int64)
        return Values(
            *(cells.data, cells.starts, cells.ends, rows.lines, run, ids, np.array(launch_of, np.int64)),
            *(list(launches), metric, metrics, unit, units),
        )

    def _id(self, text: str) -> int:
        """A number for an ID: itself, or a negative one where it is written otherwise than numbers are."""
        if text.isascii() and text.isdigit() and (text[0] != "0" or text == "0") and len(text) <= ID_DIGITS:
            return int(text)
        return self._odd_ids.setdefault(text, next(self._odd_id))

    def _found(self, values: Values) -> _Found:
        count = len(values.ids)
        metrics = values.metrics or [""]
        code_of = {name: code for code, name in enumerate(dict.fromkeys(n for n in metrics if n in self._known))}
        slot = np.array([code_of.get(name, _ABSENT) for name in metrics])[values.metric]
        known = slice(None) if bool((slot != _ABSENT).all()) else np.flatnonzero(slot != _ABSENT)
        _check_order(len(code_of) * count, len(values.run))
        # The first row of a counter is the one that counts: it is written last.
        place = (slot[known] * count + values.run[known])[::-1]

        def spread(row_values: Any, empty: int, dtype: str) -> Any:
            result = np.full(len(code_of) * count, empty, dtype)
            result[place] = row_values[known][::-1]
            return result

        bounds = [count * number for number in range(len(code_of) + 1)]
        starts, ends = (spread(each, 0, "int64") for each in (values.starts, values.ends))
        first = int(values.lines[0]) if len(values.lines) else 0
        return _Found(
            values.ids,
            values.launch_of,
            values.launches,
            list(code_of),
            self._numbers.look(Cells(values.data, starts, ends, bounds, count)),
            spread(values.lines, _ABSENT, "int64").reshape(len(code_of), count),
            first,
            spread(values.unit, 0, "int32").reshape(len(code_of), count),
            values.units,
            *_told(values),
        )

    def take(self, rows: Rows, looked: _Found) -> None:
        """Take rows."""
        if not len(looked.ids):
            return
        before = self._ids.length
        self._make_room(len(rows), len(looked.ids), len(looked.counters))
        self._gpu |= {before + run: text for run, text in looked.gpus}
        self._present |= looked.present
        self.skipped += looked.skipped
        self._ids.add(looked.ids)
        self._launch_of.add(_numbers(self._launches, looked.launches)[looked.launch_of])
        counters = _numbers(self._counters, looked.counters).tolist()
        self._numbers.grow(len(self._counters))
        self._numbers.add(looked.cells, counters)
        shift = int(rows.lines[0]) - looked.first
        lines = np.where(looked.lines == _ABSENT, _ABSENT, looked.lines + shift)
        self._lines.add(counters, lines, len(looked.ids))
        self._unit.add(counters, _numbers(self._units, looked.units)[looked.unit], len(looked.ids))
        self._rows += len(rows)
        _check_order(len(self._counters) * self._ids.length, self._rows)

    def _make_room(self, rows: int, runs: int, columns: int) -> None:
        if self._expected:
            launches = self._expected * runs // rows + runs
            for each in (self._ids, self._launch_of, self._numbers):
                each.expect(launches)
            for sheet in (self._lines, self._unit):
                sheet.expect(launches, columns)
            self._expected = 0

    def names(self) -> frozenset[str]:
        """All counters that had a value."""
        return frozenset(metric for _, metric in self._present)

    def mark(self) -> Mark:
        """The decimal mark that the cells decide. Raises Irregular when they leave it open."""
        return self._numbers.decided()

    def parts(self, converter: Converter) -> list[Part]:
        """The launches as parts, one per capture among their processes."""
        launch, first = self._numbered()
        self._merge(launch, first)
        told = list(self._launches)
        processes = list(dict.fromkeys(process for process, *_ in told))
        of_launch = np.array([processes.index(process) for process, *_ in told])[self._launch_of.whole()[first]]
        counters: dict[str, set[str]] = {process: set() for process in processes}
        for process, metric in self._present:
            counters[process].add(metric)
        parts = []
        for group in captures_of(counters):
            rows = first[np.array([process in group for process in processes])[of_launch]]
            frame = part_frame(self._identity(rows), self._arrays(rows, converter))
            names = frozenset(name for process in group for name in counters[process])
            parts.append(Part(frame, converter.source, names))
        return parts

    def _numbered(self) -> tuple[Any, Any]:
        """The launch of each run, by process, ID and kernel, and the first run of each launch."""
        kernels: dict[tuple[str, ...], int] = {}
        kernel = np.array([kernels.setdefault(told[:2], len(kernels)) for told in self._launches])
        ids, _ = pd.factorize(self._ids.whole())
        launch, found = pd.factorize(ids.astype(np.int64) * len(kernels) + kernel[self._launch_of.whole()])
        first = np.zeros(len(found), np.int64)
        first[launch[::-1]] = np.arange(len(launch))[::-1]
        return launch, first

    def _merge(self, launch: Any, first: Any) -> None:
        """Give the first run of each launch what only later runs have: a block may end within a launch."""
        later = np.flatnonzero(first[launch] != np.arange(len(launch)))
        if not len(later):
            return
        lines, unit = self._lines.whole(), self._unit.whole()
        for number, column in enumerate(self._numbers.columns):
            source = later[lines[number, later] != _ABSENT]
            source = source[lines[number, first[launch[source]]] == _ABSENT]
            _, once = np.unique(launch[source], return_index=True)
            source = source[once]
            target = first[launch[source]]
            for values in (column.digits.whole(), column.decimals.whole(), lines[number], unit[number]):
                values[target] = values[source]
            moved = dict(zip(source.tolist(), target.tolist(), strict=True))
            column.odd += [(moved[run], text) for run, text in column.odd if run in moved]
        for run in later.tolist():
            if run in self._gpu:
                self._gpu[int(first[launch[run]])] = self._gpu[run]

    def _identity(self, rows: Any) -> dict[str, Any]:
        told = self._launch_of.whole()[rows]
        process, kernel, block, grid, capability = zip(*self._launches, strict=True)
        gpus = {text: code for code, text in enumerate(dict.fromkeys(["", *self._gpu.values()]))}
        gpu = np.zeros(self._ids.length, np.int64)
        for run, text in self._gpu.items():
            gpu[run] = gpus[text]
        return {
            "kernel": texts(kernel, told),
            "process": texts(process, told),
            "block": texts(list(map(shape, block)), told),
            "grid": texts(list(map(shape, grid)), told),
            "device": texts(list(gpus), gpu[rows]),
            "compute_capability": texts(capability, told),
        }

    def _arrays(self, rows: Any, converter: Converter) -> dict[str, Any]:
        """Columns of the counters that some launches have, in the order in which launches have them."""
        lines, units = self._lines.whole(), list(self._units)
        found: list[tuple[int, int, str, Counted]] = []
        for name, number in self._counters.items():
            here = lines[number, rows]
            there = here != _ABSENT
            if not bool(there.any()):
                continue
            column, unit = self._numbers.columns[number], self._unit.whole()[number, rows]
            place = {run: launch for launch, run in enumerate(rows.tolist())} if column.odd else {}
            odd = [(place[run], text) for run, text in column.odd if run in place]
            begin = int(there.argmax())
            # One unit needs no codes.
            used = ([units[unit[begin]]],) if bool((unit == unit[begin])[there].all()) else (units, unit)
            cells = Counted(column.digits.whole()[rows], column.decimals.whole()[rows], odd, here, *used)
            found.append((begin, int(here[begin]), name, cells))
        found.sort(key=lambda entry: entry[:2])
        return {name: to_array(name, cells, converter) for *_, name, cells in found}


def _runs(rows: Rows) -> tuple[Any, Any]:
    """The run of each row, one after the other, and the first row of each run."""
    change = np.zeros(len(rows), np.bool_)
    change[:1] = True
    for name in ("Process ID", "ID", "Kernel Name"):
        codes, _ = rows.coded(name)
        change[1:] |= codes[1:] != codes[:-1]
    return np.cumsum(change) - 1, np.flatnonzero(change)


def _numbers(known: dict[_T, int], found: Sequence[_T]) -> Any:
    """Numbers of what was found, in order of appearance; ``known`` grows."""
    return np.array([known.setdefault(each, len(known)) for each in found], dtype=np.int64)


def _told(values: Values) -> tuple[set[tuple[str, str]], list[tuple[int, str]], int]:
    """Processes and metrics that have values, each pair once; what GPUs are called, by run; rows without a metric."""
    metrics = values.metrics or [""]
    named = np.array([bool(name) for name in metrics])[values.metric]
    rows = np.flatnonzero(named & valued(values.data, values.starts, values.ends))
    processes: dict[str, int] = {}
    process = _numbers(processes, [told[0] for told in values.launches])
    there = np.zeros((max(len(processes), 1), len(metrics)), np.bool_)
    there[process[values.launch_of[values.run[rows]]], values.metric[rows]] = True
    told = list(processes)
    present = {(told[number], metrics[code]) for number, code in np.argwhere(there).tolist()}
    gpus = []
    if _GPU in metrics:
        for row in np.flatnonzero(np.array([name == _GPU for name in metrics])[values.metric]).tolist():
            cell = bytes(values.data[values.starts[row] : values.ends[row]])
            gpus.append((int(values.run[row]), text_of(cell).strip()))
    return present, gpus, int(np.count_nonzero(~named))


def _check_order(cells: int, rows: int) -> None:
    """Raise Irregular for a page that is not in the order of its launches: most of its table would be empty."""
    if cells > _MOST_EMPTY * rows + _FREE_CELLS:
        raise Irregular
