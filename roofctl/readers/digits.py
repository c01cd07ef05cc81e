"""Numbers out of bytes, a column at a time: what ``numbers`` does cell by cell, for cells that need no second look.

A cell is *plain* when it is digits with well-formed groups and at most one decimal mark. Everything else
(signs, exponents, blanks, words, more digits than 64 bits hold) is left to ``numbers``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from roofctl.readers.numbers import Mark
from roofctl.readers.streams import Block

PAD: Final = 64
"""Bytes that must stand before the first cell: a cell is looked at from its end."""

MISSING: Final = 255
ODD: Final = 254
"""Values of ``Plain.decimals`` for a cell without a value, and for one that is not plain."""

_WIDTH: Final = 24
_MOST_DIGITS: Final = 18
_GROUP: Final = 4
"""Bytes of three digits and their mark."""
_ZEROS: Final = np.uint64(0x3030303030303030)
_TOP: Final = np.uint64(0x8080808080808080)
_OVER: Final = np.uint64(0x7676767676767676)
_KEEP: Final = np.array([0, *((1 << 64) - (1 << 64 - 8 * count) for count in range(1, 9))], dtype=np.uint64)
"""The last N bytes of a word, for N from 0 to 8."""
_MOST_DECIMALS: Final = 9
_NONE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Plain:
    """Cells as integers: ``digits`` without marks, and how many of them are ``decimals``, MISSING or ODD.

    ``sure``: some plain cell can be read under this decimal mark only. ``open``: cells that could be read
    under either, as indices.
    """

    digits: Any
    decimals: Any
    sure: bool
    open: Any


def parse(data: Block | memoryview, starts: Any, ends: Any, mark: Mark) -> Plain:
    """Read the cells ``data[starts:ends]`` (integer arrays of one shape) under a decimal mark."""
    group, point = (ord(","), ord(".")) if mark == "point" else (ord("."), ord(","))
    begins, stops = np.ravel(starts), np.ravel(ends)
    cells = _Cells(data, begins, stops, group, point)
    cells.single()
    cells.common()
    left = np.flatnonzero((cells.decimals == ODD) & (cells.lengths > 2) & (cells.lengths <= _WIDTH))  # noqa: PLR2004
    if len(left):
        cells.whole(left)
    for count in (2, 1, *range(3, _MOST_DECIMALS + 1)):
        left = left[cells.decimals[left] == ODD]
        if not len(left):
            break
        cells.fraction(left, count)
    undecided = np.concatenate(cells.open) if cells.open else _NONE
    return Plain(cells.digits.reshape(starts.shape), cells.decimals.reshape(starts.shape), cells.sure, undecided)


class _Cells:
    """Cells on their way to numbers: each step fills ``digits`` and ``decimals`` of those that it can read."""

    def __init__(self, data: Block | memoryview, begins: Any, stops: Any, group: int, point: int) -> None:
        self.at = np.frombuffer(data, np.uint8)
        # Eight bytes from any place on, as one item; numpy copies items of bytes from odd addresses.
        self.words: Any = np.ndarray((len(data) - 7,), "V8", buffer=data, strides=(1,))
        self.begins, self.stops, self.lengths = begins, stops, stops - begins
        self.group, self.point = group, point
        self.digits = np.zeros(len(begins), np.int64)
        self.decimals = np.full(len(begins), ODD, np.uint8)
        self.decimals[self.lengths == 0] = MISSING
        self.open: list[Any] = []
        self.sure = False

    def single(self) -> None:
        """Cells of one digit: half of a page."""
        rows = np.flatnonzero(self.lengths == 1)
        digit = self.at[self.begins[rows]] - np.uint8(ord("0"))
        self._put(rows, digit, 0, digit < 10)  # noqa: PLR2004

    def common(self) -> None:
        """Whole numbers of up to three digits or in groups, and those with two decimals: all that ncu prints."""
        rows = np.flatnonzero((self.lengths > 1) & (self.lengths <= _WIDTH))
        stops, lengths = self.stops[rows], self.lengths[rows]
        cut = (self.at[stops - 3] == self.point) & (lengths > 3)  # noqa: PLR2004
        fraction = np.flatnonzero(cut)
        if len(fraction):
            stops, lengths = stops - 3 * cut, lengths - 3 * cut
        value, good = self._grouped(stops, lengths)
        several = np.flatnonzero(good & (lengths > _GROUP))
        # A leading zero before a group is not well-formed: nobody prints it, and it reads both ways.
        zero = self.at[self.begins[rows[several]]] == ord("0")
        if zero.any():
            good[several[zero]] = False
            several = several[~zero]
        if len(fraction):
            self._hundredths(rows[fraction], value[fraction], good[fraction])
            good &= ~cut
            several = several[~cut[several]]
        self._put(rows, value, 0, good)
        single = lengths[several] < 2 * _GROUP
        self.sure = self.sure or not bool(single.all())
        self.open.append(rows[several[single]])

    def _hundredths(self, rows: Any, above: Any, good: Any) -> None:
        """Cells with two decimals, given what stands above them."""
        tens, ones = (self.at[self.stops[rows] - place] - np.uint8(ord("0")) for place in (2, 1))
        good = good & (tens < 10) & (ones < 10) & (above < 10 ** (_MOST_DIGITS - 2))  # noqa: PLR2004
        self._put(rows, above * 100 + tens * np.int64(10) + ones, 2, good)
        self.sure = self.sure or bool(good.any())

    def whole(self, rows: Any) -> None:
        """Whole numbers without group marks."""
        value, good = self._plain(self.stops[rows], self.lengths[rows])
        self._put(rows, value, 0, good)

    def fraction(self, rows: Any, count: int) -> None:
        """Cells with ``count`` decimals."""
        rows = rows[(self.lengths[rows] > count + 1) & (self.at[self.stops[rows] - 1 - count] == self.point)]
        middle = self.stops[rows] - 1 - count
        above, good, groups = self._whole(self.begins[rows], middle)
        below, fine, inner = self._whole(middle + 1, self.stops[rows])
        good &= fine & (inner == 0) & (above < 10 ** (_MOST_DIGITS - count))
        sure = good
        if count == 3:  # noqa: PLR2004 - three digits may be a group
            zero = self.at[self.begins[rows]] == ord("0")
            before = middle - self.begins[rows]
            ambiguous = (groups == 0) & (before <= 3) & ~zero  # noqa: PLR2004
            # 012.345 can be nothing that ncu prints.
            good &= (groups > 0) | (before > 3) | ~zero | (before == 1)  # noqa: PLR2004
            sure = good & ~ambiguous
            self.open.append(rows[good & ambiguous])
        self._put(rows, above * 10**count + below, count, good)
        self.sure = self.sure or bool(sure.any())

    def _put(self, rows: Any, values: Any, decimals: int, good: Any) -> None:
        if not good.all():
            rows, values = rows[good], values[good]
        self.digits[rows] = values
        self.decimals[rows] = decimals

    def _whole(self, begins: Any, stops: Any) -> tuple[Any, Any, Any]:
        """Values of whole numbers, which are well-formed, and how many groups each has.

        A leading zero before a group is not well-formed: nobody prints it, and it reads both ways.
        """
        lengths = stops - begins
        value = np.zeros(len(lengths), np.int64)
        good = np.zeros(len(lengths), np.bool_)
        groups = np.zeros(len(lengths), np.int64)
        grouped = (self.at[stops - 4] == self.group) & (lengths > 4)  # noqa: PLR2004
        rows = np.flatnonzero(~grouped)
        value[rows], good[rows] = self._plain(stops[rows], lengths[rows])
        rows = np.flatnonzero(grouped)
        if len(rows):
            value[rows], fine = self._grouped(stops[rows], lengths[rows])
            good[rows] = fine & (self.at[begins[rows]] != ord("0"))
            groups[rows] = (lengths[rows] - 1) // 4
        return value, good, groups

    def _word(self, stops: Any) -> Any:
        return self.words[stops - 8].view(np.uint64)

    def _plain(self, stops: Any, lengths: Any) -> tuple[Any, Any]:
        """Values of cells that are digits only."""
        value, good = _number((self._word(stops) ^ _ZEROS) & _KEEP[np.minimum(lengths, 8)])
        good &= (lengths <= _MOST_DIGITS) & (lengths > 0)
        for before in (8, 16):
            more = np.flatnonzero(good & (lengths > before))
            if not len(more):
                break
            word = (self._word(stops[more] - before) ^ _ZEROS) & _KEEP[np.minimum(lengths[more] - before, 8)]
            high, fine = _number(word)
            value[more] += high * 10**before
            good[more] &= fine
        return value, good

    def _grouped(self, stops: Any, lengths: Any) -> tuple[Any, Any]:
        """Values of cells such as 1,234,567: the mark stands before every third digit from the end."""
        value, good = self._groups(stops, lengths, 0)
        good &= lengths % 4 != 0
        for before in (8, 16):
            rows = np.flatnonzero(lengths > before)
            if not len(rows):
                break
            part, fine = self._groups(stops[rows], lengths[rows], before)
            value[rows] += part * 10 ** (before // 8 * 6)
            good[rows] &= fine
        return value, good

    def _groups(self, stops: Any, lengths: Any, before: int) -> tuple[Any, Any]:
        """Six digits out of the eight bytes that stand ``before`` the end: mark, three digits, mark, three digits."""
        marks = np.uint64(self.group ^ ord("0"))
        keep = _KEEP[np.minimum(lengths - before, 8)]
        # Where the marks were, there must be nothing now; the digits close up.
        word = (self._word(stops - before) ^ (_ZEROS ^ (marks | (marks << np.uint64(32))))) & keep
        fine = (word & np.uint64(0x000000FF000000FF)) == 0
        word = (word & np.uint64(0xFFFFFF0000000000)) | ((word & np.uint64(0xFFFFFF00)) << np.uint64(8))
        value, digits = _number(word)
        return value, fine & digits


def _number(word: Any) -> tuple[Any, Any]:
    """The number of eight digits (0 to 9, the first in the lowest byte), and whether all are digits."""
    good = ((word + _OVER) | word) & _TOP == 0
    word = word * np.uint64(2561) >> np.uint64(8) & np.uint64(0x00FF00FF00FF00FF)
    word = word * np.uint64(6553601) >> np.uint64(16) & np.uint64(0x0000FFFF0000FFFF)
    word = word * np.uint64(42949672960001) >> np.uint64(32)
    return word.view(np.int64), good
