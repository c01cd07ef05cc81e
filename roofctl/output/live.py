"""A table that grows on the terminal while something runs, with a line on the current step (rich)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text


class LiveTable:
    """Drawn on stderr and erased at the end, before the result is printed. ``>`` before a heading aligns right."""

    def __init__(self, headings: Sequence[str], *, color: bool) -> None:
        self._grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for heading in headings:
            right = heading.startswith(">")
            self._grid.add_column(heading.removeprefix(">"), justify="right" if right else "left", no_wrap=right)
        self._spinner = Spinner("dots", text="starting")
        console = Console(file=sys.stderr, no_color=not color, highlight=False)
        self._live = Live(Group(self._grid, self._spinner), console=console, transient=True, refresh_per_second=8)

    def __enter__(self) -> LiveTable:  # noqa: PYI034 - typing.Self is Python 3.11's
        self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._live.stop()

    def status(self, text: str) -> None:
        """Show the current step."""
        self._spinner.update(text=Text(text))

    def add(self, row: Sequence[str]) -> None:
        """Add a row."""
        self._grid.add_row(*(Text(cell) for cell in row))
