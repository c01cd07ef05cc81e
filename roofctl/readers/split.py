"""Lines of CSV to columns by pyarrow, many lines at a time.

pyarrow splits a line as ``csv`` does, quotes in odd places included, as long as no field goes on in the next line.
Lines that it splits otherwise are left to those who read lines one by one.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow

from roofctl.readers.numbers import is_missing
from roofctl.readers.streams import Block

_LF: Final = ord("\n")
_ZERO: Final = np.uint8(ord("0"))
_FEW: Final = 8
"""Lines out of step with pyarrow that are no longer divided."""
_MOST_DIGITS: Final = 12
"""Digits that a count may have, as ``find_tables`` wants it."""


def save_memory() -> None:
    """Let pyarrow take its memory from jemalloc, where its build has it: that keeps the least of what is given back."""
    if "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())


def split_fields(line: str, delimiter: str = ",") -> list[str]:
    """Fields of one CSV line. A line never continues on the next: application output may hold lone quotes."""
    return next(csv.reader([line], delimiter=delimiter), [])


class Lines:
    """The lines of a block of UTF-8, each with its line end; ``starts`` and ``ends`` are their places in it.

    ``first`` is the number of the first line in its file, 0 until that is known. ``prepared`` are a table, its rows
    among the lines as if ``first`` were 0, and which lines the others are, where that is known.
    """

    def __init__(self, block: Block) -> None:
        self.first = 0
        self.prepared: tuple[Any, Rows | None, Any] | None = None
        self.bytes = np.frombuffer(block, np.uint8)
        self.block = block
        self._count = 0
        self._places: tuple[Any, Any] | None = None

    def __len__(self) -> int:
        self._count = self._count or int(np.count_nonzero(self.bytes == _LF))
        return self._count

    @property
    def starts(self) -> Any:
        """The place of each line's first byte."""
        return self._located()[0]

    @property
    def ends(self) -> Any:
        """The place of each line's end."""
        return self._located()[1]

    def _located(self) -> tuple[Any, Any]:
        # At first use, which may be in a thread; cached_property would let one thread wait for another.
        if self._places is None:
            ends = np.flatnonzero(self.bytes == _LF)
            self._places = np.concatenate((ends[:0], [0], ends[:-1] + 1)), ends
        return self._places

    def text(self, index: int) -> str:
        """A line without its end."""
        begin, end = (self.starts[index], self.ends[index]) if index else (0, self.block.index(b"\n"))
        return self.block[begin:end].decode()

    def array(self, which: Any) -> Any:
        """Some lines with their ends, as an array of strings."""
        offsets = np.append(self.starts, len(self.block)).astype(np.int32)
        lines = pa.Array.from_buffers(pa.string(), len(self), [None, pa.py_buffer(offsets), pa.py_buffer(self.block)])
        return lines if len(which) == len(self) else lines.take(pa.array(which))

    def joined(self, which: Any) -> Any:
        """Some lines with their ends, as one buffer; their places are only needed where not all are meant."""
        if len(which) == len(self):
            return pa.py_buffer(self.block)
        cuts = np.flatnonzero(np.diff(which) != 1) + 1
        begins = self.starts[which[np.append(0, cuts)]]
        stops = self.ends[which[np.append(cuts - 1, -1)]] + 1
        if len(begins) == 1:
            return pa.py_buffer(self.block).slice(int(begins[0]), int(stops[0] - begins[0]))
        view = memoryview(self.block)
        return pa.py_buffer(b"".join([view[b:e] for b, e in zip(begins.tolist(), stops.tolist(), strict=True)]))


