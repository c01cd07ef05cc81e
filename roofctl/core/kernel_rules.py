"""Names by which engineers call the kernels of libraries: the rules of ``kernel_rules.yaml``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final

from roofctl.core import yaml_text
from roofctl.core.errors import InputError
from roofctl.core.kernel_names import name_parts
from roofctl.core.kernel_spelling import argument_of, functor, place, plain_spelling, without_scopes, words

_FILE: Final = "kernel_rules.yaml"
_LONGEST: Final = 8192
"""Characters of a name that rules look at: names are untrusted, and an expression may need the square of it."""
_KEYS: Final = {"for", "function", "in", "find", "arguments", "name", "longer"}
_OPTIONAL: Final = re.compile(r"\[([^\[\]{}]*\{[^{}]+\}[^\[\]{}]*)\]")
_FIELD: Final = re.compile(r"\{(\w+)(?:\|(\w+))?\}")


@dataclass(frozen=True)
class KernelRule:
    """One rule: which kernels it is for, what it takes from their names, and the names it makes, shortest first."""

    title: str
    function: re.Pattern[str]
    whole: bool
    find: tuple[re.Pattern[str], ...]
    arguments: Mapping[str, tuple[re.Pattern[str], int]]
    names: tuple[str, ...]


@dataclass(frozen=True)
class KernelRules:
    """All rules in order of precedence, and the tables that translate what they take from names."""

    rules: tuple[KernelRule, ...]
    tables: Mapping[str, Mapping[str, str]]


@cache
def shipped_rules() -> KernelRules:
    """The shipped rules, read once. A fault in the shipped YAML raises InputError that names the rule."""
    return parse_rules(resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8"))


def parse_rules(text: str) -> KernelRules:
    """Rules as YAML. Raises InputError for a key that is unknown or missing, or a faulty expression."""
    tree: dict[str, Any] = yaml_text.load(text)
    tables = {
        name: {str(word): str(short) for short, listed in table.items() for word in listed}
        for name, table in tree["tables"].items()
    }
    return KernelRules(tuple(_rule(entry, tables) for entry in tree["rules"]), tables)


def _rule(entry: Mapping[str, Any], tables: Mapping[str, Any]) -> KernelRule:
    title = str(entry.get("for", entry))
    if entry.keys() - _KEYS or not {"for", "function", "name"} <= entry.keys():
        raise InputError(f"kernel rule {title}: its keys are not {', '.join(sorted(_KEYS))}")
    find = entry.get("find", [])
    longer = entry.get("longer", [])
    names = (entry["name"], *([longer] if isinstance(longer, str) else longer))
    for field in _FIELD.finditer(" ".join(names)):
        if field[2] and field[2] not in _WAYS and field[2] not in tables:
            raise InputError(f"kernel rule {title}: {field[0]} is in no table")
    arguments = {
        group: (_compiled(rf"\b(?:{head})(?=<)", title), int(number))
        for group, (head, number) in entry.get("arguments", {}).items()
    }
    return KernelRule(
        title=title,
        function=_compiled(entry["function"], title),
        whole=entry.get("in") == "name",
        find=tuple(_compiled(pattern, title) for pattern in ([find] if isinstance(find, str) else find)),
        arguments=arguments,
        names=names,
    )


def _compiled(pattern: str, title: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(f"kernel rule {title}: {pattern!r} is not a regular expression: {error}") from error


@lru_cache(maxsize=2**15)
def names_by_rule(kernel: str) -> tuple[str, ...]:
    """Names of a kernel by the first rule that fits, shortest first; empty where none fits."""
    fitting = _fitting(kernel)
    if fitting is None:
        return ()
    rule, taken = fitting
    return tuple(dict.fromkeys(_filled(name, taken, shipped_rules().tables) for name in rule.names))


def rule_of(kernel: str) -> KernelRule | None:
    """The rule that names a kernel."""
    fitting = _fitting(kernel)
    return fitting[0] if fitting else None


def _fitting(kernel: str) -> tuple[KernelRule, dict[str, str]] | None:
    """The first rule that fits, and what it takes from the name."""
    text = plain_spelling(kernel[:_LONGEST])
    parts = name_parts(text)
    own = f"{parts.base}<{parts.arguments}>" if parts.arguments else parts.base
    for rule in _rules_of(parts.base):
        taken = _taken(rule, text if rule.whole else own)
        if taken is not None:
            return rule, taken
    return None


@lru_cache(maxsize=2**15)
def _rules_of(function: str) -> tuple[KernelRule, ...]:
    return tuple(rule for rule in shipped_rules().rules if rule.function.fullmatch(function))


def _taken(rule: KernelRule, text: str) -> dict[str, str] | None:
    """What the rule takes from ``text``; None where something that it needs is absent."""
    taken: dict[str, str] = {}
    for pattern in rule.find:
        match = pattern.search(text)
        if match is None:
            return None
        taken.update({group: value for group, value in match.groupdict().items() if value})
    for group, (head, number) in rule.arguments.items():
        value = argument_of(text, head, number)
        if value is None:
            return None
        taken[group] = value
    return taken


def _filled(template: str, taken: Mapping[str, str], tables: Mapping[str, Mapping[str, str]]) -> str:
    """A template with its fields; ``[…]`` is left out where its field is absent."""

    def optional(match: re.Match[str]) -> str:
        return match[1] if all(field in taken for field, _ in _FIELD.findall(match[1])) else ""

    def field(match: re.Match[str]) -> str:
        return _written(taken.get(match[1], ""), match[2], tables)

    return _FIELD.sub(field, _OPTIONAL.sub(optional, template)).strip()


_WAYS: Final[Mapping[str, Callable[[str], str]]] = {
    "functor": functor,
    "place": place,
    "words": words,
    "lower": str.lower,
}


def _written(value: str, way: str | None, tables: Mapping[str, Mapping[str, str]]) -> str:
    """A value as a template asks for it: by one of ``_WAYS`` or one of the tables, which leave what they lack."""
    if way and way in _WAYS:
        return _WAYS[way](value)
    simple = without_scopes(value).removeprefix("const ").rstrip("*& ")
    return tables[way].get(simple, simple) if way else value
