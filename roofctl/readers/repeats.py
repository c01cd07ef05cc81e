"""Lines of a details page that say again what others said: read without splitting them.

A launch fills one line per counter. They are alike up to the section; from there on they are what earlier launches
wrote, except for the value. A block whose every byte is accounted for in this way is read by comparing; any other is
left to ``arrow``. Nothing is taken on trust: a line is known when its bytes are those of lines that were split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from roofctl.readers.digits import PAD
from roofctl.readers.streams import Block
from roofctl.readers.tables import COUNT, split_fields

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
_MOST_SHAPES: Final = 8
_MOST_FAILURES: Final = 4
_MOST_LAUNCHES: Final = 20_000
_ROWS_AT_ONCE: Final = 8192
"""So many beginnings of lines stay in a processor's cache."""


@dataclass(frozen=True)
class Values:
    """Values of a details page: cells ``data[starts:ends]`` by row, and what they are values of.

    By row: the line, its ``run`` (rows of one launch that follow each other), and codes into ``metrics`` and
    ``units``. By run: ``ids``, and codes ``launch_of`` into ``launches``, what they say of themselves beside the ID.
    """

    data: Block | memoryview
    starts: Any
    ends: Any
    lines: Any
    run: Any
    ids: Any
    launch_of: Any
    launches: list[tuple[str, ...]]
    metric: Any
    metrics: list[str]
    unit: Any
    units: list[str]


class _Unknown(Exception):  # noqa: N818 - no fault: says what was met
    """Something in the block is not accounted for."""


class _Shapes:
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


class Repeats:
    """Reads blocks of lines of a details page with columns ``header``; ``identity`` are those to tell of each launch.

    The first of them is the process.
    """

    def __init__(self, header: Sequence[str], identity: Sequence[str]) -> None:
        place = {name: number for number, name in enumerate(header)}
        self._places = [place.get(name, len(header)) for name in identity]
        self._cut = min(place.get(name, len(header)) for name in ("Section Name", "Metric Name"))
        behind = (place.get(f"Metric {name}", -1) for name in ("Name", "Unit", "Value"))
        self._metric, self._unit, self._value = behind
        told_before = all(number < self._cut or number == len(header) for number in self._places)
        usual = header[0] == "ID" and told_before and self._cut <= self._metric < self._unit < self._value
        self._failures = 0 if usual else _MOST_FAILURES
        self._width = _FIRST_WIDTH
        self._shapes: _Shapes | None = None
        self._launches: dict[bytes, tuple[str, ...]] = {}

    def lines(self, block: Block) -> Lines | None:
        """The lines of a block compared with each other; None where that is no use."""
        if self._failures >= _MOST_FAILURES:
            return None
        try:
            found = Lines(block, self._width)
        except _Unknown:
            self._failures += 1
            return None
        self._width = found.width
        return found

    def values(self, lines: Lines, first: int) -> Values | None:
        """The values of a block, its lines numbered from ``first`` on; None where some byte is not accounted for."""
        try:
            found = self._values(lines, first)
        except _Unknown:
            # What never repeats costs no more attempts.
            self._failures += 1
            return None
        self._failures = 0
        return found

    def _values(self, lines: Lines, first: int) -> Values:
        if self._shapes:
            try:
                return self._read(lines, self._with_lengths(lines, self._shapes), first)
            except _Unknown:
                pass
        return self._read(lines, self._with_lengths(lines, None), first)

    def _with_lengths(self, lines: Lines, known: _Shapes | None) -> _Shapes:
        """Shapes for every whole launch of a block: those known, and the others as the block shows them first."""
        whole = lines.counts[1:-1]
        fields = known.fields if known else {}
        new = [count for count in dict.fromkeys(whole.tolist()) if count not in fields]
        if known and not new:
            return known
        if len(fields) + len(new) > _MOST_SHAPES:
            raise _Unknown
        shown = {count: self._split(lines.of_run(1 + int(np.argmax(whole == count)))) for count in new}
        self._shapes = _Shapes({**fields, **shown})
        return self._shapes

    def _split(self, lines: list[bytes]) -> list[tuple[bytes, str, str]]:
        """From section to value, metric and unit of lines, split."""
        result = []
        for line in lines:
            fields = split_fields(line.decode("utf-8", errors="replace"))
            if len(fields) != self._value + 1 or _joined(fields) != line:
                raise _Unknown
            middle = _joined(fields[self._cut : -1]) + b',"'
            result.append((middle, fields[self._metric].strip(), fields[self._unit].strip()))
        return result

    def _read(self, lines: Lines, shapes: _Shapes, first: int) -> Values:
        begin, cut = lines.fitted(shapes)
        row = np.arange(len(lines.starts)) - np.repeat(lines.firsts - begin, lines.counts)
        run = np.repeat(np.arange(len(lines.firsts)), lines.counts)
        cut = np.repeat(cut, lines.counts)
        cuts = lines.starts + cut
        lines.check_beginnings(cut)
        lines.check_middles(cuts, row, shapes)
        starts, ends = cuts + shapes.lengths[row], lines.ends - 1
        if bool((starts > ends).any()) or int(starts[0]) < PAD:
            raise _Unknown
        ids, after = lines.ids()
        launch_of, texts = lines.told(lines.starts[lines.firsts] + after, cuts[lines.firsts])
        quotes = np.array([text.count(b'"') for text in texts])[launch_of] * lines.counts
        # Beside what is known, a line has a quote at its beginning and one at its end, and none within its value.
        if int(quotes.sum()) + shapes.quotes_of(begin, lines.counts) + 2 * len(row) != lines.quotes:
            raise _Unknown
        return Values(
            lines.block,
            starts,
            ends,
            np.arange(first, first + len(starts)),
            run,
            ids,
            launch_of,
            [self._launch(text) for text in texts],
            row,
            shapes.metrics,
            row,
            shapes.units,
        )

    def _launch(self, text: bytes) -> tuple[str, ...]:
        known = self._launches.get(text)
        if known is None:
            line = b'"0' + text
            fields = split_fields(line.decode("utf-8", errors="replace"))
            if len(fields) != self._cut + 1 or _joined(fields[:-1]) + b"," != line:
                raise _Unknown
            known = tuple(fields[place].strip() if place < self._cut else "" for place in self._places)
            if not COUNT.fullmatch(known[0]):
                raise _Unknown
            if len(self._launches) > _MOST_LAUNCHES:
                self._launches = {}
            self._launches[text] = known
        return known


