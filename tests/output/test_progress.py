"""The line that is rewritten on a terminal while a run goes on."""

from __future__ import annotations

import io
import re
from pathlib import Path

from roofctl.output.progress import ReadingProgress, StatusLine


class Screen(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


def test_the_status_line_is_rewritten_and_taken_away(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr("roofctl.output.progress._REFRESH_SECONDS", 0)
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


def test_a_bar_shows_itself_when_it_takes_long(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("roofctl.output.progress._REFRESH_SECONDS", 0)
    now = [100.0]
    monkeypatch.setattr("roofctl.output.progress.time.monotonic", lambda: now[0])
    screen = Screen()
    bar = ReadingProgress(screen, color=False)
    bar.inputs(1, 1000)
    assert screen.getvalue() == ""
    now[0] += 2
    bar.inputs(500, 1000)
    assert "reading ━━━━━━━━━━━━············ 500 of 1,000" in screen.getvalue()
    bar.bytes(Path("a.csv"), 1, 2)
    assert "a.csv" not in screen.getvalue()
    bar.inputs(1000, 1000)
    assert screen.getvalue().endswith("\r\x1b[2K")


def test_of_a_single_input_the_bar_shows_bytes(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    now = [100.0]
    monkeypatch.setattr("roofctl.output.progress.time.monotonic", lambda: now[0])
    screen = Screen()
    bar = ReadingProgress(screen, color=False)
    now[0] += 2
    bar.bytes(Path("runs/a.csv"), 250, 1000)
    assert "reading a.csv ━━━━━━··················  25%, 6 s left" in screen.getvalue()
    now[0] += 2
    bar.bytes(Path("runs/a.csv"), 0, 0)
    assert "100%" in screen.getvalue()


def test_a_bar_is_nothing_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr("roofctl.output.progress._PATIENCE_SECONDS", -1)
    stream = io.StringIO()
    bar = ReadingProgress(stream)
    bar.inputs(1, 2)
    bar.bytes(Path("a.csv"), 1, 2)
    bar.inputs(2, 2)
    assert stream.getvalue() == ""
