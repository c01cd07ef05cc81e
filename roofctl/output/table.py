"""Tables for the terminal: columns leave from the right and names are cut in their middle until a line fits."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len, set_cell_size

from roofctl.core.kernel_names import visible

_GAP: Final = "  "
_NAME: Final = 18
_PROSE: Final = 24
"""Columns of the terminal that a text and a column of sentences keep."""

_FIXED: Final = 2
"""The first columns, a number and a name, never leave."""

_ELLIPSIS: Final = "…"
_BOLD: Final = "\x1b[1m{}\x1b[0m"


@dataclass(frozen=True)
class FittedTable:
    """A table as lines of text, and the headings of the columns that had no room."""

    text: str
    left_out: tuple[str, ...] = ()


@dataclass
class _Column:
    heading: str
    right: bool
    prose: bool
    cells: list[str]

    @property
    def widest(self) -> int:
        return max(map(cell_len, (self.heading, *self.cells)))

    @property
    def least(self) -> int:
        """Width below which the column is not cut; a number is never cut."""
        longest = max((cell_len(word) for word in self.heading.split()), default=0) if self.prose else 0
        return self.widest if self.right else min(self.widest, max(_PROSE if self.prose else _NAME, longest))


def to_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, width: int | None = None, color: bool = False
) -> FittedTable:
    """A table without borders. ``>`` before a heading aligns its column right, ``~`` is a last column of sentences.

    ``width`` None means lines of any length, for a pipe. In a terminal texts are cut in their middle, sentences are
    wrapped at words, and columns leave from the right; a cell of numbers never loses a character.
    """
    columns = _columns(headings, [[visible(cell) for cell in row] for row in rows])
    kept, widths = _fit(columns, width)
    lines = [_line([column.heading for column in kept], kept, widths)]
    if color:
        lines = [_BOLD.format(line) for line in lines]
    for cells in zip(*(column.cells for column in kept), strict=True):
        lines += _lines(cells, kept, widths)
    return FittedTable("\n".join(lines), tuple(column.heading for column in columns if column not in kept))


def _columns(headings: Sequence[str], body: Sequence[Sequence[str]]) -> list[_Column]:
    return [
        _Column(heading.lstrip(">~"), heading.startswith(">"), heading.startswith("~"), [row[i] for row in body])
        for i, heading in enumerate(headings)
    ]


def _fit(columns: list[_Column], width: int | None) -> tuple[list[_Column], list[int]]:
    """The columns that fit, and their widths."""
    kept = list(columns)
    while width is not None and _sum([column.least for column in kept]) > width:
        # Sentences are what a table of few columns is for: numbers before them leave first.
        leaving = [column for column in kept[_FIXED:] if not column.prose]
        if not leaving:
            break
        kept.remove(leaving[-1])
    widths = [column.widest for column in kept]
    for i in sorted(range(len(kept)), key=lambda i: not kept[i].prose):
        if width is not None and (over := _sum(widths) - width) > 0:
            widths[i] = max(kept[i].least, widths[i] - over)
    return kept, widths


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _lines(cells: Sequence[str], columns: Sequence[_Column], widths: Sequence[int]) -> list[str]:
    """A row: one line, or several where its sentences wrap."""
    if not columns[-1].prose:
        return [_line(cells, columns, widths)]
    first, *rest = textwrap.wrap(cells[-1], widths[-1], break_long_words=False, break_on_hyphens=False) or [""]
    indent = " " * (_sum(widths[:-1]) + len(_GAP))
    return [_line([*cells[:-1], first], columns, widths), *(indent + text for text in rest)]


def _line(cells: Sequence[str], columns: Sequence[_Column], widths: Sequence[int]) -> str:
    texts = [_padded(cell, column, width) for cell, column, width in zip(cells, columns, widths, strict=True)]
    return _GAP.join(texts).rstrip()


def _padded(cell: str, column: _Column, width: int) -> str:
    length = cell_len(cell)
    if length > width and not column.prose:
        cell, length = _cut(cell, width), width
    space = " " * (width - length)
    return space + cell if column.right else cell + space


def _cut(text: str, width: int) -> str:
    """``text`` cut in its middle to exactly ``width`` columns; a wide character that does not fit becomes a space."""
    tail = (width - 1) // 2
    end = text[::-1]
    return set_cell_size(text, width - 1 - tail) + _ELLIPSIS + set_cell_size(end, tail)[::-1]
