"""What a profiler counted, by the reader that ``report`` uses, so that run and report agree.

Importing this loads pandas: only once the application runs.
"""

from __future__ import annotations

from pathlib import Path

from roofctl.readers.ncurep.page import write_page
from roofctl.readers.read import read_file

__all__ = ["counted", "write_page"]


def counted(path: Path) -> tuple[int, frozenset[str]]:
    """Launches in a profiler's file, and the names of counters with a value. Raises InputError where there are none."""
    parts = read_file(path)
    names = frozenset[str]().union(*(part.names for part in parts))
    return sum(int(part.frame["launches"].sum()) for part in parts), names
