"""One spelling for what compilers, demanglers and profilers write in several ways, and short forms of C++ types."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from roofctl.core.kernel_names import brackets, name_parts

# Each expression starts at a word boundary or at a bracket: names are untrusted, and time must stay linear.
_STEPS: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        # (int)4 of reports and tables before 2025, int=4 of nvprof, 4ul of Itanium demanglers.
        (r"(?<=[<,(\s])\((?:[\w:]+ )*[\w:]+\)(?=-?\d)", ""),
        (r"\b(?<=[<,(\s])[\w:]+=(?=-?\d)", ""),
        (r"(?<![\w.])(-?\d+)(?:ull|ul|u|ll|l)\b", r"\1"),
        (r"(?<=[<,(\s])true(?=[,>)])", "1"),
        (r"(?<=[<,(\s])false(?=[,>)])", "0"),
        (r"\(anonymous namespace\)::|<unnamed>::|^unnamed>::|\b_GLOBAL__N_\w*::", ""),
        # [lambda(float) (instance 2)] of ncu, {lambda(float)#2} of GNU, 'lambda0'(float) of LLVM.
        (r"\) \(instance (\d+)\)\]", r")#\1]"),
        (r"\{lambda\(", "[lambda("),
        (r"\)#(\d+)\}", r")#\1]"),
        (r"'lambda(\d*)'\(([^()]*)\)", lambda match: f"[lambda({match[2]})#{int(match[1]) + 2 if match[1] else 1}]"),
        (r"\boperator \(\)", "operator()"),
        (r"\bconst::\[", "::["),
        (r"(?<=\)) const::", "::"),
        (r" (?=[*&])", ""),
        (r"> (?=>)", ">"),
        (r",(?=[^\s])", ", "),
        # Constants as types: cute::C<64>, cute::_64, std::integral_constant<int, 64>.
        (r"\b(?:cute::)?C<(\d+)>|\bcute::_(\d+)\b", lambda match: match[1] or match[2]),
        (r"\bintegral_constant<[\w ]+, (-?\w+)>", r"\1"),
        (r"\b(?:std|cute|thrust|cuda)::(?=-?\d)", ""),
    )
)
_SCOPE: Final = re.compile(r"\b[A-Za-z_]\w*::(?=[\w\[~])")
_LAMBDA: Final = re.compile(r"(?:::)?\[lambda")
_LAMBDA_NUMBER: Final = re.compile(r"#(\d+)\](?:::operator\(\)\(\))?$")
_LONGEST_TYPE: Final = 24
"""A type is printed with its template arguments up to this length."""
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=2**15)
def plain_spelling(name: str) -> str:
    """A demangled name in the one spelling that rules are written for."""
    for pattern, by in () if name.isidentifier() else _STEPS:
        name = pattern.sub(by, name)
    return name


def without_scopes(text: str) -> str:
    """``Sum<Half>`` for ``cub::Sum<c10::Half>``."""
    return _SCOPE.sub("", text)


def split_arguments(text: str) -> list[str]:
    """The parts between the commas outside brackets."""
    depth, begin, pieces = 0, 0, []
    for match in re.finditer(r"->|[<(\[{>)\]},]", text):
        char = match.group()
        if char == "," and depth == 0:
            pieces.append(text[begin : match.start()].strip())
            begin = match.end()
        elif char not in (",", "->"):
            depth += 1 if char in "<([{" else -1
    return [*pieces, text[begin:].strip()] if text.strip() else []


def argument_of(text: str, template: re.Pattern[str], number: int) -> str | None:
    """Argument ``number``, from 1, of the first template in ``text`` whose name matches; None where there is none."""
    head = template.search(text)
    if head is None or text[head.end() : head.end() + 1] != "<":
        return None
    closers = {opener: closer for closer, opener in brackets(text).items()}
    arguments = split_arguments(text[head.end() + 1 : closers.get(head.end(), len(text))])
    return arguments[number - 1] if 0 < number <= len(arguments) else None


def functor(text: str) -> str:
    """What a user calls a functor: its type, or ``Class::function lambda 2`` for a lambda."""
    if first := _LAMBDA.search(text):
        number = _LAMBDA_NUMBER.search(text)
        return (place(text[: first.start()]) + f" lambda {number[1] if number else ''}").strip()
    simple = without_scopes(text)
    return simple if len(simple) <= _LONGEST_TYPE else name_parts(simple).base


def place(text: str) -> str:
    """``Class::function`` of a function's full name."""
    parts = name_parts(text)
    owner = name_parts(parts.scope.removesuffix("::")).base if parts.scope.endswith("::") else ""
    return f"{owner}::{parts.base}" if owner else parts.base


def words(text: str) -> str:
    """``radix sort onesweep`` for ``RadixSortOnesweep`` or ``radix_sort_onesweep``."""
    return _CAMEL.sub(" ", text).replace("_", " ").strip().lower()
