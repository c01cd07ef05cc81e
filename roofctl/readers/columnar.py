"""ncu's raw and details page by the block: the same parts as line by line, at a small part of the cost.

Foreign lines and damaged rows in between go through ``tables``, line by line, and a file that is not one such table
is left to it from the start (``Irregular``).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from roofctl.launches.table import Part
from roofctl.readers import streams
from roofctl.readers.arrow import Irregular, Rows, Splitter, save_memory
from roofctl.readers.convert import Converter
from roofctl.readers.find_tables import Scan, Scanner, Table, least_fields
from roofctl.readers.numbers import Mark
from roofctl.readers.streams import Block

HEAD_ROWS: Final = 16
"""Rows that are read line by line before the rest is read by the block: they show what a file is like."""

_LATEST_TABLE: Final = 1_000_000
"""Lines before the table and its first rows; nothing is gained where there are more."""

_ROOM: Final = 105
"""Per cent of the rows that a file is expected to have; a packed file has more, and room is made as they come."""

_WARM_BYTES: Final = 30 << 20

_T = TypeVar("_T")


class Page(Protocol):
    """A table as it is read: takes rows, then gives parts.

    ``columns`` are those that it takes, beside ``ID`` and ``Process ID``. ``skipped`` counts rows that are no values.
    Blocks of ``times`` the usual size are best for it, ``read_apart`` in a thread of their own or not.
    """

    read_apart: bool
    times: int

    @property
    def columns(self) -> Sequence[str]: ...

    @property
    def skipped(self) -> int: ...

    def expect(self, rows: int) -> None:
        """Be told about how many rows will come."""

    def prepare(self, block: Block) -> Any | None:
        """What a page makes of a block of lines that need not be split; None for others. Runs in a thread."""

    def take_prepared(self, prepared: Any, line: int) -> int:
        """Take the rows of such a block, the first of which is ``line``: how many they are; 0 if they must be split."""

    def take(self, rows: Rows) -> None:
        """Take rows, which come in order."""

    def names(self) -> frozenset[str]:
        """All counters that had a value."""

    def mark(self) -> Mark:
        """The decimal mark of the file."""

    def parts(self, converter: Converter) -> list[Part]:
        """What was taken, in SI units."""


@dataclass(frozen=True)
class _Ahead:
    """A block of lines as its page prepared it, or split: rows, numbers of other lines, how many lines there are."""

    block: Block
    prepared: Any
    split: tuple[Rows, list[int], int] | None


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
    save_memory()
    reader = _Reader(page_of, head_rows, path.stat().st_size)
    blocks = streams.blocks(path, lambda: block_bytes * (reader.page.times if reader.page else 1))
    for block in blocks:
        rest = reader.head(block)
        if reader.page:
            break
    if reader.page is None:
        raise Irregular
    if rest:
        reader.take(reader.ahead(rest))
    if reader.page.read_apart:
        blocks = _one_ahead(blocks, lambda block: block)
    for ahead in _one_ahead(blocks, reader.ahead):
        reader.take(ahead)
    return reader.finished()


def _one_ahead(blocks: Iterator[Block], work: Callable[[Block], _T]) -> Iterator[_T]:
    """``work`` done on the blocks, in order, in a thread that reads the next one meanwhile.

    What it does in long steps needs no interpreter; short steps of several threads would wait for each other.
    """
    first = next(blocks, None)
    if first is None:  # as of most files: no thread is worth its start
        return
    blocks = itertools.chain((first,), blocks)

    def step() -> list[_T]:
        return [work(block) for block in itertools.islice(blocks, 1)]

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(step)
        while done := future.result():
            future = pool.submit(step)
            yield from done


class _Reader:
    def __init__(self, page_of: PageOf, head_rows: int, size: int) -> None:
        self.scanner = Scanner()
        self.page: Page | None = None
        self._page_of = page_of
        self._head_rows = head_rows
        self._size = size
        self._expected = 0
        self._number = 0

    def head(self, block: Block) -> Block:
        """Read the lines of ``block`` until the table is known; what is left of it."""
        _check_line_ends(block)
        self._expected = _ROOM * self._size * block.count(b"\n") // len(block) // 100
        at = 0
        while self.page is None and at < len(block):
            end = block.index(b"\n", at) + 1
            self._feed(block[at : end - 1].removesuffix(b"\r"))
            at = end
            self._look()
            if self._number > _LATEST_TABLE:
                raise Irregular
        return block[at:]

    def _feed(self, line: Block) -> None:
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
            places = {name: index.get(name, len(index)) for name in ("ID", "Process ID", *self.page.columns)}
            # Rows of a details page may end before the columns that only rules fill.
            (width, _), *_ = Counter(len(fields) for _, fields in table.rows).most_common(1)
            self._splitter = Splitter(places, max(width, least_fields(table)))
            # A row of units comes before rows or not at all.
            table.units = table.units or []
            rows = self._read_slowly()
            self.page.expect(self._expected)
            self.page.take(rows)

    def ahead(self, block: Block) -> _Ahead:
        """What can be said of a block before those in front of it are taken."""
        _check_line_ends(block)
        prepared = self._page().prepare(block)
        return _Ahead(block, prepared, self._splitter.split(block) if prepared is None else None)

    def take(self, ahead: _Ahead) -> None:
        """Take the rows of a block, in order."""
        count = 0 if ahead.split else self._page().take_prepared(ahead.prepared, self._number + 1)
        if count:
            self._number += count
        else:
            self._take(ahead.block, *(ahead.split or self._splitter.split(ahead.block)))

    def _take(self, block: Block, rows: Rows, others: list[int], count: int) -> None:
        """Take split rows; lines that are no regular rows go through ``tables``."""
        good = rows.counts("ID") & rows.counts("Process ID")
        if not good.all():
            others = sorted((*others, *rows.lines[~good].tolist()))
            rows = rows.kept(good)
        first = self._number
        rows = rows.after(first + 1)
        if others:
            lines = block.split(b"\n")
            for number in others:
                self._number = first + number
                self._feed(lines[number].removesuffix(b"\r"))
            if len(self.scanner.found.tables) > 1:
                raise Irregular
            rows = rows.merged(self._read_slowly())
        self._number = first + count
        self._page().take(rows)

    def _page(self) -> Page:
        if self.page is None:
            raise Irregular
        return self.page

    def _read_slowly(self) -> Rows:
        """The rows that were read line by line since last time."""
        table = self.scanner.table
        rows = table.rows if table else []
        found = self._splitter.rows([fields for _, fields in rows], [line for line, _ in rows])
        rows.clear()
        return found

    def finished(self) -> tuple[Scan, Page]:
        """What was found, and the page."""
        return self.scanner.found, self._page()


def _check_line_ends(block: Block) -> None:
    """Raise Irregular for line ends of old Macs."""
    if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
        raise Irregular


def _is_plain_page(table: Table) -> bool:
    names = set(table.header)
    return (
        table.kind in ("ncu_raw", "ncu_details")
        and table.delimiter == ","
        and len(names) == len(table.header)
        and "Invocations" not in names
    )
