"""Numbers as profilers print them: group marks, decimal marks, glued units, and words for "no value".

A file's decimal mark follows the locale that the profiler ran under and is decided
once per file, from values that can be read one way only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from roofctl.core.errors import InputError
from roofctl.core.units import Unit

Mark = Literal["point", "comma"]
Number = int | float

EXAMPLES: Final[dict[Mark, str]] = {"point": "1,234.5", "comma": "1.234,5"}

_MISSING: Final = frozenset(
    {"", "n/a", "na", "nan", "-nan", "inf", "-inf", "+inf", "infinity", "no data", "none", "null", "-", "<overflow>"}
)
# Decimal() takes more than profilers print: underscores, other scripts' digits, sNaN.
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_PLAIN: Final = re.compile(r"[+-]?\d+")
_AMBIGUOUS: Final = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
_SPACES: Final = str.maketrans("", "", " \u00a0\u202f'’")
_GLUED: Final = re.compile(r"([+-]?[\d.,]+(?:[eE][+-]?\d+)?)([A-Za-z%µ].*)")


def _evidence_pattern(group: str, decimal: str) -> re.Pattern[str]:
    g, d = re.escape(group), re.escape(decimal)
    return re.compile(
        rf"[+-]?(?:\d{{1,3}}(?:{g}\d{{3}})+{d}\d+"  # both marks
        rf"|\d{{1,3}}(?:{g}\d{{3}}){{2,}}"  # two group marks
        rf"|\d+{d}(?:\d{{1,2}}|\d{{4,}})"  # not three digits after the mark
        rf"|(?:\d{{4,}}|0){d}\d+"  # what stands before the mark cannot be a group
        rf"|\d*{d}?\d+[eE][+-]?\d+)"
    )


_EVIDENCE: Final[dict[Mark, re.Pattern[str]]] = {
    "point": _evidence_pattern(",", "."),
    "comma": _evidence_pattern(".", ","),
}
_SCIENTIFIC: Final = re.compile(r"[+-]?\d+[eE][+-]?\d+")


def is_missing(text: str) -> bool:
    """Whether a cell says that there is no value. Missing is never 0."""
    cleaned = text.strip().removeprefix("(!)").strip().lower()
    return cleaned in _MISSING or cleaned.startswith("nan(")


@dataclass(frozen=True)
class Evidence:
    """What a file's cells say of its decimal mark: one example for each reading, and one that fits both."""

    point: str = ""
    comma: str = ""
    ambiguous: str = ""


def gather(cells: Iterable[str]) -> Evidence:
    """Look through numeric cells for values that can be read one way only."""
    point = comma = ambiguous = ""
    for cell in cells:
        text = cell.strip().translate(_SPACES)
        if _PLAIN.fullmatch(text) or _SCIENTIFIC.fullmatch(text):
            continue
        if _AMBIGUOUS.fullmatch(text):
            ambiguous = ambiguous or cell
        elif not point and _EVIDENCE["point"].fullmatch(text):
            point = cell
        elif not comma and _EVIDENCE["comma"].fullmatch(text):
            comma = cell
    return Evidence(point, comma, ambiguous)


def decide(evidence: Evidence, where: str) -> Mark:
    """The decimal mark of a file. Raises InputError when its values contradict each other or leave it open."""
    if evidence.point and evidence.comma:
        raise InputError(
            f"{where} mixes decimal marks: {evidence.point!r} and {evidence.comma!r}",
            hint="files of two locales were put together; give them separately, or state --decimal point|comma",
        )
    if evidence.comma:
        return "comma"
    if evidence.point or not evidence.ambiguous:
        return "point"
    raise InputError(
        f"{where}: {evidence.ambiguous!r} may hold a thousands separator or a decimal mark; no other value decides it",
        hint="state it: " + " or ".join(f"--decimal {mark} ({example})" for mark, example in EXAMPLES.items()),
    )


def parse_number(text: str, mark: Mark) -> Decimal | None:
    """Exact value of a cell, None when missing. Raises ValueError when it is no number under ``mark``."""
    if is_missing(text):
        return None
    cleaned = text.strip().removeprefix("(!)").strip().translate(_SPACES)
    group, decimal = (",", ".") if mark == "point" else (".", ",")
    whole, mark_seen, fraction = cleaned.partition(decimal)
    if group in whole and not re.fullmatch(rf"[+-]?\d{{1,3}}(?:{re.escape(group)}\d{{3}})+", whole):
        raise ValueError(text)
    plain = whole.replace(group, "") + ("." + fraction if mark_seen else "")
    if not _NUMBER.fullmatch(plain):
        raise ValueError(text)
    return Decimal(plain)


def to_base(value: Decimal, unit: Unit) -> Number:
    """``value`` in SI base units: an int when it is whole and counted, else a float."""
    scaled = value if unit.factor == 1.0 else value * Decimal(repr(unit.factor))
    if unit.dimension in ("count", "bytes", "ratio") and scaled == scaled.to_integral_value():
        return int(scaled)
    return float(scaled)


def split_glued(text: str) -> tuple[str, str]:
    """Split ``81.498514%`` or ``40.860352KB`` into number and unit; the unit is empty when there is none."""
    match = _GLUED.fullmatch(text.strip())
    return (match.group(1), match.group(2)) if match else (text, "")


def lost_digits(text: str) -> bool:
    """Whether a cell is in exponent form, as a spreadsheet writes large counts after rounding them."""
    return re.fullmatch(r"[+-]?\d+(?:[.,]\d+)?[eE]\+\d+", text.strip()) is not None
