"""Answers of nvidia-smi, read. A board answers ``[N/A]`` to what it has no answer for: that is None, never zero."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Final

_NO_ANSWER: Final = re.compile(r"^\[.*\]$|^(?:N/?A|Not Found|Not Supported|Unknown Error|None)?$", re.IGNORECASE)


def answered(text: object) -> str | None:
    """A cell of nvidia-smi, or None where it has no answer: ``[N/A]``, ``[Not Found]``, ``N/A``, empty."""
    plain = "" if text is None else str(text).strip()
    return None if _NO_ANSWER.match(plain) else plain


def number(text: object, factor: float = 1.0) -> float | None:
    """A number in a cell times ``factor``, with or without a unit behind it; None where there is none."""
    match = re.match(r"^-?\d+(?:\.\d+)?(?=$|\s)", answered(text) or "")
    return float(match.group()) * factor if match else None


def rows(text: str, fields: Sequence[str]) -> list[dict[str, str]]:
    """Rows of ``nvidia-smi --format=csv,noheader,nounits``; lines with another number of cells are not rows."""
    found = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines(), skipinitialspace=True)]
    return [dict(zip(fields, row, strict=True)) for row in found if len(row) == len(fields)]
