"""How a figure looks: the options of the user, colours and markers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from roofctl.core.errors import InputError
from roofctl.core.levels import LEVELS
from roofctl.core.precisions import PRECISIONS
from roofctl.roofline.model import KernelPoints

# Okabe and Ito's palette, which every kind of colour vision can distinguish, and two of Paul Tol's; neighbours differ
# in lightness too.
KERNEL_COLORS: Final = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#F0E442"),
    *("#882255", "#999933"),
)
_GROUP_COLORS: Final = tuple(KERNEL_COLORS[index] for index in (0, 1, 6, 4, 2, 3))
MOST_GROUPS: Final = len(_GROUP_COLORS)
"""GPUs and clocks in one picture: as many as have distinct colours, the first three also in grey."""

MOST_NAMED: Final = 8
"""Up to as many kernels have their names beside their points; more have numbers and a table."""

MOST_LABELED: Final = len(KERNEL_COLORS)
"""Of more kernels than this the longest are labeled and coloured, the others are small and grey."""

_WORK_COLORS: Final = {
    "fp64": "#0072B2",
    "fp32": "#D55E00",
    "fp16": "#009E73",
    "fp64_tc": "#56B4E9",
    "tf32_tc": "#E69F00",
    "bf16_tc": "#CC79A7",
    "fp16_tc": "#000000",
    "fp8_tc": "#882255",
    "int8_tc": "#999933",
    "fp4_tc": "#6A3D9A",
}
_OTHER_WORK_COLORS: Final = ("#B15928", "#1B7837", "#C51B7D", "#01665E", "#7F6000", "#5E4FA2")

FONT: Final = "DejaVu Sans"
"""Shipped with matplotlib, so a figure looks the same on every machine."""

INK: Final = "#222222"
FAINT: Final = "#666666"
REST: Final = "#B0B0B0"
"""Kernels that are not labeled."""

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


LEGENDS: Final = ("auto", "right", "below", "none")
"""Where the legend stands: in a free area of the axes or else right of them, right, below, or nowhere."""


@dataclass(frozen=True)
class PlotOptions:
    """What a user can choose about a figure.

    ``levels`` get points, and ceilings where no ``ceiling_levels`` are chosen. ``own_levels`` are levels of the user's
    own, which come after the others. ``kernels`` is looked up by full name, then by short name.
    ``labeled`` is how many of many kernels get a label. ``size`` is width and height in inches of a figure without a
    table: one with a table may grow.
    ``legend_rows`` is how many rows a column of the table holds; None is as many as fit.
    ``xlim`` and ``ylim`` replace the limits that follow from the data. ``legend`` is one of ``LEGENDS``, ``font`` a
    family, ``zones`` shades where memory or the peak limits. A ``title`` of None is the picture's own, "" is none.
    ``spread``: error bars over launches. ``remarks`` are footnotes of the caller, above the figure's own.
    """

    title: str | None = None
    subtitle: str = ""
    levels: tuple[str, ...] = LEVELS
    ceiling_levels: tuple[str, ...] = ()
    own_levels: tuple[str, ...] = ()
    kernels: Mapping[str, KernelStyle] = field(default_factory=dict)
    level_styles: Mapping[str, LevelStyle] = field(default_factory=dict)
    size: tuple[float, float] = (7.0, 4.6)
    dpi: int = 220
    font: str = FONT
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    legend: str = "auto"
    zones: bool = False
    labeled: int = MOST_LABELED
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


def group_hues(count: int) -> tuple[str, ...]:
    """The colours of so many GPUs or clocks in one picture. Raises InputError for more than there are."""
    if count > MOST_GROUPS:
        raise InputError(
            f"{count} GPUs and clocks in one picture; at most {MOST_GROUPS} can be distinguished",
            hint="name fewer captures",
        )
    return _GROUP_COLORS[:count]


def work_color(work: str) -> str:
    """The colour of a type of operation of the FLOP model: the same in every picture."""
    others = [name for name in PRECISIONS if name not in _WORK_COLORS]
    if work not in others:
        return _WORK_COLORS.get(work, INK)
    return _OTHER_WORK_COLORS[others.index(work) % len(_OTHER_WORK_COLORS)]
