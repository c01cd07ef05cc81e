"""A process, its descendants, and its process group: all processes that have to end with it.

Launchers (torchrun) start their workers in sessions of their own; a parent that ends first leaves children that
are known by their group only.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")


class _Process(NamedTuple):
    parent: int
    group: int
    started: str


class Family:
    """Descendants of ``root``, remembered from the calls of ``look`` while their parents still lived."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._known: dict[int, _Process] = {}

    def look(self, group: int | None = None, but: int | None = None) -> None:
        """Remember who now descends from the root or from a remembered process, or is in ``group``, ``but`` one."""
        running = _running()
        grouped = {pid for pid, process in running.items() if process.group == group and pid != but}
        members = {self._root, *grouped, *self._living(running)}
        grown = True
        while grown:
            children = {pid for pid, process in running.items() if process.parent in members and pid not in members}
            members |= children
            grown = bool(children)
        self._known.update({pid: running[pid] for pid in members if pid in running})

    def alive(self) -> bool:
        """Whether a remembered process still runs."""
        return bool(self._living(_running()))

    def send(self, number: int) -> None:
        """Send a signal to each remembered process that still runs."""
        for pid in self._living(_running()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def _living(self, running: dict[int, _Process]) -> list[int]:
        # A number that is in use again belongs to another process: the start time shows it.
        return [pid for pid, known in self._known.items() if pid in running and running[pid].started == known.started]


def _running() -> dict[int, _Process]:
    """All processes that are no zombies, by number. Empty where the system has no /proc."""
    running: dict[int, _Process] = {}
    for entry in _PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name, in parentheses, may hold spaces and parentheses itself.
            fields = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if fields[0] not in ("Z", "X"):
                running[int(entry.parent.name)] = _Process(int(fields[1]), int(fields[2]), fields[19])
    return running
