"""Run one measurement: verify every variant, probe them, then sample the best one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from roofctl.core.errors import DeviceError
from roofctl.microbench import stats
from roofctl.microbench.bench import FULL, Bench, Manner, Probe, Round, Sampled, Variant, describe
from roofctl.microbench.device import BatchTiming

_PROBE_NS: Final = 200_000
_MAX_SCALE: Final = 1 << 22
_LAST_WARMING_SECONDS: Final = 0.05
_RETAKEN_SHARE: Final = 4
_BURST_MARGIN: Final = 1.2


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
        for entry, scale, measured in zip(finalists, scales, rates, strict=True):
            if manner == "bursts":
                bench.sleep(bench.effort.pause_seconds)
            batch = entry.variant.round_of(scale)
            measured.append(batch.work / bench.time(batch.jobs).seconds)
    place = max(range(len(finalists)), key=lambda i: statistics.median(rates[i]))
    return replace(finalists[place], scale=scales[place])


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
        # The warm-up has raised the clock since the scale was chosen.
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
    """Samples without a pause for the seconds that the effort sets: what the power limit leaves."""
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
