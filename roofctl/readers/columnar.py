"""ncu's raw and details page by the block: the same parts as line by line, at a small part of the cost.

What is not a regular row of one such table, line by line it is: foreign lines and damaged rows in between go
through ``tables``, and a file of any other shape is left to it from the start (``Irregular``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from roofctl.counts import Part
from roofctl.readers import streams
from roofctl.readers.cells import Cells, Irregular, Layout, Lines, split
from roofctl.readers.launches import Converter
from roofctl.readers.numbers import Mark
from roofctl.readers.tables import COUNT, Scan, Scanner, Table, least_fields
from roofctl.readers.words import CHUNK, Heads, joined, text_of

HEAD_ROWS: Final = 16
"""Rows that are read line by line before the rest is read by the block: they show what a file is like."""

_LATEST_TABLE: Final = 1_000_000
"""Lines before the table and its first rows; nothing is gained where there are more."""

_WARM_BYTES: Final = 30 << 20


class Page(Protocol):
    """A table as it is read: takes rows, then gives parts.

    ``columns`` are those to take beside the head, which goes from one column of ``head`` to the other.
    ``numbered``: the first of the columns must be a count too. ``skipped`` counts rows that are no values.
    """

    @property
    def columns(self) -> Sequence[str]: ...

    @property
    def head(self) -> tuple[str, str]: ...

    @property
    def numbered(self) -> bool: ...

    @property
    def skipped(self) -> int: ...

    def heads(self) -> Heads:
        """Where the heads of the next rows are collected."""

    def take(self, batch: Batch) -> None:
        """Take rows."""

    def names(self) -> frozenset[str]:
        """All counters that had a value."""

    def mark(self) -> Mark:
        """The decimal mark of the file."""

    def parts(self, converter: Converter) -> list[Part]:
        """What was taken, in SI units."""


@dataclass(frozen=True)
class Batch:
    """Cells of some rows, in order: (columns, rows) of ``data[starts:ends]``, their heads by code, and line numbers."""

    data: bytes
    starts: Any
    ends: Any
    heads: Heads
    codes: Any
    lines: Any


PageOf = Callable[[Table], Page]
"""How to read a table, given its header and first rows."""


def read(
    path: Path, page_of: PageOf, *, head_rows: int = HEAD_ROWS, block_bytes: int = streams.BLOCK_BYTES
) -> tuple[Scan, Page]:
    """What ``path`` holds, and its page.

    Raises Irregular where it must be read line by line, and InputError as ``streams.blocks`` does.
    """
    # Once a large array is given back, the allocator keeps what is freed; else each block costs page faults.
    np.empty(_WARM_BYTES, np.uint8)
    reader = _Reader(page_of, head_rows)
    blocks = streams.blocks(path, block_bytes, before=b"0" * CHUNK)
    for block in blocks:
        reader.head(block)
        if reader.page:
            break
    if reader.page is None:
        raise Irregular
    for lines in _prefetched(blocks):
        reader.take(lines)
    return reader.finished()


def _prefetched(blocks: Iterator[bytes]) -> Iterator[Lines]:
    """Lines of ``blocks``, one block ahead in a thread of its own."""
    scratch: list[Any] = [np.empty((2, 0), np.bool_)] * 2

    def next_lines(turn: int) -> Lines | None:
        block = next(blocks, None)
        if block is None:
            return None
        if scratch[turn].shape[1] < len(block):
            scratch[turn] = np.empty((2, len(block) + len(block) // 4), np.bool_)
        return Lines(block, scratch[turn])

    with ThreadPoolExecutor(1) as ahead:
        turn, future = 0, ahead.submit(next_lines, 0)
        while (lines := future.result()) is not None:
            turn = 1 - turn
            future = ahead.submit(next_lines, turn)
            yield lines


class _Reader:
    def __init__(self, page_of: PageOf, head_rows: int) -> None:
        self.scanner = Scanner()
        self.page: Page | None = None
        self._page_of = page_of
        self._head_rows = head_rows
        self._number = 0

    def head(self, block: bytes) -> None:
        """Read the lines of ``block`` until the table is known; the rest of it by the block."""
        if block.count(b"\r") != block.count(b"\r\n"):
            raise Irregular
        at = CHUNK
        while self.page is None and at < len(block):
            end = block.index(b"\n", at) + 1
            self._feed(block[at : end - 1].removesuffix(b"\r"))
            at = end
            self._look()
            if self._number > _LATEST_TABLE:
                raise Irregular
        if self.page and at < len(block):
            rest = block[:CHUNK] + block[at:]
            self.take(Lines(rest, np.empty((2, len(rest)), np.bool_)))

    def _feed(self, line: bytes) -> None:
        self._number += 1
        self.scanner.feed(self._number, line.decode("utf-8", errors="replace"))

    def _look(self) -> None:
        table = self.scanner.table
        if table is None:
            return
        if not _is_plain_page(table) or len(self.scanner.found.tables) > 1:
            raise Irregular
        if len(table.rows) >= self._head_rows:
            self.page = self._page_of(table)
            index = {name: position for position, name in enumerate(table.header)}
            wanted = [index.get(name, len(table.header)) for name in self.page.columns]
            head = (index[self.page.head[0]], index[self.page.head[1]])
            self._layout = Layout(np.array(wanted), head, least_fields(table), len(table.header))
            # A row of units comes before rows or not at all.
            table.units = table.units or []
            self.page.take(self._slow_batch(self.page.heads()))

    def take(self, lines: Lines) -> None:
        """Take the rows of a block, regular or not, in order."""
        page = self._page()
        heads = page.heads()
        cells = split(lines, self._layout, heads)
        good = np.array(heads.counts or [False])[cells.heads]
        if page.numbered:
            good &= _counts(cells, 0)
        first = self._number
        self._number += cells.count
        batch = Batch(cells.data, cells.starts, cells.ends, heads, cells.heads, first + 1 + cells.lines)
        if not len(cells.irregular) and bool(good.all()):
            page.take(batch)
            return
        for number in np.sort(np.concatenate((cells.irregular, cells.lines[~good]))).tolist():
            self._number = first + number
            start, stop = lines.span(number)
            self._feed(cells.data[start:stop])
        self._number = first + cells.count
        if len(self.scanner.found.tables) > 1:
            raise Irregular
        page.take(_merged(batch, good, self._slow_batch(heads)))

    def _page(self) -> Page:
        if self.page is None:
            raise Irregular
        return self.page

    def _slow_batch(self, heads: Heads) -> Batch:
        """The rows that were read line by line since last time, as cells like the others."""
        table = self.scanner.table
        rows = table.rows if table else []
        data = bytearray(b"0" * CHUNK)
        wanted = self._layout.wanted.tolist()
        spans = np.zeros((2, len(wanted) + 1, len(rows)), np.int64)

        def put(place: int, row: int, content: bytes) -> None:
            nonlocal data
            spans[:, place, row] = len(data), len(data) + len(content)
            # As in a line, so that neighbours can be taken as one.
            data += content + b'","'

        for row, (_, fields) in enumerate(rows):
            for place, column in enumerate(wanted):
                put(place, row, fields[column].replace('"', '""').encode() if column < len(fields) else b"")
            put(-1, row, joined(fields[self._layout.head[0] : self._layout.head[1] + 1]))
        lines = np.array([line for line, _ in rows], dtype=np.int64)
        rows.clear()
        content = bytes(data)
        return Batch(
            content, spans[0, :-1], spans[1, :-1], heads, heads.codes(content, spans[0, -1], spans[1, -1]), lines
        )

    def finished(self) -> tuple[Scan, Page]:
        """What was found, and the page."""
        return self.scanner.found, self._page()


def _is_plain_page(table: Table) -> bool:
    names = set(table.header)
    return (
        table.kind in ("ncu_raw", "ncu_details")
        and table.delimiter == ","
        and len(names) == len(table.header)
        and "Invocations" not in names
    )


def _counts(cells: Cells, column: int) -> Any:
    """Which rows have a count in ``column``, as ``tables`` asks of a row: one to eight digits at a glance."""
    starts, ends = cells.starts[column], cells.ends[column]
    lengths = ends - starts
    at = np.frombuffer(cells.data, np.uint8)
    good = (lengths > 0) & (lengths <= 8)  # noqa: PLR2004
    for place in range(1, int(lengths[good].max(initial=0)) + 1):
        good &= (lengths < place) | (at[ends - place] - np.uint8(ord("0")) < 10)  # noqa: PLR2004
    for row in np.flatnonzero(~good).tolist():
        good[row] = COUNT.fullmatch(text_of(cells.data[starts[row] : ends[row]]).strip()) is not None
    return good


def _merged(batch: Batch, good: Any, slow: Batch) -> Batch:
    """The ``good`` rows of a batch, and others, in the order of their lines."""
    order = np.argsort(np.concatenate((batch.lines[good], slow.lines)), kind="stable")
    shift = len(batch.data)
    starts, ends = (
        np.concatenate((mine[:, good], theirs + shift), axis=1)[:, order]
        for mine, theirs in ((batch.starts, slow.starts), (batch.ends, slow.ends))
    )
    codes, lines = (
        np.concatenate((mine[good], theirs))[order]
        for mine, theirs in ((batch.codes, slow.codes), (batch.lines, slow.lines))
    )
    return Batch(batch.data + slow.data, starts, ends, batch.heads, codes, lines)
