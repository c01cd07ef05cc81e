"""Reasons for what is missing, gathered over kernels so that each is said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from roofctl.core.kernel_names import some
from roofctl.launches.evaluate import Note


@dataclass
class Gaps:
    """Reasons for missing values and caveats, with the kernels they concern, to say each once."""

    kernels: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, kernel: str) -> None:
        self.kernels.setdefault(reason, []).append(kernel)

    def notes(self, of: int) -> list[Note]:
        return [Note(f"{reason} ({who(names, of)})") for reason, names in self.kernels.items()]


def who(names: Sequence[str], of: int) -> str:
    if len(names) >= of:
        return "all kernels" if of > 1 else names[0]
    # Ranks of a job have the same kernels.
    return some(list(dict.fromkeys(names)), 3)
