"""Memory levels and the other things that have a ceiling: their names, labels and units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

LEVELS: Final = ("l1", "l2", "hbm")
"""The levels of a roofline, from the SM outwards."""

LEVEL_LABELS: Final[Mapping[str, str]] = {"l1": "L1", "l2": "L2", "hbm": "HBM", "shared": "shared memory"}
"""Labels of memory levels; that of ``hbm`` is the one of boards with HBM."""

DRAM: Final = "DRAM"
"""Label of the level ``hbm`` for boards with other memory, and where the board is not known."""


def level_label(level: str, memory_label: str) -> str:
    """A level as it is printed for a board whose memory is printed as ``memory_label``; other names as they are."""
    return memory_label if level == "hbm" else LEVEL_LABELS.get(level, level)


CeilingUnit = Literal["B/s", "warp_inst/s", "FLOP/s", "s"]

CALIBRATED: Final[Mapping[str, CeilingUnit]] = {
    "hbm": "B/s",
    "l2": "B/s",
    "l1": "B/s",
    "shared": "B/s",
    "issue": "warp_inst/s",
    "launch": "s",
    "fp64": "FLOP/s",
    "fp32": "FLOP/s",
    "fp16": "FLOP/s",
    "tensor": "FLOP/s",
}
"""The levels that calibrate measures, in its order, with the unit of their ceilings; ``launch`` is a time."""

LEVEL_ALIASES: Final[Mapping[str, str]] = {"dram": "hbm"}
"""Other names that options accept for a level."""


def unit_of(ceiling: str) -> CeilingUnit:
    """The unit of a ceiling: its level's; ceilings of matrix types and BF16, which are no level, count operations."""
    return CALIBRATED.get(ceiling, "FLOP/s")
