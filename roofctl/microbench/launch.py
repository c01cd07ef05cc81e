"""How long a launch takes: the shortest interval at which one stream starts kernels that do nothing.

The launches are queued behind a kernel that waits, and the time starts when it ends: by then all of them are
with the GPU, and neither Python nor the driver's work for a launch is in the interval. Each sample proves it:
the time that the host took to queue is read, and a sample that was not queued within the wait does not count.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from roofctl.core.errors import DeviceError
from roofctl.microbench import stats
from roofctl.microbench.bench import FULL, Bench, Sampled
from roofctl.microbench.device import BatchTiming, Graph, Job, KernelLaunch

_LAUNCHES: Final = (512, 256, 128)
"""Tried in turn. A driver takes about a thousand launches of a stream, then the host has to wait for the GPU."""
_WAITS_NS: Final = (4_000_000, 8_000_000, 16_000_000, 64_000_000)
"""Tried in turn, for hosts that are slow to queue: 512 launches through Python take 2 to 4 ms."""
_SINGLE_WAIT_NS: Final = 1_000_000
_WARM_SECONDS: Final = 0.1
_THREADS: Final = 32
_LINEAR: Final = 0.1
_HALVES: Final = 3


@dataclass(frozen=True)
class Queue:
    """Jobs that hold so many launches, and the wait that they are queued behind."""

    jobs: tuple[Job, ...]
    launches: int
    wait_ns: int


def stream(bench: Bench) -> Sampled:
    """Seconds from one launch in a stream to the next, each launch handed to the driver on its own."""
    bench.pulse("launch stream: warming up")
    _warm(bench)
    queue = _queue(bench, lambda number: (_empty(bench),) * number)
    return _sampled(bench, "stream", queue, _linearity(bench, queue))


def graph(bench: Bench) -> Sampled:
    """The same for the launches of one CUDA graph, in a chain; raises DeviceError where the driver has none."""
    bench.pulse("launch graph: capturing")
    queue = _queue(bench, lambda number: (Graph(_empty(bench), number),))
    return _sampled(bench, "graph", queue)


def single(bench: Bench) -> Sampled:
    """Seconds between the two events around one launch: more than an interval, as the events are part of it."""
    return _sampled(bench, "single", Queue((_empty(bench),), 1, _SINGLE_WAIT_NS))


def _empty(bench: Bench) -> KernelLaunch:
    kernel = bench.kernel("empty")
    return KernelLaunch(kernel.source, kernel.name, 1, _THREADS, kernel.signature, ())


def _warm(bench: Bench) -> None:
    """Let the clocks rise, if nothing was measured before."""
    until = min(_WARM_SECONDS, bench.effort.warm_seconds)
    while until > 0:
        wait_ns = _WAITS_NS[0]
        until -= wait_ns * 1e-9 + bench.time((_empty(bench),), wait_ns).seconds


def _queue(bench: Bench, jobs_of: Callable[[int], tuple[Job, ...]]) -> Queue:
    """As many launches as the driver takes at once, and the shortest wait in which they are queued."""
    for launches in _LAUNCHES:
        jobs = jobs_of(launches)
        bench.device.run(jobs)
        for wait_ns in _WAITS_NS:
            queue = Queue(jobs, launches, wait_ns)
            if _in_time(bench.time(jobs, wait_ns), queue):
                return queue
    raise _too_slow(_LAUNCHES[-1], _WAITS_NS[-1])


def _in_time(timing: BatchTiming, queue: Queue) -> bool:
    """Whether the host was done before the wait was over, counted from before the wait was even queued."""
    return timing.queue_seconds is not None and timing.queue_seconds < queue.wait_ns * 1e-9


def _too_slow(launches: int, wait_ns: int) -> DeviceError:
    return DeviceError(
        f"{launches} launches could not be queued within {wait_ns / 1e6:.0f} ms: the host would be part of the time",
        hint="measure on a machine whose CPU is not busy",
    )


def _take(bench: Bench, queue: Queue, samples: int) -> list[BatchTiming]:
    """Timings that were queued in time; every one may be tried twice on average."""
    timings: list[BatchTiming] = []
    for _ in range(2 * samples):
        timing = bench.time(queue.jobs, queue.wait_ns)
        if _in_time(timing, queue):
            timings.append(BatchTiming(timing.seconds, bench.clock_hz(), timing.memory_clock_hz, timing.queue_seconds))
        if len(timings) == samples:
            return timings
    raise _too_slow(queue.launches, queue.wait_ns)


def _linearity(bench: Bench, queue: Queue) -> tuple[str, ...]:
    """A doubt when half as many launches do not take half the time: then something else is in it."""
    half = Queue(queue.jobs[: queue.launches // 2], queue.launches // 2, queue.wait_ns)
    share = _median(_take(bench, half, _HALVES)) / _median(_take(bench, queue, _HALVES))
    return () if abs(2 * share - 1) <= _LINEAR else (f"half as many launches took {share:.0%} of the time",)


def _median(timings: list[BatchTiming]) -> float:
    return statistics.median(timing.seconds for timing in timings)


def _sampled(bench: Bench, mix: str, queue: Queue, doubts: tuple[str, ...] = ()) -> Sampled:
    bench.pulse(f"launch {mix}: sampling")
    timings = _take(bench, queue, bench.effort.samples)
    result = stats.summarize([t.seconds / queue.launches for t in timings], least=True)
    sm = tuple(t.sm_clock_hz for t in timings if t.sm_clock_hz is not None)
    memory = tuple(t.memory_clock_hz for t in timings if t.memory_clock_hz is not None)
    queued = statistics.median(t.queue_seconds for t in timings if t.queue_seconds is not None)
    settings = {"launches": queue.launches, "queued_in_ms": round(queued * 1e3, 3), "wait_ms": queue.wait_ns / 1e6}
    why = (*stats.reservations(result, sm, memory, FULL.samples), *doubts)
    return Sampled(settings, result, queue.launches, _median(timings), sm, memory, why)
