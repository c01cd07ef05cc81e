"""Columns of tables for people: numbers of one column have one unit, which stands in its heading."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from roofctl.core.units import DECIMAL_PREFIXES, significant

UNKNOWN: Final = "–"

Kind = Literal["text", "prose", "count", "seconds", "percent", "number", "rate"]
"""``percent`` takes fractions, ``rate`` base units per second; ``prose`` is a last column of sentences."""

_TIME_UNITS: Final = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


@dataclass(frozen=True)
class Column:
    """A column: its short ``name`` on the command line, its heading, and its values, None where not known.

    ``unit`` is the base unit of a rate. ``scale`` is the unit and its size where columns share one. ``prefixes`` are
    texts before each number, such as ``<``. ``unknown`` stands for a missing value; ``right`` aligns a text right.
    """

    name: str
    heading: str
    kind: Kind
    values: Sequence[Any]
    unit: str = ""
    scale: tuple[str, float] | None = None
    prefixes: Sequence[str] = ()
    unknown: str = UNKNOWN
    right: bool = False

    @property
    def head(self) -> str:
        """The heading with its unit; ``>`` before it aligns right, ``~`` marks sentences."""
        if self.kind in ("text", "prose"):
            return {"prose": "~", "text": ">" if self.right else ""}[self.kind] + self.heading
        return f">{self.heading} {self._scale[0]}".rstrip()

    @property
    def cells(self) -> list[str]:
        """One text per value; numbers are padded behind so that their decimal separators stand in one line."""
        if self.kind in ("text", "prose"):
            return [self.unknown if value is None else str(value) for value in self.values]
        texts = [self.unknown if value is None else self._number(value) for value in self.values]
        if self.prefixes:
            texts = [before + text for before, text in zip(self.prefixes, texts, strict=True)]
        return _aligned(texts)

    @property
    def _scale(self) -> tuple[str, float]:
        if self.kind == "percent":
            return "%", 0.01
        if self.kind == "seconds":
            return self.scale or time_unit(self.values)
        return self.scale or rate_unit(self.values, self.unit) if self.kind == "rate" else ("", 1.0)

    def _number(self, value: float) -> str:
        if self.kind == "count":
            return f"{value:,}"
        if self.kind == "percent":
            return f"{value * 100:.1f}"
        return significant(value / self._scale[1]) if value else "0"


def time_unit(values: Sequence[float | None]) -> tuple[str, float]:
    """The unit in which the median time is 1 to 1,000, and its seconds."""
    median = _median(values)
    return next((unit for unit in _TIME_UNITS if median >= unit[1]), _TIME_UNITS[-1])


def rate_unit(values: Sequence[float | None], unit: str) -> tuple[str, float]:
    """``unit`` with the decimal prefix with which the largest rate is 1 to 1,000, and its size."""
    largest = max((value for value in values if value and math.isfinite(value)), default=1.0)
    fitting = [(prefix + unit, factor) for prefix, factor in DECIMAL_PREFIXES.items() if largest >= factor]
    return fitting[-1] if fitting else (unit, 1.0)


def _median(values: Sequence[float | None]) -> float:
    known = [value for value in values if value and math.isfinite(value)]
    return statistics.median_high(known) if known else 1.0


def _aligned(texts: Sequence[str]) -> list[str]:
    """Texts with as many spaces behind as the longest fraction has more digits."""
    behind = [len(text) - text.index(".") if "." in text else 0 for text in texts]
    most = max(behind, default=0)
    return [text + " " * (most - length) for text, length in zip(texts, behind, strict=True)]


def headings_and_rows(columns: Sequence[Column]) -> tuple[list[str], list[list[str]]]:
    """A table of columns as headings and rows of cells."""
    return [column.head for column in columns], [list(row) for row in zip(*(c.cells for c in columns), strict=True)]
