"""Kernel names: the function's base name, and short names for pictures.

Identity is always the full demangled name; what this module returns is for display
and for ``--kernel`` filters.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

_OPEN: Final = {")": "(", "]": "[", "}": "{", ">": "<"}
_TRAILING: Final = re.compile(r"\s*(?:const|volatile|&|&&|noexcept|\[clone [^\]]*\]|\[with .*\])\s*$")
_OPERATOR_END: Final = re.compile(
    r"(?:^|[^\w])operator\s*(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[<>!=+\-*/%^&|~]=?|&&|\|\||\+\+|--|,)?$"
)
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
    if wrapped := _WRAPPED.search(name):
        return wrapped["name"]
    name = _cut_templates(name)
    operator = re.search(r"\boperator\b.*$", name)
    if operator and "::" not in operator.group(0):
        return operator.group(0).strip()
    name = _last_scope(name)
    # The return type of a templated function stands before the name.
    words = name.split()
    return words[-1] if words else kernel


def matches(kernel: str, keep: str = "", drop: str = "", *, full: bool = False) -> bool:
    """Whether a kernel's base name, or its ``full`` one, matches ``keep`` and not ``drop``; empty is no filter.

    A kernel of CUTLASS also goes by the name of the function that launches it, as in a profiler's own filter.
    """
    names = [kernel] if full else [base_name(kernel)]
    if not full and (wrapped := _WRAPPED.search(_cut_parameters(kernel.strip()))):
        names.append(wrapped["function"])
    return any(re.search(keep, name) for name in names) and not (drop and any(re.search(drop, name) for name in names))


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


def _with_templates(kernel: str) -> str:
    """Base name with its template arguments, which may differ between kernels of one base name."""
    base = base_name(kernel)
    body = _cut_parameters(kernel.strip())
    position = body.rfind(base)
    return body[position:] if position >= 0 else kernel


def short_names(kernels: Iterable[str], width: int = 48) -> dict[str, str]:
    """A distinct short name per full name.

    The base name where it is unique; for kernels that share it, all of them with template
    arguments, or with parameters, where these fit and differ; else numbered.
    Names are elided in the middle to ``width`` characters.
    """
    full = list(dict.fromkeys(kernels))
    families: defaultdict[str, list[str]] = defaultdict(list)
    for kernel in full:
        families[elide(base_name(kernel), width)].append(kernel)
    result: dict[str, str] = {}
    for stem, members in families.items():
        result.update({members[0]: stem} if len(members) == 1 else _distinct_names(stem, members, width))
    return {kernel: result[kernel] for kernel in full}


def _distinct_names(stem: str, members: list[str], width: int) -> dict[str, str]:
    """Short names of kernels that share their base name, all of one form."""
    for form in (_with_templates, _with_differences(members), str.strip):
        shorts = [form(kernel) for kernel in members]
        if len(set(shorts)) == len(members) and max(map(len, shorts)) <= width:
            return dict(zip(members, shorts, strict=True))
    suffixes = [f" #{number}" for number in range(1, len(members) + 1)]
    return {k: elide(stem, width - len(suffix)) + suffix for k, suffix in zip(members, suffixes, strict=True)}


def _with_differences(members: Sequence[str]) -> Callable[[str], str]:
    """Base name with those of its template arguments that are not the same in all ``members``."""
    arguments = {kernel: _template_arguments(kernel) for kernel in members}
    rows = itertools.zip_longest(*arguments.values(), fillvalue="")
    differing = [place for place, row in enumerate(rows) if len(set(row)) > 1]

    def form(kernel: str) -> str:
        own = [arguments[kernel][place] for place in differing if place < len(arguments[kernel])]
        return f"{base_name(kernel)}<{', '.join(own)}>" if own else base_name(kernel)

    return form


def _template_arguments(kernel: str) -> list[str]:
    """Template arguments of the function, as far as it has any."""
    named = _with_templates(kernel)
    begin = len(base_name(kernel))
    if not (named[begin:].startswith("<") and named.endswith(">")):
        return []
    depth, pieces = 0, [""]
    for char in named[begin + 1 : -1]:
        depth += (char in "<([{") - (char in ">)]}")
        if char == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return [piece.strip() for piece in pieces]
