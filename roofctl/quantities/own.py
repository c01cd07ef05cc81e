"""Quantities of the user's own: YAML files beside the shipped ones, read strictly and within limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from roofctl.core.errors import InputError
from roofctl.core.given import UNITS
from roofctl.core.levels import LEVEL_ALIASES
from roofctl.core.units import SECTOR_BYTES
from roofctl.core.yaml_text import LOADER
from roofctl.quantities.formula import Formula, parse_formula

SET: Final = "own"
"""The metric set of all such quantities."""

ADDITIVE_UNITS: Final[Mapping[str, str]] = {"count": "count", "B": "count", "s": "seconds"}
"""Units of what is summed over launches, with the dimension; any other unit is of a ratio."""

_PROFILERS: Final = ("ncu", "nvprof")
_KEYS: Final = ("unit", "meaning", "level", *_PROFILERS)
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_UNIT: Final = re.compile(r"[^\s{}\[\]]{1,20}")
_MOST_BYTES: Final = 256 * 1024
_MOST_QUANTITIES: Final = 200
_DEEPEST: Final = 8
_LABEL: Final = 24
_MEANING: Final = 300
_HINT: Final = "a quantity looks like: nvlink: {unit: B, ncu: nvlrx__bytes.sum + nvltx__bytes.sum, level: NVLink}"
_COLUMNS: Final = frozenset(
    {
        *(
            "kernel",
            "short_name",
            "launches",
            "process",
            "device",
            "compute_capability",
            "is_summary",
            "file",
            "caveats",
        ),
        *("grid", "block", "source", "rank", "time_share", "verdict", "advice", "limit", "limit_use", "use"),
        *("headroom_seconds", "all_counted", "counted_launches", "counted_seconds", "capture", "part", "occurrence"),
        *(
            "seconds_median",
            "seconds_min",
            "seconds_max",
            "seconds_total",
            "number",
            "type",
            "time",
            "share",
            "headroom",
        ),
        *("warp_instructions", "gips", "issued_gips", "issued_of_peak", "thread_efficiency", "lost_fraction", "lost"),
        *("predicated_on_fraction", "precision", "flops", "flops_share", "flops_per_second", "of_peak", "peak", "rate"),
        *("flops_caveat", *(f"{level}_{what}" for level in ("l1", "l2", "hbm") for what in ("intensity", "bytes"))),
    }
)
"""Names of columns that reports and exports have already."""

_ENDS: Final = ("_total", "_min", "_max", "_median", "_transactions", "_intensity")
"""Endings of columns that are made for each quantity or level."""


@dataclass(frozen=True)
class OwnQuantity:
    """One quantity: its formula per profiler, its unit, and the label of the memory level that it is, if it is one."""

    name: str
    unit: str
    meaning: str
    formulas: Mapping[str, Formula]
    level: str = ""

    @property
    def dimension(self) -> str:
        """The dimension by its unit."""
        return ADDITIVE_UNITS.get(self.unit, "ratio")

    def transactions(self) -> Mapping[str, Formula]:
        """The formulas of a level in 32-byte transactions."""
        return {profiler: formula.over(SECTOR_BYTES) for profiler, formula in self.formulas.items()}


def load_own(paths: Iterable[Path], shipped: Iterable[str]) -> tuple[OwnQuantity, ...]:
    """The quantities in files. Raises InputError for the first fault, in one sentence that names file and key."""
    taken = dict.fromkeys(shipped, "a quantity of roofctl")
    taken.update(dict.fromkeys((*UNITS, *LEVEL_ALIASES, "memory"), "the name of a ceiling"))
    taken.update(dict.fromkeys(_COLUMNS, "a column of reports"))
    own: list[OwnQuantity] = []
    for path in paths:
        for quantity in _File(path).quantities():
            if quantity.name in taken:
                raise _fault(path, quantity.name, f"the name is taken: it is {taken[quantity.name]}; choose another")
            taken[quantity.name] = f"a quantity of {path}"
            own.append(quantity)
    if len(own) > _MOST_QUANTITIES:
        raise InputError(f"seen {len(own)} quantities of your own, expected at most {_MOST_QUANTITIES}", hint=_HINT)
    return tuple(own)


def _fault(path: Path, key: str, text: str) -> InputError:
    return InputError(f"{path}: {key}: {text}" if key else f"{path}: {text}", hint=_HINT)


@dataclass(frozen=True)
class _File:
    """One file; every error names it and the key."""

    path: Path

    def quantities(self) -> Iterator[OwnQuantity]:
        tree = self._mapping(_tree(self.path), "")
        if unknown := [key for key in tree if key not in ("schema", "quantities")]:
            raise _fault(self.path, _short(unknown[0]), "unknown key, expected schema or quantities")
        if tree.get("schema", "1") != "1":
            raise _fault(self.path, "schema", f"seen {_short(tree['schema'])}, expected 1")
        entries = self._mapping(tree.get("quantities"), "quantities")
        if not entries:
            raise _fault(self.path, "quantities", "seen none, expected one at least")
        for name, entry in entries.items():
            yield self._quantity(name, self._mapping(entry, _short(name)))

    def _quantity(self, name: str, entry: Mapping[str, Any]) -> OwnQuantity:
        if not _NAME.fullmatch(name) or name.endswith(_ENDS):
            expected = "lower-case letters, digits and _, up to 40, that end in none of"
            raise _fault(self.path, _short(name), f"no name of a quantity; expected {expected} {', '.join(_ENDS)}")
        if unknown := [key for key in entry if key not in _KEYS]:
            raise _fault(self.path, f"{name}.{_short(unknown[0])}", f"unknown key, expected one of {', '.join(_KEYS)}")
        unit = self._text(name, entry, "unit", 20)
        if not _UNIT.fullmatch(unit):
            raise _fault(self.path, f"{name}.unit", "expected count, B, s, or the unit of a ratio such as % or B/s")
        formulas = {profiler: self._formula(name, profiler, entry) for profiler in _PROFILERS if profiler in entry}
        if not formulas:
            raise _fault(self.path, name, "seen no formula, expected ncu or nvprof with one of their counters")
        level = self._text(name, entry, "level", _LABEL, default="")
        if level and unit != "B":
            raise _fault(self.path, f"{name}.level", f"a level counts bytes; seen unit {unit}, expected B")
        return OwnQuantity(name, unit, self._text(name, entry, "meaning", _MEANING, default=""), formulas, level)

    def _formula(self, name: str, profiler: str, entry: Mapping[str, Any]) -> Formula:
        text = self._text(name, entry, profiler, None)
        try:
            return parse_formula(text)
        except ValueError as error:
            raise _fault(self.path, f"{name}.{profiler}", str(error)) from None

    def _text(self, name: str, entry: Mapping[str, Any], key: str, most: int | None, default: str | None = None) -> str:
        value = entry.get(key, default)
        if value is None:
            raise _fault(self.path, f"{name}.{key}", "missing")
        if not isinstance(value, str) or (key in entry and not value.strip()):
            raise _fault(self.path, f"{name}.{key}", "expected text")
        if most is not None and len(value) > most:
            raise _fault(self.path, f"{name}.{key}", f"seen {len(value):,} characters, expected at most {most}")
        return value.strip()

    def _mapping(self, value: object, key: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise _fault(self.path, key, "expected a mapping (key: value)")
        return value


def _short(text: object) -> str:
    shown, most = str(text), 40
    return shown if len(shown) <= most else f"{shown[:most]}…"


def _tree(path: Path) -> object:
    """The file as mappings, lists and texts, made of the parser's events: their size and depth are limited."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file in UTF-8 (byte {error.start})", hint=_HINT) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}", hint="check the path") from error
    if len(content) > _MOST_BYTES:
        raise InputError(f"{path}: the file is larger than {_MOST_BYTES // 1024} KiB", hint=_HINT)
    try:
        return _build(path, yaml.parse(text, Loader=LOADER))
    except yaml.YAMLError as error:
        position = getattr(error, "problem_mark", None)
        where = f" line {position.line + 1}" if position else ""
        what = str(getattr(error, "problem", None) or error).splitlines()[0]
        raise InputError(f"{path}{where}: not valid YAML: {what}", hint=_HINT) from error


