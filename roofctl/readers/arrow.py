"""Blocks of CSV lines to columns of cells by pyarrow, without making an object of any cell.

pyarrow splits a line as ``csv`` does, quotes in odd places included, as long as no field goes on in the next line;
what it splits otherwise, or what has another number of fields, is left to ``tables``, line by line.
"""

from __future__ import annotations

import codecs
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import csv

from roofctl.readers.digits import PAD
from roofctl.readers.find_tables import COUNT
from roofctl.readers.numbers import is_missing
from roofctl.readers.streams import Block

_LF: Final = ord("\n")
_MOST_DIGITS: Final = 12
"""Digits that a count may have, by ``tables``."""


def save_memory() -> None:
    """Let pyarrow take its memory from jemalloc, where its build has it: that keeps the least of what is given back."""
    if "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())


class Irregular(Exception):  # noqa: N818 - no fault: says what was met
    """The file is not of the shape that is read by the block: read it line by line."""


def text_of(cell: bytes) -> str:
    """A cell as text: what ``csv`` makes of it, damaged bytes replaced."""
    return cell.decode("utf-8", errors="replace").replace("\0", "\ufffd")


@dataclass(frozen=True)
class Cells:
    """Cells of some columns, one column after the other: ``data[starts:ends]``, column N from ``bounds[N]`` on.

    ``PAD`` bytes stand before the first cell. A column of ``rows`` equal cells may be given as one cell.
    """

    data: Block | memoryview
    starts: Any
    ends: Any
    bounds: list[int]
    rows: int


class Rows:
    """Some columns of some rows: binary arrays by name, and the numbers of the rows' lines."""

    def __init__(self, columns: Mapping[str, Any], lines: Any) -> None:
        self._columns = columns
        self.lines = lines

    def __len__(self) -> int:
        return len(self.lines)

    def coded(self, name: str) -> tuple[Any, list[bytes]]:
        """A column as codes into its distinct cells, which come in order of appearance."""
        array = self._columns[name]
        if same := _same(array):
            return np.zeros(len(array), np.int32), same
        found = array.dictionary_encode()
        return found.indices.to_numpy(), found.dictionary.to_pylist()

    def texts(self, name: str, places: Any) -> list[str]:
        """Texts of a column in some rows, without blanks around them."""
        codes, found = Rows({name: self._columns[name].take(pa.array(places))}, places).stripped(name)
        return [found[code] for code in codes.tolist()]

    def cells(self, names: Sequence[str], short: Container[str] = ()) -> Cells:
        """Some columns as cells; those in ``short`` as one cell where all are equal."""
        arrays = [self._columns[name] for name in names]
        arrays = [
            array.slice(0, 1) if name in short and _same(array) else array
            for name, array in zip(names, arrays, strict=True)
        ]
        whole = pa.concat_arrays([pa.array([bytes(PAD)], pa.binary()), *arrays])
        offsets = _offsets(whole)[1:].astype(np.int64)
        bounds = np.cumsum([0, *map(len, arrays)])
        return Cells(memoryview(whole.buffers()[2]), offsets[:-1], offsets[1:], bounds.tolist(), len(self))

    def counts(self, name: str) -> Any:
        """Which cells of a column are counts, as ``tables`` asks of a row."""
        content, offsets = _content(self._columns[name])
        lengths = np.diff(offsets)
        digits = np.frombuffer(content, np.uint8) - np.uint8(ord("0"))
        if len(lengths) and lengths.min() > 0 and lengths.max() <= _MOST_DIGITS and digits.max() < 10:  # noqa: PLR2004
            return np.ones(len(lengths), np.bool_)
        codes, found = self.coded(name)
        return np.array([bool(COUNT.fullmatch(text_of(cell).strip())) for cell in found] or [False])[codes]

    def stripped(self, name: str) -> tuple[Any, list[str]]:
        """As ``coded``, for the texts without blanks around them."""
        codes, cells = self.coded(name)
        return codes, [text_of(cell).strip() for cell in cells]

    def valued(self, name: str) -> Any:
        """Which cells of a column hold a value."""
        cells = self.cells([name])
        return valued(cells.data, cells.starts, cells.ends)

    def after(self, line: int) -> Rows:
        """The same rows; lines are numbered from ``line`` on instead of 0."""
        return Rows(self._columns, self.lines + line)

    def kept(self, good: Any) -> Rows:
        """The rows that are ``good``, a truth value for each."""
        if bool(good.all()):
            return self
        mask = pa.array(good)
        return Rows({name: array.filter(mask) for name, array in self._columns.items()}, self.lines[good])

    def merged(self, other: Rows) -> Rows:
        """These rows and others, in the order of their lines."""
        lines = np.concatenate((self.lines, other.lines))
        order = np.argsort(lines, kind="stable")
        columns = {
            name: pa.concat_arrays([array, other._columns[name]]).take(pa.array(order))
            for name, array in self._columns.items()
        }
        return Rows(columns, lines[order])


