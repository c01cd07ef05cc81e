"""What advice is made of: facts that may be unknown, and findings that carry their figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Final

from roofctl.core.levels import LEVEL_LABELS, level_label
from roofctl.core.precisions import COUNTED, PRECISIONS

FP_TYPES: Final = ("fp64", "fp32", "fp16")
"""Types outside tensor cores; ``fp32_flops`` counts the operations of ``fp32``."""

TENSOR_TYPES: Final = tuple(name.removesuffix("_tc") for name in COUNTED if PRECISIONS[name].tensor)
"""Types of tensor cores; ``tensor_tf32_ops`` counts the operations whose ceiling is ``tf32_tc``."""

_AXES: Final = 3


@dataclass(frozen=True)
class Finding:
    """One piece of advice.

    ``kind`` is a stable name, ``text`` one sentence with the figures and what to do, ``figures``
    the same figures under their names.
    """

    kind: str
    text: str
    figures: Mapping[str, float | int] = field(default_factory=dict)


@dataclass(frozen=True)
class KernelFacts:
    """What is known of a kernel, per launch; None, nan and absence all mean unknown."""

    given: Mapping[str, Any]

    def number(self, name: str) -> float | None:
        """A number by name, or None when unknown."""
        return _number(self.given.get(name))

    def numbers(self, *names: str) -> tuple[float, ...] | None:
        """All of these numbers, or None when one of them is unknown."""
        values = [self.number(name) for name in names]
        known = tuple(value for value in values if value is not None)
        return known if len(known) == len(names) else None

    def inside(self, table: str, key: str) -> float | None:
        """A number of a table such as ``of_flop_peak``, or None when unknown."""
        return self.table(table).get(key)

    def table(self, name: str) -> dict[str, float]:
        """The known numbers of a table such as ``of_flop_peak``; empty when unknown."""
        entries = self.given.get(name)
        numbers = {str(key): _number(value) for key, value in entries.items()} if isinstance(entries, Mapping) else {}
        return {key: value for key, value in numbers.items() if value is not None}

    def text(self, name: str) -> str:
        """A text by name; empty when unknown."""
        value = self.given.get(name)
        return value if isinstance(value, str) else ""

    def label(self, level: str) -> str:
        """A memory level as it is printed for this kernel's GPU; ``memory`` for no level."""
        return level_label(level, self.text("memory_label") or LEVEL_LABELS["hbm"]) or "memory"

    def caveat(self, quantity: str) -> str:
        """The caveat of a quantity; empty when it is exact."""
        entries = self.given.get("caveats")
        return str(entries.get(quantity) or "") if isinstance(entries, Mapping) else ""

    def size(self, name: str) -> int | None:
        """Blocks of ``grid`` or threads of ``block``: the product of the three; None when unknown."""
        value = self.given.get(name)
        if not isinstance(value, tuple) or len(value) != _AXES or not all(isinstance(n, Integral) for n in value):
            return None
        return math.prod(int(n) for n in value)

    def tensor_operations(self) -> dict[str, float]:
        """Tensor-core operations of the types that were counted."""
        counted = {name: self.number(f"tensor_{name}_ops") for name in TENSOR_TYPES}
        return {name: value for name, value in counted.items() if value is not None}

    def is_constant_moves(self, share_at_most: float) -> bool:
        """Whether all its half-precision work is HFMA that moves constants: no HADD or HMUL, and little of it."""
        known = self.numbers("fp16_fma_instructions", "fp16_other_instructions", "thread_instructions")
        return known is not None and known[1] == 0 and 0 < known[0] < share_at_most * known[2]


def _number(value: object) -> float | None:
    """A plain int or float; None for anything else, truth values among them."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    plain = int(value) if isinstance(value, Integral) else float(value)
    return plain if math.isfinite(plain) else None