@dataclass(frozen=True)
class Rows:
    """Some columns of some rows: arrays of strings by their place in the header, and the numbers of the lines.

    Columns whose texts repeat may be dictionaries; their texts all occur, in order of appearance.
    """

    columns: Mapping[int, Any]
    lines: Any

    def __len__(self) -> int:
        return len(self.lines)

    def kept(self, good: Any) -> Rows:
        """The rows that are ``good``, a truth value for each."""
        if bool(good.all()):
            return self
        chosen = np.flatnonzero(good)
        return Rows({place: taken(array, chosen) for place, array in self.columns.items()}, self.lines[chosen])

    @staticmethod
    def of_fields(rows: Sequence[tuple[int, list[str]]], places: Sequence[int]) -> Rows:
        """Rows that were split one by one, with the numbers of their lines."""
        count = len(rows)
        cells = pa.array([row[place] if place < len(row) else "" for place in places for _, row in rows], pa.string())
        columns = {place: cells.slice(number * count, count) for number, place in enumerate(places)}
        return Rows(columns, np.array([line for line, _ in rows], np.int64))

    @staticmethod
    def merged(pieces: Sequence[Rows], places: Sequence[int]) -> Rows:
        """Rows of several pieces in the order of their lines."""
        pieces = [piece for piece in pieces if len(piece)]
        if len(pieces) == 1:
            return pieces[0]
        if not pieces:
            return Rows.of_fields([], places)
        lines = np.concatenate([piece.lines for piece in pieces])
        columns = {place: joined([piece.columns[place] for piece in pieces]) for place in places}
        if (lines[1:] > lines[:-1]).all():
            return Rows(columns, lines)
        order = np.argsort(lines, kind="stable")
        return Rows({place: taken(array, order) for place, array in columns.items()}, lines[order])


def joined(arrays: Sequence[Any]) -> Any:
    """Arrays one after the other, as a dictionary where one of them is."""
    if len({array.type for array in arrays}) > 1:
        arrays = [array if is_dictionary(array) else array.dictionary_encode() for array in arrays]
    return pa.concat_arrays(arrays)


@dataclass(frozen=True)
class RowLayout:
    """How rows of a table are written: at least ``least`` fields, ``width`` in its header; more must be empty.

    ``repeated`` are the places of columns whose cells repeat: they become dictionaries.
    """

    delimiter: str
    least: int
    width: int
    repeated: frozenset[int] = frozenset()

    def type_of(self, place: int) -> Any:
        """The type of a column."""
        return pa.dictionary(pa.int32(), pa.string()) if place in self.repeated else pa.string()


def split(lines: Lines, which: Any, layout: RowLayout, places: Sequence[int]) -> Rows:
    """The columns at ``places`` of those of the lines that can be split together and fit ``layout``."""
    places = sorted(set(places))
    return Rows.merged(_pieces(lines, which, layout, places, None), places)


def _pieces(lines: Lines, which: Any, layout: RowLayout, places: Sequence[int], width: int | None) -> list[Rows]:
    """Rows of ``width`` fields (by default as many as the first line has), then those of other widths."""
    if not len(which):
        return []
    fields = width or max(1, len(split_fields(lines.text(int(which[0])), layout.delimiter)))
    data = lines.joined(which)
    parsed = _parse(data, len(which), fields, layout, places)
    if parsed is None:
        if len(which) <= _FEW:
            return []
        half = len(which) // 2
        return [piece for part in (which[:half], which[half:]) for piece in _pieces(lines, part, layout, places, width)]
    columns, good, others = parsed
    result = [Rows(columns, which[good] + lines.first)] if columns else []
    if width is None:
        widths = np.array(list(others.values()))
        positions = np.array(list(others), np.int64)
        for other in np.unique(widths).tolist():
            result += _pieces(lines, which[positions[widths == other]], layout, places, other)
    return result


