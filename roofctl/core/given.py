"""Ceilings that the user states: names and values as an option (``l2=5.5TB/s``) or a file has them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Final

from roofctl.core.errors import InputError
from roofctl.core.levels import LEVEL_ALIASES, LEVELS, CeilingUnit
from roofctl.core.precisions import PRECISIONS
from roofctl.core.units import parse_rate

_LINKS: Final = ("system", "peer")
"""Memory outside the GPU: of the host, and of one other GPU. Bytes per second each way."""

UNITS: Final[Mapping[str, CeilingUnit]] = {
    **dict.fromkeys((*LEVELS, "shared", *_LINKS), "B/s"),
    "issue": "warp_inst/s",
    "launch": "s",
    **dict.fromkeys(PRECISIONS, "FLOP/s"),
}
"""What can be given, with the unit of its value; beside these memory levels of the user's own, in bytes per second."""

_EXAMPLES: Final[Mapping[str, str]] = {
    "B/s": "5.5 TB/s or 171.9 GTXN/s (transactions of 32 bytes)",
    "warp_inst/s": "489.6 GIPS",
    "FLOP/s": "33.5 TFLOP/s",
    "s": "2.7 us",
}

OPTION: Final = "--ceiling"


def parse_ceiling(name: str, text: object, own_levels: Iterable[str] = ()) -> tuple[str, float]:
    """The name of a ceiling and its value in base units. ``own_levels`` are memory levels of the user's own.

    Raises ValueError with one sentence: what was seen, and what is expected.
    """
    name = name.strip()
    wanted = name.lower().replace("-", "_")
    wanted = LEVEL_ALIASES.get(wanted, wanted)
    own = list(own_levels)
    if name in own:
        unit, known = "B/s", name
    elif wanted in UNITS:
        unit, known = UNITS[wanted], wanted
    else:
        raise ValueError(_unknown(name, own))
    shown = "null" if text is None else repr(text)
    try:
        # A number of a file, without a unit, gets the same sentence as one on the command line.
        value, seen = parse_rate(str(text))
    except ValueError as error:
        raise ValueError(f"seen {shown} for {name}; expected {error}, such as {_EXAMPLES[unit]}") from None
    if seen != unit:
        raise ValueError(f"seen {shown} for {name}; expected a value such as {_EXAMPLES[unit]}")
    return known, value


def parse_options(options: Iterable[str], own_levels: Iterable[str] = ()) -> dict[str, float]:
    """Ceilings of ``NAME=VALUE`` options by name, in base units. Raises InputError for the first that is none."""
    given: dict[str, float] = {}
    own = tuple(own_levels)
    for entry in options:
        name, equals, text = entry.partition("=")
        if not equals:
            raise InputError(
                f"{OPTION} {entry!r} is not NAME=VALUE",
                hint=f"write it as {OPTION} l2=5.5TB/s or {OPTION} issue=489.6GIPS",
            )
        try:
            key, value = parse_ceiling(name, text, own)
        except ValueError as error:
            raise InputError(f"{OPTION} {entry}: {error}") from None
        if key in given:
            raise InputError(f"{OPTION} gives {key} twice", hint="give each ceiling once")
        given[key] = value
    return given


def _unknown(name: str, own: list[str]) -> str:
    names = [*UNITS, *LEVEL_ALIASES, *own]
    near = difflib.get_close_matches(name.lower(), names, n=1)
    known = ", ".join([*LEVELS, "shared", *_LINKS, "issue", "launch", *own])
    meant = f"did you mean {near[0]}? Names are" if near else "expected one of"
    return f"seen the name {name!r}; {meant} {known}, or a type such as fp64 or bf16_tc"
