"""Tables for the terminal (rich). Text in, text out: printing is the command line's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

_UNLIMITED = 10_000


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, width: int | None = None, color: bool = False
) -> str:
    """A table without boxes. ``>`` before a title aligns right; a cell may begin with a rich style in ``[…]``.

    ``width`` None means whole lines, as a pipe wants them; else long cells are cut or folded to fit.
    """
    console = Console(
        width=width or _UNLIMITED,
        highlight=False,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
    )
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold" if color else "")
    for title in columns:
        justify: Literal["left", "right"] = "right" if title.startswith(">") else "left"
        # The first column gives way: names can be cut, numbers cannot.
        grid.add_column(
            title.removeprefix(">"), justify=justify, no_wrap=width is None or justify == "right", overflow="fold"
        )
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    with console.capture() as capture:
        console.print(grid)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
