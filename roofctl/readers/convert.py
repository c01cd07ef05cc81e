"""From cells to a frame: launches as every reader hands them over, and their one conversion to numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from roofctl.launches.evaluate import IDENTITY, Part, counts_work
from roofctl.quantities import Catalogue
from roofctl.readers.numbers import (
    AMBIGUOUS,
    COUNTED,
    EVIDENCE,
    EXAMPLES,
    MISSING,
    PLAIN,
    SPACES,
    DecimalSeparator,
    Evidence,
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
_MANY_CELLS: Final = 200_000
"""From here on the work on columns is worth threads, of which more than a few wait for memory."""
_MOST_THREADS: Final = 4
_SAMPLE: Final = 1000
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
    cells: Mapping[str, Cells]
    names: Mapping[str, set[str]]
    launches: Any
    is_summary: bool = False
    run: str = ""
    """What is put behind the process where a file holds several runs."""

    def __len__(self) -> int:
        return len(self.launches)

    def processes(self) -> list[str]:
        """The process of each launch."""
        texts, codes = self.identity["process"]
        return [f"{texts[code]}{self.run}" for code in codes.tolist()]


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
        many = _many([cells for _, cells in counters])
        plain = list(_in_threads(lambda each: self._plain_column(*each), counters, worthwhile=many))
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
        codes = np.zeros(len(rows), np.int64) if cells.unit_of is None else cells.unit_of[rows]
        units: dict[int, Unit] = {}
        try:
            for code in np.unique(codes).tolist():
                units[code] = self.unit(counter, Cell("", cells.units[code], 0))
        except InputError:  # the line is not known here
            return None
        numbers = _numbers(digits(texts, self.decimal), codes, units)
        if numbers is None:
            return None
        values = np.zeros(len(present), numbers.dtype)
        values[rows] = numbers
        kind = pd.arrays.IntegerArray if numbers.dtype == np.int64 else pd.arrays.FloatingArray
        return kind(values, ~present)

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


def _many(columns: Sequence[Cells]) -> bool:
    return sum(len(cells.texts) for cells in columns) > _MANY_CELLS


def _in_threads(work: Callable[[_A], _B], items: Sequence[_A], *, worthwhile: bool) -> Iterable[_B]:
    """``work`` on each of many items: what it does in long steps needs no interpreter."""
    if not worthwhile:
        return map(work, items)
    with ThreadPoolExecutor(min(processors(), _MOST_THREADS)) as pool:
        return pool.map(work, items)


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


def _numbers(texts: Any, codes: Any, units: Mapping[int, Unit]) -> Any | None:
    """``texts`` in SI base units: as int64 where all are whole and counted, else as float64, each rounded once.

    None where a float cannot tell whether a number is whole, and for numbers beyond ``LARGEST``.
    """
    powers = {code: Decimal(repr(unit.factor)).adjusted() for code, unit in units.items()}
    if any(Decimal(repr(unit.factor)) != Decimal(1).scaleb(powers[code]) for code, unit in units.items()):
        return None
    counted = np.array(
        [units[code].dimension in COUNTED if code in units else False for code in range(max([-1, *units]) + 1)], bool
    )[codes]
    data, places = content(texts)
    try:
        if counted.all() and not any(powers.values()) and not (data == ord(".")).any():
            whole = texts.cast(pa.int64()).to_numpy()
            return whole if whole.max(initial=0) <= LARGEST else None
    except pa.ArrowInvalid:  # more digits than 64 bits hold
        return None
    exponents = pa.array([f"e{powers.get(code, 0)}" for code in range(max([-1, *units]) + 1)], pa.string())
    suffix = exponents.take(pa.array(codes)) if len(units) > 1 else f"e{next(iter(powers.values()))}"
    # An exponent behind the digits: the one rounding is that of Decimal.
    real = pc.binary_join_element_wise(texts, suffix, "").cast(pa.float64()).to_numpy()
    if real.max(initial=0) > LARGEST:
        return None
    if not counted.any():
        return real
    if np.diff(places).max() > _EXACT_DIGITS + 1 or real.max() >= _EXACT:
        return None
    return real.astype(np.int64) if (counted & (real == np.floor(real))).all() else real


def array(values: Sequence[Number | None]) -> Any:
    """A nullable column: Int64 while every value is a whole count, so that counts stay exact, else Float64."""
    whole = all(value is None or isinstance(value, int) for value in values)
    return pd.array(values, dtype="Int64" if whole else "Float64")


def evidence(batch: Sequence[Launches]) -> Evidence:
    """The cells of all counters as evidence for the decimal separator.

    Examples are the first ones, launch by launch; of a batch that is plainly written with a point, any one.
    """
    columns = [
        (table, _PREFIXES.index(name[: name.find(":") + 1]), cells)
        for table, launches in enumerate(batch)
        for name, cells in launches.cells.items()
    ]
    if example := _plainly_point([cells for *_, cells in columns]):
        return Evidence(point=example)
    return _examples(
        [
            (
                cells.texts,
                lambda row, key=(table, prefix), cells=cells: (key[0], row, key[1], int(cells.lines[row]), cells.place),
            )
            for table, prefix, cells in columns
        ]
    )


def first_examples(columns: Sequence[Any]) -> Evidence:
    """Columns of cells as evidence for the decimal separator, by the first examples, row by row."""
    return _examples([(texts, lambda row, place=place: (row, place)) for place, texts in enumerate(columns)])


def _examples(columns: Sequence[tuple[Any, Callable[[int], tuple[int, ...]]]]) -> Evidence:
    """The example of each kind that comes first, by the key of its row."""
    found: dict[str, tuple[tuple[int, ...], str]] = {}
    for texts, key_of in columns:
        data, _ = content(texts)
        separated = bool(((data == ord(".")) | (data == ord(","))).any())
        for kind, pattern in (*EVIDENCE.items(), ("ambiguous", AMBIGUOUS)) if separated else ():
            hits = matches(without_spaces(texts), pattern)
            if hits.any():
                row = int(hits.argmax())
                example = key_of(row), texts[row].as_py()
                found[kind] = min(found.get(kind, example), example)
    return Evidence(**{kind: text for kind, (_, text) in found.items()})


def _plainly_point(columns: Sequence[Cells]) -> str:
    """A number that can only be written with a decimal point, where all are; else an empty text."""

    def example(cells: Cells) -> str | None:
        texts = without_spaces(cells.texts.filter(pa.array(cells.present())))
        if not all_plain(texts, "point"):
            return None
        cells.plain = "point"
        some = texts[:_SAMPLE]
        hits = matches(some, EVIDENCE["point"])
        if not hits.any():
            hits = matches(some := texts, EVIDENCE["point"])
        return some[int(hits.argmax())].as_py() if hits.any() else ""

    found = list(_in_threads(example, columns, worthwhile=_many(columns)))
    return "" if None in found else next(filter(None, found), "")


def to_parts(batch: Sequence[Launches], converter: Converter) -> list[Part]:
    """Launches of the tables of one file as parts, one per capture among them.

    Processes of one capture collect the same counters. Two processes that share none stand
    for two captures put into one file; their times are never mixed.
    """
    names = {f"{process}{each.run}": found for each in batch for process, found in each.names.items()}
    groups = captures_of(names)
    parts = []
    for group in groups:
        pieces = [_members(each, group) if len(groups) > 1 else each for each in batch]
        identity = {name: _texts([each.identity[name] for each in pieces]) for name in IDENTITY if name != "process"}
        processes = [
            ([f"{t}{each.run}" for t in each.identity["process"][0]], each.identity["process"][1]) for each in pieces
        ]
        identity["process"] = _texts(processes)
        identity["launches"] = np.concatenate([each.launches for each in pieces])
        identity["is_summary"] = np.concatenate([np.full(len(each), each.is_summary) for each in pieces])
        held = frozenset().union(*(names[process] for process in group))
        parts.append(part_of(identity, _columns(pieces, converter), converter.source, held))
    return parts


def captures_of(counters: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Processes put into captures, by the counters that each collected: those that share one belong together."""
    groups: list[tuple[set[str], set[str]]] = []
    for process, collected in counters.items():
        names = set(filter(counts_work, collected))
        shared = [group for group in groups if not names or not group[1] or names & group[1]]
        merged = ({process}.union(*(g[0] for g in shared)), names.union(*(g[1] for g in shared)))
        groups = [group for group in groups if group not in shared] + [merged]
    return [processes for processes, _ in groups]