def _joined(fields: Sequence[str]) -> bytes:
    """Fields as ncu writes them."""
    return b'"' + b'","'.join(text.replace('"', '""').encode("utf-8", errors="replace") for text in fields) + b'"'


def _items(data: Block, places: Any, width: int) -> Any:
    if not len(places):
        return np.zeros((0, width // _WORD), np.uint64)
    items = np.ndarray((len(data) - width + 1,), f"V{width}", buffer=data, strides=(1,))
    return items[places].view(np.uint64).reshape(len(places), -1)


class Lines:
    """The lines of a block, and the runs of those that begin alike: ``counts`` lines each, from ``firsts`` on."""

    def __init__(self, block: Block, width: int) -> None:
        self.block = block
        self.at = np.frombuffer(block, np.uint8)
        self.ends = np.flatnonzero(self.at == ord("\n"))
        self.starts = np.zeros_like(self.ends)
        self.starts[1:] = self.ends[:-1] + 1
        if len(self.ends) < _LEAST_RUNS or int((self.ends - self.starts).min()) < _LEAST_LINE:
            raise _Unknown
        if bool((self.at[self.ends - 1] != _QUOTE).any()):
            raise _Unknown
        self.quotes = int(np.count_nonzero(self.at == _QUOTE))
        words = self._items(self.starts, _BEGINNING * _WORD)
        other = [words[1:, column] != words[:-1, column] for column in range(_BEGINNING)]
        self.firsts = np.flatnonzero(np.concatenate(([True], np.logical_or.reduce(other))))
        self.counts = np.diff(self.firsts, append=len(self.starts))
        if not _LEAST_RUNS <= len(self.firsts) <= len(self.starts) // _LEAST_ROWS_A_RUN:
            raise _Unknown
        self.width = width
        self.parting = self._parting()
        self.alike = self._alike()

    def _parting(self) -> Any:
        """By words, how far the first two lines of each run are alike, in which a launch tells of itself; or 0."""
        second = self.firsts + (self.counts > 1)
        while True:
            one, two = (self._items(self.starts[rows], self.width) for rows in (self.firsts, second))
            alike = np.where(self.counts > 1, _alike(one != two), 0)
            if int(alike.max()) < self.width // _WORD:
                return alike
            self.width *= 2
            if self.width > _MOST_WIDTH:
                raise _Unknown

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
                result[rows[1:]] = _alike(words[1:] != words[:-1])
        result[self.firsts] = 0
        return result

    def _items(self, places: Any, width: int) -> Any:
        """``width`` bytes from each of ``places`` on, as rows of words; zeros behind the end of the block."""
        late = np.flatnonzero(places > len(self.at) - width)
        if not len(late):
            return _items(self.block, places, width)
        result = np.empty((len(places), width), np.uint8)
        early = np.flatnonzero(places <= len(self.at) - width)
        result[early] = _items(self.block, places[early], width).view(np.uint8)
        begin, end = int(places[late].min()), int(places[late].max()) + width
        rest = bytes(self.block[begin:]).ljust(end - begin, b"\0")
        result[late] = _items(rest, places[late] - begin, width).view(np.uint8)
        return result.view(np.uint64)

    def of_run(self, run: int) -> list[bytes]:
        """The lines of a run."""
        first = int(self.firsts[run])
        rows = range(first, first + int(self.counts[run]))
        return [bytes(self.block[self.starts[row] : self.ends[row]]) for row in rows]

    def fitted(self, shapes: _Shapes) -> tuple[Any, Any]:
        """Where each run begins in the table of shapes, and after how many bytes its lines tell of no launch any more.

        The first and the last run may be parts of a launch; for others, two lines show where they part.
        """
        begin = np.array([shapes.begin.get(count, 0) for count in self.counts.tolist()], np.int64)
        second, alike = self.firsts + (self.counts > 1), self.parting * _WORD
        one, two = (self._items(self.starts[rows] + alike, _WORD)[:, 0] for rows in (self.firsts, second))
        cut = alike + _first_byte(one ^ two) - shapes.shared[begin]
        for run, ending in ((0, True), (len(begin) - 1, False)):
            begin[run], cut[run] = self._part(run, shapes, ending=ending)
        return begin, cut

    def _part(self, run: int, shapes: _Shapes, *, ending: bool) -> tuple[int, int]:
        """As ``fitted`` for a run that is the end of a launch's lines, or the beginning."""
        first, count = int(self.firsts[run]), int(self.counts[run])
        line = bytes(self.block[self.starts[first] : self.ends[first]])
        for size, begin in shapes.begin.items():
            place = begin + size - count if ending else begin
            if count <= size and (cut := line.rfind(shapes.middles[place])) > 0:
                return place, cut
        raise _Unknown

    def check_beginnings(self, cut: Any) -> None:
        """Raise _Unknown unless the first ``cut`` bytes of each line are those of its run's first."""
        if bool((cut < _WORD * _BEGINNING).any()) or bool((cut > self.ends - self.starts).any()):
            raise _Unknown
        last = self._items(self.starts + cut - _WORD, _WORD)[:, 0]
        same = (self.alike >= cut // _WORD) & (last == np.roll(last, 1))
        same[self.firsts] = True
        if not bool(same.all()):
            raise _Unknown

    def check_middles(self, cuts: Any, row: Any, shapes: _Shapes) -> None:
        """Raise _Unknown unless each line holds, from ``cuts`` on, its row of the table of shapes."""
        height, width = int(self.counts[1]), shapes.words.shape[1]
        begin, end = int(self.firsts[1]), int(self.firsts[-1])
        if not bool((self.counts[1:-1] == height).all()):
            end = begin
        # Launches of one height lie as their shape does.
        shape = slice(int(row[begin]), int(row[begin]) + height)
        for some in _slices(begin, end, max(1, _ROWS_AT_ONCE // height) * height):
            words = self._items(cuts[some], width * _WORD).reshape(-1, height, width)
            words &= shapes.mask[shape]
            if not bool((words == shapes.words[shape]).all()):
                raise _Unknown
        for some in (*_slices(0, begin, _ROWS_AT_ONCE), *_slices(end, len(cuts), _ROWS_AT_ONCE)):
            words = self._items(cuts[some], width * _WORD)
            words &= shapes.mask[row[some]]
            if not bool((words == shapes.words[row[some]]).all()):
                raise _Unknown

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
            raise _Unknown
        return number, after

    def told(self, begins: Any, ends: Any) -> tuple[Any, list[bytes]]:
        """What launches say of themselves, from the end of their ID to the section: codes, and each text once."""
        view = memoryview(self.block)
        texts = [bytes(view[begin:end]) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
        launch_of = np.array([codes[text] for text in texts], np.int64)
        return launch_of, list(codes)


def _alike(other: Any) -> Any:
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
