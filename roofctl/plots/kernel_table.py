"""The table of kernels beside the axes: number, colour, name, what limits it, and part of the time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.figure import Figure

from roofctl.plots import text
from roofctl.plots.data import PlotData, share_of, type_text
from roofctl.plots.legend import INCH, NARROW
from roofctl.plots.style import FAINT, INK, REST

TABLE_SIZE: Final = 7.5
ROW: Final = TABLE_SIZE * 1.42
COLUMN_GAP: Final = 12.0

_NAME_WIDTH: Final = 118.0
_NUMBER_GAP: Final = 5.0
_MOST_COLUMNS: Final = 2
_AROUND: Final = 100.0
"""Points of a figure's height above and below the table."""

_TABLE_HEAD: Final = 1.4
_SWATCH: Final = "■"
_SWATCH_WIDTH: Final = 10.0


@dataclass(frozen=True)
class TableRow:
    """One kernel of the table; ``remark`` is its type and limit, ``share`` is empty when its time is unknown."""

    number: str
    color: str
    name: str
    remark: str
    share: str


@dataclass(frozen=True)
class NumberedTable:
    """A table with its lengths in points."""

    rows: tuple[TableRow, ...]
    per_column: int
    number_width: float
    name_width: float
    share_width: float

    @property
    def columns(self) -> int:
        return math.ceil(len(self.rows) / self.per_column)

    @property
    def column_width(self) -> float:
        return _SWATCH_WIDTH + self.number_width + _NUMBER_GAP + self.name_width + self.share_width

    @property
    def width(self) -> float:
        return self.columns * self.column_width + (self.columns - 1) * COLUMN_GAP

    @property
    def height(self) -> float:
        return ROW * (self.per_column + _TABLE_HEAD)


def lay_out_table(
    data: PlotData, labeled: Sequence[int], rest: Sequence[int], color: Callable[[int], str]
) -> NumberedTable:
    """The table of the ``labeled`` kernels (their indices), and a row for the ``rest``.

    Names are shortened to fit; one column, or two when the figure's height (or ``legend_rows`` of the options) does
    not hold the rows. ``color`` gives a kernel's colour.
    """
    rows, grouped = [], data.hues and data.owners  # then the colour is the group's, not the kernel's
    for index in labeled:
        kernel = data.kernels[index]
        remark = type_text(kernel) + (f" · {kernel.limit}" if kernel.limit else "")
        limit = max(_NAME_WIDTH - text.width(remark, TABLE_SIZE) * 0.5, _NAME_WIDTH * 0.8)
        name = text.elide(data.names[index], TABLE_SIZE, limit)
        share = "" if data.owners else _share_text(data.kernels[index].time_share)
        rows.append(TableRow(str(data.numbers[index]), "" if grouped else color(index), name, remark, share))
    if rest:
        own = {(data.kernels[i].number, data.kernels[i].kernel, data.kernels[i].note) for i in labeled}
        others = [k for k in map(data.kernels.__getitem__, rest) if (k.number, k.kernel, k.note) not in own]
        share = _share_text(share_of(others) if others and not data.owners else None)
        color_of_rest = "" if grouped else REST
        rows.append(TableRow("", color_of_rest, f"{len(rest)} other{'s' if len(rest) > 1 else ''}", "", share))
    height = data.options.size[1] * INCH - _AROUND
    most = len(rows) if data.options.size[0] * INCH < NARROW else max(1, int(height / ROW - _TABLE_HEAD))
    return _lay_out_rows(rows, data.options.legend_rows or most)


def _share_text(share: float | None) -> str:
    return "" if share is None else text.percent(share)


def _lay_out_rows(rows: Sequence[TableRow], most: int) -> NumberedTable:
    """One column, or two where there are more than ``most`` rows."""
    even = math.ceil(len(rows) / _MOST_COLUMNS)
    share_width = max(text.width(s, TABLE_SIZE) for s in ("time", *(r.share for r in rows))) + _NUMBER_GAP
    return NumberedTable(
        rows=tuple(rows),
        per_column=len(rows) if len(rows) <= most else even,
        number_width=max(text.width(r.number, TABLE_SIZE) for r in rows),
        name_width=max(
            text.width("kernel", TABLE_SIZE),
            *(text.width(r.name, TABLE_SIZE) + text.width(r.remark, TABLE_SIZE) for r in rows),
        ),
        share_width=share_width if any(r.share for r in rows) else 0.0,
    )


def draw_table(figure: Figure, table: NumberedTable, left: float, top: float) -> None:
    """Write the table with its upper left corner at ``left``, ``top``, in points from the figure's lower left."""
    wide, high = figure.get_size_inches() * INCH

    def write(x: float, y: float, line: str, kind: str, *, color: str = INK, align: str = "left") -> None:
        style: dict[str, Any] = {"fontsize": TABLE_SIZE, "color": color, "ha": align, "va": "baseline"}
        figure.text(x / wide, y / high, line, parse_math=False, gid=f"table-{kind}", **style)

    for index, row in enumerate(table.rows):
        column, row_index = divmod(index, table.per_column)
        x = left + column * (table.column_width + COLUMN_GAP)
        number_at, end = x + _SWATCH_WIDTH + table.number_width, x + table.column_width
        name_at = number_at + _NUMBER_GAP
        if row_index == 0:
            write(name_at, top - ROW * 0.8, "kernel", "head", color=FAINT)
            if table.share_width:
                write(end, top - ROW * 0.8, "time", "head", color=FAINT, align="right")
        y = top - ROW * (row_index + 0.8 + _TABLE_HEAD - 0.3)
        if row.color:
            write(x, y, _SWATCH, "color", color=row.color)
        if row.number:
            write(number_at, y, row.number, "number", align="right")
        write(name_at, y, row.name, "name")
        if row.remark:
            write(name_at + text.width(row.name, TABLE_SIZE), y, row.remark, "remark", color=FAINT)
        if row.share:
            write(end, y, row.share, "share", align="right")
