"""Tables of one row per launch, or per kernel, with a column per value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from roofctl.launches.table import IDENTITY
from roofctl.readers.cells import Cells, Launches
from roofctl.readers.long_table import unglued
from roofctl.readers.split import Rows, coded, is_dictionary
from roofctl.readers.tables import CsvTable


def device_name(text: str) -> str:
    """``Tesla V100S-PCIE-32GB (0)`` without the device index."""
    return re.sub(r"\s*\(\d+\)$", "", text)


class WideTable:
    """A table of one row per launch, or per kernel; keeps the rows whose columns are read until the end."""

    what = ""
    names: tuple[str, ...] = ()

    def __init__(self, table: CsvTable, known: frozenset[str]) -> None:
        self.table, self.known = table, known
        self.skipped = 0
        self._pieces: list[Rows] = []

    def columns(self) -> list[int]:
        """Places of the columns that are read."""
        return sorted({place for name in self.names if (place := self.table.column(name)) is not None})

    def kernels(self, rows: Rows) -> Any:
        """Which rows are kernels."""
        return np.ones(len(rows), np.bool_)

    def take(self, rows: Rows) -> bool:
        """Take rows."""
        kept = rows.kept(self.kernels(rows))
        self.skipped += len(rows) - len(kept)
        self._pieces.append(kept)
        return True

    def column(self, rows: Rows, name: str) -> Any:
        """A column by name, without blanks around its cells; empty cells where there is none."""
        place = self.table.column(name)
        if place is None:
            return pa.array([""] * len(rows), pa.string())
        array = rows.columns[place]
        if is_dictionary(array):
            return pa.DictionaryArray.from_arrays(array.indices, pc.utf8_trim_whitespace(array.dictionary))
        return pc.utf8_trim_whitespace(array)

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return self.table.column(name) is not None

    def shapes(self, rows: Rows, columns: Sequence[str]) -> tuple[list[str], Any]:
        """Launch shapes of three columns."""
        axes = [self.column(rows, name) for name in columns]
        joined = pc.binary_join_element_wise("(", pc.binary_join_element_wise(*axes, ", "), ")", "")
        return rewritten(joined, str)

    def values(self, rows: Rows, name: str) -> Cells:
        """A column of values whose unit stands behind each, or in the row of units."""
        place = self.table.column(name)
        return unglued(self.column(rows, name), rows.lines, "" if place is None else self.table.unit(place))

    def taken(self) -> Rows:
        """All rows."""
        return Rows.merged(self._pieces, self.columns())


def to_launches(rows: Rows, identity: dict[str, Any], cells: dict[str, Cells], names: set[str]) -> Launches:
    """Launches of one process; what ``identity`` does not name is not known."""
    absent = ([""], np.zeros(len(rows), np.int64))
    texts = {name: identity.get(name, absent) for name in IDENTITY}
    return Launches(texts, cells, {"": names} if len(rows) else {}, np.ones(len(rows), np.int64))


def rewritten(array: Any, change: Callable[[str], str]) -> tuple[list[str], Any]:
    """The distinct texts of a column, each after its change, and a code per row."""
    codes, texts = coded(array)
    return [change(text) for text in texts], codes
