"""How a figure looks: the options of the user, colours and markers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from roofctl.core.levels import LEVELS
from roofctl.roofline.model import KernelPoints

# Okabe and Ito's palette, which every kind of colour vision can distinguish; neighbours differ in lightness too.
KERNEL_COLORS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#F0E442")
MOST_COLORS: Final = len(KERNEL_COLORS)
"""More kernels than this are distinguished by numbers."""

INK: Final = "#222222"
FAINT: Final = "#666666"
ALARM: Final = "#C00000"
_NEUTRAL: Final = "#444444"


@dataclass(frozen=True)
class KernelStyle:
    """Overrides for one kernel; None keeps the default."""

    label: str | None = None
    color: str | None = None
    marker: str | None = None


@dataclass(frozen=True)
class LevelStyle:
    """Overrides for one memory level; None keeps the default."""

    color: str | None = None
    marker: str | None = None
    label: str | None = None


@dataclass(frozen=True)
class PlotOptions:
    """What a user can choose about a figure.

    ``levels`` get points, and ceilings where no ``ceiling_levels`` are chosen. ``own_levels`` are levels of the user's
    own, which come after the others. ``kernels`` is looked up by full name, then by short name.
    ``size`` is width and height in inches of a figure without a table: one with a table may grow.
    ``legend_rows`` is how many rows a column of the table holds; None is as many as fit.
    ``spread``: error bars over launches. ``remarks`` are footnotes of the caller, above the figure's own.
    """

    title: str = ""
    subtitle: str = ""
    levels: tuple[str, ...] = LEVELS
    ceiling_levels: tuple[str, ...] = ()
    own_levels: tuple[str, ...] = ()
    kernels: Mapping[str, KernelStyle] = field(default_factory=dict)
    level_styles: Mapping[str, LevelStyle] = field(default_factory=dict)
    size: tuple[float, float] = (7.0, 4.6)
    legend_rows: int | None = None
    spread: bool = False
    remarks: tuple[str, ...] = ()

    def kernel_style(self, kernel: KernelPoints) -> KernelStyle:
        return self.kernels.get(kernel.kernel) or self.kernels.get(kernel.short_name) or KernelStyle()


@dataclass(frozen=True)
class LevelLook:
    """A level as it is drawn. ``size`` shrinks inward so that points at one position are all visible."""

    color: str
    marker: str
    size: float
    dashes: Any


LEVEL_LOOKS: Final[Mapping[str, LevelLook]] = {
    "l1": LevelLook("#0072B2", "o", 11.0, "-"),
    "l2": LevelLook("#D55E00", "s", 8.0, (0, (8, 2))),
    "hbm": LevelLook("#009E73", "^", 6.5, (0, (7, 2, 1.5, 2))),
    "shared": LevelLook("#CC79A7", "D", 6.5, (0, (4, 1.5))),
    "sysmem": LevelLook("#555555", "v", 6.5, (0, (1.5, 1.5))),
}


_OWN_LOOKS: Final = (
    LevelLook("#CC79A7", "D", 6.0, (0, (1.5, 1.5))),
    LevelLook("#56B4E9", "v", 6.0, (0, (5, 1.5, 1.5, 1.5, 1.5, 1.5))),
    LevelLook("#E69F00", "P", 6.0, (0, (3, 3))),
)
"""Looks of levels of the user's own, in their order."""


def level_look(level: str, options: PlotOptions) -> LevelLook:
    """The look of a level with the user's overrides."""
    own = options.own_levels.index(level) % len(_OWN_LOOKS) if level in options.own_levels else 0
    look = LEVEL_LOOKS.get(level) or _OWN_LOOKS[own]
    override = options.level_styles.get(level, LevelStyle())
    return replace(look, color=override.color or look.color, marker=override.marker or look.marker)


def ceiling_look(level: str, options: PlotOptions, *, colored: bool) -> LevelLook:
    """The look of a level's line: grey where colour distinguishes kernels, unless the user chose a colour."""
    look = level_look(level, options)
    chosen = options.level_styles.get(level, LevelStyle()).color
    return look if colored or chosen else replace(look, color=_NEUTRAL)
