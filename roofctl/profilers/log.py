"""The profiler's log while it grows: warnings to show at once, and the progress of ncu."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from roofctl.profilers.request import Progress

_PROFILING: Final = re.compile(r'==PROF== Profiling "(?P<kernel>.*)"(?: - \d+)?(?: \([\d/]+\))?(?::|$)')
_PERCENT: Final = re.compile(r"(\d{1,3})%")
_DONE: Final = re.compile(r"- (?P<passes>\d+) pass(?:es)?\b")
_CONNECTED: Final = re.compile(r"==PROF== Connected to process (?P<pid>\d+) \((?P<program>.*)\)")
_NOTABLE: Final = re.compile(r"==(?:WARNING|ERROR)==.*|=+(?:\d+=+)? ?(?:Warning|Error): .*")

# Printed in ordinary runs; roofctl reports these cases itself.
_EXPECTED: Final = re.compile(
    r"Running with unmodified GPU clocks|No kernels were profiled|returned an error code|"
    r"requires the --target-processes all option|Some kernel\(s\) will be replayed|No profile data collected"
)


class Tail:
    """The text that a growing file got since the last call. A file that does not exist yet is empty."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def more(self) -> str:
        """The new text."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return ""
        self._offset += len(data)
        return self._decoder.decode(data)


@dataclass(frozen=True)
class ProfilerLog:
    """A complete log: its lines, processes that connected, launches profiled and the most passes per launch."""

    lines: tuple[str, ...]
    processes: tuple[str, ...]
    kernels: int
    passes: int | None


class LogWatcher:
    """Reads a log piece by piece. ``progress`` is the state of the run after the last piece."""

    def __init__(self, run: str = "") -> None:
        self.progress = Progress(run=run)
        self._lines: list[str] = []
        self._rest = ""
        self._processes: list[str] = []

    def feed(self, text: str) -> Progress:
        """Take the next piece; lines to show at once are in ``messages`` of the result."""
        *lines, self._rest = (self._rest + text).split("\n")
        messages: list[str] = []
        for line in lines:
            self._lines.append(line.rstrip("\r"))
            self._note(line)
            notable = _NOTABLE.search(line)
            if notable and not _EXPECTED.search(line):
                messages.append(notable.group(0))
        self._at_work(self._rest)
        self.progress = replace(self.progress, messages=tuple(messages))
        return self.progress

    def log(self) -> ProfilerLog:
        """All that was read, an unfinished last line included."""
        rest = [self._rest] if self._rest else []
        return ProfilerLog((*self._lines, *rest), tuple(self._processes), self.progress.kernels, self.progress.passes)

    def _note(self, line: str) -> None:
        connected = _CONNECTED.search(line)
        if connected:
            self._processes.append(f"{connected['program'].rpartition('/')[2]} ({connected['pid']})")
        done = _DONE.search(line)
        # A kernel that failed has its passes printed too, but never reached 100 %.
        if done and "==PROF== Profiling" in line:
            finished = not _PERCENT.search(line) or "100%" in line
            passes = max(int(done["passes"]), self.progress.passes or 0)
            kernels = self.progress.kernels + int(finished)
            self.progress = replace(self.progress, kernels=kernels, passes=passes, kernel="", percent=None)
        else:
            self._at_work(line)

    def _at_work(self, line: str) -> None:
        started = _PROFILING.search(line)
        if started:
            percents = _PERCENT.findall(line[started.end() :])
            percent = int(percents[-1]) if percents else None
            self.progress = replace(self.progress, kernel=started["kernel"], percent=percent)
