"""Parse and print quantities with units. SI base units inside; prefixes live only here."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

DECIMAL_PREFIXES: Final[dict[str, float]] = {
    "": 1.0,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
}
BINARY_PREFIXES: Final[dict[str, int]] = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}

SECTOR_BYTES: Final = 32
"""Bytes of one transaction: an L1, L2 or DRAM sector."""

WAVEFRONT_BYTES: Final = 128
"""Bytes a shared-memory wavefront can move."""

WARP_THREADS: Final = 32

# Profilers write K where SI has k; "m", "u" and "n" only make sense for seconds.
_PROFILER_PREFIXES: Final[dict[str, float]] = {
    "": 1.0,
    "K": 1e3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
}
_SMALL_PREFIXES: Final[dict[str, float]] = {"": 1.0, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9}
_COUNT_UNITS: Final = frozenset(
    {
        *("inst", "instruction", "instructions", "sector", "sectors", "request", "requests", "cycle", "cycles"),
        *("warp", "warps", "block", "blocks", "thread", "threads", "pass", "passes", "register"),
        *(
            "branch",
            "branches",
            "transaction",
            "transactions",
            "event",
            "events",
            "wavefront",
            "wavefronts",
            "SM",
            "TPC",
            "GPC",
        ),
    }
)


@dataclass(frozen=True)
class Unit:
    """A parsed unit: its dimension and the factor to the SI base unit.

    ``dimension`` is one of ``seconds``, ``hertz``, ``bytes``, ``bytes_per_second``,
    ``count``, ``percent`` or ``ratio`` (a quotient that roofctl does not use).
    """

    dimension: str
    factor: float


def _strip_prefix(text: str, bases: frozenset[str], prefixes: dict[str, float]) -> float | None:
    for prefix, factor in prefixes.items():
        if text.startswith(prefix) and text[len(prefix) :] in bases:
            return factor
    return None


_SECONDS = frozenset({"s", "second", "seconds", "sec"})
_BYTES = frozenset({"B", "byte", "bytes", "Byte", "Bytes"})
_HERTZ = frozenset({"hz", "Hz", "HZ"})
_PER_SECOND = {"s": 1.0, "second": 1.0, "msecond": 1e3, "ms": 1e3, "usecond": 1e6, "us": 1e6, "nsecond": 1e9, "ns": 1e9}


def parse_unit(text: str) -> Unit | None:
    """Unit of a profiler's unit cell, or None when the spelling is not known.

    Spellings of ncu 2020-2026 and nvprof: ``nsecond`` and ``ns``, ``cycle/nsecond``
    and ``Ghz``, ``Gbyte/second`` and ``GB/s``, ``inst``, ``%``, empty.
    Prefixes are decimal, as the profilers mean them.
    """
    text = text.strip()
    if text in ("", "#"):
        return Unit("count", 1.0)
    if text == "%":
        return Unit("percent", 1.0)
    for bases, prefixes, dimension in (
        (_SECONDS, _SMALL_PREFIXES, "seconds"),
        (_BYTES, _PROFILER_PREFIXES, "bytes"),
        (_HERTZ, _PROFILER_PREFIXES, "hertz"),
        (_COUNT_UNITS, _PROFILER_PREFIXES, "count"),
    ):
        factor = _strip_prefix(text, bases, prefixes)
        if factor is not None:
            return Unit(dimension, factor)
    if "/" in text:
        return _parse_quotient(text)
    return None


def _parse_quotient(text: str) -> Unit | None:
    above, _, below = text.partition("/")
    top = Unit("count", 1.0) if above == "1" else parse_unit(above)
    if top is None:
        return None
    if below in _PER_SECOND:
        dimension = {"bytes": "bytes_per_second", "count": "hertz"}.get(top.dimension)
        return Unit(dimension, top.factor * _PER_SECOND[below]) if dimension else None
    return Unit("ratio", top.factor) if below.isidentifier() else None


def prefixed(value: float, unit: str, digits: int = 4) -> str:
    """``value`` in base units as text with a decimal prefix: 4.814e12, "B/s" -> "4.814 TB/s".

    ``digits`` is the number of significant digits. NaN and infinity are printed as such.
    """
    if not math.isfinite(value):
        return f"{value} {unit}".rstrip()
    for prefix, factor in reversed(DECIMAL_PREFIXES.items()):
        if factor > 1.0 and abs(_rounded(value, digits)) >= factor:
            return f"{significant(value / factor, digits)} {prefix}{unit}"
    return f"{significant(value, digits)} {unit}".rstrip()


def rate(name: str, value: float, unit: str) -> str:
    """``value`` of the ceiling ``name``, in base units, as people write it: GIPS, OP/s of integers, µs of a launch."""
    if unit == "s":
        return duration(value)
    if unit == "warp_inst/s":
        return f"{significant(value / 1e9)} GIPS"
    return prefixed(value, "OP/s" if name.startswith("int") else unit)


def significant(value: float, digits: int = 4) -> str:
    """``value`` rounded to significant digits, never in exponent form below 1e6."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    # Rounding may add a digit before the decimal separator (999.96), so the exponent is that of the rounded value.
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(_rounded(value, digits)))))
    if decimals > digits + 4:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{decimals}f}"


