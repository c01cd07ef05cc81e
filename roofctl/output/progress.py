"""Progress on one line of a terminal, rewritten in place (rich); nothing is printed elsewhere."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final, TextIO

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

from roofctl.core.kernel_names import visible

_REFRESH_SECONDS: Final = 0.25
_PATIENCE_SECONDS: Final = 1.0
_BAR_CHARACTERS: Final = 24


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
        """Show ``text``, cut to the terminal's width; nothing where there is no terminal."""
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
        """Erase the line."""
        if self._shown:
            self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
            self._shown = ""


def bar(done: int, total: int) -> str:
    """A progress bar of 24 characters."""
    filled = round(min(done / total, 1.0) * _BAR_CHARACTERS) if total else _BAR_CHARACTERS
    return "━" * filled + "·" * (_BAR_CHARACTERS - filled)


class ReadingProgress:
    """A progress bar of reading files, shown after the first second.

    Of several inputs it counts those that are read, of a single one its bytes.
    """

    def __init__(self, stream: TextIO, *, color: bool = True, silent: bool = False) -> None:
        self._line = StatusLine(stream, color=color, silent=silent)
        self._began = time.monotonic()
        self._several = False

    def inputs(self, done: int, of: int) -> None:
        """``done`` of ``of`` inputs are read; after the last the line is erased."""
        self._several = of > 1
        if done >= of:
            self.clear()
        elif self._several:
            self._show(f"{bar(done, of)} {done:,} of {of:,}")

    def bytes(self, path: Path, done: int, total: int) -> None:
        """``done`` of ``total`` bytes of ``path`` are read."""
        if not self._several:
            seconds = time.monotonic() - self._began
            left = f", {seconds * (total / done - 1):.0f} s left" if 0 < done <= total else ""
            self._show(f"{path.name} {bar(done, total)} {min(done / total, 1.0) if total else 1.0:4.0%}{left}")

    def clear(self) -> None:
        """Erase the line."""
        self._line.clear()

    def _show(self, text: str) -> None:
        if time.monotonic() - self._began > _PATIENCE_SECONDS:
            self._line.update(f"reading {text}")
