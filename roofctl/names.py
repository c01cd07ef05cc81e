"""Kernel names: the function's base name, and short names for pictures.

Identity is always the full demangled name; what this module returns is for display
and for ``--kernel`` filters.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

_OPEN: Final = {")": "(", "]": "[", "}": "{", ">": "<"}
_TRAILING: Final = re.compile(r"\s*(?:const|volatile|&|&&|noexcept|\[clone [^\]]*\]|\[with .*\])\s*$")
_OPERATOR_END: Final = re.compile(r"(?:^|[^\w])operator\s*(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[<>!=+\-*/%^&|~]=?|&&|\|\||\+\+|--|,)?$")
_ELLIPSIS: Final = "…"


def _group_start(text: str) -> int:
    """Index of the bracket that opens the group which ``text`` ends with, or -1.

    A ``>`` may be unbalanced (names cut by a profiler) and ``->`` is not a bracket.
    """
    opener = _OPEN[text[-1]]
    closer = text[-1]
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        char = text[index]
        if char == closer and not (char == ">" and index and text[index - 1] == "-"):
            depth += 1
        elif char == opener:
            depth -= 1
            if depth == 0:
                return index
    return -1


def _cut_parameters(name: str) -> str:
    while (shorter := _TRAILING.sub("", name)) != name:
        name = shorter
    if not name.endswith(")"):
        return name
    start = _group_start(name)
    head = name[:start].rstrip()
    # operator() with nothing after it is the name itself, not a parameter list.
    if start <= 0 or re.search(r"(?:^|\W)operator$", head):
        return name
    return head


def _cut_templates(name: str) -> str:
    while name and name[-1] in ">]" and not _OPERATOR_END.search(name):
        start = _group_start(name)
        if start <= 0:
            break
        name = name[:start].rstrip()
    return name


def _last_scope(name: str) -> str:
    """What follows the last ``::`` outside brackets."""
    depth = 0
    for index in range(len(name) - 1, 0, -1):
        char = name[index]
        if char in ")]}" or (char == ">" and name[index - 1] != "-"):
            depth += 1
        elif char in "([{<":
            depth -= 1
        elif char == ":" and name[index - 1] == ":" and depth <= 0:
            return name[index + 1 :]
    return name


def base_name(kernel: str) -> str:
    """The function's own name: no return type, scope, template arguments or parameters.

    ``void at::native::foo<4, float>(int, T2)`` gives ``foo``. A name that does not
    look like C++ is returned as it is; the result is never empty.
    """
    name = kernel.strip()
    if not name:
        return kernel
    name = _cut_parameters(name)
    name = _cut_templates(name)
    operator = re.search(r"operator\b.*$", name)
    if operator and "::" not in operator.group(0):
        return operator.group(0).strip()
    name = _last_scope(name)
    # The return type of a templated function stands before the name.
    words = name.split()
    return words[-1] if words else kernel


def elide(text: str, width: int) -> str:
    """``text`` cut in its middle to at most ``width`` characters."""
    if len(text) <= width:
        return text
    head = (width - 1 + 1) // 2
    tail = width - 1 - head
    return text[:head] + _ELLIPSIS + (text[-tail:] if tail else "")


def _with_templates(kernel: str) -> str:
    """Base name with its template arguments: the next shortest way to tell two kernels apart."""
    base = base_name(kernel)
    body = _cut_parameters(kernel.strip())
    position = body.rfind(base)
    return body[position:] if position >= 0 else kernel


def short_names(kernels: Iterable[str], width: int = 48) -> dict[str, str]:
    """A distinct short name per full name.

    The base name where it is unique, else with template arguments, else with the
    parameters, else numbered; each elided in the middle to ``width`` characters.
    """
    full = list(dict.fromkeys(kernels))
    result: dict[str, str] = {}
    pending = full
    for form in (base_name, _with_templates, str.strip):
        shorts = {kernel: elide(form(kernel), width) for kernel in pending}
        taken = Counter(shorts.values())
        used = set(result.values())
        result.update({k: s for k, s in shorts.items() if taken[s] == 1 and s not in used})
        pending = [k for k in pending if k not in result]
    numbers: defaultdict[str, int] = defaultdict(int)
    for kernel in pending:
        stem = base_name(kernel)
        numbers[stem] += 1
        suffix = f" #{numbers[stem]}"
        result[kernel] = elide(stem, width - len(suffix)) + suffix
    return {kernel: result[kernel] for kernel in full}
