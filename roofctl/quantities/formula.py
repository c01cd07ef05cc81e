"""Formulas of the user's own quantities: numbers and counters with ``+ - * /`` and parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

T = TypeVar("T")

_TOKEN: Final = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?(?![\w.]))|([A-Za-z_][\w.]*(?:::[\w.]+)*)|([-+*/()]))")
_LONGEST: Final = 2_000
_DEEPEST: Final = 20
_MOST_COUNTERS: Final = 64
_PRECEDENCE: Final[Mapping[str, int]] = {"+": 1, "-": 1, "*": 2, "/": 2}


@dataclass(frozen=True)
class Formula:
    """A tree: a number, a counter, or an operation on two others."""

    operation: str
    number: float = 0.0
    counter: str = ""
    parts: tuple[Formula, ...] = ()

    @property
    def counters(self) -> tuple[str, ...]:
        """The counters in it, each once, in order of appearance."""
        of_parts = (name for part in self.parts for name in part.counters)
        return (self.counter,) if self.counter else tuple(dict.fromkeys(of_parts))

    @property
    def quotient(self) -> tuple[Formula, Formula] | None:
        """What is divided by what with counters in it, where that is the last operation; None for other formulas."""
        if self.operation != "/" or not self.parts[1].counters:
            return None
        return self.parts[0], self.parts[1]

    def over(self, divisor: int) -> Formula:
        """This formula divided by a number."""
        return Formula("/", parts=(self, Formula("number", number=float(divisor))))

    def value(self, column: Callable[[str], T], divide: Callable[[Any, Any], Any]) -> T:
        """The result; ``column`` gives the values of a counter, ``divide`` the quotient of two values."""
        if self.operation == "number":
            return int(self.number) if self.number.is_integer() else self.number  # type: ignore[return-value]
        if self.operation == "counter":
            return column(self.counter)
        left, right = (part.value(column, divide) for part in self.parts)
        if self.operation == "/":
            return divide(left, right)  # type: ignore[no-any-return]
        operations: dict[str, Callable[[Any, Any], Any]] = {
            "+": lambda a, b: a + b,
            "-": lambda a, b: a - b,
            "*": lambda a, b: a * b,
        }
        return operations[self.operation](left, right)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        if self.operation == "number":
            return f"{self.number:g}"
        if self.operation == "counter":
            return self.counter
        own = _PRECEDENCE[self.operation]
        left, right = self.parts
        texts = [_nested(left, own), _nested(right, own + (self.operation in "-/"))]
        return f" {self.operation} ".join(texts)


def _nested(part: Formula, least: int) -> str:
    return f"({part})" if _PRECEDENCE.get(part.operation, 3) < least else str(part)


def parse_formula(text: str) -> Formula:
    """The formula in ``text``. Raises ValueError with what is wrong, for a message that names the key."""
    if len(text) > _LONGEST:
        raise ValueError(f"seen a formula of {len(text):,} characters, expected at most {_LONGEST:,}")
    parser = _Parser(_tokens(text))
    formula = parser.sum(0)
    if parser.tokens:
        raise ValueError(f"seen {parser.tokens[0]!r} where an operation is expected")
    if not formula.counters:
        raise ValueError("seen no counter in the formula, expected one at least")
    if len(formula.counters) > _MOST_COUNTERS:
        raise ValueError(f"seen {len(formula.counters)} counters, expected at most {_MOST_COUNTERS}")
    return formula


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    place, text = 0, text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"seen {text[place : place + 20].strip()!r}, expected a counter, a number, or + - * / ( )")
        tokens.append(match.group().strip())
        place = match.end()
    return tokens


@dataclass
class _Parser:
    """Recursive descent over the tokens that are left."""

    tokens: list[str]

    def sum(self, depth: int) -> Formula:
        return self._chain("+-", depth, lambda: self._chain("*/", depth, lambda: self._factor(depth)))

    def _chain(self, operations: str, _depth: int, operand: Callable[[], Formula]) -> Formula:
        """Operands joined from the left by operations of one precedence."""
        result = operand()
        while self.tokens and self.tokens[0] in operations:
            operation = self.tokens.pop(0)
            result = Formula(operation, parts=(result, operand()))
        return result

    def _factor(self, depth: int) -> Formula:
        if depth > _DEEPEST:
            raise ValueError(f"seen parentheses more than {_DEEPEST} deep")
        if not self.tokens:
            raise ValueError("the formula ends where a counter or a number is expected")
        first = self.tokens.pop(0)
        if first == "(":
            inner = self.sum(depth + 1)
            if not self.tokens or self.tokens.pop(0) != ")":
                raise ValueError("a parenthesis is not closed")
            return inner
        if first in "+-*/)":
            raise ValueError(f"seen {first!r} where a counter or a number is expected")
        if first[0].isdigit():
            return Formula("number", number=float(first))
        return Formula("counter", counter=first)
