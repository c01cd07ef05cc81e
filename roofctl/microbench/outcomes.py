"""What measuring a level gives: a ceiling, the reason why there is none, or a sweep for the picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from roofctl.core.levels import CeilingUnit, unit_of
from roofctl.gpus.limits import Limit
from roofctl.microbench.bench import Sampled, describe


@dataclass(frozen=True)
class Ceiling:
    """One measured ceiling. ``mixes`` are all results that belong to it, ``chosen`` the one that counts."""

    name: str
    chosen: str
    mixes: dict[str, Sampled]
    theoretical: Limit | None
    warnings: tuple[str, ...] = ()

    @property
    def unit(self) -> CeilingUnit:
        """The unit of ``value``."""
        return unit_of(self.name)

    @property
    def sampled(self) -> Sampled:
        """The result of the chosen mix."""
        return self.mixes[self.chosen]

    @property
    def value(self) -> float:
        """Median of the samples."""
        return self.sampled.result.median

    @property
    def factor(self) -> float | None:
        """Measured / theoretical: the calibration."""
        return self.value / self.theoretical.value if self.theoretical else None

    @property
    def sm_clock_hz(self) -> float | None:
        """Median SM clock while it was measured."""
        return self.sampled.sm_clock_hz

    @property
    def method(self) -> str:
        """How the figure came about, in one line."""
        mix = f"{self.chosen}: " if len(self.mixes) > 1 else ""
        manner = "" if self.sampled.manner == "steady" else f"; {self.sampled.manner}"
        return f"{mix}{describe(self.sampled.settings)}{manner}"


@dataclass(frozen=True)
class Absent:
    """A ceiling that this GPU or this run does not have, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Sweep:
    """Rates against one setting, for the picture: label -> (x, bytes per second) pairs."""

    what: str
    series: dict[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)


Outcome: TypeAlias = Ceiling | Absent | Sweep