def _rounded(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits - 1}e}")


def percent(fraction: float) -> str:
    """A share for a sentence: 92%, and <1% for what is less."""
    least = 0.01
    return "<1%" if 0 < fraction < least else f"{fraction:.0%}"


def duration(seconds: float) -> str:
    """A time for people: 181.6 µs, 4.01 ms."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(_rounded(seconds)) >= factor:
            return f"{significant(seconds / factor)} {unit}"
    return f"{significant(seconds / 1e-9)} ns"


def gtxn(bytes_per_second: float) -> float:
    """Bandwidth in 10^9 transactions (32-byte sectors) per second."""
    return bytes_per_second / SECTOR_BYTES / 1e9


_INSTRUCTIONS: Final = ("IPS", "inst/s", "instructions/s", "warp_inst/s")
_OPERATIONS: Final = (
    *("FLOP/s", "FLOPS", "FLOPs", "Flop/s", "Flops", "flop/s", "flops"),
    *("OP/s", "OPS", "OPs", "Op/s", "op/s", "ops"),
)
_RATES: Final = (
    ("B/s", ("B/s", "byte/s", "Byte/s", "bytes/s", "Bytes/s"), {**_PROFILER_PREFIXES, **BINARY_PREFIXES}, 1),
    ("B/s", ("TXN/s", "txn/s", "TXNs/s", "sector/s", "sectors/s"), _PROFILER_PREFIXES, SECTOR_BYTES),
    ("warp_inst/s", _INSTRUCTIONS, _PROFILER_PREFIXES, 1),
    ("FLOP/s", _OPERATIONS, _PROFILER_PREFIXES, 1),
    ("s", ("s",), _SMALL_PREFIXES, 1),
)
"""Rates as people write them: their base unit here, spellings, prefixes, and base units in one of them."""


def parse_rate(text: str) -> tuple[float, str]:
    """``5.5TB/s``, ``489.6 GIPS``, ``33.5 TFLOP/s``, ``2.7 µs`` as a number of base units and the base unit.

    Base units are ``B/s``, ``warp_inst/s``, ``FLOP/s`` (operations of any type) and ``s``; a transaction (TXN) is 32
    bytes. Raises ValueError with the reason, as what was expected.
    """
    match = re.fullmatch(r"([+-]?(?:\d[\d.,_' ]*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S*)", text.strip())
    if match is None:
        raise ValueError("a number with its unit")
    digits, unit = match[1].strip(), match[2]
    try:
        number = float(digits.replace("_", "")) if not re.search(r"[,' ]", digits) else math.nan
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ValueError("a number with a decimal point and without separators")
    if not unit:
        raise ValueError("a unit behind the number")
    for base, spellings, prefixes, each in _RATES:
        factor = _strip_prefix(unit, frozenset(spellings), dict(prefixes))
        if factor is not None:
            value = number * factor * each
            if not (math.isfinite(value) and value > 0):
                raise ValueError("a finite number above 0")
            return value, base
    raise ValueError(f"a unit that is known, not {unit!r}")
