"""The legend in a free corner, and the numbered table beside the axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from roofctl.plots import text
from roofctl.plots.crowd import TEXT, Crowd, Spot
from roofctl.plots.points import Entry, missing_text, percent
from roofctl.plots.scene import Scene
from roofctl.plots.style import FAINT, INK

LEGEND_SIZE: Final = 8.0
TABLE_SIZE: Final = 7.5
ROW: Final = TABLE_SIZE * 1.42
COLUMN_GAP: Final = 12.0

_TEXT_ROOMS: Final = (165.0, 120.0)
_NAME_ROOM: Final = 118.0
_NAME_LEAST: Final = 70.0
_NUMBER_GAP: Final = 5.0
_PAD: Final = 5.0
_MOST_COLUMNS: Final = 2
_TABLE_HEAD: Final = 1.4

# Roofs leave the lower right and the upper left free, so the search for a free place starts there.
_GRID: Final = [i / 10 for i in range(11)]
_SPOTS: Final = sorted(
    ((right, up) for right in _GRID for up in _GRID),
    key=lambda s: min(math.hypot(1 - s[0], s[1]), 0.2 + math.hypot(s[0], 1 - s[1])),
)


def draw_legend(ax: Axes, entries: Sequence[Entry], crowd: Crowd) -> float:
    """Put the legend where nothing is. Returns the width in points that it needs outside the axes, or 0."""
    if not entries:
        return 0.0
    legend = _legend(ax, entries)
    x0, y0, x1, y1 = crowd.bounds
    for room in _TEXT_ROOMS:
        _fill(legend, entries, room)
        spot = _free_spot(*_size(ax, legend), crowd)
        if spot:
            legend.set_loc("lower left")
            legend.set_bbox_to_anchor(((spot[0] - x0) / (x1 - x0), (spot[1] - y0) / (y1 - y0)), transform=ax.transAxes)
            return 0.0
    _fill(legend, entries, _TEXT_ROOMS[0])
    legend.set_loc("upper left")
    legend.set_bbox_to_anchor((1.0 + _PAD / (x1 - x0), 1.0), transform=ax.transAxes)
    return _size(ax, legend)[0] + 2 * _PAD


def _size(ax: Axes, legend: Legend) -> tuple[float, float]:
    extent, point = legend.get_window_extent(), ax.figure.dpi / 72
    return extent.width / point, extent.height / point


def _free_spot(wide: float, high: float, crowd: Crowd) -> Spot | None:
    """The lower left corner of a free area, which is then taken."""
    x0, y0, x1, y1 = crowd.bounds
    for right, up in _SPOTS:
        left = x0 + _PAD + right * (x1 - x0 - wide - 2 * _PAD)
        low = y0 + _PAD + up * (y1 - y0 - high - 2 * _PAD)
        area = np.array([[left, low, left + wide, low + high]])
        if crowd.costs(area)[0] == 0:
            crowd.add(area, TEXT)
            return left, low
    return None


def _legend(ax: Axes, entries: Sequence[Entry]) -> Legend:
    # A name may begin with "_", which as a label would take it out of the legend: names go in afterwards.
    legend = ax.legend(
        handles=[e.handle for e in entries],
        labels=["entry"] * len(entries),
        fontsize=LEGEND_SIZE,
        borderaxespad=0,
        framealpha=0.95,
        edgecolor="#CCCCCC",
        fancybox=False,
        labelspacing=0.35,
        handlelength=2.0,
    )
    legend.get_frame().set_linewidth(0.6)
    legend.set_zorder(5.5)
    return legend


def _fill(legend: Legend, entries: Sequence[Entry], room: float) -> None:
    """Write the entries, names cut so that a line stays within ``room`` points."""
    for artist, entry in zip(legend.get_texts(), entries, strict=True):
        name = entry.name and text.elide(
            entry.name, LEGEND_SIZE, max(_NAME_LEAST, room - text.width(entry.fixed, LEGEND_SIZE))
        )
        artist.set_parse_math(False)
        artist.set_text(name + entry.fixed)


# --- the table ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One kernel of the table; ``share`` is empty when its time is unknown."""

    number: str
    name: str
    remark: str
    share: str


