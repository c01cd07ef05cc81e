"""What every picture shares: matplotlib settings, the text around the axes, and the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from roofctl.core.errors import InputError
from roofctl.core.files import atomic_path, check_writable
from roofctl.plots import text
from roofctl.plots.axes import LABEL_SIZE
from roofctl.plots.legend import INCH
from roofctl.plots.style import FAINT, FONT, INK

TITLE_SIZE: Final = 10.0
SUBTITLE_SIZE: Final = 8.0
SUBTITLE_LINE: Final = 12.0
PANEL_SIZE: Final = 8.5
NOTE_SIZE: Final = 7.0

_SETTINGS: Any = {
    "font.size": 8.0,
    "axes.labelsize": LABEL_SIZE,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "roofctl",
    "pdf.fonttype": 42,
}
_METADATA: Final[dict[str, dict[str, Any]]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""Metadata by file suffix: without a date the same input gives the same file."""


@contextmanager
def settings(font: str = FONT) -> Iterator[None]:
    """Our settings over matplotlib's own defaults, whatever the user's matplotlibrc holds; undone afterwards."""
    with mpl.rc_context(), text.use_font(font):
        mpl.rcdefaults()
        mpl.rcParams.update({**_SETTINGS, "font.family": font})
        yield


def write(figure: Figure, x: float, y: float, line: str, limit: float, **style: Any) -> None:
    """One line of text at ``x``, ``y`` points from the figure's lower left corner, cut to ``limit`` points."""
    wide, high = figure.get_size_inches() * INCH
    line = text.elide(text.plain(line), style["size"], limit, style.get("weight", "normal"))
    figure.text(x / wide, y / high, line, parse_math=False, **{"color": INK, **style})


def write_title(figure: Figure, left: float, limit: float, title: str, subtitle: Sequence[str]) -> None:
    """Title and, in grey, the lines of the subtitle under it."""
    high = figure.get_size_inches()[1] * INCH
    if title:
        write(figure, left, high - 18, title, limit, size=TITLE_SIZE, weight="bold", gid="title")
    for index, line in enumerate(subtitle):
        y = high - (31 if title else 15) - index * SUBTITLE_LINE
        write(figure, left, y, line, limit, size=SUBTITLE_SIZE, color=FAINT, gid="subtitle")


def write_notes(figure: Figure, left: float, top: float, lines: Sequence[str], limit: float) -> None:
    """Footnotes, downward from ``top``."""
    for index, line in enumerate(lines):
        y = top - (index + 0.5) * NOTE_SIZE * text.LINE_HEIGHT
        write(figure, left, y, line, limit, size=NOTE_SIZE, color=FAINT, gid="footnote")


def check_suffix(path: Path) -> str:
    """The suffix of ``path`` in lower case. Raises InputError when no figure can be written under it."""
    kind = path.suffix.lower()
    if kind not in _METADATA:
        raise InputError(
            f"{path}: cannot write a figure as {path.suffix or 'a file without suffix'!r}",
            hint="use a name that ends in .png, .svg, .pdf or .html",
        )
    return kind


def check_target(path: Path, *, force: bool) -> Path:
    """``path``. Raises InputError when no figure can be written there, or it would replace a file without ``force``."""
    check_suffix(path)
    return check_writable(path, force=force)


def save(figure: Figure, path: Path) -> None:
    """Write ``figure`` as PNG, SVG or PDF, by suffix. The write is atomic."""
    kind = check_suffix(path)
    try:
        with atomic_path(path) as temporary, settings():
            figure.savefig(temporary, format=kind[1:], dpi=figure.dpi, facecolor="white", metadata=_METADATA[kind])
    except OSError as error:
        raise InputError(
            f"{path}: cannot write the figure: {error.strerror or error}", hint="choose another place with -o"
        ) from error
