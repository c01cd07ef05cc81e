"""Reasons for missing values and caveats, collected over kernels so that each becomes one note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from roofctl.core.kernel_names import some
from roofctl.core.notes import Note


@dataclass
class Reasons:
    """Reasons for missing values, and caveats, with the names of the kernels they concern."""

    kernels: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, kernel: str) -> None:
        """Add a kernel (its short name) to those that ``reason`` concerns."""
        self.kernels.setdefault(reason, []).append(kernel)

    def notes(self, of: int, *, warning: bool = False) -> list[Note]:
        """One note per reason, with the kernels it concerns among ``of`` kernels."""
        return [Note(f"{reason} ({_which(names, of)})", warning=warning) for reason, names in self.kernels.items()]


def _which(names: Sequence[str], of: int) -> str:
    if len(names) >= of:
        return "all kernels" if of > 1 else names[0]
    # Ranks of a job have the same kernels.
    return some(list(dict.fromkeys(names)), 3)


def is_derived(caveat: str) -> bool:
    """Whether a caveat says that a value was not counted but follows from others."""
    return caveat.startswith(("derived", "from "))
