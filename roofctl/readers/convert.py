"""From cells to a frame: launches as every reader hands them over, and their one conversion to numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
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
from roofctl.readers.numbers import (
    COUNTED,
    EXAMPLES,
    MISSING,
    PLAIN,
    SPACES,
    DecimalSeparator,
    Number,
    is_missing,
    lost_digits,
    parse_number,
    to_base,
)
from roofctl.readers.split import coded, content, matches

LARGEST: Final = 10**18
"""No launch counts more; weighted sums of several counters still fit 64 bits."""
_EXACT: Final = 2**53
"""Up to here a float holds every whole number."""
_EXACT_DIGITS: Final = 15
"""Numbers of so many digits are told apart by a float, and whole ones among them are whole as floats."""
_MISSING_OR_NULL: Final = pa.array([None, *sorted(MISSING), *sorted(map(str.upper, MISSING))], pa.string())
_FEW_CELLS: Final = 1_000
"""Up to here cells are read one by one in less time."""
_MANY_CELLS: Final = 200_000
"""From here on the work on columns is worth threads, of which more than a few wait for memory."""
_MOST_THREADS: Final = 4
_PREFIXES: Final = ("", "min:", "max:", "total:")
_SHAPE: Final = re.compile(r"\(\s*\d{1,10}\s*,\s*\d{1,10}\s*,\s*\d{1,10}\s*\)")

_A = TypeVar("_A")
_B = TypeVar("_B")


@dataclass(frozen=True)
class Cell:
    """A value as printed, with its unit and the line it stands on."""

    text: str
    unit: str
    line: int


@dataclass
class Cells:
    """One counter of a table, by launch: texts (null where there is no cell), the lines they stand on, and units.

    ``units`` are texts by the codes ``unit_of``, or one for all. ``place`` orders counters that begin on one line.
    ``begin`` is the line that orders it among others, where that is not the one of its first cell.
    ``plain``: all cells are known to be plain numbers under this decimal separator, or missing.
    """

    texts: Any
    lines: Any
    units: Sequence[str]
    unit_of: Any = None
    place: int = 0
    begin: int | None = None
    plain: DecimalSeparator | None = None

    def take(self, rows: Any) -> Cells:
        """The cells of some launches."""
        unit_of = None if self.unit_of is None else self.unit_of[rows]
        return replace(self, texts=self.texts.take(pa.array(rows)), lines=self.lines[rows], unit_of=unit_of)

    def present(self) -> Any:
        """Which launches have a cell that is not missing; the few spellings of missing in odd cases are left in."""
        return ~pc.is_in(self.texts, _MISSING_OR_NULL).to_numpy(zero_copy_only=False)


class Texts:
    """A column of texts as codes into its distinct texts, which are in order of appearance."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._pieces: list[Any] = []

    def codes(self, array: Any) -> Any:
        """Codes of some cells."""
        found, texts = coded(array)
        return np.array([self._codes.setdefault(text, len(self._codes)) for text in texts] or [0], np.int32)[found]

    def add(self, array: Any) -> None:
        """Take the cells of the next rows."""
        self._pieces.append(self.codes(array))

    def column(self, change: Callable[[str], str] = str) -> tuple[list[str], Any]:
        """The distinct texts, each after ``change``, and the codes of all rows."""
        return [change(text) for text in self._codes], np.concatenate(self._pieces or [np.zeros(0, np.int32)])


@dataclass
class Launches:
    """Launches of one table, or summaries of ``launches`` each, before their cells are numbers.

    ``identity`` has distinct texts and a code per launch; ``cells`` map counters to mean (or only) values, and with
    ``min:``, ``max:`` and ``total:`` before the name to what a summary prints beside the mean. ``names`` are all
    counters with a value, known to roofctl or not, by process.
    """

    identity: Mapping[str, tuple[Sequence[str], Any]]
    cells: dict[str, Cells]
    names: Mapping[str, set[str]]
    launches: Any
    is_summary: bool = False
    run: str = ""
    """What is put behind the process where a file holds several runs."""

    def __len__(self) -> int:
        return len(self.launches)

    def processes(self) -> tuple[list[str], Any]:
        """The distinct processes, and a code per launch."""
        texts, codes = self.identity["process"]
        return [f"{text}{self.run}" for text in texts], codes


def prefix_of(name: str) -> tuple[int, str]:
    """Which value of a counter a name of ``Launches.cells`` means, as a number, and the name of the counter."""
    begin = name.find(":") + 1
    return _PREFIXES.index(name[:begin]), name[begin:]


def shape(text: str) -> str:
    """A launch shape as ``(x, y, z)``; a plain product or an empty cell gives an empty string."""
    return text.strip() if _SHAPE.fullmatch(text.strip()) else ""


def count(text: str) -> int:
    """A count cell such as ``Invocations``: digits with or without thousands separators."""
    return int(re.sub(r"\D", "", text))