_OPEN: Final = object()
"""In place of the key of a mapping that is still to come."""


@dataclass
class _Builder:
    """Makes one value of the events of a file; ``open`` are the mappings and lists around the next value."""

    path: Path
    root: list[Any]
    open: list[tuple[Any, list[Any]]]

    def take(self, event: yaml.Event) -> None:
        """Add an event. Raises InputError for an alias, deep nesting, and a key that is no text or comes twice."""
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise self._fault(line, "references (&name, *name) are not taken")
        if isinstance(event, yaml.ScalarEvent):
            self._put(event.value, line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(self.open) > _DEEPEST:
                raise self._fault(line, f"nested more than {_DEEPEST} deep")
            value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            self._put(value, line)
            self.open.append((value, [_OPEN]))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self.open.pop()

    def _put(self, value: Any, line: int) -> None:
        holder, key = self.open[-1]
        if isinstance(holder, list):
            holder.append(value)
        elif key[0] is not _OPEN:
            holder[key[0]], key[0] = value, _OPEN
        elif not isinstance(value, str):
            raise self._fault(line, "a key is no text")
        elif value in holder:
            raise self._fault(line, f"{_short(value)} is written twice")
        else:
            key[0] = value

    def _fault(self, line: int, text: str) -> InputError:
        return InputError(f"{self.path} line {line}: {text}", hint=_HINT)


def _build(path: Path, events: Iterable[yaml.Event]) -> object:
    """The value that the events make."""
    root: list[Any] = []
    builder = _Builder(path, root, [(root, [_OPEN])])
    for event in events:
        builder.take(event)
    return root[0] if root else None
