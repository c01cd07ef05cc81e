"""Run one measurement: verify every variant, probe them, then sample the best one."""

from __future__ import annotations

import math
import statistics
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol

from roofctl.core.errors import DeviceError, VerificationError
from roofctl.cuda.toolchain import Toolchain
from roofctl.microbench import reference, stats
from roofctl.microbench.device import BatchTiming, ComputeDevice, Job, KernelLaunch
from roofctl.microbench.table import HELPERS, KERNELS, Microbenchmark

_MOST_DIFFERENCES: Final = 10
_PROBE_NS: Final = 200_000
_LEAD_NS: Final = 60_000
"""How long the device waits ahead of a sample, so that queueing the sample is not part of its time."""
_EDGE_ELEMENTS: Final = 1024
_MAX_SCALE: Final = 1 << 22
_LAST_WARMING_SECONDS: Final = 0.05
_RETAKEN_SHARE: Final = 4
_BURST_MARGIN: Final = 1.2

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
    """Compares an answer with the host's; ``full`` means at the size that is timed."""

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


# --- checking answers -------------------------------------------------------------------


def check_memory(bench: Bench, address: int, elements: int, width: int, *, line: tuple[int, int], what: str) -> None:
    """Element i is ``line[0]`` * i + ``line[1]``: all are counted on the device, both ends are recomputed here."""
    mul, add = line
    wrong = bench.small("wrong")
    bench.device.set_bytes(wrong, 0, 8)
    bench.device.run([bench.helper(f"check_e{width}", address, elements, mul % 2**32, add % 2**32, wrong)])
    (count,) = struct.unpack("<Q", bench.device.download(wrong, 8))
    edge = min(_EDGE_ELEMENTS, elements)
    for first in (0, elements - edge):
        seen = bench.device.download(address + first * width, edge * width)
        if seen != reference.pattern_bytes(first, edge, width, mul, add):
            raise VerificationError(f"{what}: elements {first} to {first + edge} hold wrong values", hint=_WRONG)
    if count:
        raise VerificationError(f"{what}: {count} of {elements} elements hold wrong values", hint=_WRONG)


def check_sum(bench: Bench, launch: KernelLaunch, expected: int, what: str) -> None:
    """The sum over all that a launch loaded, modulo 2^32."""
    bench.device.set_bytes(bench.total, 0, 4)
    bench.device.run([launch])
    (seen,) = struct.unpack("<I", bench.device.download(bench.total, 4))
    if seen != expected % 2**32:
        raise VerificationError(f"{what}: the loaded words add up to {seen}, expected {expected % 2**32}", hint=_WRONG)


def check_numbers(seen: Sequence[float], expected: Sequence[float], tolerance: float, what: str) -> None:
    """Numbers within a tolerance relative to the largest; NaN fails."""
    bad = reference.worst(seen, expected, tolerance)
    if bad:
        lines = "".join(f"\n  [{i}] {seen[i]!r}, expected {expected[i]!r}" for i in bad[:_MOST_DIFFERENCES])
        raise VerificationError(f"{what}: {len(bad)} of {len(expected)} results are wrong:{lines}", hint=_WRONG)


_WRONG: Final = "nothing was reported for it; report this with the GPU's name and the output of nvcc --version"


# --- timing -----------------------------------------------------------------------------


def measure(
    bench: Bench,
    what: str,
    variants: Sequence[Variant],
    *,
    refine: Callable[[Sequence[Probe]], Sequence[Variant]] | None = None,
    manner: Manner = "steady",
) -> Sampled:
    """Verify and probe the variants, sample the fastest. ``refine`` may add variants that follow from the probes."""
    bench.sleep(bench.effort.rest_seconds)
    rated = [_probe(bench, what, variant) for variant in variants]
    if refine:
        rated += [_probe(bench, what, variant) for variant in refine([entry.probe for entry in rated])]
    if not rated:
        raise DeviceError(f"{what}: nothing to run on this GPU")
    # Pauses take long: bursts get by with two finalists.
    places = min(2, bench.effort.finalists) if manner == "bursts" else bench.effort.finalists
    best = _final(bench, what, sorted(rated, key=lambda entry: -entry.probe.rate)[:places], manner)
    bench.pulse(f"{what}: sampling")
    best.variant.verify(full=True)
    take = {"steady": _sample, "bursts": _burst, "sustained": _sustain}[manner]
    return replace(take(bench, best.variant, best.scale), probes=tuple(entry.probe for entry in rated))


@dataclass(frozen=True)
class _Rated:
    """A variant, what its probe gave, and the scale at which the probe was long enough."""

    probe: Probe
    variant: Variant
    scale: int


def _probe(bench: Bench, what: str, variant: Variant) -> _Rated:
    bench.pulse(f"{what}: trying {describe(variant.settings)}")
    variant.verify(full=False)
    scale, seconds = scale_to(bench, variant, bench.effort.probe_seconds)
    return _Rated(Probe(variant.settings, variant.round_of(scale).work / seconds), variant, scale)


