"""A roofline as text: log-log in braille dots and coloured markers, or in plain ASCII."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from roofctl.core.kernel_names import elide
from roofctl.core.units import prefixed
from roofctl.plots.axes import tick_writer
from roofctl.plots.data import PlotData, compose, share_of, type_text
from roofctl.plots.outliers import outliers
from roofctl.plots.style import PlotOptions
from roofctl.plots.text import percent
from roofctl.roofline.model import KernelPoints, Roofline

_HEIGHT: Final = (10, 40)
_LEAST_WIDTH: Final = 40
_MARGIN: Final = 8
"""Columns left of the y axis."""

_MARKERS: Final = {"l1": ("●", "o"), "l2": ("■", "s"), "hbm": ("▲", "^")}
_OTHER_MARKER: Final = ("◆", "d")
_REST: Final = ("∙", ".")

# Colours of the 256-colour terminal near those of the figures.
_COLORS: Final = (32, 214, 36, 175, 166, 74, 255, 227, 89, 142)
_FAINT: Final = 245
_REST_COLOR: Final = 240

_ASCII: Final = str.maketrans({"·": "-", "–": "-", "µ": "u", "…": "...", "×": "x", "²": "2", "³": "3"})
_BRAILLE: Final = 0x2800
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille character: four rows of two dots."""