@dataclass
class Converter:
    """Turns cells into SI numbers for one file; remembers what it could not read."""

    source: str
    decimal: DecimalSeparator
    catalogue: Catalogue
    rounded: int = 0
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

    def columns(self, counters: Sequence[tuple[str, Cells]]) -> list[Any]:
        """Nullable columns of SI numbers: Int64 while every value is a whole count, so that counts stay exact.

        Raises InputError as ``number`` does.
        """
        count = sum(len(cells.texts) for _, cells in counters)
        plain: list[Any | None] = [None] * len(counters)
        if count > _FEW_CELLS:
            plain = in_threads(lambda each: self._plain_column(*each), counters, count)
        return [
            array(list(self._one_by_one(counter, cells))) if column is None else column
            for (counter, cells), column in zip(counters, plain, strict=True)
        ]

    def _one_by_one(self, counter: str, cells: Cells) -> Iterator[Number | None]:
        texts = cells.texts.to_pylist()
        units = cells.unit_of.tolist() if cells.unit_of is not None else [0] * len(texts)
        for text, unit, line in zip(texts, units, cells.lines.tolist(), strict=True):
            yield None if text is None else self.number(counter, Cell(text, cells.units[unit], line))

    def _plain_column(self, counter: str, cells: Cells) -> Any | None:
        """As ``columns`` for plain numbers and missing values; None where cells must be looked at one by one."""
        present = cells.present()
        rows = np.flatnonzero(present)
        texts = without_spaces(cells.texts if len(rows) == len(present) else cells.texts.take(pa.array(rows)))
        if cells.plain != self.decimal and not all_plain(texts, self.decimal):
            return None
        if not len(rows):
            return pd.array([None] * len(present), dtype="Int64")
        used, codes = np.unique(np.zeros(1) if cells.unit_of is None else cells.unit_of[rows], return_inverse=True)
        try:
            units = [self.unit(counter, Cell("", cells.units[int(code)], 0)) for code in used]
        except InputError:  # raised again with its line
            return None
        numbers = _numbers(
            digits(texts, self.decimal), units, codes if len(used) > 1 else np.zeros(len(rows), np.int64)
        )
        if numbers is None:
            return None
        values = numbers
        if len(rows) < len(present):
            values = np.zeros(len(present), numbers.dtype)
            values[rows] = numbers
        kind = pd.arrays.IntegerArray if numbers.dtype == np.int64 else pd.arrays.FloatingArray
        return kind(values.copy() if not values.flags.writeable else values, ~present)

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


def without_spaces(texts: Any) -> Any:
    """Cells without the thousands separators that are no decimal separator anywhere."""
    data, _ = content(texts)
    odd = (data != ord(".")) & (data != ord(",")) & (data - np.uint8(ord("0")) > 9)  # noqa: PLR2004
    return pc.replace_substring_regex(texts, f"[{SPACES}]", "") if odd.any() else texts


def in_threads(work: Callable[[_A], _B], items: Sequence[_A], cells: int) -> list[_B]:
    """``work`` on each of the items, which hold so many cells: what it does in long steps needs no interpreter."""
    if cells < _MANY_CELLS:
        return list(map(work, items))
    with ThreadPoolExecutor(min(processors(), _MOST_THREADS)) as pool:
        return list(pool.map(work, items))


def all_plain(texts: Any, decimal: DecimalSeparator) -> bool:
    """Whether all cells are numbers without sign or exponent."""
    data, places = content(texts)
    if len(data) and (data - np.uint8(ord("0"))).max() < 10 and np.diff(places).min() > 0:  # noqa: PLR2004
        return True
    return bool(matches(texts, PLAIN[decimal]).all())


def digits(texts: Any, decimal: DecimalSeparator) -> Any:
    """Plain numbers without thousands separators and with a decimal point."""
    data, places = content(texts)
    kept = data != ord("," if decimal == "point" else ".")
    if decimal == "point" and kept.all():
        return texts
    data = np.where(data == ord(","), np.uint8(ord(".")), data)[kept]
    offsets = np.append(0, np.cumsum(kept, dtype=np.int32)).astype(np.int32)[places]
    return pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _numbers(texts: Any, units: Sequence[Unit], codes: Any) -> Any | None:
    """Plain ``texts`` in SI base units: int64 where all are whole and counted, else float64, each rounded once.

    ``codes`` say which of the ``units`` each has. None for numbers beyond ``LARGEST``, and where a float cannot tell
    whether a number is whole.
    """
    factors = [Decimal(repr(unit.factor)) for unit in units]
    if any(factor != Decimal(1).scaleb(factor.adjusted()) for factor in factors):
        return None
    counted = np.array([unit.dimension in COUNTED for unit in units], np.bool_)[codes]
    data, places = content(texts)
    try:
        if counted.all() and not any(factor.adjusted() for factor in factors) and not (data == ord(".")).any():
            whole = texts.cast(pa.int64()).to_numpy()
            return whole if whole.max() <= LARGEST else None
        # An exponent behind the digits: the one rounding is that of Decimal.
        exponents = pa.array([f"e{factor.adjusted()}" for factor in factors])
        suffix = exponents[0] if len(units) == 1 else exponents.take(pa.array(codes))
        real = pc.binary_join_element_wise(texts, suffix, "").cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:  # more digits than 64 bits hold
        return None
    longest = int(np.diff(places).max())
    if real.max() > LARGEST or (counted.any() and (longest > _EXACT_DIGITS + 1 or real.max() >= _EXACT)):
        return None
    return real.astype(np.int64) if (counted & (real == np.floor(real))).all() else real


def array(values: Sequence[Number | None]) -> Any:
    """A nullable column: Int64 while every value is a whole count, so that counts stay exact, else Float64."""
    whole = all(value is None or isinstance(value, int) for value in values)
    return pd.array(values, dtype="Int64" if whole else "Float64")