def _members(launches: Launches, group: set[str]) -> Launches:
    """The launches of some processes."""
    texts, codes = launches.identity["process"]
    rows = np.flatnonzero(np.array([f"{text}{launches.run}" in group for text in texts], bool)[codes])
    identity = {name: (texts, codes[rows]) for name, (texts, codes) in launches.identity.items()}
    cells = {name: cells.take(rows) for name, cells in launches.cells.items()}
    return Launches(identity, cells, launches.names, launches.launches[rows], launches.is_summary, launches.run)


def _columns(pieces: Sequence[Launches], converter: Converter) -> dict[str, Any]:
    """Columns of the counters that some launch has, in the order in which launches have them."""
    order: dict[str, tuple[int, ...]] = {}
    for number, piece in enumerate(pieces):
        for name, cells in piece.cells.items():
            if name not in order and cells.texts.null_count < len(cells.texts):
                row = int(cells.texts.is_valid().to_numpy(zero_copy_only=False).argmax())
                prefix = _PREFIXES.index(name[: name.find(":") + 1])
                line = int(cells.lines[row]) if cells.begin is None else cells.begin
                order[name] = (prefix, number, row, line, cells.place)
    names = sorted(order, key=order.__getitem__)
    cells = [_joined([(len(piece), piece.cells.pop(name, None)) for piece in pieces]) for name in names]
    counters = [name[name.find(":") + 1 :] for name in names]
    return dict(zip(names, converter.columns(list(zip(counters, cells, strict=True))), strict=True))


