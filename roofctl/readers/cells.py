"""Blocks of CSV lines to cells, without making an object of any cell.

ncu quotes every field, so ``","`` separates fields, and a line is *regular* when its quotes are exactly those
around its fields (and doubled ones inside one named column). Any other line is left to ``tables``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from roofctl.readers.words import CHUNK, Heads

_QUOTE: Final = ord('"')
_COMMA: Final = ord(",")
_LF: Final = ord("\n")
_CR: Final = ord("\r")
_SEPARATOR: Final = 3
"""Bytes of ``","``."""


class Irregular(Exception):  # noqa: N818 - no fault: says what was met
    """The file is not of the shape that is read by the block: read it line by line."""


@dataclass(frozen=True)
class Layout:
    """What to take of a table: the columns ``wanted``, and ``head``, the first and last column of a row's head.

    Only in the head may fields hold (doubled) quotes. Lines have ``least`` to ``most`` fields; a wanted column
    beyond a line's last is an empty cell.
    """

    wanted: Any
    head: tuple[int, int]
    least: int
    most: int


@dataclass(frozen=True)
class Cells:
    """Cells of the regular lines of a block: ``data[starts:ends]``, arrays of (wanted columns, rows).

    ``lines`` are the lines' numbers within the block, ``heads`` the codes of their heads, ``irregular``
    the numbers of the other lines, ``count`` that of all.
    """

    data: bytes
    starts: Any
    ends: Any
    lines: Any
    heads: Any
    irregular: Any
    count: int


def split(lines: Lines, layout: Layout, heads: Heads) -> Cells:
    """Cells of the lines that are regular; ``heads`` collects their heads."""
    regular = lines.regular(layout)
    rows = np.flatnonzero(regular)
    starts, ends = lines.cells(np.array(layout.head), rows, layout.least)
    codes = heads.codes(lines.data, starts[0], ends[1])
    extra = np.array(heads.quotes or [0], dtype=np.int64)[codes]
    lone = extra < 0
    if lone.any() or lines.quotes_of(rows) != int(2 * lines.fields[rows].sum() + extra.sum()):
        wrong = lone | (lines.quotes_by_line(rows) != 2 * lines.fields[rows] + extra)
        regular[rows[wrong]] = False
        rows, codes = rows[~wrong], codes[~wrong]
    starts, ends = lines.cells(layout.wanted, rows, layout.least)
    return Cells(lines.data, starts, ends, rows, codes, np.flatnonzero(~regular), len(regular))


class Lines:
    """Where lines begin and stop in a block, and where their separators are.

    ``data``: ``CHUNK`` bytes of anything, then whole lines. ``scratch`` (two rows of booleans, as long as
    ``data``) is used again for every other block: fresh memory is slow. Raises Irregular for line ends of old Macs.
    """

    def __init__(self, data: bytes, scratch: Any) -> None:
        self.data = data
        at = np.frombuffer(data, np.uint8)
        self.quote, mark = scratch[:, : len(at)]
        np.equal(at, _QUOTE, out=self.quote)
        np.equal(at, _COMMA, out=mark)
        mark = mark[1:-1]
        np.logical_and(mark, self.quote[:-2], out=mark)
        np.logical_and(mark, self.quote[2:], out=mark)
        self.separators = np.flatnonzero(mark)
        ends = np.flatnonzero(at == _LF)
        self.begins = np.concatenate(([CHUNK], ends[:-1] + 1))
        self.stops = ends - self._carriages(at, ends) if b"\r" in data else ends
        self.first = np.searchsorted(self.separators, self.begins)
        self.last = np.searchsorted(self.separators, self.stops)
        self.fields = self.last - self.first + 1
        # Two separators may not share a quote.
        shared = self.separators[1:][np.diff(self.separators) < _SEPARATOR]
        self.overlapping = np.searchsorted(self.begins, shared, side="right") - 1

    def _carriages(self, at: Any, ends: Any) -> Any:
        """Which lines end with CR LF."""
        carriage = (at[ends - 1] == _CR) & (ends > self.begins)
        if self.data.count(b"\r") != int(np.count_nonzero(carriage)):
            raise Irregular
        return carriage

    def regular(self, layout: Layout) -> Any:
        """Lines that look regular, quotes inside fields aside."""
        good = (self.stops - self.begins > 1) & (self.fields >= layout.least) & (self.fields <= layout.most)
        good &= self.quote[self.begins] & self.quote[self.stops - 1]
        good[self.overlapping] = False
        some = np.flatnonzero(good & (self.fields > 1))
        good[some] &= (self.separators[self.first[some]] > self.begins[some]) & (
            self.separators[self.last[some] - 1] + _SEPARATOR < self.stops[some]
        )
        return good

    def cells(self, wanted: Any, rows: Any, least: int) -> tuple[Any, Any]:
        """Starts and ends, (wanted, rows), of the cells of regular lines; both 0-length where a line ends before."""
        if not len(self.separators) or not len(rows):
            empty = np.full((len(wanted), len(rows)), CHUNK, np.int64)
            return empty, empty
        column, first, fields = wanted[:, None], self.first[rows], self.fields[rows]
        index = first + column
        ends = self.separators.take(index, mode="clip")
        starts = self.separators.take(index - 1, mode="clip") + _SEPARATOR
        for row, number in enumerate(wanted.tolist()):
            if number == 0:
                starts[row] = self.begins[rows] + 1
            if number >= least - 1:
                last, there = number == fields - 1, number < fields
                ends[row] = np.where(last, self.stops[rows] - 1, np.where(there, ends[row], CHUNK))
                starts[row] = np.where(there, starts[row], CHUNK)
        return starts, ends

    def quotes_of(self, rows: Any) -> int:
        """Quotes in the lines ``rows`` together."""
        total = int(np.count_nonzero(self.quote))
        others = np.ones(len(self.begins), np.bool_)
        others[rows] = False
        return total - int(self.quotes_by_line(np.flatnonzero(others)).sum())

    def quotes_by_line(self, rows: Any) -> Any:
        """Quotes in each of the lines ``rows``."""
        spans = zip(self.begins[rows].tolist(), self.stops[rows].tolist(), strict=True)
        return np.array([self.data.count(b'"', start, stop) for start, stop in spans], dtype=np.int64)

    def span(self, line: int) -> tuple[int, int]:
        """Where a line begins and stops."""
        return int(self.begins[line]), int(self.stops[line])