@dataclass(frozen=True)
class Table:
    """A table with its measures in points."""

    rows: tuple[Row, ...]
    per_column: int
    number_width: float
    name_width: float
    share_width: float

    @property
    def columns(self) -> int:
        return math.ceil(len(self.rows) / self.per_column)

    @property
    def column_width(self) -> float:
        return self.number_width + _NUMBER_GAP + self.name_width + self.share_width

    @property
    def width(self) -> float:
        return self.columns * self.column_width + (self.columns - 1) * COLUMN_GAP

    @property
    def height(self) -> float:
        return ROW * (self.per_column + _TABLE_HEAD)


def lay_out_table(scene: Scene, height: float, remarks: Sequence[str] | None = None) -> Table:
    """Names cut to fit; one column, or two when ``height`` points do not hold the rows.

    ``remarks`` stand behind the names; None says which points are missing.
    """
    rows = []
    for index, (kernel, name) in enumerate(zip(scene.kernels, scene.names, strict=True)):
        remark = missing_text(scene, index) if remarks is None else remarks[index]
        room = max(_NAME_ROOM - text.width(remark, TABLE_SIZE) * 0.5, _NAME_ROOM * 0.6)
        share = "" if kernel.time_share is None else percent(kernel.time_share)
        rows.append(Row(str(index + 1), text.elide(name, TABLE_SIZE, room), remark, share))
    return lay_out_rows(rows, height, scene.options.legend_rows)


def lay_out_rows(rows: Sequence[Row], height: float, most: int | None = None) -> Table:
    """A table of ``rows``: one column, or two when ``height`` points (or ``most`` rows) do not hold them."""
    fit = most or max(1, int(height / ROW - _TABLE_HEAD))
    even = math.ceil(len(rows) / _MOST_COLUMNS)
    share_width = max(text.width(s, TABLE_SIZE) for s in ("time", *(r.share for r in rows))) + _NUMBER_GAP
    return Table(
        rows=tuple(rows),
        per_column=len(rows) if len(rows) <= fit else even,
        number_width=text.width(str(len(rows)), TABLE_SIZE),
        name_width=max(
            text.width("kernel", TABLE_SIZE),
            *(text.width(r.name, TABLE_SIZE) + text.width(r.remark, TABLE_SIZE) for r in rows),
        ),
        share_width=share_width if any(r.share for r in rows) else 0.0,
    )


def draw_table(figure: Figure, table: Table, left: float, top: float) -> None:
    """Write the table with its upper left corner at ``left``, ``top``, in points from the figure's lower left."""
    wide, high = figure.get_size_inches() * 72

    def write(x: float, y: float, words: str, kind: str, *, color: str = INK, align: str = "left") -> None:
        style: dict[str, Any] = {"fontsize": TABLE_SIZE, "color": color, "ha": align, "va": "baseline"}
        figure.text(x / wide, y / high, words, parse_math=False, gid=f"table-{kind}", **style)

    for index, row in enumerate(table.rows):
        column, line = divmod(index, table.per_column)
        x = left + column * (table.column_width + COLUMN_GAP)
        name_at, end = x + table.number_width + _NUMBER_GAP, x + table.column_width
        if line == 0:
            write(name_at, top - ROW * 0.8, "kernel", "head", color=FAINT)
            if table.share_width:
                write(end, top - ROW * 0.8, "time", "head", color=FAINT, align="right")
        y = top - ROW * (line + 0.8 + _TABLE_HEAD - 0.3)
        write(x + table.number_width, y, row.number, "number", align="right")
        write(name_at, y, row.name, "name")
        if row.remark:
            write(name_at + text.width(row.name, TABLE_SIZE), y, row.remark, "remark", color=FAINT)
        if row.share:
            write(end, y, row.share, "share", align="right")
