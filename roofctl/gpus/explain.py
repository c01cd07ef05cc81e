"""Turn pydantic's errors into one line per problem: key, what was seen, what is expected."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Mapping
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from roofctl.gpus.spelling import yaml_number
from roofctl.gpus.yamlfile import KeyPath

_EXPECTED: Final[Mapping[str, str]] = {
    "int_type": "a whole number",
    "float_type": "a number",
    "greater_than": "a number above 0",
    "finite_number": "a finite number",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "tuple_type": "a list such as [one, two]",
    "dict_type": "a mapping (key: value)",
}
_PATTERNS: Final[Mapping[str, str]] = {
    "compute_capability": 'a quoted text such as "9.0"',
    "chip": "a chip as ncu names it, such as gh100",
}
_NAME_FORM: Final = "a lower-case name of letters, digits, - and ."
_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (bool, "a truth value"),
    (str, "a text"),
    (int, "a whole number"),
    (float, "a number"),
    (dict, "a mapping"),
    (list, "a list"),
)
_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


def dotted(key: KeyPath) -> str:
    """("memory", "bus_bits", "value") -> "memory.bus_bits.value"."""
    return ".".join(str(part) for part in key)


def seen(value: object) -> str:
    """A value as the message shows it, with its type, which YAML may have read otherwise than it was meant."""
    if value is None:
        return "null"
    kind = next((text for cls, text in _KINDS if isinstance(value, cls)), type(value).__name__)
    return f"{_SHORT.repr(value)} ({kind})"


def explain(error: ErrorDetails, model: type[BaseModel]) -> tuple[KeyPath, str]:
    """The key of one validation error and the sentence about it."""
    key: KeyPath = error["loc"]
    kind = error["type"]
    if kind == "missing":
        return key, "missing; expected " + _description(key, model)
    if kind == "extra_forbidden":
        return key, "unknown key; " + _known_keys(str(key[-1]), allowed_keys(key[:-1], model))
    if kind == "literal_error" and key[-1] == "[key]":
        return key[:-1], "unknown key; expected " + error["ctx"]["expected"]
    if kind == "value_error":
        return key, str(error["ctx"]["error"])
    return key, f"seen {seen(error['input'])}, expected {_expected(error, model)}"


def _expected(error: ErrorDetails, model: type[BaseModel]) -> str:
    key, kind, value = error["loc"], error["type"], error["input"]
    if kind in ("int_type", "float_type"):
        return _EXPECTED[kind] + _number_advice(value, integer=kind == "int_type")
    if kind == "literal_error":
        return str(error["ctx"]["expected"])
    if kind == "model_type":
        return _description(key, model)
    if kind in ("string_pattern_mismatch", "string_type"):
        if key[-1] in ("name", "profile") or (key and key[0] == "aliases"):
            return _NAME_FORM
        return _PATTERNS.get(str(key[-1]), _EXPECTED["string_type"] + " (put it in quotes)")
    return _EXPECTED.get(kind, error["msg"])


def _number_advice(value: object, *, integer: bool) -> str:
    """How to spell a number that YAML took for something else."""
    if value is None:
        return "; it must be known, there is no roofline without it"
    if isinstance(value, float) and integer and value.is_integer():
        return f": write {int(value)}"
    if not isinstance(value, str):
        return ""
    try:
        number = float(value)
    except ValueError:
        return ""
    spelling = str(int(number)) if integer and number.is_integer() else yaml_number(number)
    if value.strip() == spelling:
        return f": write {spelling} without quotes"
    return f": YAML takes {value} for text, write {spelling}"


def allowed_keys(key: KeyPath, model: type[BaseModel]) -> tuple[str, ...]:
    """The keys that may stand under ``key``, or none when any may."""
    annotation: Any = model
    for part in key:
        annotation = _step(annotation, part)
    inner = _model_in(annotation)
    return tuple(inner.model_fields) if inner else ()


def _step(annotation: Any, part: str | int) -> Any:
    inner = _model_in(annotation)
    if inner is not None:
        field = inner.model_fields.get(str(part))
        return field.annotation if field else None
    return get_args(annotation)[-1] if get_origin(annotation) is dict else None


def _model_in(annotation: Any) -> type[BaseModel] | None:
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel) and get_origin(annotation) is not dict:
            return candidate
    return None


def _description(key: KeyPath, model: type[BaseModel]) -> str:
    keys = allowed_keys(key, model)
    if "basis" in keys:
        return "a fact {value: ..., basis: ..., source: ...}"
    if keys:
        return "a mapping with the keys " + ", ".join(keys)
    return _PATTERNS.get(str(key[-1]), "a value")


def _known_keys(key: str, allowed: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(key, allowed, n=1)
    return f"did you mean {close[0]}?" if close else "expected one of " + ", ".join(allowed)
