"""Tables for the terminal (rich). Text in, text out: printing is the command line's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from roofctl.core.kernel_names import visible

_UNLIMITED = 10_000
_GAP = 2
_NAME = 12
"""Columns that text keeps in a narrow terminal."""


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, width: int | None = None, color: bool = False
) -> str:
    """A table without boxes. ``>`` before a title aligns right; a cell may begin with a rich style in ``[…]``.

    ``width`` None means whole lines, as a pipe wants them; else text is folded to fit. Numbers stay whole:
    where they need more than ``width``, lines are longer than it.
    """
    body = [[visible(cell) for cell in row] for row in rows]
    least = [_least(title, [row[i] for row in body]) for i, title in enumerate(columns)]
    console = Console(
        width=max(width, sum(least) + _GAP * (len(least) - 1)) if width else _UNLIMITED,
        highlight=False,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
    )
    grid = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold" if color else "")
    for title, narrowest in zip(columns, least, strict=True):
        justify: Literal["left", "right"] = "right" if title.startswith(">") else "left"
        # Text gives way: names can be folded, numbers cannot.
        grid.add_column(
            title.removeprefix(">"),
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


def _least(title: str, cells: Sequence[str]) -> int:
    """Columns that a table's column must have: all of a number, the first few of a text."""
    whole = max(map(cell_len, (title.removeprefix(">"), *cells)))
    return whole if title.startswith(">") else min(whole, _NAME)
