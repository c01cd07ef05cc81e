"""The GPU that kernels are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from roofctl.roofline.model import Clock, Roofline


@dataclass(frozen=True)
class Machine:
    """The GPU that kernels are compared with: both rooflines, and the time of an empty launch, where known.

    ``links`` are bytes per second each way to ``system`` (host) and ``peer`` memory, where known. ``l2_bytes`` is the
    size of L2. ``clocks`` are the SM clocks of captures (by their sources) that ran at another one than the rooflines'.
    """

    instruction: Roofline
    flop: Roofline | None = None
    launch_seconds: float | None = None
    sm_count: int | None = None
    links: Mapping[str, float] = field(default_factory=dict)
    clocks: Mapping[tuple[str, ...], Clock] = field(default_factory=dict)
    l2_bytes: int | None = None

    def at_clock_of(self, sources: tuple[str, ...]) -> Machine:
        """The machine at the clock of one capture."""
        clock = self.clocks.get(sources)
        if clock is None:
            return self
        flop = self.flop.at_clock(clock) if self.flop else None
        return replace(self, instruction=self.instruction.at_clock(clock), flop=flop)
