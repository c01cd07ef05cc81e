"""From a level's name to measured ceilings: which variants run, which result is the ceiling, what it is divided by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from roofctl.core.errors import DeviceError
from roofctl.gpus.schema import GpuProfile
from roofctl.microbench import arithmetic, caches, launch, limits, memory, tensor
from roofctl.microbench.bench import Bench, Manner, Probe, Sampled, Variant, describe, measure, scale_to
from roofctl.microbench.table import MIXES, TENSOR_TYPES

LEVELS: Final = ("hbm", "l2", "l1", "shared", "issue", "launch", "fp64", "fp32", "fp16", "tensor")

_TENSOR_MIXES: Final[dict[str, Manner]] = {"issue": "bursts", "sustained": "sustained"}
"""Issue: zeros, in bursts between which power and clock recover. Sustained: random numbers, for seconds."""

_BF16_SINCE: Final = (8, 0)
_SWEEP_BLOCK: Final = 256
_SWEEP_TOP: Final = 1 << 30


@dataclass(frozen=True)
class Ceiling:
    """One measured ceiling. ``mixes`` are all results that belong to it, ``chosen`` the one that counts."""

    name: str
    level: str
    chosen: str
    mixes: dict[str, Sampled]
    theoretical: limits.Limit | None
    warnings: tuple[str, ...] = ()

    @property
    def sampled(self) -> Sampled:
        return self.mixes[self.chosen]

    @property
    def value(self) -> float:
        return self.sampled.result.median

    @property
    def factor(self) -> float | None:
        """Measured / theoretical: the calibration."""
        return self.value / self.theoretical.value if self.theoretical else None

    @property
    def sm_clock_hz(self) -> float | None:
        """Median SM clock while it was measured."""
        clocks = sorted(self.sampled.sm_clocks_hz)
        return clocks[len(clocks) // 2] if clocks else None

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


Outcome = Ceiling | Absent | Sweep


def run_level(bench: Bench, profile: GpuProfile, level: str) -> Iterator[Outcome]:
    """Measure one level; yields what it has as soon as it has it."""
    bench.busy_seconds = 0.0
    if level == "hbm":
        yield from _hbm(bench, profile)
    elif level == "l2":
        yield _l2(bench, profile)
    elif level == "l1":
        with caches.filled(bench, caches.l1_buffer_bytes(bench.device.facts.sm_count)) as buffer:
            yield _single(profile, "l1", "l1", measure(bench, "l1", caches.l1_variants(bench, buffer)))
    elif level == "shared":
        yield _shared(bench, profile)
    elif level == "issue":
        yield _single(profile, "issue", "issue", measure(bench, "issue", arithmetic.issue_variants(bench)))
    elif level == "launch":
        yield from _launch(bench, profile)
    elif level == "tensor":
        yield from _tensor(bench, profile)
    else:
        yield from _vector(bench, profile, level)


def _ceiling(profile: GpuProfile, name: str, level: str, chosen: str, mixes: dict[str, Sampled]) -> Ceiling:
    """A ceiling whose every mix has passed the gate."""
    odd = []
    for mix, sampled in mixes.items():
        clocks = sorted(sampled.sm_clocks_hz)
        what = f"{name} {mix}" if len(mixes) > 1 else name
        text = limits.gate(profile, name, sampled.result.median, clocks[len(clocks) // 2] if clocks else None, what)
        if text and mix == chosen:
            odd.append(text)
    return Ceiling(name, level, chosen, mixes, limits.theoretical(profile, name), tuple(odd))


def _single(profile: GpuProfile, name: str, level: str, sampled: Sampled) -> Ceiling:
    return _ceiling(profile, name, level, "all", {"all": sampled})


def _best(mixes: dict[str, Sampled]) -> str:
    return max(mixes, key=lambda mix: mixes[mix].result.median)


def _hbm(bench: Bench, profile: GpuProfile) -> Iterator[Outcome]:
    mixes: dict[str, Sampled] = {}
    widths: dict[str, tuple[tuple[float, float], ...]] = {}
    with memory.arrays(bench) as slab:
        for mix in MIXES:
            mixes[mix] = measure(
                bench, f"hbm {mix}", memory.variants(bench, slab, mix), refine=partial(memory.refined, bench, slab, mix)
            )
            if not bench.effort.quick:
                widths[mix] = tuple(_rates(bench, memory.width_variants(bench, slab, mix), "width"))
        yield _ceiling(profile, "hbm", "hbm", _best(mixes), mixes)
    yield Sweep("block", {mix: _by_block(sampled.probes) for mix, sampled in mixes.items()})
    if not bench.effort.quick:
        yield Sweep("width", widths)
        yield _working_sets(bench)


def _rates(bench: Bench, variants: Sequence[Variant], setting: str) -> Iterator[tuple[float, float]]:
    for variant in variants:
        variant.verify(full=False)
        scale, seconds = scale_to(bench, variant, bench.effort.probe_seconds)
        yield variant.settings[setting], variant.round_of(scale).work / seconds


def _by_block(probes: Sequence[Probe]) -> tuple[tuple[float, float], ...]:
    """The best rate of each block size, over vectors per thread and policies."""
    best: dict[int, float] = {}
    for probe in probes:
        block = probe.settings.get("block")
        if block is not None:
            best[block] = max(best.get(block, 0.0), probe.rate)
    return tuple(sorted(best.items()))


def _working_sets(bench: Bench) -> Sweep:
    """Bandwidth against the working set: through the L1, and past it to the L2 and the memory behind."""
    sms = bench.device.facts.sm_count
    turn = _SWEEP_BLOCK * bench.kernel("l2_read_u4").item_bytes
    top = min(_SWEEP_TOP, 8 * bench.device.facts.l2_bytes) // sms
    parts = sorted({turn * max(1, round(2 ** (step / 3))) for step in range(40)})
    series: dict[str, tuple[tuple[float, float], ...]] = {}
    with caches.filled(bench, sms * top) as buffer:
        for kernel, label, largest in (
            ("cache_read_u4", "through the L1", 1 << 20),
            ("l2_read_u4", "past the L1", top),
        ):
            walks = [
                caches.Walk(kernel, _SWEEP_BLOCK * 4, 1, p * 4, turn * 4) for p in parts if p * 4 <= min(largest, top)
            ]
            small = [caches.Walk(kernel, _SWEEP_BLOCK, 1, p, turn) for p in parts if p < 4 * turn]
            variants = [caches.walk_variant(bench, buffer, walk) for walk in (*small, *walks)]
            series[label] = tuple(_rates(bench, variants, "set_bytes"))
    return Sweep("working set", series)


def _l2(bench: Bench, profile: GpuProfile) -> Ceiling:
    walks = caches.l2_walks(bench, bench.device.facts.l2_bytes)
    with caches.filled(bench, max(caches.walk_bytes(bench, walk) for walk in walks)) as buffer:
        variants = [caches.walk_variant(bench, buffer, walk) for walk in walks]
        return _single(profile, "l2", "l2", measure(bench, "l2", variants))


def _shared(bench: Bench, profile: GpuProfile) -> Ceiling:
    mixes = {
        mix: measure(bench, f"shared {mix}", caches.shared_variants(bench, mix)) for mix in caches.SHARED_MIXES
    }  # fmt: skip
    return _ceiling(profile, "shared", "shared", "read", mixes)


def _launch(bench: Bench, profile: GpuProfile) -> Iterator[Outcome]:
    """The interval in a stream is what counts: it is how most applications launch."""
    mixes = {"stream": launch.stream(bench), "single": launch.single(bench)}
    try:
        mixes["graph"] = launch.graph(bench)
    except DeviceError as error:
        yield Absent("launch graph", error.message)
    yield _ceiling(profile, "launch", "launch", "stream", mixes)


def _vector(bench: Bench, profile: GpuProfile, level: str) -> Iterator[Outcome]:
    for kind in ("fp16", "bf16") if level == "fp16" else (level,):
        if kind == "bf16" and bench.device.facts.compute_capability < _BF16_SINCE:
            yield Absent(kind, "packed bf16 arithmetic needs sm_80 or later")
        else:
            yield _single(profile, kind, level, measure(bench, kind, arithmetic.variants(bench, kind)))


def _tensor(bench: Bench, profile: GpuProfile) -> Iterator[Outcome]:
    capability = bench.device.facts.compute_capability
    for kind in TENSOR_TYPES:
        name = f"{kind}_tc"
        if not tensor.kernels_for(kind, capability):
            yield Absent(name, tensor.why_none(kind, capability))
            continue
        mixes: dict[str, Sampled] = {}
        for mix, manner in _TENSOR_MIXES.items():
            with tensor.operands(bench, kind, zeros=mix == "issue") as held:
                mixes[mix] = measure(bench, f"tensor {kind} {mix}", tensor.variants(bench, kind, held), manner=manner)
        yield _ceiling(profile, name, "tensor", "sustained", mixes)