@dataclass
class _Canvas:
    """Cells of a terminal: dots of lines, and characters over them, each with its colour."""

    width: int
    height: int
    ascii_only: bool
    dots: dict[tuple[int, int], int] = field(default_factory=dict)
    cells: dict[tuple[int, int], tuple[str, int]] = field(default_factory=dict)

    def dot(self, across: float, up: float) -> None:
        """A dot at a place between 0 and 1, from the lower left corner."""
        x, y = int(across * (self.width * 2 - 1) + 0.5), int((1 - up) * (self.height * 4 - 1) + 0.5)
        cell = (x // 2, y // 4)
        self.dots[cell] = self.dots.get(cell, 0) | _DOTS[y % 4][x % 2]

    def line(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """A straight line between two places, where it is inside."""
        steps = 2 * max(self.width * 2, self.height * 4)
        for step in range(steps + 1):
            across, up = (a + (b - a) * step / steps for a, b in zip(start, end, strict=True))
            if 0 <= across <= 1 and 0 <= up <= 1:
                self.dot(across, up)

    def cell(self, across: float, up: float) -> tuple[int, int]:
        """The cell of a place, at the edge for one outside."""
        x, y = round(across * (self.width - 1)), round((1 - up) * (self.height - 1))
        return min(max(x, 0), self.width - 1), min(max(y, 0), self.height - 1)

    def write(self, cell: tuple[int, int], text: str, color: int) -> bool:
        """Write a text from this cell on where all its cells are free and inside."""
        cells = [(cell[0] + i, cell[1]) for i in range(len(text))]
        if not all(0 <= x < self.width and 0 <= y < self.height and (x, y) not in self.cells for x, y in cells):
            return False
        self.cells.update({place: (character, color) for place, character in zip(cells, text, strict=True)})
        return True

    def row(self, y: int, *, colored: bool) -> str:
        """One line of the terminal."""
        return "".join(self._character(x, y, colored=colored) for x in range(self.width)).rstrip()

    def _character(self, x: int, y: int, *, colored: bool) -> str:
        if (x, y) in self.cells:
            character, color = self.cells[x, y]
            return _paint(character, color) if colored and character != " " else character
        dots = self.dots.get((x, y), 0)
        return " " if not dots else "." if self.ascii_only else chr(_BRAILLE + dots)


@dataclass(frozen=True)
class _Scale:
    """Logarithmic limits of both axes, in units of the axes."""

    x: tuple[float, float]
    y: tuple[float, float]

    def place(self, x: float, y: float) -> tuple[float, float]:
        """A point as parts of the axes."""
        return _part(x, self.x), _part(y, self.y)


def terminal(
    rooflines: Sequence[Roofline],
    kernels: Sequence[KernelPoints],
    options: PlotOptions,
    *,
    width: int,
    colored: bool = True,
    ascii_only: bool = False,
) -> str:
    """The roofline as lines of at most ``width`` characters, and a line per labeled kernel below it.

    ``colored`` writes ANSI colours of the 256-colour palette; ``ascii_only`` writes no other character than ASCII.
    """
    data = compose(rooflines, kernels, options)
    width = max(width, _LEAST_WIDTH)
    canvas = _Canvas(width - _MARGIN - 1, min(max(width // 4, _HEIGHT[0]), _HEIGHT[1]), ascii_only)
    scale = _scale(data)
    _draw_roofs(canvas, scale, data)
    _draw_points(canvas, scale, data)
    _label_roofs(canvas, scale, data)
    lines = [elide(line, width) for line in (options.title or data.units.title, options.subtitle) if line]
    lines += [
        f"{data.units.rate_name:>{_MARGIN}}",
        *_rows(canvas, scale, colored=colored),
        *_x_axis(canvas, scale, data),
    ]
    lines += _table(data, width, colored=colored, ascii_only=ascii_only)
    text = "\n".join(lines)
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii") if ascii_only else text


def _paint(text: str, color: int) -> str:
    return f"\x1b[38;5;{color}m{text}\x1b[0m"


def _part(value: float, limits: tuple[float, float]) -> float:
    low, high = limits
    return math.log10(value / low) / math.log10(high / low)


def _scale(data: PlotData) -> _Scale:
    """Limits around points, ridges and peaks, or those of the options; points beyond are drawn at the edge."""
    ridges = [
        ridge
        for roofline in data.rooflines
        for level in data.roof_levels
        for peak in roofline.peaks
        if (ridge := roofline.ridge(level, peak.work))
    ]
    peaks = [peak.per_second / data.rate_unit for roofline in data.rooflines for peak in roofline.peaks]
    far = {id(outlier.point) for outlier in outliers(data)[0]} if data.many else set()
    near = [point for point in data.points if id(point) not in far]
    xs = [point.intensity for point in near] or [1.0]
    ys = [point.per_second / data.rate_unit for point in near] or [1.0]
    x = (min([*xs, *(r / 10 for r in ridges)]) / 2, max([*xs, *(r * 5 for r in ridges)]) * 2)
    y = (min([*ys, *(p / 100 for p in peaks)]) / 2, max([*ys, *peaks]) * 2)
    return _Scale(data.options.xlim or x, data.options.ylim or y)


def _draw_roofs(canvas: _Canvas, scale: _Scale, data: PlotData) -> None:
    left, right = scale.x
    for roofline in data.rooflines:
        for level in data.roof_levels:
            end = roofline.ridge(level) or right
            low, high = roofline.attainable(level, left), roofline.attainable(level, end)
            if low and high:
                canvas.line(scale.place(left, low / data.rate_unit), scale.place(end, high / data.rate_unit))
        for peak in roofline.peaks:
            starts = [r for level in data.roof_levels if (r := roofline.ridge(level, peak.work))]
            height = peak.per_second / data.rate_unit
            canvas.line(scale.place(min(starts, default=left), height), scale.place(right, height))


def _label_roofs(canvas: _Canvas, scale: _Scale, data: PlotData) -> None:
    """The peaks above their right ends, the levels beside the left ends of their slopes, where there is space."""
    roofline = data.rooflines[0]
    for peak in roofline.peaks:
        name = data.units.peak([[peak]])
        x, y = canvas.cell(*scale.place(scale.x[1], peak.per_second / data.rate_unit))
        canvas.write((x - len(name), y - 1), name, _FAINT)
    for level in data.roof_levels:
        rate = roofline.attainable(level, scale.x[0])
        bandwidth = roofline.bandwidth(level)
        if rate is None or bandwidth is None:
            continue
        name = f"{data.label(level)} {prefixed(bandwidth.bytes_per_second, 'B/s', 3)}"
        x, y = canvas.cell(*scale.place(scale.x[0], max(rate / data.rate_unit, scale.y[0])))
        any(canvas.write((x + 1, y - up), name, _FAINT) for up in (3, 4, 5, 2))


def _draw_points(canvas: _Canvas, scale: _Scale, data: PlotData) -> None:
    """Markers with the numbers of labeled kernels; the longest kernel is on top."""
    labeled = data.labeled
    for index in reversed(data.drawn):
        kernel = data.kernels[index]
        for point in data.points_of(kernel):
            cell = canvas.cell(*scale.place(point.intensity, point.per_second / data.rate_unit))
            if index in labeled:
                canvas.cells[cell] = (_marker(point.level, canvas.ascii_only), _color(data, index))
            else:
                canvas.cells.setdefault(cell, (_REST[canvas.ascii_only], _REST_COLOR))
    for index in labeled if data.many else ():
        for point in data.points_of(data.kernels[index]):
            x, y = canvas.cell(*scale.place(point.intensity, point.per_second / data.rate_unit))
            number = str(index + 1)
            places = ((x + 1, y), (x - len(number), y), (x, y - 1), (x, y + 1))
            any(canvas.write(place, number, _color(data, index)) for place in places)


def _marker(level: str, ascii_only: bool) -> str:  # noqa: FBT001
    return _MARKERS.get(level, _OTHER_MARKER)[ascii_only]


def _color(data: PlotData, index: int) -> int:
    return _COLORS[data.labeled.index(index) % len(_COLORS)]


def _rows(canvas: _Canvas, scale: _Scale, *, colored: bool) -> list[str]:
    ticks = {canvas.cell(0.0, _part(value, scale.y))[1]: name for value, name in _ticks(scale.y)}
    bar, cross = ("|", "+") if canvas.ascii_only else ("│", "┤")
    return [
        f"{ticks.get(y, ''):>{_MARGIN}}{cross if y in ticks else bar}{canvas.row(y, colored=colored)}"
        for y in range(canvas.height)
    ]


def _ticks(limits: tuple[float, float]) -> list[tuple[float, str]]:
    decades = range(math.ceil(math.log10(limits[0])), math.floor(math.log10(limits[1])) + 1)
    write = tick_writer(decades)
    return [(10.0**decade, write(10.0**decade)) for decade in decades]


def _x_axis(canvas: _Canvas, scale: _Scale, data: PlotData) -> list[str]:
    """The axis, its ticks and its name."""
    line, cross, corner = ("-", "+", "+") if canvas.ascii_only else ("─", "┴", "└")
    axis, names = [line] * canvas.width, [" "] * (canvas.width + _MARGIN)
    free = 0
    for value, name in _ticks(scale.x):
        x, _ = canvas.cell(_part(value, scale.x), 0.0)
        axis[x] = cross
        start = max(0, x - len(name) // 2)
        if start >= free and start + len(name) <= len(names):
            names[start : start + len(name)] = name
            free = start + len(name) + 1
    indent = " " * _MARGIN
    label = data.units.x_label
    if len(label) >= canvas.width:
        label = label.replace(" (", f"\n{indent} (", 1)
    return [f"{indent}{corner}{''.join(axis)}", f"{indent} {''.join(names).rstrip()}", f"{indent} {label}"]


def _table(data: PlotData, width: int, *, colored: bool, ascii_only: bool) -> list[str]:
    """A line per labeled kernel with number, level and fraction of the roof, and one for the others."""
    lines = []
    for index in data.labeled:
        kernel = data.kernels[index]
        fractions = [
            f"{_marker(point.level, ascii_only)} {data.label(point.level)}"
            + (f" {percent(assessment.fraction)}" if (assessment := data.assess(point)) else "")
            for point in data.points_of(kernel)
        ]
        share = "" if kernel.time_share is None else percent(kernel.time_share)
        tail = "  ".join([f"{share:>6}", *fractions])
        name = elide(data.names[index] + type_text(kernel), max(12, width - len(tail) - 8))
        number = f"{index + 1:>4}"
        head = _paint(number, _color(data, index)) if colored else number
        lines.append(f"{head}  {name:<{max(12, min(40, width - len(tail) - 8))}}  {tail}".rstrip())
    rest = [data.kernels[index] for index in data.drawn if index not in data.labeled]
    if rest:
        together = share_of(rest)
        lines.append(
            f"{_REST[ascii_only]:>4}  {len(rest)} others" + (f", {percent(together)} of the time" if together else "")
        )
    return lines
