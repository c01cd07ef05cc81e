"""The YAML file and the command-line entries that change how a figure looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml
from matplotlib.colors import is_color_like
from matplotlib.lines import Line2D

from roofctl.core import yaml_text
from roofctl.core.errors import InputError
from roofctl.core.kernel_names import base_name
from roofctl.core.levels import LEVEL_ALIASES
from roofctl.plots.look import LOOKS, PRESETS, with_look
from roofctl.plots.style import LEVEL_LOOKS, KernelStyle, LevelStyle, PlotOptions
from roofctl.roofline.model import KernelPoints

Check = Callable[[Any], bool]

_COLOR: Final = 'a matplotlib color such as "#0072B2" or "tab:blue"'
_STYLE_HINT: Final = 'a style file looks like: {title: Two kernels, kernels: {triad: {label: Triad, color: "#0072B2"}}}'
_MARKER: Final = f"one of matplotlib's filled markers: {' '.join(str(m) for m in Line2D.filled_markers)}"


def load_look(name: str, base: PlotOptions) -> PlotOptions:
    """Options of ``--style NAME``: a preset, or else a style file."""
    if name not in PRESETS:
        return load_style(Path(name), base)
    for key, value in PRESETS[name].items():
        base = with_look(base, key, value)
    return base


def set_look(options: PlotOptions, key: str, value: Any) -> PlotOptions:
    """``options`` with the value of an option of the command line. Raises InputError that names it."""
    try:
        return with_look(options, key, value)
    except ValueError as error:
        raise InputError(f"--{key} {value!r} cannot be used", hint=f"expected {error}") from error


def load_style(path: Path, base: PlotOptions | None = None) -> PlotOptions:
    """Options of ``--style FILE.yaml`` laid over ``base``; unknown keys are errors."""
    base = base or PlotOptions()
    file = _StyleFile(path)
    tree = file.mapping(file.document(), "", ("title", "subtitle", *LOOKS, "kernels", "levels"))
    kernels = file.mapping(tree.get("kernels", {}), "kernels")
    levels = file.mapping(tree.get("levels", {}), "levels", (*LEVEL_LOOKS, *base.own_levels))
    for key in LOOKS:
        if key in tree:
            base = file.look(base, key, tree[key])
    return replace(
        base,
        title=file.text(tree, "title", base.title) if "title" in tree else base.title,
        subtitle=file.text(tree, "subtitle", base.subtitle),
        kernels={**base.kernels, **{name: file.kernel(name, value) for name, value in kernels.items()}},
        level_styles={**base.level_styles, **{name: file.level(name, value) for name, value in levels.items()}},
    )


def restyle(options: PlotOptions, attribute: str, entry: str, kernels: Sequence[KernelPoints]) -> PlotOptions:
    """``options`` with one ``NAME=VALUE`` entry of ``--label``, ``--color`` or ``--marker``, of a kernel or a level.

    A kernel that has the name of a level goes before it. Both sides may hold an ``=`` (``operator==``, ``n=4``): the
    entry is split where its left side names a kernel.
    """
    pairs = [(entry[:i], entry[i + 1 :]) for i, char in enumerate(entry) if char == "="]
    splits = [(name, value) for name, value in pairs if name and value]
    if not splits:
        raise InputError(f"--{attribute} {entry!r} is not NAME=VALUE", hint=f"write it as --{attribute} triad=…")
    named = {name: [k for k in kernels if name in (k.kernel, k.short_name, base_name(k.kernel))] for name, _ in splits}
    name, value = next((split for split in reversed(splits) if named[split[0]]), splits[0])
    level = LEVEL_ALIASES.get(name.lower(), name.lower() if name.lower() in LEVEL_LOOKS else name)
    if not named[name] and level in (*LEVEL_LOOKS, *options.own_levels):
        _check_style(attribute, value)
        style = replace(options.level_styles.get(level, LevelStyle()), **{attribute: value})
        return replace(options, level_styles={**options.level_styles, level: style})
    if not named[name]:
        known = ", ".join(kernel.short_name for kernel in kernels[:8])
        raise InputError(
            f"--{attribute} names {name!r}, which is not drawn", hint=f"kernels: {known}; or a level such as l2"
        )
    _check_style(attribute, value)
    changed = {k.kernel: replace(options.kernel_style(k), **{attribute: value}) for k in named[name]}
    return replace(options, kernels={**options.kernels, **changed})


def _check_style(attribute: str, value: str) -> None:
    """Raise InputError when ``value`` is no color or marker; any text is a label."""
    checks: dict[str, tuple[Check, str]] = {"color": (_is_color, _COLOR), "marker": (_is_marker, _MARKER)}
    valid, expected = checks.get(attribute, (bool, "text"))
    if not valid(value):
        raise InputError(f"--{attribute} {value!r} cannot be drawn", hint=f"expected {expected}")


def _is_color(value: Any) -> bool:
    return isinstance(value, str) and value.lower() != "none" and is_color_like(value)


def _is_marker(value: Any) -> bool:
    return isinstance(value, str) and value in Line2D.filled_markers


@dataclass(frozen=True)
class _StyleFile:
    """Typed access to one style file; every error names the file and the key."""

    path: Path

    def document(self) -> Any:
        try:
            tree = yaml_text.load(self.path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot read the style file: {error.strerror}", hint="check the path and its permissions"
            ) from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            position = getattr(error, "problem_mark", None)
            where = f" line {position.line + 1}" if position else ""
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

    def text(self, tree: Mapping[str, Any], key: str, default: str | None) -> str:
        value = tree.get(key, default)
        self.check(key, value, lambda v: isinstance(v, str), "text")
        return str(value)

    def look(self, options: PlotOptions, key: str, value: Any) -> PlotOptions:
        try:
            return with_look(options, key, value)
        except ValueError as error:
            raise InputError(f"{self.path}: {key}: seen {value!r}, expected {error}", hint=_STYLE_HINT) from error

    def kernel(self, name: str, value: Any) -> KernelStyle:
        key = f"kernels.{name}"
        entry = self.mapping(value, key, ("label", "color", "marker"))
        return KernelStyle(self._label(key, entry), *self._color_and_marker(key, entry))

    def level(self, name: str, value: Any) -> LevelStyle:
        key = f"levels.{name}"
        entry = self.mapping(value, key, ("label", "color", "marker"))
        return LevelStyle(*self._color_and_marker(key, entry), self._label(key, entry))

    def _label(self, key: str, entry: Mapping[str, Any]) -> str | None:
        label = entry.get("label")
        self.check(f"{key}.label", label, lambda v: v is None or isinstance(v, str), "text")
        return None if label is None else str(label)

    def _color_and_marker(self, key: str, entry: Mapping[str, Any]) -> tuple[str | None, str | None]:
        # A key without a value is an error: an unquoted #0072B2 is a comment, and would be ignored silently.
        for name, valid, expected in (("color", _is_color, _COLOR), ("marker", _is_marker, _MARKER)):
            if name in entry:
                self.check(f"{key}.{name}", entry[name], valid, f"{expected}, in quotes")
        return entry.get("color"), entry.get("marker")
