"""What is taken of ncu's raw page (a row per launch) and details page (a row per launch and counter)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from roofctl.counts import Part, counts_work
from roofctl.readers import ncu
from roofctl.readers.arrow import Irregular, Rows, text_of
from roofctl.readers.columns import Counted, Grown, Numbers, Parsed, Words, texts, to_array
from roofctl.readers.digits import MISSING
from roofctl.readers.launches import NCU_IDENTITY, Converter, captures_of, shape
from roofctl.readers.numbers import Mark
from roofctl.readers.tables import Table

_GPU: Final = "device__attribute_display_name"
_KEY: Final = ("Process ID", "ID", "Kernel Name")
_SHAPE: Final = ("Block Size", "Grid Size", "CC")


@dataclass(frozen=True)
class _Launches:
    """Rows of a raw page, looked at: texts by codes, counters, and other columns that have values."""

    texts: list[tuple[Any, list[bytes]]]
    numbers: Parsed
    seen: set[str]


class RawPage:
    """Launches of a raw page."""

    skipped = 0

    def __init__(self, table: Table, known: frozenset[str], mark: Mark | None) -> None:
        header, units = table.header, table.units or []
        self._units = {name: units[i] if i < len(units) else "" for i, name in enumerate(header)}
        self._counters = [name for name in header if name in known]
        self._words = {name: (Words(), Grown("int32")) for name in ("Process ID", "Kernel Name", *_SHAPE, _GPU)}
        self._lines = Grown("int64")
        self._numbers = Numbers(len(self._counters), mark)
        # Counters that the first rows have need no second look; the others are looked for in every block.
        self._seen = {name for launch in ncu.read_raw(table, frozenset()) for name in launch.names}
        rest = [name for name in header if name not in NCU_IDENTITY and name not in known]
        self._unseen = [name for name in rest if name not in self._seen]
        self.columns = [*self._words, *self._counters, *self._unseen]

    def expect(self, rows: int) -> None:
        """Make room for as many."""
        for _, codes in self._words.values():
            codes.expect(rows)
        self._lines.expect(rows)
        self._numbers.expect(rows)

    def look(self, rows: Rows) -> _Launches:
        """Texts, numbers, and which counters that were not there before are there."""
        return _Launches(
            [rows.coded(name) for name in self._words],
            self._numbers.look(rows, self._counters),
            {name for name in self._unseen if name not in self._seen and bool(rows.valued(name).any())},
        )

    def take(self, rows: Rows, looked: _Launches) -> None:
        """Take launches."""
        for (words, codes), coded in zip(self._words.values(), looked.texts, strict=True):
            codes.add(words.codes(coded))
        self._lines.add(rows.lines)
        self._numbers.add(looked.numbers)
        self._seen |= looked.seen

    def names(self) -> frozenset[str]:
        """All counters that had a value."""
        columns = zip(self._counters, self._numbers.columns, strict=True)
        return frozenset(self._seen) | {n for n, c in columns if bool((c.decimals.whole() != MISSING).any())}

    def mark(self) -> Mark:
        """The decimal mark that the cells decide. Raises Irregular when they leave it open."""
        return self._numbers.decided()

    def parts(self, converter: Converter) -> list[Part]:
        """The launches as one part. Raises Irregular where processes may stand for captures of their own."""
        names = self.names()
        self._check_one_capture()
        identity = {
            "kernel": self._texts("Kernel Name"),
            "process": self._texts("Process ID"),
            "block": self._texts("Block Size", shapes=True),
            "grid": self._texts("Grid Size", shapes=True),
            "device": self._texts(_GPU),
            "compute_capability": self._texts("CC"),
        }
        arrays = {}
        for name, column in zip(self._counters, self._numbers.columns, strict=True):
            cells = Counted(
                column.digits.whole(), column.decimals.whole(), column.odd, self._lines.whole(), [self._units[name]]
            )
            arrays[name] = to_array(name, cells, converter)
            column.digits = Grown("int64")
        return [Part(_frame(identity, arrays), converter.source, names)]

    def _texts(self, name: str, *, shapes: bool = False) -> Any:
        words, codes = self._words[name]
        return texts(list(map(shape, words.texts)) if shapes else words.texts, codes.whole())

    def _check_one_capture(self) -> None:
        """Processes that all have some counter of work belong to one capture; else names of each would be needed."""
        words, codes = self._words["Process ID"]
        if len(words.texts) == 1:
            return
        process = codes.whole()
        for name, column in zip(self._counters, self._numbers.columns, strict=True):
            have = process[column.decimals.whole() != MISSING]
            if counts_work(name) and len(np.unique(have)) == len(words.texts):
                return
        raise Irregular


def _frame(identity: dict[str, Any], counters: dict[str, Any]) -> pd.DataFrame:
    rows = len(identity["kernel"])
    fixed = {**identity, "launches": np.ones(rows, np.int64), "is_summary": np.zeros(rows, np.bool_)}
    return pd.DataFrame({**fixed, **counters}, copy=False)


class _Names:
    """Texts by number, in order of appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def of(self, found: Sequence[str]) -> Any:
        """Numbers of texts."""
        return np.array([self.numbers.setdefault(text, len(self.numbers)) for text in found] or [0], dtype=np.int32)


