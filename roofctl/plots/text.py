"""Text for pictures: its width, shortened and cleaned before it reaches a figure.

Kernel names come from users: they may be 2,800 characters long, hold characters the
font lacks, and begin with an underscore. Text sizes here are in points.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Final

from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import TextToPath

from roofctl.plots.style import FONT

_FONT: Final = ContextVar("font", default=FONT)
ELLIPSIS: Final = "…"
LINE_HEIGHT: Final = 1.35

_SUBSTITUTE: Final = "□"
_OUTLINES: Final = TextToPath()
_SLACK: Final = 1.02  # hinting makes bitmap text a little wider than its outline


def is_font(family: str) -> bool:
    """Whether matplotlib finds this font family."""
    try:
        findfont(FontProperties(family=family), fallback_to_default=False)
    except ValueError:
        return False
    return True


@contextmanager
def use_font(family: str) -> Iterator[None]:
    """Measure and clean text for this font family, which must be one that matplotlib finds."""
    token = _FONT.set(family)
    try:
        yield
    finally:
        _FONT.reset(token)


@lru_cache(maxsize=4)
def _known_characters(family: str) -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family=family))).get_charmap())


def plain(text: str) -> str:
    """``text`` on one line, with a box for every character that the font cannot draw."""
    known = _known_characters(_FONT.get())
    return "".join(c if ord(c) in known else _SUBSTITUTE for c in " ".join(text.split()))


def width(text: str, size: float, weight: str = "normal") -> float:
    """Width of one line of text, in points."""
    return _width(text, size, weight, _FONT.get())


@lru_cache(maxsize=4096)
def _width(text: str, size: float, weight: str, family: str) -> float:
    properties = FontProperties(family=family, size=size, weight=weight)
    across, _, _ = _OUTLINES.get_text_width_height_descent(text, properties, ismath=False)
    return float(across) * _SLACK


def elide(text: str, size: float, limit: float, weight: str = "normal") -> str:
    """``text`` with its middle taken out until it fits into ``limit`` points.

    Both ends stay: names of one family differ at either.
    """
    if width(text[:1000], size, weight) <= limit and width(text, size, weight) <= limit:
        return text
    fits, fails = 0, min(len(text), 1000)
    while fails - fits > 1:
        kept = (fits + fails) // 2
        if width(_without_middle(text, kept), size, weight) <= limit:
            fits = kept
        else:
            fails = kept
    return _without_middle(text, fits)


def _without_middle(text: str, kept: int) -> str:
    tail = kept // 2
    return text[: kept - tail] + ELLIPSIS + (text[-tail:] if tail else "")


def wrap(text: str, size: float, limit: float) -> list[str]:
    """``text`` in lines of about ``limit`` points."""
    average = width(text, size) / max(1, len(text))
    return textwrap.wrap(text, max(20, int(limit / average * 0.95))) if average else []


def listing(numbers: list[int]) -> str:
    """Numbers for one label: 3, 7, 9 and runs of three or more as 3–5."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shortest_range = 3
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]}–{run[-1]}"] if len(run) >= shortest_range else [str(n) for n in run]
    return ", ".join(parts)


def percent(fraction: float) -> str:
    """82 %, 4.1 %, <0.1 %."""
    integer_from, least = 0.0995, 0.0005
    if 0 < fraction < least:
        return "<0.1 %"
    return f"{fraction * 100:.0f} %" if fraction >= integer_from else f"{fraction * 100:.1f} %"
