"""Text cells by the block: distinct ones get a number, and most rows repeat the row before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from roofctl.readers.tables import COUNT

CHUNK: Final = 64
"""Bytes compared at a time; as many must stand before the first cell."""

_JOINT: Final = b'"\n"'
_LAST: Final = np.array(
    [[0] * CHUNK if not count else [0] * (CHUNK - count) + [255] * count for count in range(CHUNK + 1)], dtype=np.uint8
).view(np.uint64)
"""Masks for the last N bytes of a chunk."""


def text_of(cell: bytes) -> str:
    """A cell between its quotes as text: what ``csv`` makes of it, damaged bytes replaced."""
    return cell.decode("utf-8", errors="replace").replace('""', '"').replace("\0", "\ufffd")


class Words:
    """The distinct cells of a column, in order of appearance; rows get their numbers."""

    def __init__(self) -> None:
        self.cells: list[bytes] = []
        self._codes: dict[bytes, int] = {}

    def codes(self, data: bytes, starts: Any, ends: Any, back: int = 1) -> Any:
        """A code per row for ``data[starts:ends]``. Rows that equal the one ``back`` rows before cost least."""
        same = repeats(data, starts, ends, back)
        fresh = np.flatnonzero(~same)
        spans = zip(starts[fresh].tolist(), ends[fresh].tolist(), strict=True)
        cells = [data[start:end] for start, end in spans]
        found: Any = list(map(self._codes.get, cells))
        if None in found:
            found = [self._code(cell) for cell in cells]
        codes = np.zeros(len(starts), np.int32)
        codes[fresh] = found
        return codes[sources(same, back)]

    def _code(self, cell: bytes) -> int:
        code = self._codes.setdefault(cell, len(self.cells))
        if code == len(self.cells):
            self.cells.append(cell)
        return code


class Heads:
    """What stands at the head of rows, from one column to another, as one cell: who launched which kernel how.

    ``fields`` are the texts of the columns ``names`` per distinct head, blanks at their ends included.
    ``quotes`` counts the quotes inside fields, -1 where they are not doubled. ``counts`` says whether the
    columns of ``numbered`` are counts.
    """

    def __init__(self, names: Sequence[str], numbered: Sequence[str]) -> None:
        self.names = list(names)
        self.fields: list[list[str]] = []
        self.quotes: list[int] = []
        self.counts: list[bool] = []
        self._numbered = [self.names.index(name) for name in numbered]
        self._words = Words()

    def codes(self, data: bytes, starts: Any, ends: Any) -> Any:
        """A code per row for the heads ``data[starts:ends]``."""
        codes = self._words.codes(data, starts, ends)
        for cell in self._words.cells[len(self.fields) :]:
            self._add(cell)
        return codes

    def _add(self, cell: bytes) -> None:
        mark = _JOINT if _JOINT in cell else b'","'
        if cell.count(b'"') == 2 * (len(self.names) - 1):  # No quotes but those between fields: nearly always.
            fields, quotes = cell.decode("utf-8", errors="replace").replace("\0", "\ufffd").split(mark.decode()), 0
        else:
            pieces = cell.split(mark)
            fields, quotes = [text_of(each) for each in pieces], sum(each.count(b'"') for each in pieces)
            quotes = -1 if any(b'"' in each.replace(b'""', b"") for each in pieces) else quotes
        sound = quotes >= 0 and len(fields) == len(self.names)
        self.fields.append(fields)
        self.quotes.append(quotes if sound else -1)
        self.counts.append(sound and all(COUNT.fullmatch(fields[place].strip()) for place in self._numbered))

    def column(self, name: str) -> list[str]:
        """Texts of one column per code; empty where it is not part of the head."""
        if name not in self.names:
            return [""] * len(self.fields)
        place = self.names.index(name)
        return [fields[place].strip() if place < len(fields) else "" for fields in self.fields]


def joined(fields: Sequence[str]) -> bytes:
    """A head of ``fields`` that were read one by one: told from others by a line end, which no line holds."""
    return _JOINT.join(text.replace('"', '""').encode() for text in fields)


def repeats(data: bytes, starts: Any, ends: Any, back: int) -> Any:
    """Which rows hold the same bytes in ``data[starts:ends]`` as the row ``back`` rows before."""
    lengths = ends - starts
    if len(starts) <= back:
        return np.zeros(len(starts), np.bool_)
    same = lengths[back:] == lengths[:-back]
    rows = np.flatnonzero(same & (lengths[back:] > 0))
    chunks: Any = np.ndarray((len(data) - CHUNK + 1,), f"V{CHUNK}", buffer=data, strides=(1,))
    # The chunk that the cell ends with, without what stands before the cell.
    mine, theirs = (
        chunks[end[rows] - CHUNK].view(np.uint64).reshape(-1, CHUNK // 8) for end in (ends[back:], ends[:-back])
    )
    differ = (mine ^ theirs) & _LAST[np.minimum(lengths[back:][rows], CHUNK)]
    same[rows] = np.bitwise_or.reduce(differ, axis=1) == 0
    long = np.flatnonzero(same & (lengths[back:] > CHUNK))
    spans = (
        zip(start[long].tolist(), (end[long] - CHUNK).tolist(), strict=True)
        for start, end in ((starts[back:], ends[back:]), (starts[:-back], ends[:-back]))
    )
    same[long] = [data[a:b] == data[c:d] for (a, b), (c, d) in zip(*spans, strict=True)]
    return np.concatenate((np.zeros(back, np.bool_), same))


def sources(same: Any, back: int) -> Any:
    """The row whose content each row repeats, itself where it repeats none."""
    own = np.where(same, 0, np.arange(len(same)))
    padding = -len(own) % back
    table = np.pad(own, (0, padding)).reshape(-1, back)
    return np.maximum.accumulate(table, axis=0).ravel()[: len(own)]
