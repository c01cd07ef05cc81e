"""What is taken of ncu's details page (a row per launch and counter): turned into columns as it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

from roofctl.launches.table import Part
from roofctl.readers.arrow import Cells, Irregular, Rows, text_of, valued
from roofctl.readers.columns import Counted, Grown, Numbers, Sheet, part_frame, texts, to_array
from roofctl.readers.convert import Converter, captures_of, shape
from roofctl.readers.find_tables import Table
from roofctl.readers.lines import ID_DIGITS, Lines
from roofctl.readers.numbers import Mark
from roofctl.readers.repeats import Repeats, Values
from roofctl.readers.streams import Block

_GPU: Final = "device__attribute_display_name"
_LAUNCH: Final = ("Process ID", "Kernel Name", "Block Size", "Grid Size", "CC")
_ABSENT: Final = -1
_MOST_EMPTY: Final = 8
_FREE_CELLS: Final = 1 << 20
"""So many cells the table made of a page may have, and ``_MOST_EMPTY`` for each row of the page."""

_T = TypeVar("_T")


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
        self._launch_of = Grown("int64")
        self._launches: dict[tuple[str, ...], int] = {}
        self._gpu: dict[int, str] = {}
        self._counters: dict[str, int] = {}
        self._numbers = Numbers(0, mark, stripped=True)
        self._lines = Sheet("int64", _ABSENT)
        self._unit = Sheet("int32", 0)
        self._units: dict[str, int] = {}
        self._of_last: set[int] = set()
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

    def take_prepared(self, prepared: Lines, line: int) -> int:
        """Take the rows of a block if they repeat what was split before: how many they are; else 0."""
        values = self._repeats.values(prepared, line)
        if values is None:
            return 0
        self._take(values)
        return len(values.run)

    def take(self, rows: Rows) -> None:
        """Take rows."""
        if len(rows):
            self._take(self._values(rows))

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
        return self._odd_ids.setdefault(text, -1 - len(self._odd_ids))

    def _take(self, values: Values) -> None:
        """Take rows as cells of a table, by counter and run."""
        before, runs = self._ids.length, len(values.ids)
        code_of = {name: code for code, name in enumerate(dict.fromkeys(n for n in values.metrics if n in self._known))}
        self._make_room(len(values.run), runs, len(code_of))
        self._ids.add(values.ids)
        self._launch_of.add(_numbers(self._launches, values.launches)[values.launch_of])
        counters = _numbers(self._counters, list(code_of)).tolist()
        self._rows += len(values.run)
        _check_order(len(self._counters) * self._ids.length, self._rows)

        slot = np.array([code_of.get(name, _ABSENT) for name in values.metrics])[values.metric]
        known = slice(None) if bool((slot != _ABSENT).all()) else np.flatnonzero(slot != _ABSENT)
        # The first row of a counter is the one that counts: it is written last.
        place = (slot[known] * runs + values.run[known])[::-1]

        def spread(row_values: Any, empty: int, dtype: str) -> Any:
            result = np.full(len(code_of) * runs, empty, dtype)
            result[place] = row_values[known][::-1]
            return result.reshape(len(code_of), runs)

        starts, ends = (spread(each, 0, "int64") for each in (values.starts, values.ends))
        lines = spread(values.lines, _ABSENT, "int64")
        again = self._taken_already(counters, lines)
        starts[again, 0] = ends[again, 0] = 0
        lines[again, 0] = _ABSENT
        bounds = [runs * number for number in range(len(code_of) + 1)]
        self._numbers.grow(len(self._counters))
        self._numbers.add(Cells(values.data, starts.ravel(), ends.ravel(), bounds, runs), counters)
        self._lines.add(counters, lines, runs)
        self._unit.add(counters, spread(_numbers(self._units, values.units)[values.unit], 0, "int32"), runs)
        self._tell(values, before)

    def _taken_already(self, counters: Sequence[int], lines: Any) -> list[int]:
        """Which of ``counters``, by place, the launch of the first run has already, if it began before this block."""
        runs = lines.shape[1]
        first = self._ids.length - runs
        launch = (self._ids.whole(), self._launch_of.whole())
        goes_on = bool(first) and all(each[first - 1] == each[first] for each in launch)
        again = [place for place, number in enumerate(counters) if goes_on and number in self._of_last]
        own = {counters[place] for place in np.flatnonzero(lines[:, -1] != _ABSENT).tolist()}
        self._of_last = own | self._of_last if goes_on and runs == 1 else own
        return again

    def _make_room(self, rows: int, runs: int, columns: int) -> None:
        if self._expected:
            launches = self._expected * runs // rows + runs
            for each in (self._ids, self._launch_of, self._numbers):
                each.expect(launches)
            for sheet in (self._lines, self._unit):
                sheet.expect(launches, columns)
            self._expected = 0

    def _tell(self, values: Values, before: int) -> None:
        """Keep what rows say beside numbers: which metrics a process has, what GPUs are called, what is no metric."""
        processes: dict[str, int] = {}
        process = _numbers(processes, [told[0] for told in values.launches])
        told, metrics = list(processes), values.metrics
        # After some blocks, all that there is has been seen.
        new = [bool(name) and not all((each, name) in self._present for each in told) for name in metrics]
        if any(new):
            rows = np.flatnonzero(np.array(new)[values.metric])
            rows = rows[valued(values.data, values.starts[rows], values.ends[rows])]
            there = np.zeros((len(told), len(metrics)), np.bool_)
            there[process[values.launch_of[values.run[rows]]], values.metric[rows]] = True
            self._present |= {(told[number], metrics[code]) for number, code in np.argwhere(there).tolist()}
        if not all(metrics):
            self.skipped += int(np.count_nonzero(np.array([not name for name in metrics])[values.metric]))
        if _GPU in metrics:
            gpu = np.array([name == _GPU for name in metrics])[values.metric]
            for row in np.flatnonzero(gpu).tolist():
                cell = bytes(values.data[values.starts[row] : values.ends[row]])
                self._gpu[before + int(values.run[row])] = text_of(cell).strip()

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
        processes: dict[str, int] = {}
        of_launch = _numbers(processes, [process for process, *_ in told])[self._launch_of.whole()[first]]
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
        """Give the first run of each launch what only later runs have: a block may end within a launch.

        Raises Irregular where later runs have more than that, while cells decide the mark: those are no cells then.
        """
        later = np.flatnonzero(first[launch] != np.arange(len(launch)))
        if not len(later):
            return
        lines, unit = self._lines.whole(), self._unit.whole()
        for number, column in enumerate(self._numbers.columns):
            source = later[lines[number, later] != _ABSENT]
            new = source[lines[number, first[launch[source]]] == _ABSENT]
            _, once = np.unique(launch[new], return_index=True)
            if len(once) < len(source) and not self._numbers.given:
                raise Irregular
            source = new[once]
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


def _check_order(cells: int, rows: int) -> None:
    """Raise Irregular for a page that is not in the order of its launches: most of its table would be empty."""
    if cells > _MOST_EMPTY * rows + _FREE_CELLS:
        raise Irregular
