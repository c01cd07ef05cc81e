"""Size, resolution, font, limits and legend of a figure, as a style file or the command line gives them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from roofctl.plots.style import LEGENDS, PlotOptions
from roofctl.plots.text import is_font

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "paper": {"size": "7x4.6in", "dpi": 300},
    "talk": {"size": "5.4x3.5in", "dpi": 300, "labeled": 6},
    "notebook": {"size": "8x5in", "dpi": 110},
}
"""Looks by name. Texts keep their size in points, so they are larger relative to a smaller figure."""

INCHES: Final = (2.0, 40.0)
"""The smallest and the largest side of a figure."""

_UNITS: Final = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
_LOWEST: Final = 3.1
_WIDTHS: Final = {"column": "3.4in", "page": "7in"}
_DPI: Final = (50, 1200)
_PAIR: Final = 2


def with_look(options: PlotOptions, key: str, value: Any) -> PlotOptions:
    """``options`` with one of ``LOOKS`` set. Raises ValueError with what was expected."""
    return _SETTERS[key](options, value)


def _size(options: PlotOptions, value: Any) -> PlotOptions:
    expected = f"width and height such as 3.4x2.6in, each {INCHES[0]:g} to {INCHES[1]:g} inches"
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([\d.]+)\s*[x×]\s*([\d.]+)\s*(in|cm|mm|pt)?\s*", value)
        if match is None:
            raise ValueError(expected)
        value = [float(side) * _UNITS[match[3] or "in"] for side in match.groups()[:_PAIR]] if _floats(match) else []
    if not (isinstance(value, list | tuple) and len(value) == _PAIR and all(map(_is_inches, value))):
        raise ValueError(expected)
    return replace(options, size=(float(value[0]), float(value[1])))


def _floats(match: re.Match[str]) -> bool:
    return all(side.count(".") <= 1 and side != "." for side in match.groups()[:_PAIR])


def _is_inches(number: Any) -> bool:
    return _is_number(number) and INCHES[0] <= number <= INCHES[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _width(options: PlotOptions, value: Any) -> PlotOptions:
    """The width, with the height in the proportion of the size so far, and enough for the axes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(in|cm|mm|pt)", _WIDTHS.get(str(value), str(value)))
    inches = float(match[1]) * _UNITS[match[2]] if match else math.nan
    if not INCHES[0] <= inches <= INCHES[1]:
        raise ValueError(f"column, page, or a width such as 3.4in or 86mm, {INCHES[0]:g} to {INCHES[1]:g} inches")
    wide, high = options.size
    return replace(options, size=(inches, max(_LOWEST, high * inches / wide)))


def _dpi(options: PlotOptions, value: Any) -> PlotOptions:
    if not (_is_number(value) and _DPI[0] <= value <= _DPI[1]):
        raise ValueError(f"dots per inch, {_DPI[0]} to {_DPI[1]}")
    return replace(options, dpi=int(value))


def _font(options: PlotOptions, value: Any) -> PlotOptions:
    if not (isinstance(value, str) and is_font(value)):
        raise ValueError("a font that matplotlib finds on this machine, such as DejaVu Serif")
    return replace(options, font=value)


def _limits(value: Any) -> tuple[float, float]:
    if isinstance(value, str):
        try:
            value = [float(part) for part in value.split(",")]
        except ValueError:
            value = []
    valid = isinstance(value, list | tuple) and len(value) == _PAIR and all(_is_number(v) and v > 0 for v in value)
    if not (valid and value[0] < value[1]):
        raise ValueError("two positive numbers, the lower first, such as 0.01,1000")
    return float(value[0]), float(value[1])


def _legend(options: PlotOptions, value: Any) -> PlotOptions:
    if value not in LEGENDS:
        raise ValueError(" or ".join(LEGENDS))
    return replace(options, legend=value)


def _count(options: PlotOptions, key: str, value: Any) -> PlotOptions:
    nothing = key == "legend_rows" and value is None
    if not nothing and not (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        raise ValueError("a whole number, 1 or more")
    return replace(options, **{key: value})


def _zones(options: PlotOptions, value: Any) -> PlotOptions:
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004  the caller reports what was expected
    return replace(options, zones=value)


_SETTERS: Final[Mapping[str, Callable[[PlotOptions, Any], PlotOptions]]] = {
    "size": _size,
    "width": _width,
    "dpi": _dpi,
    "font": _font,
    "xlim": lambda options, value: replace(options, xlim=_limits(value)),
    "ylim": lambda options, value: replace(options, ylim=_limits(value)),
    "legend": _legend,
    "legend_rows": lambda options, value: _count(options, "legend_rows", value),
    "labeled": lambda options, value: _count(options, "labeled", value),
    "zones": _zones,
}
LOOKS: Final = tuple(_SETTERS)
"""The keys, in the order in which they are applied: a width scales the size."""
