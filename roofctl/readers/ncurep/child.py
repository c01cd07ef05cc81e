"""Read results of a report with NVIDIA's ``ncu_report``, in a process of its own: damaged reports can crash it.

Run as ``python -m roofctl.readers.ncurep.child PLAN``; PLAN is a JSON file (``Plan``). The answer is one JSON object on
stdout (``Answer``). Nothing but the standard library and ``ncu_report`` is loaded.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import resource
import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Final, TypedDict

from roofctl.readers.ncurep.container import small_report
from roofctl.readers.ncurep.trim import Trimmed, Trimmer

MEMORY_BYTES: Final = 4 << 30
"""Address space of a child; its slices need a tenth of it."""
_SLICE_LAUNCHES: Final = 1000
_SLICE_BYTES: Final = 32 << 20
"""How much goes into one small report: NVIDIA's reader takes about 25 times the memory of what it reads."""

DEVICE_NAME: Final = "device__attribute_display_name"
CAPABILITY: Final = tuple(f"device__attribute_compute_capability_{part}" for part in ("major", "minor"))
GRID: Final = tuple(f"launch__grid_dim_{axis}" for axis in "xyz")
BLOCK: Final = tuple(f"launch__block_dim_{axis}" for axis in "xyz")
IDENTITY: Final = (DEVICE_NAME, *CAPABILITY, *GRID, *BLOCK)
_CHIP: Final = frozenset(f"device__attribute_{part}" for part in ("architecture", "chip", "implementation"))
_LAUNCH: Final = "launch__"
"""How metrics begin that follow from the kernel and its launch shape."""
_FIXED: Final = "device__attribute_"
"""Metrics from which NVIDIA's reader knows the chip, and by it the units of the others."""


class Plan(TypedDict):
    """What to read. ``results`` are offset and size; ``head`` and ``sessions`` are texts of hex digits.

    ``counter`` is a file whose length says how many results are read.
    """

    path: str
    head: str
    sessions: list[str]
    texts: list[str]
    results: list[tuple[int, int]]
    counters: list[str]
    counter: str


Column = list[int | float | str | None]
"""Values of a metric, launch by launch; None where it is not there, or no number."""


class Answer(TypedDict):
    """Columns of all launches, in order.

    ``kernels`` are full names, ``values`` the columns of the counters, as ``packed`` makes them, ``units`` those of the
    counters, ``others`` metrics that were there and not asked for. ``unread`` counts results that NVIDIA's reader made
    nothing of; columns are then empty.
    """

    kernels: list[str]
    values: dict[str, Column | str]
    units: dict[str, str]
    others: list[str]
    unread: int


def packed(column: Column) -> Column | str:
    """A column of real numbers only as a text of their bytes, which is written and read at no cost."""
    reals = [value for value in column if isinstance(value, float)]
    return base64.b64encode(array("d", reals)).decode() if len(reals) == len(column) else column


def unpacked(column: Column | str) -> Column:
    """The column that ``packed`` was given."""
    return [*array("d", base64.b64decode(column))] if isinstance(column, str) else column


def read(plan: Plan) -> Answer:
    """Carry out a plan, some launches at a time."""
    present = set(plan["texts"])
    names = [name for name in (*IDENTITY, *plan["counters"]) if name in present]
    wanted = _CHIP.union(name for name in names if not name.startswith(_FIXED))
    trimmer = Trimmer(plan["texts"], wanted, _FIXED, frozenset(n for n in names if n.startswith(_LAUNCH)))
    head, sessions = bytes.fromhex(plan["head"]), [bytes.fromhex(text) for text in plan["sessions"]]
    found = _Found({name: [] for name in names})
    done = 0
    with Path(plan["path"]).open("rb") as file, TemporaryDirectory() as folder:
        small = Path(folder) / "slice.ncu-rep"
        for part in _slices(file, plan["results"], trimmer):
            for attempt in _attempts(part, file):
                small.write_bytes(small_report(head, sessions, plan["texts"], attempt.results))
                if _read_slice(small, attempt, found):
                    break
            else:
                return Answer(kernels=[], values={}, units={}, others=[], unread=len(part.results))
            done += len(part.results)
            with contextlib.suppress(OSError):  # no answer fails for want of a progress bar
                os.truncate(plan["counter"], done)
    values = {name: packed(column) for name, column in found.columns.items()}
    others = sorted(trimmer.seen.difference(names))
    return Answer(kernels=found.kernels, values=values, units=found.units, others=others, unread=0)


@dataclass
class _Found:
    """What was read so far."""

    columns: dict[str, Column]
    kernels: list[str] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)


