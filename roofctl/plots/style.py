"""How a figure looks: options, colours and markers, and the YAML file that sets them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import yaml
from matplotlib.colors import is_color_like
from matplotlib.lines import Line2D

from roofctl.core.errors import InputError
from roofctl.roofline.model import LEVEL_LABELS, LEVELS, KernelPoints

# Okabe and Ito's colours, told apart by every kind of colour vision; neighbours differ in lightness too.
KERNEL_COLORS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#F0E442")
INK: Final = "#222222"
FAINT: Final = "#666666"
ALARM: Final = "#C00000"


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


@dataclass(frozen=True)
class PlotOptions:
    """What a user can choose about a figure.

    ``levels`` get ceilings and points. ``kernels`` is looked up by full name, then by short name.
    ``size`` is width and height in inches of a figure without a table: one with a table may grow.
    ``legend_rows`` is how many rows a column of the table holds; None is as many as fit.
    ``spread``: error bars over launches. ``remarks`` are footnotes of the caller.
    """

    title: str = ""
    subtitle: str = ""
    levels: tuple[str, ...] = LEVELS
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
    """A level as it is drawn. ``size`` shrinks inward so that points on one spot all show."""

    name: str
    color: str
    marker: str
    size: float
    dashes: Any


_LOOKS: Final[Mapping[str, LevelLook]] = {
    "l1": LevelLook("L1", "#0072B2", "o", 11.0, "-"),
    "l2": LevelLook("L2", "#D55E00", "s", 8.0, (0, (8, 2))),
    "hbm": LevelLook("HBM", "#009E73", "^", 6.5, (0, (7, 2, 1.5, 2))),
    "shared": LevelLook("Shared", "#CC79A7", "D", 6.5, (0, (4, 1.5))),
    "sysmem": LevelLook("Sysmem", "#555555", "v", 6.5, (0, (1.5, 1.5))),
}


def level_look(level: str, options: PlotOptions) -> LevelLook:
    """The look of a level with the user's overrides."""
    look = _LOOKS.get(level) or LevelLook(level_name(level), "#555555", "P", 6.0, (0, (1.5, 1.5)))
    override = options.level_styles.get(level, LevelStyle())
    return replace(look, color=override.color or look.color, marker=override.marker or look.marker)


def level_name(level: str) -> str:
    return LEVEL_LABELS.get(level, level)


# --- the style file -------------------------------------------------------------------

Check = Callable[[Any], bool]

_INCHES: Final = (3.0, 40.0)
_COLOR: Final = 'a matplotlib color such as "#0072B2" or "tab:blue"'
_STYLE_HINT: Final = 'a style file looks like: {title: Two kernels, kernels: {triad: {label: Triad, color: "#0072B2"}}}'
_MARKER: Final = f"one of matplotlib's filled markers: {' '.join(str(m) for m in Line2D.filled_markers)}"


def load_style(path: Path, base: PlotOptions | None = None) -> PlotOptions:
    """Options of ``--style FILE.yaml`` laid over ``base``; unknown keys are errors."""
    base = base or PlotOptions()
    read = _Reader(path)
    tree = read.mapping(read.document(), "", ("title", "subtitle", "size", "legend_rows", "kernels", "levels"))
    kernels = read.mapping(tree.get("kernels", {}), "kernels")
    levels = read.mapping(tree.get("levels", {}), "levels", tuple(_LOOKS))
    rows, size = tree.get("legend_rows", base.legend_rows), tree.get("size", base.size)
    read.check("legend_rows", rows, _is_count, "a whole number, 1 or more")
    read.check("size", size, _is_size, f"[width, height] in inches, each {_INCHES[0]:g} to {_INCHES[1]:g}")
    return replace(
        base,
        title=read.text(tree, "title", base.title),
        subtitle=read.text(tree, "subtitle", base.subtitle),
        size=(float(size[0]), float(size[1])),
        legend_rows=rows,
        kernels={**base.kernels, **{name: read.kernel(name, value) for name, value in kernels.items()}},
        level_styles={**base.level_styles, **{name: read.level(name, value) for name, value in levels.items()}},
    )


