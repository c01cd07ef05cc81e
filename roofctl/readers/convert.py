"""From cells to a frame: what every reader hands over, and its one conversion to numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pandas as pd

from roofctl.core.errors import InputError
from roofctl.core.notes import Note
from roofctl.core.units import Unit, parse_unit
from roofctl.launches.table import IDENTITY, Part, counts_work
from roofctl.quantities import Catalogue
from roofctl.readers.numbers import EXAMPLES, Mark, Number, is_missing, lost_digits, parse_number, to_base

# Columns of ncu tables that describe a launch; everything else in a raw page is a counter.
NCU_IDENTITY: Final = frozenset(
    {
        *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream"),
        *("Block Size", "Grid Size", "Device", "Device Id", "CC", "Invocations", "Minimum", "Maximum", "Average"),
        *("Section Name", "Body Item Label", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type"),
        *("Rule Description", "Estimated Speedup Type", "Estimated Speedup"),
    }
)
LARGEST: Final = 10**18
"""No launch counts more; weighted sums of several counters still fit 64 bits."""
_SHAPE: Final = re.compile(r"\(\s*\d{1,10}\s*,\s*\d{1,10}\s*,\s*\d{1,10}\s*\)")


@dataclass(frozen=True)
class Cell:
    """A value as printed, with its unit and the line it stands on."""

    text: str
    unit: str
    line: int


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


def shape(text: str) -> str:
    """A launch shape as ``(x, y, z)``; a plain product or an empty cell gives an empty string."""
    return text.strip() if _SHAPE.fullmatch(text.strip()) else ""


def count(text: str) -> int:
    """A count cell such as ``Invocations``: digits with or without group marks."""
    return int(re.sub(r"\D", "", text))


@dataclass
class Converter:
    """Turns cells into SI numbers for one file; remembers what it could not read."""

    source: str
    mark: Mark
    catalogue: Catalogue
    rounded: int = 0
    _units: dict[tuple[str, str], Unit] = field(default_factory=dict)

    def number(self, counter: str, cell: Cell) -> Number | None:
        """Value of ``cell`` in SI base units, or None when missing. Raises InputError when it is neither."""
        if is_missing(cell.text):
            return None
        try:
            value = parse_number(cell.text, self.mark)
        except ValueError as error:
            raise InputError(
                f"{self.source} line {cell.line}: {cell.text!r} under {counter} is not a number "
                f"(decimal {self.mark}); expected one such as {EXAMPLES[self.mark]} or n/a",
                hint="if the file uses the other decimal mark, state it with --decimal",
            ) from error
        if value is None:
            return None
        self.rounded += lost_digits(cell.text)
        number = to_base(value, self.unit(counter, cell))
        if not 0 <= number <= LARGEST:
            raise InputError(
                f"{self.source} line {cell.line}: {counter} is {cell.text!r}, which no counter can be; "
                f"expected 0 to {LARGEST:.0e}",
                hint="the file may be damaged: capture again",
            )
        return number

    def unit(self, counter: str, cell: Cell) -> Unit:
        """Unit of ``cell``. Raises InputError when it is not one that ``counter`` can have."""
        key = (counter, cell.unit)
        if key not in self._units:
            self._units[key] = self._checked_unit(counter, cell)
        return self._units[key]

    def _checked_unit(self, counter: str, cell: Cell) -> Unit:
        unit = parse_unit(cell.unit)
        expected = self.catalogue.dimension_of(counter)
        # Byte counters make sector counts, and device attributes print kHz under an empty unit.
        allowed = {"count": ("count", "bytes"), "hertz": ("hertz", "count"), "seconds": ("seconds",)}
        if unit is None or (expected and unit.dimension not in allowed[expected]):
            wanted = {"seconds": "a time (ns, us, ms, s, nsecond …)", "hertz": "a frequency"}.get(
                expected or "", "a count or bytes"
            )
            raise InputError(
                f"{self.source} line {cell.line}: {counter} has unit {cell.unit!r}; expected {wanted}",
                hint="export the file again with --print-units base (ncu) or -u ns (nvprof)",
            )
        return unit


def to_parts(launches: Sequence[Launch], converter: Converter, notes: Sequence[Note]) -> list[Part]:
    """Frames of one file, one per capture found in it.

    Processes of one capture collect the same counters. Two processes that share none stand
    for two captures put into one file; their times are never mixed.
    """
    return [
        Part(
            frame=_frame(group, converter),
            source=converter.source,
            names=frozenset(name for launch in group for name in launch.names),
            notes=tuple(notes) if index == 0 else (),
        )
        for index, group in enumerate(_split(launches))
    ]


def _split(launches: Sequence[Launch]) -> list[list[Launch]]:
    counters: dict[str, set[str]] = {}
    for launch in launches:
        counters.setdefault(launch.process, set()).update(launch.names)
    return [[launch for launch in launches if launch.process in group] for group in captures_of(counters)]


def captures_of(counters: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Processes put into captures, by the counters that each collected: those that share one belong together."""
    groups: list[tuple[set[str], set[str]]] = []
    for process, collected in counters.items():
        names = set(filter(counts_work, collected))
        shared = [group for group in groups if not names or not group[1] or names & group[1]]
        merged = ({process}.union(*(g[0] for g in shared)), names.union(*(g[1] for g in shared)))
        groups = [group for group in groups if group not in shared] + [merged]
    return [processes for processes, _ in groups]


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
    return make_frame(identity, counters)


def make_frame(identity: Mapping[str, Sequence[Any]], counters: Mapping[str, Sequence[Number | None]]) -> pd.DataFrame:
    """The frame of a part: ``identity`` with the columns that are no counters, ``counters`` in SI base units."""
    return pd.DataFrame({**identity, **{name: _array(values) for name, values in counters.items()}})


def _counters(cells: Iterable[dict[str, Cell]]) -> list[str]:
    return list(dict.fromkeys(counter for each in cells for counter in each))


def _array(values: Sequence[Number | None]) -> Any:
    """A nullable column: Int64 while every value is a whole count, so that counts stay exact."""
    whole = all(value is None or isinstance(value, int) for value in values)
    return pd.array(values, dtype="Int64" if whole else "Float64")
