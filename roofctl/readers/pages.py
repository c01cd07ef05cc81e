"""What is taken of ncu's raw page (a row per launch) and details page (a row per launch and counter)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from roofctl.counts import Part, counts_work
from roofctl.readers import ncu
from roofctl.readers.cells import Irregular
from roofctl.readers.columnar import Batch
from roofctl.readers.columns import Cells, Grown, Numbers, texts, to_array
from roofctl.readers.digits import MISSING
from roofctl.readers.launches import NCU_IDENTITY, Converter, captures_of, shape
from roofctl.readers.numbers import Mark, is_missing
from roofctl.readers.tables import Table
from roofctl.readers.words import Heads, Words, text_of

_GPU: Final = "device__attribute_display_name"
_HEAD: Final = ("Kernel Name", "Block Size", "Grid Size", "CC")
"""Columns that end a row's head: the last of them that a table has."""


def _heads(header: Sequence[str], first: str) -> tuple[str, str]:
    """The columns from ``first`` on that say who launched which kernel how. Raises Irregular in another order."""
    last = max(header.index(name) for name in _HEAD if name in header)
    needed = {"Process ID", *(name for name in _HEAD if name in header)}
    if not needed <= set(header[header.index(first) : last + 1]):
        raise Irregular
    return first, header[last]


class RawPage:
    """Launches of a raw page."""

    numbered = True
    skipped = 0

    def __init__(self, table: Table, known: frozenset[str], mark: Mark | None) -> None:
        header, units = table.header, table.units or []
        self.head = _heads(header, "Process ID")
        first, last = (header.index(name) for name in self.head)
        self._heads = Heads(header[first : last + 1], ("Process ID",))
        self._units = {name: units[i] if i < len(units) else "" for i, name in enumerate(header)}
        self._counters = [name for name in header if name in known]
        self._gpu = Words()
        self._rows = {"head": Grown("int32"), "gpu": Grown("int32"), "line": Grown("int64")}
        self._numbers = Numbers(len(self._counters), mark)
        # Counters that the first rows have need no second look; the others are looked for in every block.
        self._seen = {name for launch in ncu.read_raw(table, frozenset()) for name in launch.names}
        rest = [name for name in header if name not in NCU_IDENTITY and name not in known]
        self.columns = ["ID", _GPU, *self._counters, *(name for name in rest if name not in self._seen)]

    def heads(self) -> Heads:
        """One for the whole page: launches of a kernel are alike."""
        return self._heads

    def take(self, batch: Batch) -> None:
        """Take launches."""
        gpu = self._gpu.codes(batch.data, batch.starts[1], batch.ends[1])
        for name, values in (("head", batch.codes), ("gpu", gpu), ("line", batch.lines)):
            self._rows[name].add(values)
        last = 2 + len(self._counters)
        self._numbers.add(batch.data, batch.starts[2:last], batch.ends[2:last])
        for place, name in enumerate(self.columns[last:], last):
            if name not in self._seen and bool(has_value(batch.data, batch.starts[place], batch.ends[place]).any()):
                self._seen.add(name)

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
        head = self._rows["head"].whole()
        identity = {
            "kernel": texts(self._heads.column("Kernel Name"), head),
            "process": texts(self._heads.column("Process ID"), head),
            "block": texts(list(map(shape, self._heads.column("Block Size"))), head),
            "grid": texts(list(map(shape, self._heads.column("Grid Size"))), head),
            "device": texts([text_of(cell).strip() for cell in self._gpu.cells], self._rows["gpu"].whole()),
            "compute_capability": texts(self._heads.column("CC"), head),
        }
        arrays = {}
        for name, column in zip(self._counters, self._numbers.columns, strict=True):
            cells = Cells(
                column.digits.whole(),
                column.decimals.whole(),
                column.odd,
                self._rows["line"].whole(),
                [self._units[name]],
            )
            arrays[name] = to_array(name, cells, converter)
            column.digits = Grown("int64")
        return [Part(_frame(identity, arrays), converter.source, names)]

    def _check_one_capture(self) -> None:
        """Processes that all have some counter of work belong to one capture; else names of each would be needed."""
        numbers = {process: number for number, process in enumerate(dict.fromkeys(self._heads.column("Process ID")))}
        of_head = np.array([numbers[process] for process in self._heads.column("Process ID")])
        process = of_head[self._rows["head"].whole()]
        present = set(np.unique(process).tolist())
        if len(present) == 1:
            return
        for name, column in zip(self._counters, self._numbers.columns, strict=True):
            have = process[column.decimals.whole() != MISSING]
            if counts_work(name) and set(np.unique(have).tolist()) == present:
                return
        raise Irregular


