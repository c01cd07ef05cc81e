"""The capture scripts of ``shell/``, written from the catalogue: the same counters as ``roofctl profile``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Final

from roofctl.profilers import ncu, nvprof
from roofctl.quantities import catalogue

METRIC_SET: Final = "instruction"

_NVPROF_CHIP: Final = "gv100"
_USUAL_CHIP: Final = "gh100"
_INDENT: Final = "    "


def script(profiler: str) -> str:
    """Text of ``shell/profile_ncu.sh`` or ``shell/profile_nvprof.sh``."""
    template = resources.files(__package__).joinpath("scripts", f"profile_{profiler}.sh.in").read_text(encoding="utf-8")
    for name, lines in (_ncu() if profiler == "ncu" else _nvprof()).items():
        template = template.replace(f"@{name}@", lines)
    return template


def _nvprof() -> Mapping[str, str]:
    counters = nvprof.counters(_NVPROF_CHIP, (METRIC_SET,)).counters
    return {
        "METRICS": _lines(_INDENT, (name for name in counters if name not in nvprof.EVENTS)),
        "EVENTS": _lines(_INDENT, (name for name in counters if name in nvprof.EVENTS)),
    }


def _ncu() -> Mapping[str, str]:
    """Counters that every chip has, and per chip the rest; that of ``_USUAL_CHIP`` is the default."""
    chips = catalogue().chips
    lists = {name: ncu.counters(name, (METRIC_SET,)).counters for name in chips}
    common = [name for name in next(iter(lists.values())) if all(name in counters for counters in lists.values())]
    rests = {chip: tuple(name for name in counters if name not in common) for chip, counters in lists.items()}
    usual = rests[_USUAL_CHIP]
    special = {chip: rest for chip, rest in rests.items() if rest != usual}
    cases = [*((chip, rest) for chip, rest in special.items()), ("*", usual)]
    return {
        "METRICS": _lines(_INDENT, common),
        "CHIP_CASES": _lines(_INDENT * 2, (_case(pattern, rest) for pattern, rest in cases)),
        "CAPABILITY_CASES": _lines(
            _INDENT * 2,
            (
                f"{capability}) echo {chip} ;;"
                for chip in special
                for capability in chips[chip].compute_capabilities
                if catalogue().chip_of(capability) == chip
            ),
        ),
    }


def _case(pattern: str, counters: tuple[str, ...]) -> str:
    return f"{pattern}) METRICS+=({' '.join(counters)}) ;;" if counters else f"{pattern}) ;;"


def _lines(indent: str, items: Iterable[str]) -> str:
    return "\n".join(indent + item for item in items)
