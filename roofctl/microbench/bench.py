"""What every measurement works with: the device, the tools, the effort, variants of a kernel and their samples."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from roofctl.cuda.toolchain import Toolchain
from roofctl.microbench import reference, stats
from roofctl.microbench.device import BatchTiming, ComputeDevice, Job, KernelLaunch
from roofctl.microbench.table import HELPERS, KERNELS, Microbenchmark

_LEAD_NS: Final = 60_000
"""How long the device waits ahead of a sample, so that queueing the sample is not part of its time."""

Manner = Literal["steady", "bursts", "sustained"]
"""How samples follow each other.

steady: one after the other, on a GPU that has been busy for half a second. For what stays below the power limit.
bursts: with a pause before each, in which power and clock recover: what the units issue when power does not bind.
sustained: without a pause for seconds: what the power limit leaves.
"""
NEVER: Final = 0xFFFFFFFF
"""Mask of a timed launch: a thread's sum would have to hit the needle exactly to be written."""
NEEDLE: Final = 0x9D1CE5E7


@dataclass(frozen=True)
class Effort:
    """How long things take. ``full`` gives figures worth keeping, ``quick`` an idea in a few seconds.

    The ``finalists`` best probes are sampled ``final_samples`` times in turns before one is chosen, after a
    rest: neither the noise of a short probe nor the heat of the level before shall choose.
    """

    samples: int = 20
    sample_seconds: float = 0.011
    warm_seconds: float = 0.5
    probe_seconds: float = 0.006
    rest_seconds: float = 0.03
    pause_seconds: float = 0.025
    finalists: int = 3
    final_samples: int = 3
    sustain_seconds: float = 5.0
    sustain_sample_seconds: float = 0.05
    quick: bool = False


FULL: Final = Effort()
QUICK: Final = Effort(
    samples=6, sample_seconds=0.0105, warm_seconds=0.05, probe_seconds=0.003, rest_seconds=0.0,
    pause_seconds=0.015, finalists=1, sustain_seconds=0.2, sustain_sample_seconds=0.02, quick=True,
)  # fmt: skip


@dataclass(frozen=True)
class Round:
    """A batch of jobs and the work in it, in bytes, operations or warp instructions."""

    jobs: tuple[Job, ...]
    work: float


class Verify(Protocol):
    """Compares a result with the host's; ``full`` means at the size that is timed."""

    def __call__(self, *, full: bool) -> None: ...


@dataclass(frozen=True)
class Variant:
    """One way to run a microbenchmark. ``round_of(scale)`` does ``scale`` times the smallest work.

    ``verify`` raises VerificationError; ``full`` checks all of the memory that is measured.
    """

    settings: dict[str, Any]
    round_of: Callable[[int], Round]
    verify: Verify
    clocked: bool = True


@dataclass(frozen=True)
class Probe:
    """A variant's rate from one short sample: good enough to choose, not to report."""

    settings: dict[str, Any]
    rate: float


@dataclass(frozen=True)
class Sampled:
    """The samples of the best variant."""

    settings: dict[str, Any]
    result: stats.Statistics
    work: float
    sample_seconds: float
    sm_clocks_hz: tuple[float, ...]
    memory_clocks_hz: tuple[float, ...]
    reservations: tuple[str, ...]
    probes: tuple[Probe, ...] = ()
    manner: str = "steady"
    retaken: int = 0

    @property
    def sm_clock_hz(self) -> float | None:
        """Median SM clock of the samples, None when none was read."""
        clocks = sorted(self.sm_clocks_hz)
        return clocks[len(clocks) // 2] if clocks else None


@dataclass
class Bench:
    """What every measurement needs: the device, the tools, how much effort, and scratch memory."""

    device: ComputeDevice
    tools: Toolchain
    effort: Effort = FULL
    size_bytes: int | None = None
    pulse: Callable[[str], None] = lambda _text: None
    sleep: Callable[[float], None] = time.sleep
    busy_seconds: float = 0.0
    loaded: set[str] = field(default_factory=set)
    scratch: dict[str, int] = field(default_factory=dict)
    results_bytes: int = 0

    def ready(self, *sources: str) -> None:
        """Build and load files of kernels, once each."""
        for source in sources:
            if source not in self.loaded:
                self.device.load(source, self.tools.image(source))
                self.loaded.add(source)

    def kernel(self, name: str) -> Microbenchmark:
        """The table's entry; its file is loaded."""
        kernel = KERNELS[name]
        self.ready(kernel.source)
        return kernel

    def supports(self, name: str) -> bool:
        """Whether this chip has the kernel's instructions."""
        return KERNELS[name].runs_on(self.device.facts.compute_capability)

    @contextmanager
    def memory(self, *sizes: int) -> Iterator[tuple[int, ...]]:
        """Device memory for a while."""
        held: list[int] = []
        try:
            for size in sizes:
                held.append(self.device.allocate(size))  # noqa: PERF401 - what is held must be known when one fails
            yield tuple(held)
        finally:
            for address in held:
                self.device.free(address)

    def small(self, name: str) -> int:
        """64 bytes of device memory that live as long as the bench."""
        if name not in self.scratch:
            self.scratch[name] = self.device.allocate(64)
            self.device.set_bytes(self.scratch[name], 0, 64)
        return self.scratch[name]

    def results(self, size: int) -> int:
        """Device memory for the results of a launch, at least ``size`` bytes, shared by all kernels."""
        if size > self.results_bytes:
            if "results" in self.scratch:
                self.device.free(self.scratch.pop("results"))
            self.scratch["results"], self.results_bytes = self.device.allocate(size), size
        return self.scratch["results"]

    @property
    def clocks(self) -> int:
        """Where kernels write cycles and nanoseconds."""
        return self.small("clocks")

    @property
    def total(self) -> int:
        """Where kernels add up what they loaded."""
        return self.small("total")

    def helper(self, name: str, *values: float, grid: int | None = None, block: int = 256) -> KernelLaunch:
        """A launch of a kernel that measures nothing."""
        source, signature = HELPERS[name]
        self.ready(source)
        return KernelLaunch(source, name, grid or self.device.facts.sm_count * 8, block, signature, values)

    def fill(self, address: int, elements: int, width: int) -> None:
        """Fill memory with the pattern."""
        self.device.run([self.helper(f"fill_e{width}", address, elements, *reference.PATTERN)])

    def time(self, jobs: Sequence[Job], wait_ns: int = _LEAD_NS) -> BatchTiming:
        """One timed batch. The device waits a moment first, so that the batch is queued when the time starts."""
        timing = self.device.time(jobs, [self.helper("clock_probe", self.clocks, wait_ns, grid=1, block=1)])
        self.busy_seconds += timing.seconds
        return timing

    def clock_hz(self) -> float | None:
        """The SM clock that the last kernel with a watch ran at."""
        cycles, nanoseconds = struct.unpack("<QQ", self.device.download(self.clocks, 16))
        return cycles / nanoseconds * 1e9 if nanoseconds else None


def describe(settings: dict[str, Any]) -> str:
    """Settings as text: ``block 512, vectors 1``."""
    return ", ".join(f"{key} {value}" for key, value in settings.items())
