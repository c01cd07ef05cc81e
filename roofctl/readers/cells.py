"""Cells of tables before they are numbers: launches as every reader hands them over."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from roofctl.readers.numbers import DecimalSeparator
from roofctl.readers.split import coded

FEW_CELLS: Final = 4_096
"""Cells that are worth a call of their own, and a sample of more."""
_PREFIXES: Final = ("", "min:", "max:", "total:")
_SHAPE: Final = re.compile(r"\(\s*\d{1,10}\s*,\s*\d{1,10}\s*,\s*\d{1,10}\s*\)")


@dataclass(frozen=True)
class Cell:
    """A value as printed, with its unit and the line it stands on."""

    text: str
    unit: str
    line: int


@dataclass
class Cells:
    """One counter of a table, by launch: texts (null where there is no cell), the lines they stand on, and units.

    ``units`` are texts by the codes ``unit_of``, or one for all. ``place`` orders counters that begin on one line.
    ``begin`` is the line that orders it among others, where that is not the one of its first cell.
    ``plain``: all cells are known to be plain numbers under this decimal separator, or missing.
    """

    texts: Any
    lines: Any
    units: Sequence[str]
    unit_of: Any = None
    place: int = 0
    begin: int | None = None
    plain: DecimalSeparator | None = None
    _distinct: tuple[Any, Any] | None = field(default=None, init=False)

    def distinct(self) -> tuple[Any, Any]:
        """The texts, "" for null, and None; of a column that repeats them the distinct ones, and a code per cell."""
        # Needed twice, in threads: cached_property of Python 3.11 would let one thread wait for another.
        if self._distinct is None:
            texts = self.texts.fill_null("") if self.texts.null_count else self.texts
            self._distinct = texts, None
            alike = self.unit_of is None and len(texts) > FEW_CELLS
            if alike and len(texts[:FEW_CELLS].unique()) <= FEW_CELLS // 8:
                found = texts.dictionary_encode()
                self._distinct = found.dictionary, found.indices.to_numpy()
        return self._distinct

    def take(self, rows: Any) -> Cells:
        """The cells of some launches."""
        unit_of = None if self.unit_of is None else self.unit_of[rows]
        return replace(self, texts=self.texts.take(pa.array(rows)), lines=self.lines[rows], unit_of=unit_of)


class Texts:
    """A column of texts as codes into its distinct texts, which are in order of appearance."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._pieces: list[Any] = []

    def codes(self, array: Any) -> Any:
        """Codes of some cells."""
        found, texts = coded(array)
        return np.array([self._codes.setdefault(text, len(self._codes)) for text in texts] or [0], np.int32)[found]

    def add(self, array: Any) -> None:
        """Take the cells of the next rows."""
        self._pieces.append(self.codes(array))

    def column(self, change: Callable[[str], str] = str) -> tuple[list[str], Any]:
        """The distinct texts, each after ``change``, and the codes of all rows."""
        return [change(text) for text in self._codes], np.concatenate(self._pieces or [np.zeros(0, np.int32)])


@dataclass
class Launches:
    """Launches of one table, or summaries of ``launches`` each, before their cells are numbers.

    ``identity`` has distinct texts and a code per launch; ``cells`` map counters to mean (or only) values, and with
    ``min:``, ``max:`` and ``total:`` before the name to what a summary prints beside the mean. ``names`` are all
    counters with a value, known to roofctl or not, by process.
    """

    identity: Mapping[str, tuple[Sequence[str], Any]]
    cells: dict[str, Cells]
    names: Mapping[str, set[str]]
    launches: Any
    is_summary: bool = False
    run: str = ""
    """What is put behind the process where a file holds several runs."""

    def __len__(self) -> int:
        return len(self.launches)

    def processes(self) -> tuple[list[str], Any]:
        """The distinct processes, and a code per launch."""
        texts, codes = self.identity["process"]
        return [f"{text}{self.run}" for text in texts], codes


def prefix_of(name: str) -> tuple[int, str]:
    """Which value of a counter a name of ``Launches.cells`` means, as a number, and the name of the counter."""
    begin = name.find(":") + 1
    return _PREFIXES.index(name[:begin]), name[begin:]


def shape(text: str) -> str:
    """A launch shape as ``(x, y, z)``; a plain product or an empty cell gives an empty string."""
    return text.strip() if _SHAPE.fullmatch(text.strip()) else ""


def count(text: str) -> int:
    """A count cell such as ``Invocations``: digits with or without thousands separators."""
    return int(re.sub(r"\D", "", text))
