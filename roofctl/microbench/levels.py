"""The levels that calibrate measures: for each its files of kernels, its theoretical figure, and how it is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from roofctl.core.errors import DeviceError
from roofctl.core.levels import CALIBRATED, LEVEL_ALIASES, CeilingUnit
from roofctl.gpus import limits
from roofctl.gpus.schema import GpuProfile
from roofctl.microbench import arithmetic, caches, launch, memory, tensor
from roofctl.microbench.bench import Bench, Manner, Probe, Sampled, Variant
from roofctl.microbench.gate import gate
from roofctl.microbench.outcomes import Absent, Ceiling, Outcome, Sweep
from roofctl.microbench.sampling import measure, scale_to
from roofctl.microbench.table import HELPER_SOURCES, MIXES, TENSOR_SOURCES, TENSOR_TYPES, builds_for

_TENSOR_MIXES: Final[dict[str, Manner]] = {"issue": "bursts", "sustained": "sustained"}
"""Issue: zeros, in bursts between which power and clock recover. Sustained: random numbers, for seconds."""

_SWEEP_BLOCK: Final = 256
_SWEEP_TOP: Final = 1 << 30


@dataclass(frozen=True)
class Level:
    """One level: the files of its kernels, the theoretical figure of its ceilings, and how it is measured.

    ``measure`` yields each outcome as soon as it has it.
    """

    name: str
    sources: tuple[str, ...]
    limit: Callable[[GpuProfile, str], limits.Limit | None]
    measure: Callable[[Bench, GpuProfile, Level], Iterator[Outcome]]

    @property
    def unit(self) -> CeilingUnit:
        """The unit of its ceilings."""
        return CALIBRATED[self.name]


def chosen_levels(names: Sequence[str]) -> tuple[str, ...]:
    """The levels that an option names, aliases resolved, in the order of measuring; all for none and for "all"."""
    wanted = {LEVEL_ALIASES.get(name, name) for name in names}
    return tuple(name for name in LEVELS if not wanted or wanted & {name, "all"})


def sources_for(levels: Iterable[str], capability: tuple[int, int]) -> list[str]:
    """The files of kernels that these levels need on that chip, the first needed first."""
    wanted = dict.fromkeys(source for level in levels for source in LEVELS[level].sources)
    return [*HELPER_SOURCES, *(source for source in wanted if builds_for(source, capability))]


def run_level(bench: Bench, profile: GpuProfile, level: str) -> Iterator[Outcome]:
    """Measure one level."""
    bench.busy_seconds = 0.0
    yield from LEVELS[level].measure(bench, profile, LEVELS[level])


def _ceiling(profile: GpuProfile, level: Level, name: str, chosen: str, mixes: dict[str, Sampled]) -> Ceiling:
    """A ceiling whose every mix has passed the gate."""
    limit = level.limit(profile, name)
    warnings = {
        mix: gate(
            limit,
            sampled.result.median,
            level.unit,
            sampled.sm_clock_hz,
            f"{name} {mix}" if len(mixes) > 1 else name,
            profile.name,
        )
        for mix, sampled in mixes.items()
    }
    return Ceiling(name, chosen, mixes, limit, (warnings[chosen],) if warnings[chosen] else ())


def _single(profile: GpuProfile, level: Level, name: str, sampled: Sampled) -> Ceiling:
    """A ceiling without mixes."""
    return _ceiling(profile, level, name, "all", {"all": sampled})


def _board_memory(bench: Bench, profile: GpuProfile, level: Level) -> Iterator[Outcome]:
    mixes: dict[str, Sampled] = {}
    widths: dict[str, tuple[tuple[float, float], ...]] = {}
    sizes: dict[str, tuple[tuple[float, float], ...]] = {}
    with memory.arrays(bench) as slab:
        for mix in MIXES:
            mixes[mix] = measure(
                bench, f"hbm {mix}", memory.variants(bench, slab, mix), refine=partial(memory.refined, bench, slab, mix)
            )
            if not bench.effort.quick:
                widths[mix] = tuple(_rates(bench, memory.width_variants(bench, slab, mix), "width"))
                sizes[mix] = tuple(_rates(bench, memory.size_variants(bench, slab, mix), "set_bytes"))
        fastest = max(mixes, key=lambda mix: mixes[mix].result.median)
        ceiling = _ceiling(profile, level, "hbm", fastest, mixes)
        small = memory.small_set(slab.size, bench.device.facts.l2_bytes)
        yield replace(ceiling, warnings=(*ceiling.warnings, small)) if small else ceiling
    yield Sweep("block", {mix: _by_block(sampled.probes) for mix, sampled in mixes.items()})
    if not bench.effort.quick:
        yield Sweep("width", widths)
        yield Sweep("size", sizes)
        yield _working_sets(bench)


def _rates(bench: Bench, variants: Sequence[Variant], setting: str) -> Iterator[tuple[float, float]]:
    """Pairs of a setting's value and the rate in bytes per second, one for each variant."""
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


