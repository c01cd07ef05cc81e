"""Loads and checks ``thresholds.yaml``: the numbers from which on advice is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any, Final

import yaml

from roofctl.core import yaml_text
from roofctl.core.errors import InputError

_FILE: Final = "thresholds.yaml"
_SCHEMA: Final = 1
_KEYS: Final = {"value", "meaning", "reason"}


@dataclass(frozen=True)
class Thresholds:
    """One number per name; what each means and why stands beside it in ``thresholds.yaml``."""

    near_roof: float
    equal_uses: float
    issue_alone: float
    far_from_limits: float
    unequal_blocks: float
    atomic_unit_busy: float
    one_slice: float
    main_stall: float
    full_occupancy: float
    held_down: float
    launch_close: float
    idle_share: float
    tail_waves: float
    tail_part: float
    tail_lost: float
    l2_input_per_l2: float
    stream_hbm: float
    memory_instructions: float
    loads_per_fma: float
    untiled_fma_share: float
    l2_misses: float
    l2_reuse: float
    l2_volume: float
    finding_share: float
    unit_stride_sectors: float
    widest_unit_stride_sectors: float
    used_bytes_per_sector: float
    most_per_instruction: float
    widest_conflict_free_wavefronts: float
    shared_binds: float
    wavefront_overcount: float
    atomics_share: float
    local_share: float
    active_lanes: float
    predicated_on: float
    named_fma_share: float
    shaped_fma_share: float
    shared_reuse: float
    constant_moves_share: float
    matrix_names: re.Pattern[str]


@cache
def thresholds() -> Thresholds:
    """The shipped thresholds, read once. A fault in the shipped YAML raises InputError that names the key."""
    return parse(resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8"))


def parse(text: str) -> Thresholds:
    """Thresholds of a document like ``thresholds.yaml``. Raises InputError that names the first key at fault."""
    try:
        tree = yaml_text.load(text)
    except yaml.YAMLError as error:
        raise _fault("not YAML", "a mapping") from error
    if not isinstance(tree, dict) or tree.get("schema") != _SCHEMA:
        raise _fault("schema", f"schema {_SCHEMA}")
    numbers = {name: _number(name, entry) for name, entry in _mapping(tree, "thresholds").items()}
    expected = {field.name for field in fields(Thresholds)} - {"matrix_names"}
    if different := sorted(expected ^ numbers.keys()):
        raise _fault(different[0], "each known threshold once, and no other")
    if extra := sorted(tree.keys() - {"schema", "thresholds", "matrix_names"}):
        raise _fault(str(extra[0]), "schema, thresholds and matrix_names only")
    return Thresholds(**numbers, matrix_names=_pattern("matrix_names", tree.get("matrix_names")))


def _mapping(tree: Mapping[str, Any], key: str) -> dict[str, Any]:
    if not isinstance(tree.get(key), dict):
        raise _fault(key, "a mapping of names")
    entries: dict[str, Any] = tree[key]
    return entries


def _value(name: str, entry: object) -> object:
    """The number of one entry; the entry must have a meaning and a reason too."""
    if not isinstance(entry, dict) or entry.keys() != _KEYS:
        raise _fault(name, "value, meaning and reason")
    if not all(isinstance(entry[key], str) and entry[key].strip() for key in ("meaning", "reason")):
        raise _fault(name, "a meaning and a reason in words")
    return entry["value"]


def _number(name: str, entry: object) -> float:
    value = _value(name, entry)
    # YAML reads 1e3 as text and yes as a truth value; neither is a number here.
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise _fault(name, "a number above 0")
    return float(value)


def _pattern(name: str, entry: object) -> re.Pattern[str]:
    value = _value(name, entry)
    try:
        return re.compile(value if isinstance(value, str) else "(", re.IGNORECASE)
    except re.error as error:
        raise _fault(name, "a regular expression") from error


def _fault(key: str, expected: str) -> InputError:
    return InputError(f"{_FILE}: {key}; expected {expected}", hint="reinstall roofctl, or report this")
