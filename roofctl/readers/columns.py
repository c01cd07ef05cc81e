"""Columns of counters as they grow by the block, and their one conversion to SI numbers.

The same numbers as ``launches.Converter`` gives cell by cell, and the same errors: cells that are not plain,
and the first of each unit, go through it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd

from roofctl.core.units import Unit
from roofctl.readers.arrow import Cells, Irregular, text_of
from roofctl.readers.convert import LARGEST, Cell, Converter
from roofctl.readers.digits import MISSING, ODD, Plain, parse
from roofctl.readers.numbers import Mark, gather, is_missing

_COUNTED: Final = ("count", "bytes", "ratio")
"""Dimensions whose whole values are integers, as in ``numbers.to_base``."""

_LARGEST_CACHE: Final = 10_000

_EXACT: Final = 2**53
"""Whole numbers that a float holds exactly."""


class Grown:
    """An array that grows in one piece: thousands of small ones would leave holes where no large one fits."""

    def __init__(self, dtype: str) -> None:
        self._room = np.empty(0, dtype)
        self.length = 0

    def add(self, piece: Any, count: int | None = None) -> None:
        """Take ``piece`` behind what there is; or ``count`` times what it holds once."""
        end = self.length + (len(piece) if count is None else count)
        if end > len(self._room):
            room = np.empty(max(end, len(self._room) * 5 // 4 + 4096), self._room.dtype)
            room[: self.length] = self.whole()
            self._room = room
        self._room[self.length : end] = piece
        self.length = end

    def expect(self, length: int) -> None:
        """Make room for as much; what is not used of it costs nothing."""
        if length > len(self._room) and not self.length:
            self._room = np.empty(length, self._room.dtype)

    def whole(self) -> Any:
        """What there is, to be read or changed in place."""
        return self._room[: self.length]


class Sheet:
    """An array by column and row that grows both ways; ``empty`` where nothing was put."""

    def __init__(self, dtype: str, empty: int) -> None:
        self._room = np.full((0, 0), empty, dtype)
        self._empty = empty
        self.length = 0
        self.columns = 0

    def expect(self, rows: int, columns: int) -> None:
        """Make room for as much; what is not used of it costs nothing."""
        shape = max(columns, self._room.shape[0]), max(rows, self._room.shape[1])
        room = np.empty(shape, self._room.dtype)
        room[: self.columns, : self.length] = self.whole()
        self._room = room

    def add(self, columns: Sequence[int], piece: Any, rows: int) -> None:
        """Take ``piece``, some columns of the next rows; more columns begin where ``columns`` says so."""
        width, end = max([self.columns, *(column + 1 for column in columns)]), self.length + rows
        if width > self._room.shape[0] or end > self._room.shape[1]:
            self.expect(end if end <= self._room.shape[1] else max(end, self.length * 5 // 4), width)
        self._room[self.columns : width, : self.length] = self._empty
        self._room[:width, self.length : end] = self._empty
        self._room[list(columns), self.length : end] = piece
        self.columns, self.length = width, end

    def whole(self) -> Any:
        """What there is, by column and row."""
        return self._room[: self.columns, : self.length]


@dataclass
class Column:
    """Cells of one counter: digits and decimals as ``digits.parse`` gives them, texts of those that are odd."""

    digits: Grown = field(default_factory=lambda: Grown("int64"))
    decimals: Grown = field(default_factory=lambda: Grown("uint8"))
    odd: list[tuple[int, str]] = field(default_factory=list)

    def expect(self, rows: int) -> None:
        """Make room for as many."""
        self.digits.expect(rows)
        self.decimals.expect(rows)

    def add(self, digits: Any, decimals: Any, rows: int) -> None:
        """Take cells of ``rows`` rows, or what they all hold."""
        self.digits.add(digits, rows)
        self.decimals.add(decimals, rows)


class Numbers:
    """Columns of cells under one decimal mark, which the cells decide unless it is given.

    While nothing has decided it, what was read stays open: a cell such as 181,600 has the same digits under
    either mark, and three or no decimals. Raises Irregular where cells contradict each other, or leave it open.
    """

    def __init__(self, columns: int, mark: Mark | None, *, stripped: bool = False) -> None:
        self.columns = [Column() for _ in range(columns)]
        self.length = 0
        self.given = mark is not None
        self._mark = mark
        self._stripped = stripped
        self._expected = 0
        self._open: list[tuple[Any, Any]] = []
        self._ambiguous = False
        self._missing: dict[bytes, bool] = {}

    def expect(self, rows: int) -> None:
        """Make room for as many."""
        self._expected = rows
        for column in self.columns:
            column.expect(rows)

    def grow(self, columns: int) -> None:
        """Have as many columns; new ones are empty so far."""
        for _ in range(len(self.columns), columns):
            column = Column()
            column.expect(self._expected)
            self.columns.append(column)
            column.add(0, MISSING, self.length)

    @property
    def settled(self) -> bool:
        """Whether the mark is known: cells need not be read again."""
        return self._mark is not None

    def add(self, cells: Cells, columns: Sequence[int] | None = None) -> None:
        """Take a block's cells, which are those of all columns unless ``columns`` says of which."""
        numbers = range(len(self.columns)) if columns is None else columns
        if not cells.rows:
            return
        plain, odd = self._read(cells)
        if not self._mark and len(plain.open):
            column, row = np.divmod(plain.open, cells.rows)
            self._open.append((np.array(numbers)[column], row + self.length))
        for place, text in odd:
            which = bisect_right(cells.bounds, place) - 1
            begin, end = cells.bounds[which : which + 2]
            rows = range(cells.rows) if end - begin == 1 else (place - begin,)
            self.columns[numbers[which]].odd += [(self.length + row, text) for row in rows]
        for number, begin, end in zip(numbers, cells.bounds, cells.bounds[1:], strict=False):
            self.columns[number].add(plain.digits[begin:end], plain.decimals[begin:end], cells.rows)
        for number in set(range(len(self.columns))).difference(numbers):
            self.columns[number].add(0, MISSING, cells.rows)
        self.length += cells.rows

    def _read(self, cells: Cells) -> tuple[Plain, list[tuple[int, str]]]:
        """Cells under the mark that is right, which they may decide, and those that are odd."""
        plain = parse(cells.data, cells.starts, cells.ends, self._mark or "point")
        odd = self._odd(cells, plain.decimals)
        if self.given:
            return plain, odd
        point, comma = self._evidence(odd, sure=plain.sure)
        if comma and not self._mark:
            self._decide("comma")
            plain = parse(cells.data, cells.starts, cells.ends, "comma")
            odd = self._odd(cells, plain.decimals)
            point, _ = self._evidence(odd, sure=False)
        if (self._mark == "comma" and point) or (self._mark == "point" and comma):
            raise Irregular
        if point and not self._mark:
            self._decide("point")
        return plain, odd

    def decided(self) -> Mark:
        """The mark of all cells. Raises Irregular when they leave it open."""
        if not self._mark and (self._open or self._ambiguous):
            raise Irregular
        return self._mark or "point"

    def _decide(self, mark: Mark) -> None:
        self._mark = mark
        if mark == "comma":
            for columns, rows in self._open:
                for number in np.unique(columns).tolist():
                    # What was read as groups has three decimals, and the other way round.
                    decimals, cells = self.columns[number].decimals.whole(), rows[columns == number]
                    decimals[cells] = 3 - decimals[cells]
        self._open.clear()

    def _evidence(self, odd: Sequence[tuple[int, str]], *, sure: bool) -> tuple[bool, bool]:
        """Whether some cell can be read with a point only, and with a comma only."""
        found = gather(text for _, text in odd)
        self._ambiguous = self._ambiguous or bool(found.ambiguous)
        mine = self._mark or "point"
        return bool(found.point) or (sure and mine == "point"), bool(found.comma) or (sure and mine == "comma")

    def _odd(self, cells: Cells, decimals: Any) -> list[tuple[int, str]]:
        """Cells that are neither plain nor missing, by place. Marks the missing ones."""
        found = []
        for place in np.flatnonzero(decimals == ODD).tolist():
            cell = bytes(cells.data[cells.starts[place] : cells.ends[place]])
            missing = self._missing.get(cell)
            if missing is None:
                if len(self._missing) > _LARGEST_CACHE:
                    self._missing.clear()
                missing = self._missing[cell] = is_missing(text_of(cell))
            if missing:
                decimals[place] = MISSING
            else:
                text = text_of(cell)
                found.append((place, text.strip() if self._stripped else text))
        return found