def _joined(pieces: Sequence[tuple[int, Cells | None]]) -> Cells:
    """The cells of several tables one after the other."""
    (length, only), *others = pieces
    if only and not others:
        return only
    texts, lines, units, unit_of = [], [], [], []
    for length, cells in pieces:
        texts.append(cells.texts if cells else pa.nulls(length, pa.string()))
        lines.append(cells.lines if cells else np.zeros(length, np.int64))
        codes = np.zeros(length, np.int64) if cells is None or cells.unit_of is None else cells.unit_of
        unit_of.append(codes + len(units))
        units += cells.units if cells else [""]
    return Cells(pa.concat_arrays(texts), np.concatenate(lines), units, np.concatenate(unit_of))


def _texts(pieces: Sequence[tuple[Sequence[str], Any]]) -> Any:
    """A column of texts, None for empty ones: as pandas makes it of a list of them all."""
    values = [text for texts, _ in pieces for text in texts]
    begins = np.cumsum([0, *(len(texts) for texts, _ in pieces)])
    codes = np.concatenate([codes + begin for (_, codes), begin in zip(pieces, begins, strict=False)])
    used = np.flatnonzero(np.bincount(codes, minlength=len(values)))
    position = np.zeros(max(len(values), 1), np.int64)
    position[used] = np.arange(len(used))
    distinct = pd.DataFrame({"text": [values[code] or None for code in used.tolist()]})["text"]
    return distinct.take(position[codes]).reset_index(drop=True)


def part_of(identity: Mapping[str, Any], counters: Mapping[str, Any], source: str, names: frozenset[str]) -> Part:
    """A part: ``identity`` with the columns that are no counters, ``counters`` in SI base units."""
    ordered = {name: identity[name] for name in (*IDENTITY, "launches", "is_summary")}
    return Part(pd.DataFrame({**ordered, **counters}, copy=False), source, names)