def check_kernel_style(attribute: str, value: str) -> None:
    """Raise InputError when ``value`` is no color or marker; any text is a label."""
    checks: dict[str, tuple[Check, str]] = {"color": (_is_color, _COLOR), "marker": (_is_marker, _MARKER)}
    valid, expected = checks.get(attribute, (bool, "text"))
    if not valid(value):
        raise InputError(f"--{attribute} {value!r} cannot be drawn", hint=f"expected {expected}")


def _is_color(value: Any) -> bool:
    return isinstance(value, str) and value.lower() != "none" and is_color_like(value)


def _is_marker(value: Any) -> bool:
    return isinstance(value, str) and value in Line2D.filled_markers


def _is_count(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1)


def _is_size(value: Any) -> bool:
    def inches(number: Any) -> bool:
        plausible = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
        return plausible and _INCHES[0] <= number <= _INCHES[1]

    return isinstance(value, list | tuple) and len(value) == len(_INCHES) and all(inches(v) for v in value)


@dataclass(frozen=True)
class _Reader:
    """Typed access to one style file; every complaint names the file and the key."""

    path: Path

    def document(self) -> Any:
        try:
            tree = yaml.safe_load(self.path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot read the style file: {error.strerror}", hint="check the path and its permissions"
            ) from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            mark = getattr(error, "problem_mark", None)
            where = f" line {mark.line + 1}" if mark else ""
            what = getattr(error, "problem", None) or str(error).splitlines()[0]
            raise InputError(
                f"{self.path}{where}: the style file is not YAML: {what}",
                hint="check the indentation, the colons and the quotes around that place",
            ) from error
        return {} if tree is None else tree

    def check(self, key: str, value: Any, valid: Check, expected: str) -> None:
        if not valid(value):
            raise InputError(f"{self.path}: {key or 'the file'}: seen {value!r}, expected {expected}", hint=_STYLE_HINT)

    def mapping(self, value: Any, key: str, known: tuple[str, ...] = ()) -> dict[str, Any]:
        self.check(key, value, lambda v: isinstance(v, dict), "a mapping of names to values")
        prefix = f"{key}." if key else ""
        for name in value:
            self.check(f"{prefix}{name}", name, lambda n: isinstance(n, str), "a key in quotes")
            if known and name not in known:
                raise InputError(
                    f"{self.path}: {prefix}{name}: seen an unknown key, expected one of {', '.join(known)}",
                    hint=_STYLE_HINT,
                )
        return dict(value)

    def text(self, tree: Mapping[str, Any], key: str, default: str) -> str:
        value = tree.get(key, default)
        self.check(key, value, lambda v: isinstance(v, str), "text")
        return str(value)

    def kernel(self, name: str, value: Any) -> KernelStyle:
        key = f"kernels.{name}"
        entry = self.mapping(value, key, ("label", "color", "marker"))
        label = entry.get("label")
        self.check(f"{key}.label", label, lambda v: v is None or isinstance(v, str), "text")
        return KernelStyle(label, *self._color_and_marker(key, entry))

    def level(self, name: str, value: Any) -> LevelStyle:
        key = f"levels.{name}"
        return LevelStyle(*self._color_and_marker(key, self.mapping(value, key, ("color", "marker"))))

    def _color_and_marker(self, key: str, entry: Mapping[str, Any]) -> tuple[str | None, str | None]:
        # A key without a value is an error: an unquoted #0072B2 is a comment, and would be lost without a word.
        for name, valid, expected in (("color", _is_color, _COLOR), ("marker", _is_marker, _MARKER)):
            if name in entry:
                self.check(f"{key}.{name}", entry[name], valid, f"{expected}, in quotes")
        return entry.get("color"), entry.get("marker")