@dataclass(frozen=True)
class _Metrics:
    """Rows of a details page, looked at.

    ``launches`` are process, ID and kernel, then shapes, of each run of rows of one launch, ``run`` the run of each
    row. ``metrics`` and ``units`` are texts, ``metric`` and ``unit`` their codes by row. ``present`` holds processes
    and metrics that have values, ``gpus`` what GPUs are called, by run; ``known`` are the rows of known counters.
    """

    launches: list[tuple[str, ...]]
    run: Any
    metrics: list[str]
    units: list[str]
    metric: Any
    unit: Any
    present: set[tuple[str, str]]
    gpus: list[tuple[int, str]]
    skipped: int
    known: Any
    numbers: Parsed


class DetailsPage:
    """Launches of a details page, put together from a row per counter."""

    columns: Sequence[str] = (*_KEY[2:], *_SHAPE, "Metric Name", "Metric Unit", "Metric Value")

    def __init__(self, known: frozenset[str], mark: Mark | None) -> None:
        self._known = known
        self._launch_of: dict[tuple[str, ...], int] = {}
        self._launches: list[tuple[str, ...]] = []
        self._gpu: dict[int, str] = {}
        self._process_of = Grown("int64")
        self._processes = _Names()
        self._metrics = _Names()
        self._units = _Names()
        self._numbers = Numbers(1, mark, stripped=True)
        self._rows = {name: Grown("int32") for name in ("launch", "metric", "unit")}
        self._line = Grown("int64")
        self._present: set[tuple[str, str]] = set()
        self.skipped = 0

    def expect(self, rows: int) -> None:
        """Make room for as many."""
        for column in (*self._rows.values(), self._line):
            column.expect(rows)
        self._numbers.expect(rows)

    def look(self, rows: Rows) -> _Metrics:
        """Where launches change, what counters there are, and numbers of those that are known."""
        run, launches = _runs(rows)
        metric, metrics = _stripped(rows.coded("Metric Name"))
        unit, units = _stripped(rows.coded("Metric Unit"))
        named = np.array([bool(name) for name in metrics] or [False])[metric]
        valued = named & rows.valued("Metric Value")
        wanted = np.array([name in self._known for name in metrics] or [False])[metric]
        gpus: list[tuple[int, str]] = []
        if _GPU in metrics:
            these = np.flatnonzero(np.array([name == _GPU for name in metrics])[metric])
            gpus = list(zip(run[these].tolist(), rows.texts("Metric Value", these), strict=True))
        return _Metrics(
            launches,
            run,
            metrics,
            units,
            metric,
            unit,
            _pairs([launch[0] for launch in launches], metrics, run[valued], metric[valued]),
            gpus,
            int(np.count_nonzero(~named)),
            None if wanted.all() else np.flatnonzero(wanted),
            self._numbers.look(rows.kept(wanted), ["Metric Value"]),
        )

    def take(self, rows: Rows, looked: _Metrics) -> None:
        """Take rows."""
        launch_of_run = self._numbered(looked.launches)
        for run, text in looked.gpus:
            self._gpu[int(launch_of_run[run])] = text
        self._present |= looked.present
        self.skipped += looked.skipped
        self._numbers.add(looked.numbers)
        of_row = {
            "launch": launch_of_run[looked.run],
            "metric": self._metrics.of(looked.metrics)[looked.metric],
            "unit": self._units.of(looked.units)[looked.unit],
        }
        known = slice(None) if looked.known is None else looked.known
        for name, numbers in of_row.items():
            self._rows[name].add(numbers[known])
        self._line.add(rows.lines[known])

    def _numbered(self, launches: Sequence[tuple[str, ...]]) -> Any:
        """The number of each launch: known by process, ID and kernel, it may come again."""
        numbers = []
        before = len(self._launches)
        for launch in launches:
            numbers.append(self._launch_of.setdefault(launch[: len(_KEY)], len(self._launches)))
            if numbers[-1] == len(self._launches):
                self._launches.append(launch)
        new = [launch[0] for launch in self._launches[before:]]
        self._process_of.add(self._processes.of(new)[: len(new)])
        return np.array(numbers or [0], dtype=np.int32)

    def names(self) -> frozenset[str]:
        """All counters that had a value."""
        return frozenset(metric for _, metric in self._present)

    def mark(self) -> Mark:
        """The decimal mark that the cells decide. Raises Irregular when they leave it open."""
        return self._numbers.decided()

    def parts(self, converter: Converter) -> list[Part]:
        """The launches as parts, one per capture among their processes."""
        processes = list(self._processes.numbers)
        counters: dict[str, set[str]] = {process: set() for process in processes}
        for process, metric in self._present:
            counters[process].add(metric)
        parts = []
        for group in captures_of(counters):
            inside = np.array([process in group for process in processes])[self._process_of.whole()]
            position = np.cumsum(inside) - 1
            arrays = self._arrays(inside, position, converter)
            names = frozenset(name for process in group for name in counters[process])
            parts.append(Part(_frame(self._identity(inside), arrays), converter.source, names))
        return parts

    def _identity(self, inside: Any) -> dict[str, Any]:
        kept = [self._launches[launch] for launch in np.flatnonzero(inside).tolist()]
        process, _, kernel, block, grid, capability = zip(*kept, strict=True)
        columns = {
            "kernel": kernel,
            "process": process,
            "block": _shapes(block),
            "grid": _shapes(grid),
            "device": [self._gpu.get(launch, "") for launch in np.flatnonzero(inside).tolist()],
            "compute_capability": capability,
        }
        return {name: [value or None for value in values] for name, values in columns.items()}

    def _arrays(self, inside: Any, position: Any, converter: Converter) -> dict[str, Any]:
        """Columns of the counters that launches of one capture have, in the order in which launches have them."""
        column = self._numbers.columns[0]
        digits, decimals, lines = column.digits.whole(), column.decimals.whole(), self._line.whole()
        launch, metric, unit = (self._rows[name].whole() for name in ("launch", "metric", "unit"))
        odd = dict(column.odd)
        order = np.argsort(metric, kind="stable")
        bounds = np.cumsum([0, *np.bincount(metric, minlength=len(self._metrics.numbers))])
        found: list[tuple[int, int, str, Counted]] = []
        count = int(np.count_nonzero(inside))
        for name, number in self._metrics.numbers.items():
            rows = order[bounds[number] : bounds[number + 1]]
            rows = rows if count == len(inside) else rows[inside[launch[rows]]]
            if not len(rows):
                continue
            where = launch[rows]
            if not bool((where[1:] > where[:-1]).all()):
                where, first = np.unique(where, return_index=True)
                rows = rows[first]
            places = position[where]
            cells = Counted(
                _spread(digits, rows, places, count, 0),
                _spread(decimals, rows, places, count, MISSING),
                [(place, odd[row]) for row, place in zip(rows.tolist(), places.tolist(), strict=True) if row in odd]
                if odd
                else [],
                _spread(lines, rows, places, count, 0),
                list(self._units.numbers),
                _spread(unit, rows, places, count, 0),
            )
            found.append((int(where[0]), int(rows[0]), name, cells))
        found.sort(key=lambda entry: entry[:2])
        return {name: to_array(name, cells, converter) for *_, name, cells in found}


