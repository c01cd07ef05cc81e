"""Spell numbers so that PyYAML (YAML 1.1) reads them back as numbers."""

from __future__ import annotations


def yaml_number(value: float) -> str:
    """4.8e12 -> "4.8e+12". PyYAML wants a point and a signed exponent; it takes 4.8e12 for text."""
    if isinstance(value, int):
        return str(value)
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        mantissa, _, exponent = f"{value:.15e}".partition("e")
        mantissa = mantissa.rstrip("0")
    if "." not in mantissa or mantissa.endswith("."):
        mantissa = f"{mantissa.rstrip('.')}.0"
    text = f"{mantissa}e{int(exponent):+d}"
    return text if float(text) == value else repr(value)