def _final(bench: Bench, what: str, finalists: Sequence[_Rated], manner: Manner) -> _Rated:
    """The fastest of a few, each sampled several times in turns so that a drift meets all of them."""
    if len(finalists) == 1:
        return finalists[0]
    bench.pulse(f"{what}: choosing")
    scales = [scale_to(bench, entry.variant, bench.effort.sample_seconds, entry.scale)[0] for entry in finalists]
    rates: list[list[float]] = [[] for _ in finalists]
    for _ in range(bench.effort.final_samples):
        for entry, scale, found in zip(finalists, scales, rates, strict=True):
            if manner == "bursts":
                bench.sleep(bench.effort.pause_seconds)
            batch = entry.variant.round_of(scale)
            found.append(batch.work / bench.time(batch.jobs).seconds)
    place = max(range(len(finalists)), key=lambda i: statistics.median(rates[i]))
    return replace(finalists[place], scale=scales[place])


def describe(settings: dict[str, Any]) -> str:
    """Settings as text: ``block 512, vectors 1``."""
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def scale_to(bench: Bench, variant: Variant, seconds: float, scale: int = 1) -> tuple[int, float]:
    """The scale at which a round takes at least ``seconds``, and the time it took."""
    bench.device.run(variant.round_of(1).jobs)
    while True:
        taken = bench.time(variant.round_of(scale).jobs).seconds
        if taken >= seconds or scale >= _MAX_SCALE:
            return scale, max(taken, 1e-9)
        wanted = scale * seconds / max(taken, 1e-6) * 1.05
        scale = min(_MAX_SCALE, max(scale + 1, math.ceil(min(wanted, scale * 64))))


def _sample(bench: Bench, variant: Variant, scale: int) -> Sampled:
    """Samples one after the other. One whose clock fell is taken again, a few times at most."""
    effort = bench.effort
    scale, _ = scale_to(bench, variant, effort.sample_seconds, scale)
    batch = variant.round_of(scale)
    _warm(bench, batch)
    timings = [_timed(bench, variant, batch) for _ in range(effort.samples)]
    if min(t.seconds for t in timings) < 0.9 * effort.sample_seconds:
        # The warm-up has raised the clock since the scale was found.
        scale, _ = scale_to(bench, variant, effort.sample_seconds * 1.1, scale)
        batch = variant.round_of(scale)
        timings = [_timed(bench, variant, batch) for _ in range(effort.samples)]
    retaken = 0
    while retaken < effort.samples // _RETAKEN_SHARE and (slow := stats.slowed([t.sm_clock_hz for t in timings])):
        timings[slow[0]] = _timed(bench, variant, batch)
        retaken += 1
    return replace(_sampled(variant, batch, timings, FULL.samples), retaken=retaken)


def _warm(bench: Bench, batch: Round) -> None:
    """Keep the GPU busy until it has been for long enough, all of this level's work counted."""
    wanted = max(bench.effort.warm_seconds - bench.busy_seconds, min(_LAST_WARMING_SECONDS, bench.effort.warm_seconds))
    until = bench.busy_seconds + wanted
    while bench.busy_seconds < until:
        bench.time(batch.jobs)


def _burst(bench: Bench, variant: Variant, scale: int) -> Sampled:
    """Samples with a pause before each, after the usual warm-up."""
    effort = bench.effort
    # A burst runs at a higher clock than the probe did, and must still be long enough.
    scale, _ = scale_to(bench, variant, effort.sample_seconds * _BURST_MARGIN, scale)
    batch = variant.round_of(scale)
    _warm(bench, batch)
    timings = []
    for _ in range(effort.samples):
        bench.sleep(effort.pause_seconds)
        timings.append(_timed(bench, variant, batch))
    manner = f"bursts, each after a pause of {effort.pause_seconds * 1e3:.0f} ms"
    return replace(_sampled(variant, batch, timings, FULL.samples), manner=manner)


def _sustain(bench: Bench, variant: Variant, scale: int) -> Sampled:
    """Samples without a pause for as long as the effort says: what the power limit leaves."""
    effort = bench.effort
    scale, _ = scale_to(bench, variant, effort.sustain_sample_seconds, scale)
    batch = variant.round_of(scale)
    timings: list[BatchTiming] = []
    while sum(t.seconds for t in timings) < effort.sustain_seconds:
        timings.append(_timed(bench, variant, batch))
    manner = f"sustained for {sum(t.seconds for t in timings):.1f} s"
    return replace(_sampled(variant, batch, timings, FULL.samples), manner=manner)


def _timed(bench: Bench, variant: Variant, batch: Round) -> BatchTiming:
    """One sample. The SM clock is the kernel's own where it keeps a watch, else a probe's right after it."""
    timing = bench.time(batch.jobs)
    if not variant.clocked:
        bench.device.run([bench.helper("clock_probe", bench.clocks, _PROBE_NS, grid=1, block=1)])
    return BatchTiming(timing.seconds, bench.clock_hz() or timing.sm_clock_hz, timing.memory_clock_hz)


def _sampled(variant: Variant, batch: Round, timings: Sequence[BatchTiming], wanted: int) -> Sampled:
    result = stats.summarize([batch.work / t.seconds for t in timings])
    sm = tuple(t.sm_clock_hz for t in timings if t.sm_clock_hz is not None)
    memory = tuple(t.memory_clock_hz for t in timings if t.memory_clock_hz is not None)
    seconds = sorted(t.seconds for t in timings)[len(timings) // 2]
    why = stats.reservations(result, sm, memory, wanted)
    return Sampled(variant.settings, result, batch.work, seconds, sm, memory, why)
