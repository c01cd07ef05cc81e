"""From cells to a frame: the one conversion of launches to numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from roofctl.core.errors import InputError
from roofctl.core.parallel import processors
from roofctl.core.units import Unit, parse_unit
from roofctl.quantities import Catalogue
from roofctl.readers.cells import FEW_CELLS, Cell, Cells
from roofctl.readers.numbers import (
    COUNTED,
    EXAMPLES,
    PLAIN,
    SPACES,
    DecimalSeparator,
    Number,
    is_missing,
    lost_digits,
    parse_number,
    to_base,
)
from roofctl.readers.split import are_digits, content, matches, valued

LARGEST: Final = 10**18
"""No launch counts more; weighted sums of several counters still fit 64 bits."""
_EXACT: Final = 2**53
"""Up to here a float holds every integer."""
_EXACT_DIGITS: Final = 15
"""A float holds every number of up to so many digits exactly enough to tell whether it is an integer."""
_MANY_CELLS: Final = 200_000
"""From here on the work on columns is worth threads, of which more than a few wait for memory."""
_MOST_THREADS: Final = 4
_PERCENT: Final = Unit("percent", 0.01)

_A = TypeVar("_A")
_B = TypeVar("_B")


@dataclass
class Converter:
    """Turns cells into SI numbers for one file; remembers what it could not read."""

    source: str
    decimal: DecimalSeparator
    catalogue: Catalogue
    rounded: int = 0
    negative: dict[str, int] = field(default_factory=dict)
    _units: dict[tuple[str, str], Unit] = field(default_factory=dict)

    def number(self, counter: str, cell: Cell) -> Number | None:
        """Value of ``cell`` in SI base units, or None when missing. Raises InputError when it is neither."""
        if is_missing(cell.text):
            return None
        try:
            value = parse_number(cell.text, self.decimal)
        except ValueError as error:
            raise InputError(
                f"{self.source} line {cell.line}: {cell.text!r} under {counter} is not a number "
                f"(decimal {self.decimal}); expected one such as {EXAMPLES[self.decimal]} or n/a",
                hint="if the file uses the other decimal separator, state it with --decimal",
            ) from error
        if value is None:
            return None
        self.rounded += lost_digits(cell.text)
        number = to_base(value, self.unit(counter, cell))
        if number < 0:
            self.void(counter)
            return None
        if number > LARGEST:
            raise InputError(
                f"{self.source} line {cell.line}: {counter} is {cell.text!r}, which no counter can be; "
                f"expected 0 to {LARGEST:.0e}",
                hint="the file may be damaged: capture again",
            )
        return number

    def void(self, counter: str) -> None:
        """Take a negative value, which no counter can have, for a missing one."""
        self.negative[counter] = self.negative.get(counter, 0) + 1

    def unit(self, counter: str, cell: Cell) -> Unit:
        """Unit of ``cell``. Raises InputError when it is not one that ``counter`` can have."""
        key = (counter, cell.unit)
        if key not in self._units:
            self._units[key] = self._checked_unit(counter, cell)
        return self._units[key]

    def columns(self, counters: Sequence[tuple[str, Cells]]) -> list[Any]:
        """Nullable columns of SI numbers: Int64 while every value is a whole count, so that counts stay exact.

        Raises InputError as ``number`` does.
        """
        parts = grouped([cells for _, cells in counters])
        count = sum(len(cells.texts) for _, cells in counters)
        plain = in_threads(lambda part: self._plain_columns(counters[part]), parts, count)
        return [
            array(list(self._one_by_one(counter, cells))) if column is None else column
            for (counter, cells), column in zip(counters, itertools.chain(*plain), strict=True)
        ]

    def steps(self, cells: Cells) -> Any | None:
        """By how much each value may be off for its few digits, in SI base units; None where all are printed whole."""
        separator = "." if self.decimal == "point" else ","
        places = pc.find_substring(cells.texts, separator).fill_null(-1).to_numpy(zero_copy_only=False)
        if (places < 0).all():
            return None
        digits = pc.utf8_length(cells.texts).fill_null(0).to_numpy(zero_copy_only=False) - places - 1
        factors = np.array([unit.factor if (unit := parse_unit(text)) else 1.0 for text in cells.units])
        scale = factors[0 if cells.unit_of is None else cells.unit_of]
        return np.where(places < 0, 0.0, 0.5 * 10.0 ** -np.minimum(digits, 30) * scale)

    def _one_by_one(self, counter: str, cells: Cells) -> Iterator[Number | None]:
        texts = cells.texts.to_pylist()
        units = cells.unit_of.tolist() if cells.unit_of is not None else [0] * len(texts)
        for text, unit, line in zip(texts, units, cells.lines.tolist(), strict=True):
            yield None if text is None else self.number(counter, Cell(text, cells.units[unit], line))

    def _plain_columns(self, counters: Sequence[tuple[str, Cells]]) -> list[Any | None]:
        """As ``columns`` for plain numbers and missing values; None where cells must be looked at one by one."""
        group = [cells for _, cells in counters]
        texts, codes = distinct(group)
        present, kept = plain_texts(texts)
        if any(cells.plain != self.decimal for cells in group) and not all_plain(kept, self.decimal):
            return [None] * len(group)
        units: list[Unit] = []
        unit_of = np.zeros(len(texts), np.int64)
        begins = [0, len(texts)] if len(group) == 1 else np.cumsum([0, *(len(cells.texts) for cells in group)]).tolist()
        try:
            for (counter, cells), begin, end in zip(counters, begins, begins[1:], strict=False):
                used = np.zeros(end - begin, np.int64) if cells.unit_of is None else cells.unit_of
                for code in np.unique(used[present[begin:end]]).tolist():
                    unit_of[begin:end][used == code] = len(units)
                    units.append(self.unit(counter, Cell("", cells.units[code], 0)))
        except InputError:  # raised again with its line
            return [None] * len(group)
        numbers = _Numbers(digits(kept, self.decimal), units, unit_of[present])
        places = np.append(0, np.cumsum(present))
        columns: list[Any | None] = []
        for begin, end in itertools.pairwise(begins):
            values = numbers.column(int(places[begin]), int(places[end]))
            columns.append(None if values is None else _nullable(values, present[begin:end], codes))
        return columns

    def _checked_unit(self, counter: str, cell: Cell) -> Unit:
        unit = parse_unit(cell.unit)
        expected = self.catalogue.dimension_of(counter)
        # Byte counters make sector counts, and device attributes print kHz under an empty unit.
        allowed = {
            "count": ("count", "bytes"),
            "hertz": ("hertz", "count"),
            "seconds": ("seconds",),
            "fraction": ("percent", "count"),
        }
        if unit is None or (expected and unit.dimension not in allowed[expected]):
            wanted = {"seconds": "a time (ns, us, ms, s, nsecond …)", "hertz": "a frequency"}.get(
                expected or "", "a percentage" if expected == "fraction" else "a count or bytes"
            )
            raise InputError(
                f"{self.source} line {cell.line}: {counter} has unit {cell.unit!r}; expected {wanted}",
                hint="export the file again with --print-units base (ncu) or -u ns (nvprof)",
            )
        # Some versions print the percentages of a limit without their unit.
        return _PERCENT if expected == "fraction" else unit


def plain_texts(texts: Any) -> tuple[Any, Any]:
    """Which cells are not missing, and those ``without_spaces``."""
    present = valued(texts)
    return present, without_spaces(texts if present.all() else texts.filter(pa.array(present)))


def without_spaces(texts: Any) -> Any:
    """Cells without the thousands separators that are no decimal separator anywhere."""
    data, _ = content(texts)
    plain = not len(data) or (data.min() >= ord(",") and data.max() <= ord("9"))
    return texts if plain else pc.replace_substring_regex(texts, f"[{SPACES}]", "")


def grouped(columns: Sequence[Cells]) -> list[slice]:
    """Slices of neighbouring columns, which together have few cells: a call costs more than those."""
    groups = np.cumsum([len(cells.texts) for cells in columns]) // FEW_CELLS
    cuts = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(columns)]
    return [slice(begin, end) for begin, end in itertools.pairwise(cuts) if end > begin]


def distinct(columns: Sequence[Cells]) -> tuple[Any, Any]:
    """The cells of some columns, "" for null, and None; distinct ones of a column that repeats them, and codes."""
    if len(columns) == 1:
        return columns[0].distinct()
    texts = pa.concat_arrays([cells.texts for cells in columns])
    return texts.fill_null("") if texts.null_count else texts, None


def in_threads(work: Callable[[_A], _B], parts: Sequence[_A], cells: int) -> list[_B]:
    """``work`` on parts of so many cells: what it does in long steps needs no interpreter."""
    if cells < _MANY_CELLS:
        return list(map(work, parts))
    with ThreadPoolExecutor(min(processors(), _MOST_THREADS)) as pool:
        return list(pool.map(work, parts))


def all_plain(texts: Any, decimal: DecimalSeparator) -> bool:
    """Whether all cells are numbers without sign or exponent."""
    data, places = content(texts)
    if not len(texts) or (are_digits(data) and np.diff(places).min() > 0):
        return True
    # One text of all cells, which hold no line end: a call on each costs more than its cell.
    lines = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts), "\n")
    return bool(matches(lines, rf"{PLAIN[decimal]}(?:\n{PLAIN[decimal]})*")[0])


def digits(texts: Any, decimal: DecimalSeparator) -> Any:
    """Plain numbers without thousands separators and with a decimal point."""
    group = b"," if decimal == "point" else b"."
    data, places = content(texts)
    kept = data != ord(group)
    if decimal == "point" and kept.all():
        return texts
    offsets = np.zeros(len(data) + 1, np.int32)
    np.cumsum(kept, out=offsets[1:])
    plain = data.tobytes().translate(bytes.maketrans(b",", b"."), group)
    return pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(offsets[places]), pa.py_buffer(plain)])


class _Numbers:
    """Plain ``texts`` in SI base units, each rounded once; ``unit_of`` says which of the ``units`` each has."""

    def __init__(self, texts: Any, units: Sequence[Unit], unit_of: Any) -> None:
        data, places = content(texts)
        factors = [Decimal(repr(unit.factor)) for unit in units]
        self._counted = np.array([unit.dimension in COUNTED for unit in units] or [False], np.bool_)[unit_of]
        self._lengths = np.diff(places)
        self._values = None
        if any(factor != Decimal(1).scaleb(factor.adjusted()) for factor in factors):
            return
        try:
            if (
                self._counted.all()
                and not any(factor.adjusted() for factor in factors)
                and not (data == ord(".")).any()
            ):
                self._values = texts.cast(pa.int64()).to_numpy()
                return
            if any(factor.adjusted() for factor in factors):
                # An exponent behind the digits: the one rounding is that of Decimal.
                exponents = pa.array([f"e{factor.adjusted()}" for factor in factors], pa.string())
                suffix = exponents[0] if len(units) == 1 else exponents.take(pa.array(unit_of))
                texts = pc.binary_join_element_wise(texts, suffix, "")
            self._values = texts.cast(pa.float64()).to_numpy()
        except pa.ArrowInvalid:  # more digits than 64 bits hold
            return

    def column(self, begin: int, end: int) -> Any | None:
        """Some of them: int64 where all are whole and counted, else float64.

        None for numbers beyond ``LARGEST``, and where a float cannot tell whether a number is whole.
        """
        if begin == end:
            return np.zeros(0, np.int64)
        values = None if self._values is None else self._values[begin:end]
        if values is None or values.max() > LARGEST or values.dtype == np.int64:
            return None if values is None or values.max() > LARGEST else values
        counted = self._counted[begin:end]
        if counted.any() and (self._lengths[begin:end].max() > _EXACT_DIGITS + 1 or values.max() >= _EXACT):
            return None
        return values.astype(np.int64) if (counted & (values == np.floor(values))).all() else values


def _nullable(numbers: Any, present: Any, codes: Any) -> Any:
    """A nullable column of numbers where a value is ``present``, by ``codes`` where there are some."""
    values = np.zeros(len(present), numbers.dtype)
    values[present] = numbers
    if codes is not None:
        values, present = values[codes], present[codes]
    kind = pd.arrays.IntegerArray if numbers.dtype == np.int64 else pd.arrays.FloatingArray
    return kind(values, ~present)


def array(values: Sequence[Number | None]) -> Any:
    """A nullable column: Int64 while every value is a whole count, so that counts stay exact, else Float64."""
    whole = all(value is None or isinstance(value, int) for value in values)
    return pd.array(values, dtype="Int64" if whole else "Float64")