def _parse(
    data: Any, count: int, width: int, layout: RowLayout, places: Sequence[int]
) -> tuple[dict[int, Any], Any, dict[int, int]] | None:
    """Columns of the lines of ``width`` fields, which lines these are, and the widths of the others.

    None where some field goes on in the next line.
    """
    others: dict[int, int] = {}

    def pass_over(row: Any) -> str:
        others[row.number - 1] = row.actual_columns
        return "skip"

    fits = layout.least <= width
    inside = sorted({width - 1, *(place for place in places if place < width), *range(layout.width, width)})
    names = [str(place) for place in range(width)]
    try:
        table = arrow.read_csv(
            pa.BufferReader(data),
            # One piece: a row must not lie across two.
            arrow.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            arrow.ParseOptions(delimiter=layout.delimiter, ignore_empty_lines=False, invalid_row_handler=pass_over),
            arrow.ConvertOptions(
                include_columns=[str(place) for place in inside],
                column_types={str(place): layout.type_of(place) for place in inside},
                null_values=[],
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    # A quote that is left open takes in lines, or the end of the last one.
    if table.num_rows + len(others) != count or data.slice(0, 3).to_pybytes() == codecs.BOM_UTF8:
        return None
    good = np.delete(np.arange(count), list(others)) if others else np.arange(count)
    found = {place: table.column(str(place)).chunk(0) for place in inside if table.num_rows}
    if len(good) and found[width - 1][-1].as_py().endswith("\n"):
        return None
    if not fits or not len(good):
        return {}, good[:0], others
    blank = [equals(found[place], "") for place in range(layout.width, width)]
    empty = pa.array([""] * len(good), pa.string()) if places[-1] >= width else None
    columns: dict[int, Any] = {place: found.get(place, empty) for place in places}
    if blank and not (kept := np.logical_and.reduce(blank)).all():
        chosen = np.flatnonzero(kept)
        return {place: taken(array, chosen) for place, array in columns.items()}, good[chosen], others
    return columns, good, others


def content(array: Any) -> tuple[Any, Any]:
    """The bytes of all cells of a string array, and where each begins and the last one ends."""
    if not len(array):
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int32, len(array) + 1, 4 * array.offset).astype(np.int64)
    size = int(places[-1] - places[0])
    return np.frombuffer(data, np.uint8, size, int(places[0])) if size else np.zeros(0, np.uint8), places - places[0]


def is_dictionary(array: Any) -> bool:
    """Whether an array is codes and their texts."""
    return bool(pa.types.is_dictionary(array.type))


def taken(array: Any, rows: Any) -> Any:
    """Some cells of a column; of a dictionary only the texts that they have, in order of appearance."""
    cells = array.take(pa.array(rows))
    if not is_dictionary(array):
        return cells
    used = cells.indices.dictionary_encode()
    return pa.DictionaryArray.from_arrays(used.indices, array.dictionary.take(used.dictionary))


def matches(array: Any, pattern: str, *, full: bool = True) -> Any:
    """Which cells match a pattern of RE2, from begin to end unless not ``full``; null matches nothing."""
    if is_dictionary(array):
        return matches(array.dictionary, pattern, full=full)[array.indices.to_numpy()]
    found = pc.match_substring_regex(array, rf"^(?:{pattern})$" if full else pattern)
    return pc.fill_null(found, fill_value=False).to_numpy(zero_copy_only=False)


def equals(array: Any, text: str) -> Any:
    """Which cells are ``text``."""
    if is_dictionary(array):
        return equals(array.dictionary, text)[array.indices.to_numpy()]
    return pc.equal(array, text).to_numpy(zero_copy_only=False)


def changes(array: Any) -> Any:
    """Which cells are unlike the one before; the first one is."""
    cells = array.indices if is_dictionary(array) else array
    return np.append(True, pc.not_equal(cells[1:], cells[:-1]).to_numpy(zero_copy_only=False))


def are_counts(array: Any) -> bool:
    """Whether all cells are digits only, as nearly all counts are."""
    data, places = content(array.dictionary if is_dictionary(array) else array)
    lengths = np.diff(places)
    return bool(len(lengths) and lengths.min() > 0 and lengths.max() <= _MOST_DIGITS and are_digits(data))


def are_digits(data: Any) -> bool:
    """Whether bytes are digits only."""
    return bool(len(data) and data.min() >= ord("0") and data.max() <= ord("9"))


def valued(array: Any) -> Any:
    """Which cells hold a value: what begins with a digit does; only others are looked at."""
    data, places = content(array)
    filled = places[1:] > places[:-1]
    result = np.zeros(len(array), np.bool_)
    result[filled] = data[places[:-1][filled]] - _ZERO < 10  # noqa: PLR2004
    rest = np.flatnonzero(filled & ~result)
    if len(rest):
        codes, texts = coded(array.take(pa.array(rest)))
        result[rest] = np.array([not is_missing(text) for text in texts])[codes]
    return result


def coded(array: Any) -> tuple[Any, list[str]]:
    """Codes into the distinct texts of a column, which come in order of appearance without blanks around them."""
    found = array if is_dictionary(array) else array.dictionary_encode()
    codes, texts = found.indices.to_numpy(zero_copy_only=False), [text.strip() for text in found.dictionary.to_pylist()]
    if len(set(texts)) == len(texts):
        return codes, texts
    numbers: dict[str, int] = {}
    again = [numbers.setdefault(text, len(numbers)) for text in texts]
    return np.array(again, np.int32)[codes], list(numbers)
