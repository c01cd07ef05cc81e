"""Launch tables and kernel tables of parts, one by one: what tests look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from roofctl.core.notes import Note
from roofctl.launches.aggregate import Group, KernelTable, aggregate
from roofctl.launches.evaluate import launch_table
from roofctl.launches.table import Part


@dataclass(frozen=True)
class OnePart:
    """One part of a launch table with its own launches."""

    frame: pd.DataFrame
    caveats: Mapping[str, str]
    missing: Mapping[str, str]
    patched: bool
    counters: frozenset[str]
    quantities: tuple[str, ...]


@dataclass(frozen=True)
class OneCapture:
    """One capture of a kernel table with its own kernels."""

    frame: pd.DataFrame
    caveats: tuple[Mapping[str, str], ...]
    sources: tuple[str, ...]
    missing: Mapping[str, str]
    notes: tuple[Note, ...]

    def has(self, quantity: str) -> bool:
        """Whether some kernel of the capture has the quantity."""
        return quantity in self.frame and bool(self.frame[quantity].notna().any())


def evaluated(part: Part, chip: str | None) -> OnePart:
    """A part in quantities."""
    table = launch_table([part], chip)
    (info,) = table.parts
    return OnePart(table.frame, info.caveats, info.missing, info.patched, info.counters, info.quantities)


def kernels(parts: Sequence[Part], group: Group = "kernel", chip: str | None = "gh100") -> KernelTable:
    """Parts aggregated."""
    return aggregate(launch_table(parts, chip), group)


def captures(parts: Sequence[Part], group: Group = "kernel", chip: str | None = "gh100") -> list[OneCapture]:
    """Parts aggregated, each capture apart."""
    table = kernels(parts, group, chip)
    found = []
    for number, info in enumerate(table.captures):
        of = (table.frame["capture"] == number).tolist()
        caveats = tuple(texts for texts, own in zip(table.caveats, of, strict=True) if own)
        frame = table.frame[of].reset_index(drop=True)
        found.append(OneCapture(frame, caveats, info.sources, info.missing, info.notes))
    return found


def plain(frame: pd.DataFrame, index: int = 0) -> dict[str, Any]:
    """A row by column name."""
    return {str(name): value for name, value in frame.iloc[index].to_dict().items()}
