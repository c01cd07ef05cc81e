"""Kernel names in the text of a table, without reading the table: fast enough for a shell that waits."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roofctl.captures.manifest import ROOT, captures_in, newest

_READ_BYTES: Final = 2_000_000
"""Of each file; it takes about 20 ms."""
_COLUMNS: Final = ("Kernel Name", "Kernel")
"""Columns of kernel names in tables of ncu and nvprof."""


def tables_of(path: Path | None) -> list[Path]:
    """Tables of an input: a file, a folder or the name of a capture; of None those of the newest capture."""
    path = path or newest(captures_in(Path(ROOT)))
    if path is None:
        return []
    if path.is_file():
        return [path]
    return sorted((path if path.is_dir() else ROOT / path).glob("*.csv"))


def kernel_names(path: Path) -> set[str]:
    """Names in the first ``_READ_BYTES`` of a CSV table of ncu or nvprof; empty for any other file."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            text = file.read(_READ_BYTES)
    except OSError:
        return set()
    return set(_names(text.splitlines()[: -1 if len(text) == _READ_BYTES else None]))


def _names(lines: list[str]) -> Iterator[str]:
    column = width = None
    for line in lines:
        if column is None and not any(name in line for name in _COLUMNS):
            continue
        row = next(csv.reader([line]), [])
        if column is None:
            column = next((row.index(name) for name in _COLUMNS if name in row), None)
            width = len(row)
        elif len(row) == width and row[column] and row[0]:  # a row without an ID holds units
            yield row[column]
