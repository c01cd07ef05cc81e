"""What every picture shares: our settings over matplotlib's, the words around the axes, and the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from roofctl.core.errors import InputError
from roofctl.core.files import whole
from roofctl.plots import text
from roofctl.plots.axes import LABEL_SIZE
from roofctl.plots.style import FAINT, INK

DPI: Final = 220
INCH: Final = 72.0
TITLE_SIZE: Final = 10.0
SUBTITLE_SIZE: Final = 8.0
NOTE_SIZE: Final = 7.0

_SETTINGS: Any = {
    "font.family": text.FONT,
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
_FORMATS: Final[dict[str, dict[str, Any]]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


@contextmanager
def settings() -> Iterator[None]:
    """Our settings over matplotlib's own defaults, whatever the user's matplotlibrc says; undone afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def write(figure: Figure, x: float, y: float, words: str, room: float, **style: Any) -> None:
    """One line of text at ``x``, ``y`` points from the figure's lower left corner, cut to ``room`` points."""
    wide, high = figure.get_size_inches() * INCH
    words = text.elide(text.plain(words), style["size"], room, style.get("weight", "normal"))
    figure.text(x / wide, y / high, words, parse_math=False, **{"color": INK, **style})


def write_title(figure: Figure, left: float, room: float, title: str, subtitle: str) -> None:
    """Title and, in grey, what it was measured on."""
    high = figure.get_size_inches()[1] * INCH
    write(figure, left, high - 18, title, room, size=TITLE_SIZE, weight="bold", gid="title")
    if subtitle:
        write(figure, left, high - 31, subtitle, room, size=SUBTITLE_SIZE, color=FAINT, gid="subtitle")


def write_notes(figure: Figure, left: float, top: float, lines: list[str], room: float) -> None:
    """Footnotes, downward from ``top``."""
    for index, line in enumerate(lines):
        y = top - (index + 0.5) * NOTE_SIZE * text.LINE_HEIGHT
        write(figure, left, y, line, room, size=NOTE_SIZE, color=FAINT, gid="footnote")


def check_suffix(path: Path) -> str:
    """The suffix of ``path`` in lower case. Raises InputError when no figure can be written under it."""
    kind = path.suffix.lower()
    if kind not in _FORMATS:
        raise InputError(
            f"{path}: cannot write a figure as {path.suffix or 'a file without suffix'!r}",
            hint="use a name that ends in .png, .svg or .pdf",
        )
    return kind


def save(figure: Figure, path: Path) -> None:
    """Write ``figure`` as PNG, SVG or PDF, by suffix. The file appears whole or not at all."""
    kind = check_suffix(path)
    try:
        with whole(path) as temporary, settings():
            figure.savefig(temporary, format=kind[1:], dpi=figure.dpi, facecolor="white", metadata=_FORMATS[kind])
    except OSError as error:
        raise InputError(
            f"{path}: cannot write the figure: {error.strerror or error}", hint="choose another place with -o"
        ) from error
