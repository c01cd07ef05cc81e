"""The line that is rewritten on a terminal while a run goes on."""

from __future__ import annotations

import io
import re

from roofctl.plots.progress import StatusLine


class Screen(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


def test_the_status_line_is_rewritten_and_taken_away(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr("roofctl.plots.progress._REFRESH_SECONDS", 0)
    screen = Screen()
    line = StatusLine(screen, color=False)
    line.update("1 launches done")
    line.update("1 launches done")
    line.update("2 launches done; a_long_kernel_name")
    line.clear()
    line.clear()
    shown = re.sub(r"\x1b\[\d*m", "", screen.getvalue())
    assert shown == "1 launches done\r\r\x1b[2K2 launches done; a…\r\r\x1b[2K"


def test_the_status_line_is_silent_off_a_terminal():
    file = io.StringIO()
    line = StatusLine(file)
    line.update("x")
    line.clear()
    assert file.getvalue() == ""