@dataclass
class _Slice:
    """Results for one small report, the first as it was written.

    ``device`` and ``shape`` give, for each, a result of the slice that has the same device and the same launch shape.
    """

    places: list[tuple[int, int]] = field(default_factory=list)
    results: list[bytes] = field(default_factory=list)
    device: list[int] = field(default_factory=list)
    shape: list[int] = field(default_factory=list)
    size: int = 0
    _shapes: dict[bytes, int] = field(default_factory=dict)

    def full(self, more: int) -> bool:
        return len(self.results) >= _SLICE_LAUNCHES or self.size + more > _SLICE_BYTES

    def add(self, place: tuple[int, int], result: bytes, short: Trimmed | None = None) -> None:
        number = len(self.results)
        self.places.append(place)
        # NVIDIA's reader takes most of its time for metrics: those that it reads in another launch are left out.
        known = short and short.common in self._shapes
        self.results.append(short.result + (b"" if known else short.common) if short else result)
        self.device.append(0 if short else number)
        self.shape.append(self._shapes.setdefault(short.common, number) if short else number)
        self.size += len(self.results[-1])

    def alike(self, name: str) -> Sequence[int]:
        """For each result, one with the same value of a metric."""
        if name.startswith(_FIXED):
            return self.device
        return self.shape if name.startswith(_LAUNCH) else range(len(self.results))

    def restored(self, file: BinaryIO) -> _Slice:
        """The same results as they were written, should NVIDIA's reader miss something in the short ones."""
        whole = _Slice()
        for place in self.places:
            whole.add(place, _at(file, place))
        return whole


def _at(file: BinaryIO, place: tuple[int, int]) -> bytes:
    file.seek(place[0])
    return file.read(place[1])


def _attempts(part: _Slice, file: BinaryIO) -> Iterator[_Slice]:
    yield part
    yield part.restored(file)


def _slices(file: BinaryIO, places: list[tuple[int, int]], trimmer: Trimmer) -> Iterator[_Slice]:
    part = _Slice()
    for place in places:
        whole = _at(file, place)
        short = _trimmed(whole, trimmer) if part.results else None
        if part.results and part.full(len(short.result if short else whole)):
            yield part
            part, short = _Slice(), None
        if not part.results:
            _learn(whole, trimmer)
        part.add(place, whole, short)
    if part.results:
        yield part


def _trimmed(result: bytes, trimmer: Trimmer) -> Trimmed | None:
    with contextlib.suppress(ValueError, IndexError):
        return trimmer.trim(result)
    return None  # not of the form known here: NVIDIA's reader says whether it is one


def _learn(result: bytes, trimmer: Trimmer) -> None:
    with contextlib.suppress(ValueError, IndexError):
        trimmer.learn(result)


def _read_slice(path: Path, part: _Slice, found: _Found) -> bool:
    """Add the launches of one small report; False when the reader did not understand all of them as they are here."""
    import ncu_report  # noqa: PLC0415 - after the memory limit

    context = ncu_report.load_report(str(path))
    actions = [action for number in range(context.num_ranges()) for action in _actions(context.range_by_idx(number))]
    if len(actions) != len(part.results) or any(action is None for action in actions):
        return False
    kernels = [action.name(ncu_report.IAction.NameBase_DEMANGLED) for action in actions]
    if any(kernel is None for kernel in kernels):
        return False
    columns: dict[str, Column] = {}
    units: dict[str, str] = {}
    for name in found.columns:
        alike = part.alike(name)
        metrics = [(n, metric) for n in sorted(set(alike)) if (metric := actions[n].metric_by_name(name)) is not None]
        if name not in found.units and metrics:
            units[name] = _clean(metrics[0][1].unit() or "")
        values = {n: _value(metric, ncu_report.IMetric) for n, metric in metrics}
        columns[name] = list(map(values.get, alike))
    found.units.update(units)
    found.kernels += map(_clean, kernels)
    for name, column in columns.items():
        found.columns[name] += column
    return True


def _actions(span: Any) -> Iterator[Any]:
    return (span.action_by_idx(number) for number in range(span.num_actions()))


def _value(metric: Any, kinds: Any) -> int | float | str | None:
    """The value as it is stored: counts may exceed what a float holds."""
    kind = metric.kind()
    if kind in (kinds.ValueKind_DOUBLE, kinds.ValueKind_FLOAT):
        number = float(metric.as_double())
        return number if math.isfinite(number) else None
    if kind in (kinds.ValueKind_UINT32, kinds.ValueKind_UINT64):
        return int(metric.as_uint64())
    return _clean(metric.as_string() or "") if kind == kinds.ValueKind_STRING else None


def _clean(text: str) -> str:
    """Text that can be written as UTF-8: the reader passes on bytes of a damaged name as lone surrogates."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def limit_memory() -> None:
    """Bound the address space of this process; a limit that the user set stays where it is lower."""
    there = [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY]
    limit = min([MEMORY_BYTES, *there])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> None:
    """Read the plan named on the command line and print the answer."""
    limit_memory()
    plan: Plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps(read(plan), allow_nan=False))  # noqa: T201 - stdout is the answer


if __name__ == "__main__":
    main()
