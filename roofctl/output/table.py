"""Tables for the terminal (rich)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from roofctl.core.kernel_names import visible

_UNLIMITED: Final = 10_000
_GAP: Final = 2
_NAME: Final = 12
"""Columns that text keeps in a narrow terminal."""


def to_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, width: int | None = None, color: bool = False
) -> str:
    """A table without borders as lines of text. ``>`` before a heading aligns its column right.

    ``width`` None means lines of any length, for a pipe; else text is folded to fit. Numbers are never folded:
    where they need more than ``width``, lines are longer than it.
    """
    body = [[visible(cell) for cell in row] for row in rows]
    least = [_least(heading, [row[i] for row in body]) for i, heading in enumerate(headings)]
    console = Console(
        width=max(width, sum(least) + _GAP * (len(least) - 1)) if width else _UNLIMITED,
        highlight=False,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
    )
    grid = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold" if color else "")
    for heading, narrowest in zip(headings, least, strict=True):
        justify: Literal["left", "right"] = "right" if heading.startswith(">") else "left"
        grid.add_column(
            heading.removeprefix(">"),
            justify=justify,
            no_wrap=width is None or justify == "right",
            overflow="fold",
            min_width=narrowest,
        )
    for row in body:
        grid.add_row(*(Text(cell) for cell in row))
    with console.capture() as capture:
        console.print(grid)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _least(heading: str, cells: Sequence[str]) -> int:
    """Characters that a column needs: all of a number, the first few of a text."""
    longest = max(map(cell_len, (heading.removeprefix(">"), *cells)))
    return longest if heading.startswith(">") else min(longest, _NAME)
