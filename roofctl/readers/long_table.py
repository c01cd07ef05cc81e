"""Tables of one row per launch and counter: turned into a column per counter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from roofctl.launches.table import IDENTITY
from roofctl.readers.cells import Cells, Launches, Texts
from roofctl.readers.cells import count as count_of
from roofctl.readers.convert import all_plain, in_threads
from roofctl.readers.numbers import PLAIN, split_glued
from roofctl.readers.split import Rows, changes, coded, joined, matches, taken, valued
from roofctl.readers.tables import CsvTable

_NOTHING: Final = -1


@dataclass(frozen=True)
class Form:
    """How a long table is written.

    ``key`` are the columns that identify a launch, ``identity`` those that describe it, each after its ``change``;
    ``values`` are the columns of values by the prefix of the counter. ``unit`` is the column of units; where there is
    none, units stand behind the values. ``device`` is a counter that holds the name of the device. ``skip``: what
    rows without a counter are; empty where they are counters, too. The ``first`` of several values counts, or the last.
    ``launches`` is the column of the key that holds how many a row stands for; empty where it stands for one.
    ``labels`` give the names of counters that a page calls otherwise, ``percentages`` those where the unit is ``%``.
    """

    key: tuple[str, ...]
    identity: Mapping[str, str]
    values: Mapping[str, str]
    change: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    metric: str = "Metric Name"
    unit: str = ""
    device: str = ""
    skip: str = ""
    first: bool = True
    launches: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    percentages: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Counter:
    """Cells of one counter, block by block: runs, lines, units, and texts by column of values."""

    runs: list[Any] = field(default_factory=list)
    lines: list[Any] = field(default_factory=list)
    units: list[Any] = field(default_factory=list)
    texts: list[list[Any]] = field(default_factory=list)


class LongTable:
    """Launches of such a table. A run is neighbouring rows of one launch, which has one run nearly always."""

    def __init__(self, table: CsvTable, known: frozenset[str], form: Form) -> None:
        self._table, self._known, self._form = table, known, form
        self.skipped = 0
        self.what = form.skip
        self._runs = 0
        # By column the cells that stand in the first row of each run, block by block.
        self._begins: dict[str, list[Any]] = {name: [] for name in (*form.key, *form.identity.values())}
        self._devices: dict[int, str] = {}
        self._units = Texts()
        self._counters: dict[str, _Counter] = {}
        self._names: dict[str, set[str]] = {}

    def columns(self) -> list[int]:
        """Places of the columns that are read."""
        form = self._form
        names = (*form.key, *form.identity.values(), *form.values.values(), form.metric, form.unit)
        return sorted({place for name in names if (place := self._table.column(name)) is not None})

    def take(self, rows: Rows) -> bool:
        """Take rows."""
        form = self._form
        columns = {name: self._column(rows, name) for name in self._begins}
        begins = np.flatnonzero(np.logical_or.reduce([changes(columns[name]) for name in form.key]))
        run = np.repeat(np.arange(len(begins), dtype=np.int32), np.diff(begins, append=len(rows)))
        firsts = {name: taken(column, begins) for name, column in columns.items()}
        for name, pieces in self._begins.items():
            pieces.append(firsts[name])
        codes, metrics = self._metrics(rows)
        value = self._column(rows, next(iter(form.values.values())))
        self._see(firsts.get(form.identity.get("process", "")), run, codes, metrics, value)
        run += self._runs
        self._runs += len(begins)
        if form.skip and "" in metrics:
            self.skipped += int(np.count_nonzero(codes == metrics.index("")))
        if form.device and form.device in metrics:
            for row in np.flatnonzero(codes == metrics.index(form.device)).tolist():
                self._devices[int(run[row])] = value[row].as_py().strip()
        known = np.array([name in self._known for name in metrics], np.bool_)[codes]
        order = np.argsort(codes[known], kind="stable")
        self._store(rows, metrics, np.flatnonzero(known)[order], codes[known][order], run)
        return True

    def _metrics(self, rows: Rows) -> tuple[Any, list[str]]:
        """Codes of the counters of rows, and their names: not what a page calls them."""
        codes, printed = coded(self._column(rows, self._form.metric))
        metrics = [self._form.labels.get(name, name) for name in printed]
        if both := [code for code, name in enumerate(printed) if name in self._form.percentages]:
            units, texts = coded(self._column(rows, self._form.unit))
            share = np.array([text.strip() == "%" for text in texts], np.bool_)[units]
            codes = codes.copy()
            for code in both:
                codes[share & (codes == code)] = len(metrics)
                metrics.append(self._form.percentages[printed[code]])
        if len(set(metrics)) == len(metrics):
            return codes, metrics
        distinct = list(dict.fromkeys(metrics))
        return np.array([distinct.index(name) for name in metrics])[codes], distinct

    def _column(self, rows: Rows, name: str) -> Any:
        place = self._table.column(name)
        return pa.array([""] * len(rows), pa.string()) if place is None else rows.columns[place]

    def _see(self, process: Any, run: Any, codes: Any, metrics: list[str], value: Any) -> None:
        """Note which counters have a value, by process; ``process`` is that of each run, None without such a column."""
        process_of, processes = coded(process) if process is not None else (np.zeros(run[-1] + 1, np.int32), [""])
        for name in processes:
            self._names.setdefault(name, set())
        for code, name in enumerate(metrics):
            if (self._form.skip and not name) or all(name in seen for seen in self._names.values()):
                continue
            rows = np.flatnonzero(codes == code)
            rows = rows[valued(value.take(pa.array(rows)))]
            for number in np.unique(process_of[run[rows]]).tolist():
                self._names[processes[number]].add(name)

    def _store(self, rows: Rows, metrics: list[str], chosen: Any, codes: Any, run: Any) -> None:
        """Keep the cells of ``chosen`` rows, which are ordered by their ``codes`` into ``metrics``."""
        if not len(chosen):
            return
        form, pick = self._form, pa.array(chosen)
        texts = [self._column(rows, column).take(pick) for column in form.values.values()]
        if form.unit:
            unit = self._units.codes(self._column(rows, form.unit))[chosen]
        lines, run = rows.lines[chosen], run[chosen]
        begins = np.flatnonzero(np.diff(codes, prepend=_NOTHING))
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(codes)], strict=True):
            counter = self._counters.setdefault(metrics[codes[begin]], _Counter())
            counter.runs.append(run[begin:end])
            counter.lines.append(lines[begin:end])
            counter.texts.append([each[begin:end] for each in texts])
            if form.unit:
                counter.units.append(unit[begin:end])

    def launches(self) -> Launches:
        """What was taken."""
        form, names = self._form, list(self._counters)
        begins = {name: joined(pieces) for name, pieces in self._begins.items()}
        launch = np.zeros(self._runs, np.int64)
        for name in form.key:
            codes, texts = coded(begins[name])
            launch = pa.array(launch * len(texts) + codes).dictionary_encode().indices.to_numpy().astype(np.int64)
        # Launches are in order of appearance; the first run of each describes it.
        _, first = np.unique(launch, return_index=True)
        count = len(first)
        pivoted = in_threads(lambda name: self._pivot(name, launch, count), names, count * len(names))
        cells = {name: found for columns in pivoted for name, found in columns.items()}
        identity = {}
        for name, column in form.identity.items():
            codes, texts = coded(taken(begins[column], first))
            identity[name] = [form.change.get(name, str)(text) for text in texts], codes
        if form.device:
            devices = [""] * count
            for run, text in self._devices.items():
                devices[launch[run]] = text
            codes, texts = coded(pa.array(devices, pa.string()))
            identity["device"] = texts, codes
        absent = ([""], np.zeros(count, np.int64))
        amount = np.ones(count, np.int64)
        if form.launches:
            codes, texts = coded(taken(begins[form.launches], first))
            amount = np.array([count_of(text) for text in texts], np.int64)[codes]
        identity = {name: identity.get(name, absent) for name in IDENTITY}
        return Launches(identity, cells, self._names, amount, bool(form.launches))

    def _pivot(self, name: str, launch_of: Any, count: int) -> dict[str, Cells]:
        """One cell per launch, the first or the last of several, of each value of a counter."""
        counter = self._counters.pop(name)
        launch = launch_of[np.concatenate(counter.runs)]
        place = np.full(count, _NOTHING)
        rows = np.arange(len(launch))
        # Of values for one place numpy keeps the last.
        place[launch[::-1] if self._form.first else launch] = rows[::-1] if self._form.first else rows
        lines = np.concatenate(counter.lines)
        # A counter has its place where a launch first has it, whichever value counts.
        begin = None if self._form.first else int(lines[launch == launch.min()][0])
        same = len(rows) == count and bool((place == rows).all())
        pick = pa.array(place, mask=place == _NOTHING)
        unit_of = np.concatenate(counter.units)[place] if counter.units else None
        lines = lines[place]
        units = self._units.column()[0]
        if unit_of is not None and (unit_of == unit_of[0]).all():
            units, unit_of = [units[int(unit_of[0])]], None
        cells: dict[str, Cells] = {}
        for number, prefix in enumerate(self._form.values):
            texts = pc.utf8_trim_whitespace(pa.concat_arrays([each[number] for each in counter.texts]))
            texts = texts if same else texts.take(pick)
            if self._form.unit:
                cells[prefix + name] = Cells(texts, lines, units, unit_of)
            else:
                cells[prefix + name] = replace(unglued(texts, lines, ""), begin=begin)
        return cells


def unglued(texts: Any, lines: Any, unit: str, place: int = 0) -> Cells:
    """Cells without the units that stand behind their values (``81.5%``); ``unit`` is that of the others."""
    if not texts.null_count and all_plain(texts, "point"):
        return Cells(texts, lines, [unit], place=place)
    odd = texts.is_valid().to_numpy(zero_copy_only=False) & ~matches(texts, PLAIN["point"])
    if not odd.any():
        return Cells(texts, lines, [unit], place=place)
    codes, distinct = coded(texts.filter(pa.array(odd)))
    values, glued = zip(*map(split_glued, distinct), strict=True)
    units = list(dict.fromkeys([unit, *(each or unit for each in glued)]))
    unit_of = np.zeros(len(texts), np.int64)
    unit_of[odd] = np.array([units.index(each or unit) for each in glued])[codes]
    texts = pc.replace_with_mask(texts, pa.array(odd), pa.array(values, pa.string()).take(pa.array(codes)))
    return Cells(texts, lines, units, unit_of, place)