def valued(data: Block | memoryview, starts: Any, ends: Any) -> Any:
    """Which cells ``data[starts:ends]`` hold a value: what begins with a digit does; only others are looked at."""
    filled = ends > starts
    first = np.frombuffer(data, np.uint8)[np.where(filled, starts, 0)] - np.uint8(ord("0"))
    result = filled & (first < 10)  # noqa: PLR2004
    known: dict[bytes, bool] = {}
    for place in np.flatnonzero(filled & ~result).tolist():
        cell = bytes(data[starts[place] : ends[place]])
        if cell not in known:
            known[cell] = not is_missing(text_of(cell))
        result[place] = known[cell]
    return result


def _offsets(array: Any) -> Any:
    """Where each cell begins and the last one ends, in the data of a binary array."""
    if not len(array):
        return np.zeros(1, np.int32)
    return np.frombuffer(array.buffers()[1], np.int32, len(array) + 1, 4 * array.offset)


def _content(array: Any) -> tuple[bytes, Any]:
    """The bytes of all cells of a binary array, and where each begins and the last one ends."""
    places, data = _offsets(array), array.buffers()[2]
    first, last = int(places[0]), int(places[-1])
    content = data[first:last].to_pybytes() if data and last > first else b""
    return content, places.astype(np.int64) - first


def _same(array: Any) -> list[bytes]:
    """The one cell of an array of equal cells; nothing for other arrays."""
    count, places = len(array), _offsets(array)
    width = int(places[1] - places[0]) if count else 0
    # Nearly every other array is told by its size alone.
    if not count or int(places[-1] - places[0]) != width * count or bool((places[1:] - places[:-1] != width).any()):
        return []
    content, _ = _content(array)
    return [content[:width]] if content[width:] == content[: len(content) - width] else []


class Splitter:
    """Splits blocks of lines that have ``width`` fields; ``places`` says where the columns are that are wanted.

    A column beyond the last field has empty cells.
    """

    def __init__(self, places: Mapping[str, int], width: int) -> None:
        self._places = places
        self._width = width
        self._names = [str(place) for place in range(width)]
        inside = sorted({width - 1, *(place for place in places.values() if place < width)})
        types = {str(place): pa.binary() for place in inside}
        self._convert = csv.ConvertOptions(
            include_columns=list(types), column_types=types, null_values=[], check_utf8=False
        )
        self._strict = csv.ParseOptions(ignore_empty_lines=False)

    def split(self, block: Block) -> tuple[Rows, list[int], int]:
        """The rows of a block by the numbers of their lines, from 0; the numbers of other lines, and that of all."""
        count = int(np.count_nonzero(np.frombuffer(block, np.uint8) == _LF))
        found = self._parsed(block, count)
        if found is None:
            return self.rows([], []), list(range(count)), count
        table, others = found
        lines = np.delete(np.arange(count), others) if others else np.arange(count)
        empty = pa.array([b""] * len(lines), pa.binary()) if self._beyond() else None
        columns = {
            name: table.column(str(place)).chunk(0) if place < self._width else empty
            for name, place in self._places.items()
        }
        return Rows(columns, lines), others, count

    def _beyond(self) -> bool:
        return any(place >= self._width for place in self._places.values())

    def _parsed(self, block: Block, count: int) -> tuple[Any, list[int]] | None:
        """The block as a table, and the numbers of lines that have another number of fields; None if out of step."""
        if block.startswith(codecs.BOM_UTF8):  # pyarrow would pass over it
            return None
        others: list[int] = []
        try:
            try:
                table = self._read(block, self._strict)
            except pa.ArrowInvalid:
                block.decode()  # pyarrow hands over rows as text
                table = self._read(block, _forgiving(others))
        except (pa.ArrowInvalid, UnicodeDecodeError):
            return None
        # A quote that is left open swallows lines, or the end of the last one.
        if table.num_rows + len(others) != count or not table.num_rows:
            return None
        if table.column(str(self._width - 1))[-1].as_py().endswith(b"\n"):
            return None
        return table, others

    def _read(self, block: Block, how: Any) -> Any:
        # One piece: a row must not lie across two.
        options = csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=self._names)
        return csv.read_csv(pa.BufferReader(block), options, how, self._convert)

    def rows(self, fields: Sequence[Sequence[str]], lines: Sequence[int]) -> Rows:
        """Rows that were read one by one."""
        columns = {
            name: pa.array([row[place].encode() if place < len(row) else b"" for row in fields], pa.binary())
            for name, place in self._places.items()
        }
        return Rows(columns, np.array(lines, dtype=np.int64))


def _forgiving(others: list[int]) -> Any:
    """Options that leave out rows of another width, and note their numbers in ``others``."""

    def passed_over(row: Any) -> str:
        others.append(row.number - 1)
        return "skip"

    return csv.ParseOptions(ignore_empty_lines=False, invalid_row_handler=passed_over)
