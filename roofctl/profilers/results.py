"""What a profiler counted, by the reader that ``report`` uses, so that run and report agree.

Importing this loads pandas: only once the application runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from roofctl.readers.ncurep import packed, page
from roofctl.readers.read import read_file


def write_page(report: Path, counters: Sequence[str], target: Path) -> bool:
    """As ``page.write_page``, of a report that may be packed."""
    with packed.unpacked(report) as plain:
        return page.write_page(plain, counters, target)


def counted(path: Path) -> tuple[int, frozenset[str]]:
    """Launches in a profiler's file, and the names of counters with a value. Raises InputError where there are none."""
    parts = read_file(path)
    names = frozenset[str]().union(*(part.names for part in parts))
    return sum(int(part.frame["launches"].sum()) for part in parts), names