class Words:
    """The distinct texts of a column, in order of appearance; rows get their numbers."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._codes: dict[bytes, int] = {}
        self._of_text: dict[str, int] = {}

    def codes(self, coded: tuple[Any, list[bytes]]) -> Any:
        """A code per row for codes into cells."""
        codes, cells = coded
        mine = [self._codes[cell] if cell in self._codes else self._code(cell) for cell in cells]
        return np.array(mine or [0], dtype=np.int32)[codes]

    def _code(self, cell: bytes) -> int:
        text = text_of(cell).strip()
        code = self._of_text.setdefault(text, len(self.texts))
        if code == len(self.texts):
            self.texts.append(text)
        self._codes[cell] = code
        return code


@dataclass(frozen=True)
class Counted:
    """One counter's cells, one per launch, with their lines; ``units`` are texts by the codes ``unit_of``."""

    digits: Any
    decimals: Any
    odd: Sequence[tuple[int, str]]
    lines: Any
    units: Sequence[str]
    unit_of: Any = None


def to_array(counter: str, cells: Counted, converter: Converter) -> Any:
    """A nullable column of SI numbers: Int64 while every value is a whole count, else Float64. It may keep ``digits``.

    Raises InputError as ``converter`` does, and Irregular for values beyond what a counter can be.
    """
    present = cells.decimals != MISSING
    if not cells.odd and len(cells.units) == 1 and not (cells.decimals[present]).any() and present.any():
        unit = converter.unit(counter, Cell("", cells.units[0], int(cells.lines[present.argmax()])))
        if unit.factor == 1.0 and unit.dimension in _COUNTED:  # As it stands: nearly every counter.
            return pd.arrays.IntegerArray(cells.digits, ~present)
    strange = _strange(counter, cells, converter, present)
    whole = np.zeros(len(present), np.int64)
    real = np.zeros(len(present), np.float64)
    counted = np.zeros(len(present), np.bool_)
    plain = present & (cells.decimals != ODD)
    for code, text in enumerate(cells.units):
        rows = np.flatnonzero(plain if cells.unit_of is None else plain & (cells.unit_of == code))
        if len(rows):
            unit = converter.unit(counter, Cell("", text, 0))
            whole[rows], real[rows], counted[rows] = _scaled(cells.digits[rows], cells.decimals[rows], unit)
    for row, number in strange:
        counted[row] = isinstance(number, int)
        whole[row], real[row] = (number, 0.0) if isinstance(number, int) else (0, number)
    if bool(counted[present].all()):
        return pd.arrays.IntegerArray(whole, ~present)
    return pd.arrays.FloatingArray(np.where(counted, whole.astype(np.float64), real), ~present)