def _l2(bench: Bench, profile: GpuProfile, level: Level) -> Iterator[Outcome]:
    walks = caches.l2_walks(bench, bench.device.facts.l2_bytes)
    with caches.filled(bench, max(caches.walk_bytes(bench, walk) for walk in walks)) as buffer:
        variants = [caches.walk_variant(bench, buffer, walk) for walk in walks]
        yield _single(profile, level, "l2", measure(bench, "l2", variants))


def _l1(bench: Bench, profile: GpuProfile, level: Level) -> Iterator[Outcome]:
    with caches.filled(bench, caches.l1_buffer_bytes(bench.device.facts.sm_count)) as buffer:
        yield _single(profile, level, "l1", measure(bench, "l1", caches.l1_variants(bench, buffer)))


def _shared(bench: Bench, profile: GpuProfile, level: Level) -> Iterator[Outcome]:
    mixes = {mix: measure(bench, f"shared {mix}", caches.shared_variants(bench, mix)) for mix in caches.SHARED_MIXES}
    yield _ceiling(profile, level, "shared", "read", mixes)


def _issue(bench: Bench, profile: GpuProfile, level: Level) -> Iterator[Outcome]:
    yield _single(profile, level, "issue", measure(bench, "issue", arithmetic.issue_variants(bench)))


def _launch(bench: Bench, profile: GpuProfile, level: Level) -> Iterator[Outcome]:
    """The interval in a stream is what counts: it is how most applications launch."""
    mixes = {"stream": launch.stream(bench), "single": launch.single(bench)}
    try:
        mixes["graph"] = launch.graph(bench)
    except DeviceError as error:
        yield Absent("launch graph", error.message)
    yield _ceiling(profile, level, "launch", "stream", mixes)


def _vector(bench: Bench, profile: GpuProfile, level: Level) -> Iterator[Outcome]:
    """One type of operation on the ordinary units."""
    variants = arithmetic.variants(bench, level.name)
    yield _single(profile, level, level.name, measure(bench, level.name, variants))


def _packed(bench: Bench, profile: GpuProfile, level: Level) -> Iterator[Outcome]:
    """Both half-precision types, which share a level."""
    yield from _vector(bench, profile, level)
    if variants := arithmetic.variants(bench, "bf16"):
        yield _single(profile, level, "bf16", measure(bench, "bf16", variants))
    else:
        yield Absent("bf16", "packed bf16 arithmetic needs sm_80 or later")


def _tensor(bench: Bench, profile: GpuProfile, level: Level) -> Iterator[Outcome]:
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
        yield _ceiling(profile, level, name, "sustained", mixes)


LEVELS: Final[Mapping[str, Level]] = {
    level.name: level
    for level in (
        # The sweep over working sets uses the kernels of the L2.
        Level("hbm", ("hbm.cu", "hbm_bulk.cu", "l2.cu"), limits.board_memory, _board_memory),
        Level("l2", ("l2.cu",), limits.l2, _l2),
        Level("l1", ("l1.cu",), limits.l1, _l1),
        Level("shared", ("shared.cu",), limits.shared, _shared),
        Level("issue", ("fp32.cu", "issue.cu"), limits.issue, _issue),
        Level("launch", ("launch.cu",), limits.unlimited, _launch),
        Level("fp64", ("fp64.cu",), limits.arithmetic, _vector),
        Level("fp32", ("fp32.cu",), limits.arithmetic, _vector),
        Level("fp16", ("fp16.cu",), limits.arithmetic, _packed),
        Level("tensor", TENSOR_SOURCES, limits.arithmetic, _tensor),
    )
}
"""By name, in the order of measuring: that of ``CALIBRATED``, which options use without loading this."""