def _runs(rows: Rows) -> tuple[Any, list[tuple[str, ...]]]:
    """The run of each row, one after the other, and the launch of each run."""
    coded = [rows.coded(name) for name in _KEY]
    change = np.zeros(len(rows), np.bool_)
    change[:1] = True
    for codes, _ in coded:
        change[1:] |= codes[1:] != codes[:-1]
    begins = np.flatnonzero(change)
    columns = [rows.texts(name, begins) for name in (*_KEY, *_SHAPE)]
    return np.cumsum(change) - 1, list(zip(*columns, strict=True))


def _shapes(found: Sequence[str]) -> list[str]:
    known = {text: shape(text) for text in set(found)}
    return [known[text] for text in found]


def _stripped(coded: tuple[Any, list[bytes]]) -> tuple[Any, list[str]]:
    codes, cells = coded
    return codes, [text_of(cell).strip() for cell in cells]


def _pairs(processes: Sequence[str], metrics: Sequence[str], run: Any, metric: Any) -> set[tuple[str, str]]:
    """Process and metric of rows, each pair once."""
    distinct = list(dict.fromkeys(processes))
    number = np.array([distinct.index(process) for process in processes] or [0])
    there = np.zeros((len(distinct), len(metrics)), np.bool_)
    there[number[run], metric] = True
    return {(distinct[process], metrics[each]) for process, each in np.argwhere(there).tolist()}


def _spread(values: Any, rows: Any, places: Any, count: int, empty: int) -> Any:
    """``values[rows]`` at their launches, ``empty`` for the others."""
    result = np.full(count, empty, values.dtype)
    result[places] = values[rows]
    return result