def has_value(data: bytes, starts: Any, ends: Any) -> Any:
    """Which cells have a value: what begins with a digit has; only the others are looked at one by one."""
    first = np.frombuffer(data, np.uint8)[np.minimum(starts, len(data) - 1)] - np.uint8(ord("0"))
    lengths = ends - starts
    result = (lengths > 0) & (first < 10)  # noqa: PLR2004
    known: dict[bytes, bool] = {}
    for row in np.flatnonzero((lengths > 0) & ~result).tolist():
        cell = data[starts[row] : ends[row]]
        if cell not in known:
            known[cell] = not is_missing(text_of(cell))
        result[row] = known[cell]
    return result


def _frame(identity: dict[str, Any], counters: dict[str, Any]) -> pd.DataFrame:
    rows = len(identity["kernel"])
    fixed = {**identity, "launches": np.ones(rows, np.int64), "is_summary": np.zeros(rows, np.bool_)}
    return pd.DataFrame({**fixed, **counters}, copy=False)


class DetailsPage:
    """Launches of a details page, put together from a row per counter."""

    numbered = False
    columns: Sequence[str] = ("Metric Name", "Metric Unit", "Metric Value")

    def __init__(self, table: Table, known: frozenset[str], mark: Mark | None) -> None:
        header = table.header
        self.head = _heads(header, "ID")
        first, last = (header.index(name) for name in self.head)
        self._names = header[first : last + 1]
        if "Metric Unit" not in header or header.index("Metric Unit") != header.index("Metric Name") + 1:
            raise Irregular
        self._known = known
        self._launch_of: dict[tuple[str, ...], int] = {}
        self._launches: list[list[str]] = []
        self._gpu: dict[int, str] = {}
        self._process_of = Grown("int64")
        self._processes: dict[str, int] = {}
        self._pairs = Words()
        self._metrics: list[str] = []
        self._pair: list[tuple[int, str]] = []
        self._numbers = Numbers(1, mark, stripped=True)
        self._rows = {name: Grown("int32") for name in ("launch", "pair")}
        self._line = Grown("int64")
        self._present: set[tuple[int, int]] = set()
        self.skipped = 0

    def heads(self) -> Heads:
        """A new one for every block: each launch has a head of its own."""
        return Heads(self._names, ("ID", "Process ID"))

    def take(self, batch: Batch) -> None:
        """Take rows."""
        launch = self._launches_of(batch)
        changes = np.flatnonzero(np.diff(launch))
        length = int(np.median(np.diff(changes))) if len(changes) > 1 else 1
        pair = self._pairs.codes(batch.data, batch.starts[0], batch.ends[1], length)
        self._split_pairs()
        metric = np.array([metric for metric, _ in self._pair] or [0], dtype=np.int64)[pair]
        named = np.array([bool(name) for name in self._metrics] or [False])[metric]
        self.skipped += int(np.count_nonzero(~named))
        self._note_values(batch, launch, metric, named)
        rows = np.flatnonzero(np.array([name in self._known for name in self._metrics] or [False])[metric])
        self._numbers.add(batch.data, batch.starts[2:, rows], batch.ends[2:, rows])
        self._rows["launch"].add(launch[rows])
        self._rows["pair"].add(pair[rows])
        self._line.add(batch.lines[rows])

    def _launches_of(self, batch: Batch) -> Any:
        """The launch of each row: known by process, ID and kernel."""
        heads = batch.heads
        numbers = np.zeros(max(len(heads.fields), 1), np.int32)
        processes = []
        columns = [heads.column(name) for name in ("Process ID", "ID", "Kernel Name")]
        used, first = np.unique(batch.codes, return_index=True)
        # Launches are numbered as they come; heads of rows that were read one by one have the last codes.
        for code in used[np.argsort(first)].tolist():
            key = (columns[0][code], columns[1][code], columns[2][code])
            numbers[code] = number = self._launch_of.setdefault(key, len(self._launches))
            if number == len(self._launches):
                self._launches.append(heads.fields[code])
                processes.append(self._processes.setdefault(key[0], len(self._processes)))
        self._process_of.add(np.array(processes, dtype=np.int64))
        return numbers[batch.codes]

    def _split_pairs(self) -> None:
        """Metric and unit of the cells that are new among ``pairs``."""
        for cell in self._pairs.cells[len(self._pair) :]:
            metric, _, unit = text_of(cell).partition('","')
            if b'"' in cell.replace(b'","', b"", 1):
                raise Irregular
            if (name := metric.strip()) not in self._metrics:
                self._metrics.append(name)
            self._pair.append((self._metrics.index(name), unit.strip()))

    def _note_values(self, batch: Batch, launch: Any, metric: Any, named: Any) -> None:
        """Which counters have values in which process, and what the GPU is called."""
        starts, ends = batch.starts[2], batch.ends[2]
        some = np.flatnonzero(named & has_value(batch.data, starts, ends))
        process = self._process_of.whole()[launch[some]]
        for both in np.unique(process * len(self._metrics) + metric[some]).tolist():
            self._present.add(divmod(both, len(self._metrics)))
        if _GPU in self._metrics:
            for row in np.flatnonzero(metric == self._metrics.index(_GPU)).tolist():
                self._gpu[int(launch[row])] = text_of(batch.data[starts[row] : ends[row]]).strip()

    def names(self) -> frozenset[str]:
        """All counters that had a value."""
        return frozenset(self._metrics[metric] for _, metric in self._present)

    def mark(self) -> Mark:
        """The decimal mark that the cells decide. Raises Irregular when they leave it open."""
        return self._numbers.decided()

    def parts(self, converter: Converter) -> list[Part]:
        """The launches as parts, one per capture among their processes."""
        processes = list(self._processes)
        counters: dict[str, set[str]] = {process: set() for process in processes}
        for process, metric in self._present:
            counters[processes[process]].add(self._metrics[metric])
        launch, pair = self._rows["launch"].whole(), self._rows["pair"].whole()
        parts = []
        for group in captures_of(counters):
            inside = np.array([process in group for process in processes])[self._process_of.whole()]
            position = np.cumsum(inside) - 1
            arrays = self._arrays(inside, position, launch, pair, converter)
            names = frozenset(name for process in group for name in counters[process])
            parts.append(Part(_frame(self._identity(inside), arrays), converter.source, names))
        return parts

    def _identity(self, inside: Any) -> dict[str, Any]:
        kept = np.flatnonzero(inside).tolist()

        def column(name: str) -> list[str]:
            if name not in self._names:
                return [""] * len(kept)
            place = self._names.index(name)
            return [self._launches[launch][place].strip() for launch in kept]

        columns = {
            "kernel": column("Kernel Name"),
            "process": column("Process ID"),
            "block": list(map(shape, column("Block Size"))),
            "grid": list(map(shape, column("Grid Size"))),
            "device": [self._gpu.get(launch, "") for launch in kept],
            "compute_capability": column("CC"),
        }
        return {name: [value or None for value in values] for name, values in columns.items()}

    def _arrays(self, inside: Any, position: Any, launch: Any, pair: Any, converter: Converter) -> dict[str, Any]:
        """Columns of the counters that launches of one capture have, in the order in which launches have them."""
        column = self._numbers.columns[0]
        digits, decimals, lines = column.digits.whole(), column.decimals.whole(), self._line.whole()
        odd = dict(column.odd)
        of_pair = np.array([metric for metric, _ in self._pair] or [0], dtype=np.int64)
        units = [unit for _, unit in self._pair]
        metric = of_pair[pair]
        order = np.argsort(metric, kind="stable")
        bounds = np.searchsorted(metric[order], np.arange(len(self._metrics) + 1))
        found: list[tuple[int, int, str, Cells]] = []
        count = int(np.count_nonzero(inside))
        for number, name in enumerate(self._metrics):
            rows = order[bounds[number] : bounds[number + 1]]
            rows = rows[inside[launch[rows]]]
            if not len(rows):
                continue
            where, first = np.unique(launch[rows], return_index=True)
            rows, places = rows[first], position[where]
            cells = Cells(
                _spread(digits, rows, places, count, 0),
                _spread(decimals, rows, places, count, MISSING),
                [(place, odd[row]) for row, place in zip(rows.tolist(), places.tolist(), strict=True) if row in odd]
                if odd
                else [],
                _spread(lines, rows, places, count, 0),
                units,
                _spread(pair, rows, places, count, 0),
            )
            found.append((int(where[0]), int(rows[0]), name, cells))
        found.sort(key=lambda entry: entry[:2])
        return {name: to_array(name, cells, converter) for *_, name, cells in found}


def _spread(values: Any, rows: Any, places: Any, count: int, empty: int) -> Any:
    """``values[rows]`` at their launches, ``empty`` for the others."""
    result = np.full(count, empty, values.dtype)
    result[places] = values[rows]
    return result
