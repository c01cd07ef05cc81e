"""Kernel names: their parts, the function's base name, and how names are printed.

Identity is always the full demangled name; what this module returns is for display and for filters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_OPENERS: Final = {")": "(", "]": "[", "}": "{", ">": "<"}
_BRACKET: Final = re.compile(r"[()\[\]{}<>]")
_TRAILING_WORDS: Final = ("const", "volatile", "&", "noexcept")
_OPERATOR_END: Final = re.compile(
    r"(?:^|[^\w])operator\s*(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[<>!=+\-*/%^&|~]=?|&&|\|\||\+\+|--|,)?$"
)
_LONGEST_OPERATOR: Final = 24
"""Characters at the end of a name that may belong to an operator's name."""
_OPERATOR: Final = re.compile(r"\boperator\b")
_ELLIPSIS: Final = "…"
# Characters that steer a terminal, or hide and reorder text: controls (C0 and C1), directional formatting,
# zero widths, and halves of surrogate pairs, which no stream can encode.
_STEERING: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")

# CUTLASS launches every kernel through one function, whose template argument has the name.
_WRAPPED: Final = re.compile(r"\b(?P<function>Kernel2?)<(?P<name>cutlass_\w+)>$")

_CAST: Final = re.compile(
    r"(?<=[<,(\s])\((?:bool|char|(?:signed|unsigned) char|(?:unsigned )?(?:short|int|long|long long))\)(?=-?\d)"
)


def without_casts(name: str) -> str:
    """``f<4>(T1 *)`` for ``f<(int)4>(T1 *)``.

    Both name one kernel: tables of ncu have the first form since 2025, its reports and older tables the second.
    """
    return _CAST.sub("", name)


@dataclass(frozen=True)
class NameParts:
    """What a function's name is made of.

    ``scope`` ends with ``::`` where there is one, and may begin with a return type. ``arguments`` and ``parameters``
    are the text between the brackets of the template arguments and of the parameter list. ``function`` is the one
    that launches a kernel of CUTLASS, whose base name is its template argument; else empty.
    """

    scope: str
    base: str
    arguments: str
    parameters: str
    function: str = ""


@lru_cache(maxsize=2**15)
def name_parts(kernel: str) -> NameParts:
    """The parts of a demangled name, in time proportional to its length; of any other text the base is all of it."""
    if kernel.isidentifier():
        return NameParts("", kernel, "", "")
    name = kernel.strip()
    openers = brackets(name)
    end = _without_trailing(name, openers)
    parameters = arguments = ""
    start = openers.get(end - 1, -1)
    # operator() with nothing after it is the name itself, not a parameter list.
    if name[end - 1 : end] == ")" and start > 0 and not _ends_with_operator_word(head := name[:start].rstrip()):
        parameters, end = name[start + 1 : end - 1], len(head)
    if wrapped := _WRAPPED.search(name, 0, end):
        return NameParts(name[: wrapped.start()], wrapped["name"], "", parameters, wrapped["function"])
    while end and name[end - 1] in ">]" and not _OPERATOR_END.search(name, max(0, end - _LONGEST_OPERATOR), end):
        start = openers.get(end - 1, -1)
        if start <= 0:
            break
        if name[start] == "[" and name[start - 1] == ":":
            return NameParts(name[:start], name[start:end], arguments, parameters)  # a lambda
        if name[start] == "<":
            arguments = name[start + 1 : end - 1]
        end = _rstrip(name, start)
    operator = _OPERATOR.search(name, 0, end)
    if operator and "::" not in name[operator.start() : end] and "\n" not in name[operator.start() : end]:
        return NameParts(name[: operator.start()], name[operator.start() : end].strip(), arguments, parameters)
    begin = _last_scope(name, end)
    # The return type of a templated function stands before the name.
    words = name[begin:end].split()
    base = words[-1] if words else kernel
    return NameParts(name[: max(begin, end - len(base))] if words else "", base, arguments, parameters)


def brackets(text: str) -> Mapping[int, int]:
    """Per closing bracket the index of the one that it closes, or -1; ``->`` is no bracket.

    Kinds are matched apart from each other, since ``>`` and ``<`` may be unbalanced (names cut by a profiler).
    """
    opened: dict[str, list[int]] = {opener: [] for opener in "([{<"}
    result = {}
    for match in _BRACKET.finditer(text):
        index, char = match.start(), match.group()
        if char in opened:
            opened[char].append(index)
        elif not (char == ">" and index and text[index - 1] == "-"):
            waiting = opened[_OPENERS[char]]
            result[index] = waiting.pop() if waiting else -1
    return result


def _rstrip(text: str, end: int) -> int:
    """The end of ``text[:end]`` without the white space at its end."""
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _without_trailing(name: str, openers: Mapping[int, int]) -> int:
    """Where a name ends without qualifiers, gcc's ``[with …]`` and other remarks in brackets after a space."""
    end = len(name)
    listed = name.find("[with ")
    while end:
        end = _rstrip(name, end)
        word = next((word for word in _TRAILING_WORDS if name.endswith(word, 0, end)), "")
        start = openers.get(end - 1, -1) if name.endswith("]", 0, end) else -1
        if word and not (word.isalpha() and name[end - len(word) - 1 : end - len(word)].isalnum()):
            end -= len(word)
        elif (
            start > 0
            and name[start - 1] == " "
            and not _ends_with_operator_word(name[max(0, start - _LONGEST_OPERATOR) : start])
        ):
            end = start
        elif name.endswith("]", 0, end) and 0 <= listed < end:
            end = listed
        else:
            break
    return end


def _ends_with_operator_word(text: str) -> bool:
    return re.search(r"(?:^|\W)operator$", text.rstrip()[-len("operator") - 1 :]) is not None


def _last_scope(name: str, end: int) -> int:
    """Where the part after the last ``::`` outside brackets begins in ``name[:end]``; 0 where there is none."""
    depth = 0
    for index in range(end - 1, 0, -1):
        char = name[index]
        if char in ")]}" or (char == ">" and name[index - 1] != "-"):
            depth += 1
        elif char in "([{<":
            depth -= 1
        elif char == ":" and name[index - 1] == ":" and depth <= 0:
            return index + 1
    return 0


def base_name(kernel: str) -> str:
    """The function's own name: no return type, scope, template arguments or parameters.

    ``void at::native::foo<4, float>(int, T2)`` gives ``foo``. A name that does not
    look like C++ is returned as it is; the result is never empty.
    """
    return name_parts(kernel).base


def visible(text: str, keep: str = "") -> str:
    r"""``text`` with characters that steer a terminal spelled out (``\x1b``), other than those of ``keep``.

    Kernel names, paths and lines of a profiler come from files that anybody may have written.
    """
    return _STEERING.sub(lambda match: match.group() if match.group() in keep else _spelled(match.group()), text)


def _spelled(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"  # noqa: PLR2004


def json_safe(text: str) -> str:
    r"""JSON ``text`` with the same characters in JSON's own escapes (``\u001b``), so that it means the same."""
    return _STEERING.sub(lambda match: match.group() if match.group() == "\n" else f"\\u{ord(match.group()):04x}", text)


def some(names: Sequence[str], most: int) -> str:
    """The first names as text, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def elide(text: str, width: int) -> str:
    """``text`` cut in its middle to at most ``width`` characters."""
    if len(text) <= width:
        return text
    head = (width - 1 + 1) // 2
    tail = width - 1 - head
    return text[:head] + _ELLIPSIS + (text[-tail:] if tail else "")
