"""The launch table: one row per launch, the contract between reading and everything after it.

Readers return ``Part``: the counters of one profiler run, as one file holds them. ``evaluate.launch_table`` turns parts
into one ``LaunchTable``, whatever their number: the capture is a column, so one file and a thousand ranks take the
same path. A value that is missing stays missing (``pd.NA``); nothing is 0 by default.

Columns of a part's frame:

========================  =========================================================
``kernel``                full demangled name, the identity
``process``               process that launched it, or None
``block``, ``grid``       launch shape as ``(x, y, z)``, or None
``device``                device name as the driver reports it, or None
``compute_capability``    such as ``9.0``, or None
``launches``              launches that the row stands for (1, or a summary's count)
``is_summary``            whether the row is a summary
counters                  Int64 while all are integers, else Float64; mean per launch
``min:X`` ``max:X``       a summary's smallest and largest value of counter X
``total:X``               a summary's sum of counter X
``step:X``                by how much X may be off because it was printed with few digits
========================  =========================================================

Columns of a launch table's frame: ``capture`` (number of the capture, from 0), ``part`` (index into ``parts``), the
identity columns above, ``launches``, ``is_summary``, and one column per quantity in SI units (mean per launch);
``seconds_min``, ``seconds_max`` and ``seconds_total`` where a summary gives them. Rows are in the order of the parts.
The file, the rank and what is not exact hold for all launches of a part: they stand in ``parts``, and
``output.parquet`` writes them as columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pandas as pd

from roofctl.core.errors import InputError
from roofctl.core.notes import Note

IDENTITY: Final = ("kernel", "process", "block", "grid", "device", "compute_capability")

TIME_AND_CLOCK: Final = ("seconds", "sm_clock_hz")
"""Quantities that must come from one run together: a time belongs to its clock."""

OTHER_CLOCKS: Final = ("l2_clock_hz", "memory_clock_hz")
"""Clocks taken from the run whose time is used, but that no time needs: a file may lack them."""

_CIRCUMSTANCES: Final = (
    *("gpu__time", "gpc__cycles", "sm__cycles", "smsp__cycles", "sm__maximum_warps", "smsp__maximum_warps"),
    *("lts__cycles", "dram__cycles", "device__", "launch__", "profiler__", "numa__", "nvlink__", "c2clink__"),
)
"""Beginnings of counters that say when and where, not what: times, clocks, device and launch."""


@dataclass(frozen=True)
class Part:
    """Counters of one profiler run as one file holds them; ``names`` are all counters that had a value."""

    frame: pd.DataFrame
    source: str
    names: frozenset[str]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class PartInfo:
    """What holds for all launches of a part.

    ``quantities`` are those it has, in the catalogue's order; ``caveats`` and ``missing`` are texts per quantity.
    ``patched``: some counter of this part runs with patched instructions, so its time is not that of the plain kernel.
    ``counters`` are those that count work, known to roofctl or not. ``notes`` are on values that cannot be.
    ``profiler`` is the one whose counters it has.
    """

    source: str
    quantities: tuple[str, ...]
    caveats: Mapping[str, str]
    missing: Mapping[str, str]
    patched: bool
    counters: frozenset[str]
    notes: tuple[Note, ...] = ()
    profiler: str = "ncu"


@dataclass(frozen=True)
class LaunchTable:
    """All launches of all captures; see the module's text for the columns of ``frame``."""

    frame: pd.DataFrame
    parts: tuple[PartInfo, ...]
    captures: tuple[tuple[int, ...], ...]
    """Per capture the indices of its parts."""

    def of_capture(self, number: int) -> LaunchTable:
        """The launches of one capture as a table of their own."""
        indices = self.captures[number]
        frame = self.frame[self.frame["capture"] == number].reset_index(drop=True)
        order = {index: place for place, index in enumerate(indices)}
        frame = frame.assign(capture=0, part=frame["part"].map(order).astype("int32"))
        return LaunchTable(frame, tuple(self.parts[index] for index in indices), (tuple(range(len(indices))),))


def counts_work(counter: str) -> bool:
    """Whether a counter says what a kernel did, not only when, where, or on which device."""
    return not counter.startswith(_CIRCUMSTANCES)


def check_frame(frame: pd.DataFrame) -> None:
    """Raise InputError when a part's frame breaks the contract above (a reader's fault, named)."""
    lacking = [name for name in (*IDENTITY, "launches", "is_summary") if name not in frame.columns]
    if lacking:
        raise InputError(f"the frame lacks {', '.join(lacking)}", hint="this is a fault of roofctl's reader: report it")
    if frame["kernel"].isna().any() or (frame["launches"] < 1).any():
        raise InputError("a row has no kernel name or no launches", hint="the file may be damaged: capture again")
