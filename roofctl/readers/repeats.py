"""Lines of a details page that say again what others said: read without splitting them.

A launch fills one line per counter. They are alike up to the section; from there on they are what earlier launches
wrote, except for the value. A block whose every byte is accounted for in this way is read by comparing; any other is
left to ``arrow``. Nothing is taken on trust: a line is known when its bytes are those of lines that were split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from roofctl.readers.digits import PAD
from roofctl.readers.find_tables import COUNT, split_fields
from roofctl.readers.lines import Lines, Shapes, Unknown
from roofctl.readers.streams import Block

_MOST_SHAPES: Final = 8
_MOST_FAILURES: Final = 4
_MOST_LAUNCHES: Final = 20_000


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
        self._shapes: Shapes | None = None
        self._launches: dict[bytes, tuple[str, ...]] = {}

    def lines(self, block: Block) -> Lines | None:
        """The lines of a block compared with each other; None where that is no use."""
        if self._failures >= _MOST_FAILURES:
            return None
        try:
            return Lines(block)
        except Unknown:
            self._failures += 1
            return None

    def values(self, lines: Lines, first: int) -> Values | None:
        """The values of a block, its lines numbered from ``first`` on; None where some byte is not accounted for."""
        try:
            found = self._values(lines, first)
        except Unknown:
            # What never repeats costs no more attempts.
            self._failures += 1
            return None
        self._failures = 0
        return found

    def _values(self, lines: Lines, first: int) -> Values:
        if self._shapes:
            try:
                return self._read(lines, self._with_lengths(lines, self._shapes), first)
            except Unknown:
                pass
        return self._read(lines, self._with_lengths(lines, None), first)

    def _with_lengths(self, lines: Lines, known: Shapes | None) -> Shapes:
        """Shapes for every whole launch of a block: those known, and the others as the block shows them first."""
        whole = lines.counts[1:-1]
        fields = known.fields if known else {}
        new = [count for count in dict.fromkeys(whole.tolist()) if count not in fields]
        if known and not new:
            return known
        if len(fields) + len(new) > _MOST_SHAPES:
            raise Unknown
        shown = {count: self._split(lines.of_run(1 + int(np.argmax(whole == count)))) for count in new}
        self._shapes = Shapes({**fields, **shown})
        return self._shapes

    def _split(self, lines: list[bytes]) -> list[tuple[bytes, str, str]]:
        """From section to value, metric and unit of lines, split."""
        result = []
        for line in lines:
            fields = split_fields(line.decode("utf-8", errors="replace"))
            if len(fields) != self._value + 1 or _joined(fields) != line:
                raise Unknown
            middle = _joined(fields[self._cut : -1]) + b',"'
            result.append((middle, fields[self._metric].strip(), fields[self._unit].strip()))
        return result

    def _read(self, lines: Lines, shapes: Shapes, first: int) -> Values:
        begin, cut = lines.fitted(shapes)
        row = np.arange(len(lines.starts)) - np.repeat(lines.firsts - begin, lines.counts)
        run = np.repeat(np.arange(len(lines.firsts)), lines.counts)
        cut = np.repeat(cut, lines.counts)
        cuts = lines.starts + cut
        lines.check_beginnings(cut)
        lines.check_middles(cuts, row, shapes)
        starts, ends = cuts + shapes.lengths[row], lines.ends - 1
        if bool((starts > ends).any()) or int(starts[0]) < PAD:
            raise Unknown
        ids, after = lines.ids()
        launch_of, texts = lines.told(lines.starts[lines.firsts] + after, cuts[lines.firsts])
        quotes = np.array([text.count(b'"') for text in texts])[launch_of] * lines.counts
        # Beside what is known, a line has a quote at its beginning and one at its end, and none within its value.
        if int(quotes.sum()) + shapes.quotes_of(begin, lines.counts) + 2 * len(row) != lines.quotes:
            raise Unknown
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
            # The quote that ended the ID may be one of two that stand for one.
            if len(fields) != self._cut + 1 or fields[0] != "0" or _joined(fields[:-1]) + b"," != line:
                raise Unknown
            known = tuple(fields[place].strip() if place < self._cut else "" for place in self._places)
            if not COUNT.fullmatch(known[0]):
                raise Unknown
            if len(self._launches) > _MOST_LAUNCHES:
                self._launches = {}
            self._launches[text] = known
        return known


def _joined(fields: Sequence[str]) -> bytes:
    """Fields as ncu writes them."""
    return b'"' + b'","'.join(text.replace('"', '""').encode("utf-8", errors="replace") for text in fields) + b'"'
