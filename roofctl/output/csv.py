"""Rows as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from roofctl.core.kernel_names import visible


def to_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, terminal: bool = False) -> str:
    """A line of headings and a line per row, None as an empty cell.

    CSV has no escapes: a file gets names as they are, a ``terminal`` gets characters that steer it spelled out.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return visible(buffer.getvalue(), keep="\n") if terminal else buffer.getvalue()