def _strange(counter: str, cells: Counted, converter: Converter, present: Any) -> list[tuple[int, int | float]]:
    """Numbers of odd cells; on the way, in order, every cell that may be at fault meets ``converter``."""
    firsts = []
    for code in range(len(cells.units)):
        rows = present if cells.unit_of is None else present & (cells.unit_of == code)
        firsts += [int(rows.argmax())] if rows.any() else []
    odd = dict(cells.odd)
    found = []
    for row in sorted({*firsts, *odd}):
        unit = cells.units[0 if cells.unit_of is None else int(cells.unit_of[row])]
        line = int(cells.lines[row])
        if row not in odd:
            converter.unit(counter, Cell("", unit, line))
            continue
        number = converter.number(counter, Cell(odd[row], unit, line))
        if number is not None:
            found.append((row, number))
    return found


def _scaled(digits: Any, decimals: Any, unit: Unit) -> tuple[Any, Any, Any]:
    """``digits / 10**decimals`` in SI base units: as integer, as float, and where the integer is meant."""
    factor = Decimal(repr(unit.factor))
    power = factor.adjusted()
    if factor != Decimal(1).scaleb(power):
        raise Irregular
    whole = np.zeros(len(digits), np.int64)
    real = np.zeros(len(digits), np.float64)
    counted = np.zeros(len(digits), np.bool_)
    for places in np.flatnonzero(np.bincount(decimals)).tolist():
        rows = decimals == places
        # A slice costs nothing, and most columns print all their values alike.
        rows = slice(None) if bool(rows.all()) else rows
        values = digits[rows]
        shift = power - places
        if shift >= 0:
            if int(values.max()) > LARGEST // 10**shift:
                raise Irregular
            whole[rows], counted[rows] = values * 10**shift, unit.dimension in _COUNTED
            real[rows] = whole[rows].astype(np.float64)
        else:
            quotient, rest = np.divmod(values, 10**-shift)
            whole[rows], counted[rows] = quotient, (rest == 0) & (unit.dimension in _COUNTED)
            # One rounding: both are exact, so that this is what Decimal gives.
            real[rows] = values / 10.0**-shift
            for row in np.flatnonzero((decimals == places) & (digits >= _EXACT)).tolist():
                real[row] = float(Decimal(int(digits[row])).scaleb(shift))
    return whole, real, counted


def texts(values: Sequence[str], codes: Any) -> Any:
    """A column of texts by code, None for empty ones: as pandas makes it of a list of them all."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(values)))
    position = np.zeros(max(len(values), 1), np.int64)
    position[used] = np.arange(len(used))
    distinct = pd.DataFrame({"text": [values[code] or None for code in used.tolist()]})["text"]
    return distinct.take(position[codes]).reset_index(drop=True)


def part_frame(identity: dict[str, Any], counters: dict[str, Any]) -> pd.DataFrame:
    """The frame of a part: identity columns, and counters in SI base units."""
    rows = len(identity["kernel"])
    fixed = {**identity, "launches": np.ones(rows, np.int64), "is_summary": np.zeros(rows, np.bool_)}
    return pd.DataFrame({**fixed, **counters}, copy=False)
