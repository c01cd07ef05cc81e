"""Whether a file is a profiler's, by its first bytes, whatever its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal

from roofctl.core.errors import InputError
from roofctl.readers import databases, streams
from roofctl.readers.ncurep import container
from roofctl.readers.tables import open_table

_BEFORE: Final = re.compile(r"==|\*\*|NOTICE|Processing|Generat|\[\d+\]|Time ?\(%\)\s{2}|Type\s+Time\(%\)")
"""How a file of a profiler may begin before its table: banners, what nsys says, and text tables."""
_HELD: Final = ("ncu_", "nvprof_", "nsys_summary", "nsys_trace")


def kind_of(path: Path) -> Literal["report", "table", ""]:
    """``report`` or ``table`` for what roofctl reads, empty for any other file and for one that cannot be read."""
    if container.is_report(path):
        return "report"
    if databases.is_database(path):
        return "table"
    try:
        head = streams.head(path)
    except InputError:
        return ""
    if head.startswith(container.MAGIC):
        return "report"
    return "table" if _has_table(head.decode(streams.encoding_of(head) or "utf-8", errors="replace")) else ""


def _has_table(text: str) -> bool:
    """Whether text begins with a table, or with what a profiler prints before one."""
    lines = [line.strip() for line in text.lstrip("\ufeff").splitlines() if line.strip()]
    kinds = (opened.kind for number, line in enumerate(lines) if (opened := open_table(line, number)))
    first = next((kind for kind in kinds if kind.startswith(_HELD)), None)
    return first is not None and bool(open_table(lines[0], 0) or _BEFORE.match(lines[0]))
