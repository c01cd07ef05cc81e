"""One line on a terminal that is rewritten while a run goes on (rich). Nothing anywhere else."""

from __future__ import annotations

import time
from typing import Final, TextIO

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

from roofctl.names import visible

_REFRESH_SECONDS: Final = 0.25


_CELLS: Final = 24


def bar(name: str, done: int, total: int, seconds: float) -> str:
    """A progress bar as text: what is read, how far it is, in which time it will be done."""
    share = min(done / total, 1.0) if total else 1.0
    filled = round(share * _CELLS)
    left = f", {seconds / share - seconds:.0f} s left" if share else ""
    return f"reading {name} {'━' * filled}{'·' * (_CELLS - filled)} {share:4.0%}{left}"


class StatusLine:
    """A line that is rewritten in place, at most four times a second.

    No thread redraws it: what an application prints between two updates is left alone.
    """

    def __init__(self, stream: TextIO, *, color: bool = True, silent: bool = False) -> None:
        self._console = Console(file=stream, no_color=not color, highlight=False)
        self._alive = self._console.is_terminal and not silent
        self._shown = ""
        self._at = 0.0

    def update(self, text: str) -> None:
        """Show ``text``, cut to the terminal's width. Silent where there is no terminal."""
        now = time.monotonic()
        if not self._alive or text == self._shown or now - self._at < _REFRESH_SECONDS:
            return
        self.clear()
        line = Text(visible(text), style="dim", no_wrap=True, overflow="ellipsis")
        line.truncate(self._console.width - 1, overflow="ellipsis")
        self._console.print(line, end="")
        # The next line that the application prints then begins at the left edge.
        self._console.control(Control(ControlType.CARRIAGE_RETURN))
        self._shown, self._at = text, now

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
            self._shown = ""
