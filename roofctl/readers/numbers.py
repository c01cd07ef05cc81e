"""Numbers as profilers print them: thousands separators, decimal separators, units behind them, words for "no value".

A file's decimal separator follows the locale that the profiler ran under and is decided
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

DecimalSeparator = Literal["point", "comma"]
Number = int | float

COUNTED: Final = ("count", "bytes", "ratio")
"""Dimensions whose whole values are integers."""

EXAMPLES: Final[dict[DecimalSeparator, str]] = {"point": "1,234.5", "comma": "1.234,5"}

MISSING: Final = frozenset(
    {"", "n/a", "na", "nan", "-nan", "inf", "-inf", "+inf", "infinity", "no data", "none", "null", "-", "<overflow>"}
)
SPACES: Final = " \u00a0\u202f'’"
"""Thousands separators of some locales that are no decimal separator anywhere."""
# Decimal() takes more than profilers print: underscores, other scripts' digits, sNaN.
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_NO_SPACES: Final = str.maketrans("", "", SPACES)
_GLUED: Final = re.compile(r"([+-]?[\d.,]+(?:[eE][+-]?\d+)?)([A-Za-z%µ].*)")

# The patterns below are read by Python's re and by RE2 (pyarrow) alike.
AMBIGUOUS: Final = r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}"


def _evidence_pattern(group: str, decimal: str) -> str:
    g, d = re.escape(group), re.escape(decimal)
    return (
        rf"[+-]?(?:[0-9]{{1,3}}(?:{g}[0-9]{{3}})+{d}[0-9]+"  # both separators
        rf"|[0-9]{{1,3}}(?:{g}[0-9]{{3}}){{2,}}"  # two thousands separators
        rf"|[0-9]+{d}(?:[0-9]{{1,2}}|[0-9]{{4,}})"  # not three digits after the separator
        rf"|(?:[0-9]{{4,}}|0){d}[0-9]+"  # what stands before the separator cannot be a group
        rf"|[0-9]*{d}[0-9]+[eE][+-]?[0-9]+)"
    )


EVIDENCE: Final[dict[DecimalSeparator, str]] = {
    "point": _evidence_pattern(",", "."),
    "comma": _evidence_pattern(".", ","),
}
"""Numbers that can be read one way only; those that ``AMBIGUOUS`` matches are not among them."""

PLAIN: Final[dict[DecimalSeparator, str]] = {
    "point": r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?",
    "comma": r"(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]+)(?:,[0-9]+)?",
}
"""Numbers without sign or exponent; none of them is evidence for the other separator."""


def is_missing(text: str) -> bool:
    """Whether a cell says that there is no value. Missing is never 0."""
    cleaned = text.strip().removeprefix("(!)").strip().lower()
    return cleaned in MISSING or cleaned.startswith("nan(")


@dataclass(frozen=True)
class Evidence:
    """A file's cells as evidence for its decimal separator: an example for each reading, and one that fits both."""

    point: str = ""
    comma: str = ""
    ambiguous: str = ""


def gather(cells: Iterable[str]) -> Evidence:
    """The first numeric cell of each kind among those that can be read one way only, or either way."""
    point = comma = ambiguous = ""
    for cell in cells:
        text = without_spaces(cell)
        if re.fullmatch(AMBIGUOUS, text):
            ambiguous = ambiguous or cell
        elif not point and re.fullmatch(EVIDENCE["point"], text):
            point = cell
        elif not comma and re.fullmatch(EVIDENCE["comma"], text):
            comma = cell
    return Evidence(point, comma, ambiguous)


def without_spaces(cell: str) -> str:
    """``cell`` without blanks around it and without ``SPACES``."""
    return cell.strip().translate(_NO_SPACES)


def decide(evidence: Evidence, where: str) -> DecimalSeparator:
    """The decimal separator of a file. Raises InputError when its values contradict each other or leave it open."""
    if evidence.point and evidence.comma:
        raise InputError(
            f"{where} mixes decimal separators: {evidence.point!r} and {evidence.comma!r}",
            hint="files of two locales were put together; give them separately, or state --decimal point|comma",
        )
    if evidence.comma:
        return "comma"
    if evidence.point or not evidence.ambiguous:
        return "point"
    raise InputError(
        f"{where}: {evidence.ambiguous!r} may hold a thousands separator or a decimal separator; "
        "no other value decides it",
        hint="state it: " + " or ".join(f"--decimal {decimal} ({example})" for decimal, example in EXAMPLES.items()),
    )


def parse_number(text: str, decimal: DecimalSeparator) -> Decimal | None:
    """Exact value of a cell, None when missing. Raises ValueError when it is no number under ``decimal``."""
    if is_missing(text):
        return None
    cleaned = without_spaces(text.strip().removeprefix("(!)"))
    group, separator = (",", ".") if decimal == "point" else (".", ",")
    whole, separated, fraction = cleaned.partition(separator)
    if group in whole and not re.fullmatch(rf"[+-]?\d{{1,3}}(?:{re.escape(group)}\d{{3}})+", whole):
        raise ValueError(text)
    plain = whole.replace(group, "") + ("." + fraction if separated else "")
    if not _NUMBER.fullmatch(plain):
        raise ValueError(text)
    return Decimal(plain)


def to_base(value: Decimal, unit: Unit) -> Number:
    """``value`` in SI base units: an int when it is a whole number and counted, else a float."""
    scaled = value if unit.factor == 1.0 else value * Decimal(repr(unit.factor))
    if unit.dimension in COUNTED and scaled == scaled.to_integral_value():
        return int(scaled)
    return float(scaled)


def split_glued(text: str) -> tuple[str, str]:
    """Split ``81.498514%`` or ``40.860352KB`` into number and unit; the unit is empty when there is none."""
    match = _GLUED.fullmatch(text.strip())
    return (match.group(1), match.group(2)) if match else (text, "")


def lost_digits(text: str) -> bool:
    """Whether a cell is in exponent form, as a spreadsheet writes large counts after rounding them."""
    return re.fullmatch(r"[+-]?\d+(?:[.,]\d+)?[eE]\+\d+", text.strip()) is not None
