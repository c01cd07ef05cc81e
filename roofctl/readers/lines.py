"""Lines of a details page compared with each other, by words of eight bytes: what ``repeats`` knows a block by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from roofctl.readers.streams import Block

_QUOTE: Final = ord('"')
_WORD: Final = 8
_LEAST_LINE: Final = 32
_LEAST_RUNS: Final = 3
_LEAST_ROWS_A_RUN: Final = 4
_BEGINNING: Final = 3
"""Words in which lines of different launches differ: ID and process ID stand there."""
ID_DIGITS: Final = 12
_FIRST_WIDTH: Final = 256
_STEP: Final = 4
"""Words by which lines are compared for longer."""
_MOST_WIDTH: Final = 4096
_ROWS_AT_ONCE: Final = 8192
"""So many beginnings of lines stay in a processor's cache."""


class Unknown(Exception):  # noqa: N818 - no fault: says what was met
    """Something in the block is not accounted for."""


class Shapes:
    """What the lines of a launch hold from the section to the value, by their number: a table of ``middles``."""

    def __init__(self, fields: Mapping[int, Sequence[tuple[bytes, str, str]]]) -> None:
        self.fields = dict(fields)
        self.begin: dict[int, int] = {}
        rows: list[tuple[bytes, str, str]] = []
        for count, lines in self.fields.items():
            self.begin[count] = len(rows)
            rows += lines
        self.middles = [middle for middle, _, _ in rows]
        self.metrics = [metric for _, metric, _ in rows]
        self.units = [unit for _, _, unit in rows]
        self.lengths = np.array([len(middle) for middle in self.middles], np.int64)
        self._quotes = np.cumsum([0, *(middle.count(b'"') for middle in self.middles)])
        width = -(-max(map(len, self.middles)) // _WORD) * _WORD
        self.words = _words([middle.ljust(width, b"\0") for middle in self.middles])
        self.mask = _words([(b"\xff" * len(middle)).ljust(width, b"\0") for middle in self.middles])
        # Two lines of a launch part here, counted from where the launch ends.
        following = [*self.middles[1:], b""]
        self.shared = np.array([_shared(*pair) for pair in zip(self.middles, following, strict=True)], np.int64)

    def quotes_of(self, begins: Any, counts: Any) -> int:
        """How many quotes are in runs of ``counts`` rows from ``begins`` on."""
        return int((self._quotes[begins + counts] - self._quotes[begins]).sum())


def _words(texts: Sequence[bytes]) -> Any:
    return np.frombuffer(b"".join(texts), np.uint64).reshape(len(texts), -1)


def _shared(one: bytes, two: bytes) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def _words_at(data: Block, places: Any, width: int) -> Any:
    if not len(places):
        return np.zeros((0, width // _WORD), np.uint64)
    items = np.ndarray((len(data) - width + 1,), f"V{width}", buffer=data, strides=(1,))
    return items[places].view(np.uint64).reshape(len(places), -1)


class Lines:
    """The lines of a block, and the runs of those that begin alike: ``counts`` lines each, from ``firsts`` on."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.at = np.frombuffer(block, np.uint8)
        self.ends = np.flatnonzero(self.at == ord("\n"))
        self.starts = np.zeros_like(self.ends)
        self.starts[1:] = self.ends[:-1] + 1
        if len(self.ends) < _LEAST_RUNS or int((self.ends - self.starts).min()) < _LEAST_LINE:
            raise Unknown
        if bool((self.at[self.ends - 1] != _QUOTE).any()):
            raise Unknown
        self.quotes = int(np.count_nonzero(self.at == _QUOTE))
        words = self._items(self.starts, _BEGINNING * _WORD)
        other = [words[1:, column] != words[:-1, column] for column in range(_BEGINNING)]
        self.firsts = np.flatnonzero(np.concatenate(([True], np.logical_or.reduce(other))))
        self.counts = np.diff(self.firsts, append=len(self.starts))
        if not _LEAST_RUNS <= len(self.firsts) <= len(self.starts) // _LEAST_ROWS_A_RUN:
            raise Unknown
        self.parting = self._parting()
        self.alike = self._alike()

    def _parting(self) -> Any:
        """By words, how far the first two lines of each run are alike, in which a launch tells of itself; or 0."""
        result = np.zeros(len(self.firsts), np.int64)
        left, width = np.flatnonzero(self.counts > 1), _FIRST_WIDTH
        while len(left):
            if width > _MOST_WIDTH:
                raise Unknown
            for some in _slices(0, len(left), _ROWS_AT_ONCE):
                rows = self.firsts[left[some]]
                one, two = (self._items(self.starts[each], width) for each in (rows, rows + 1))
                result[left[some]] = _count_alike(one != two)
            left = left[result[left] == width // _WORD]
            width *= 2
        return result

    def _alike(self) -> Any:
        """By words, how far each line is like the one before in its run, or at least as far as the first two are."""
        result = np.zeros(len(self.starts), np.int64)
        # No line is compared for longer than what its launch tells.
        step = -(-self.parting // _STEP)
        of_row = np.repeat(step.astype(np.uint8), self.counts)
        order = np.argsort(of_row, kind="stable")
        ends = np.cumsum(np.bincount(of_row)).tolist()
        for steps, (begin, end) in enumerate(pairwise(ends), start=1):
            for some in _slices(begin, end, _ROWS_AT_ONCE):
                rows = order[max(begin, some.start - 1) : some.stop]
                words = self._items(self.starts[rows], steps * _STEP * _WORD)
                result[rows[1:]] = _count_alike(words[1:] != words[:-1])
        result[self.firsts] = 0
        return result

    def _items(self, places: Any, width: int) -> Any:
        """``width`` bytes from each of ``places`` on, as rows of words; zeros behind the end of the block."""
        late = np.flatnonzero(places > len(self.at) - width)
        if not len(late):
            return _words_at(self.block, places, width)
        result = np.empty((len(places), width), np.uint8)
        early = np.flatnonzero(places <= len(self.at) - width)
        result[early] = _words_at(self.block, places[early], width).view(np.uint8)
        begin, end = int(places[late].min()), int(places[late].max()) + width
        rest = bytes(self.block[begin:]).ljust(end - begin, b"\0")
        result[late] = _words_at(rest, places[late] - begin, width).view(np.uint8)
        return result.view(np.uint64)

    def of_run(self, run: int) -> list[bytes]:
        """The lines of a run."""
        first = int(self.firsts[run])
        rows = range(first, first + int(self.counts[run]))
        return [bytes(self.block[self.starts[row] : self.ends[row]]) for row in rows]

    def fitted(self, shapes: Shapes) -> tuple[Any, Any]:
        """Where each run begins in the table of shapes, and after how many bytes its lines tell of no launch any more.

        The first and the last run may be parts of a launch; for others, two lines show where they part.
        """
        begin = np.array([shapes.begin.get(count, 0) for count in self.counts.tolist()], np.int64)
        second, alike = self.firsts + (self.counts > 1), self.parting * _WORD
        one, two = (self._items(self.starts[rows] + alike, _WORD)[:, 0] for rows in (self.firsts, second))
        # Of a run of one line, nothing is known yet.
        cut = np.where(self.counts > 1, alike + _first_byte(one ^ two) - shapes.shared[begin], 0)
        for run, ending in ((0, True), (len(begin) - 1, False)):
            begin[run], cut[run] = self._part(run, shapes, ending=ending)
        return begin, cut

    def _part(self, run: int, shapes: Shapes, *, ending: bool) -> tuple[int, int]:
        """As ``fitted`` for a run that is the end of a launch's lines, or the beginning."""
        first, count = int(self.firsts[run]), int(self.counts[run])
        line = bytes(self.block[self.starts[first] : self.ends[first]])
        for size, begin in shapes.begin.items():
            place = begin + size - count if ending else begin
            if count <= size and (cut := line.rfind(shapes.middles[place])) > 0:
                return place, cut
        raise Unknown

    def check_beginnings(self, cut: Any) -> None:
        """Raise Unknown unless the first ``cut`` bytes of each line are those of its run's first."""
        if bool((cut < _WORD * _BEGINNING).any()) or bool((cut > self.ends - self.starts).any()):
            raise Unknown
        last = self._items(self.starts + cut - _WORD, _WORD)[:, 0]
        same = (self.alike >= cut // _WORD) & (last == np.roll(last, 1))
        same[self.firsts] = True
        if not bool(same.all()):
            raise Unknown

    def check_middles(self, cuts: Any, row: Any, shapes: Shapes) -> None:
        """Raise Unknown unless each line holds, from ``cuts`` on, its row of the table of shapes."""
        height, width = int(self.counts[1]), shapes.words.shape[1]
        begin, end = int(self.firsts[1]), int(self.firsts[-1])
        if not bool((self.counts[1:-1] == height).all()):
            end = begin
        # Launches of one height lie as their shape does.
        shape = slice(int(row[begin]), int(row[begin]) + height)
        for some in _slices(begin, end, max(1, _ROWS_AT_ONCE // height) * height):
            words = self._items(cuts[some], width * _WORD).reshape(-1, height, width)
            _check_same(words, shapes.mask[shape], shapes.words[shape])
        for some in (*_slices(0, begin, _ROWS_AT_ONCE), *_slices(end, len(cuts), _ROWS_AT_ONCE)):
            words = self._items(cuts[some], width * _WORD)
            _check_same(words, shapes.mask[row[some]], shapes.words[row[some]])

    def ids(self) -> tuple[Any, Any]:
        """The ID that each run begins with, a whole number, and where its cell ends."""
        cells = self._items(self.starts[self.firsts], 2 * _WORD).view(np.uint8)
        after = (cells[:, 1:] == _QUOTE).argmax(axis=1) + 1
        number = np.zeros(len(cells), np.int64)
        good = (cells[:, 0] == _QUOTE) & (after > 1) & (after <= ID_DIGITS + 1)
        for place in range(1, min(int(after.max()), ID_DIGITS + 1)):
            digit = cells[:, place] - np.uint8(ord("0"))
            inside = place < after
            good &= ~inside | (digit < 10)  # noqa: PLR2004
            number = np.where(inside, number * 10 + digit, number)
        # 007 is another text than 7.
        good &= (cells[:, 1] != ord("0")) | (after == 2)  # noqa: PLR2004
        if not bool(good.all()):
            raise Unknown
        return number, after

    def told(self, begins: Any, ends: Any) -> tuple[Any, list[bytes]]:
        """What launches say of themselves, from the end of their ID to the section: codes, and each text once."""
        view = memoryview(self.block)
        texts = [bytes(view[begin:end]) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
        launch_of = np.array([codes[text] for text in texts], np.int64)
        return launch_of, list(codes)


def _check_same(words: Any, mask: Any, expected: Any) -> None:
    """Raise Unknown unless words are those expected, as far as ``mask`` says; changes ``words``."""
    words &= mask
    if not bool((words == expected).all()):
        raise Unknown


def _count_alike(other: Any) -> Any:
    """How many words are alike at the beginning of each row, given which are others."""
    alike = other.argmax(axis=1)
    alike[(alike == 0) & ~other[:, 0]] = other.shape[1]
    return alike


def _slices(begin: int, end: int, step: int) -> list[slice]:
    return [slice(first, min(first + step, end)) for first in range(begin, end, step)]


def _first_byte(words: Any) -> Any:
    """The first byte of each word (which is not 0) that is not 0, counted from its lowest."""
    lowest = words & (~words + np.uint64(1))
    return np.frexp(lowest.astype(np.float64))[1].astype(np.int64) - 1 >> 3
