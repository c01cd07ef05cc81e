"""What a launch of a known kernel must show, as a value and the range that is accepted.

What hardware may add or keep back (DRAM behind an L2, shared-memory arbitration) gets a
stated bound; everything else is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from roofctl.core.units import SECTOR_BYTES, WARP_THREADS
from roofctl.cuda.sass import ExecutedPath
from roofctl.verify.known_kernels import KnownKernel, LaunchShape, Work

EXACT_TOLERANCE: Final = 0.005
STRAY_SECTORS: Final = 120_000
"""DRAM sectors of a profiler's saving, restoring and flushing that a launch may show besides its own."""

LARGEST_L2_BYTES: Final = 128 * 2**20
"""Taken for the L2 where its size is not known; no GPU so far has a larger one."""

WAVEFRONTS: Final = ("shared_load_wavefronts", "shared_store_wavefronts", "shared_wavefronts")
WAVEFRONT_EXCESS: Final = 0.08
DRAM_EXCESS: Final = 0.01

Kind = Literal["exact", "bound"]


@dataclass(frozen=True)
class Circumstances:
    """What the expectations depend on besides the launch.

    ``patched``: quantities of ``WAVEFRONTS`` that come from patched instructions, not from the hardware counters
    that also count arbitration. ``flushed``: the profiler emptied the caches before the kernel.
    """

    l2_bytes: int | None = None
    patched: frozenset[str] = frozenset()
    flushed: bool = True
    paths: Mapping[str, ExecutedPath] = field(default_factory=dict)


@dataclass(frozen=True)
class Expectation:
    """One quantity of one launch: the value from the source, and the range that is accepted, ends included."""

    quantity: str
    expected: float
    low: float
    high: float
    kind: Kind
    why: str = ""

    def accepts(self, counted: float) -> bool:
        """Whether ``counted`` is in the range."""
        return self.low <= counted <= self.high


def expectations(
    kernel: KnownKernel, launch: LaunchShape, counted: Mapping[str, float], about: Circumstances
) -> list[Expectation]:
    """What a launch of ``kernel`` must show. Some expectations are relations to other ``counted`` quantities."""
    return [
        *_instructions(kernel, launch, counted, about.paths.get(kernel.name)),
        *_global(kernel, launch.warps),
        *_shared(kernel.work, launch.warps, about.patched),
        *_dram(kernel, launch.warps, about),
        *_arithmetic(kernel.work, launch.warps),
    ]


def _exact(quantity: str, expected: float, why: str = "", tolerance: float = EXACT_TOLERANCE) -> Expectation:
    return Expectation(quantity, expected, expected * (1 - tolerance), expected * (1 + tolerance), "exact", why)


def _instructions(
    kernel: KnownKernel, launch: LaunchShape, counted: Mapping[str, float], path: ExecutedPath | None
) -> Iterator[Expectation]:
    warps = launch.warps
    issued, threads = counted.get("issued_warp_instructions"), counted.get("thread_instructions")
    if path is not None:
        per_warp, why = path.instructions, f"{path.instructions:,} instructions per warp in the disassembly"
        yield _exact("issued_warp_instructions", per_warp * warps, why, tolerance=0)
    elif issued is not None:
        per_warp = round(issued / warps)
        yield _exact("issued_warp_instructions", per_warp * warps, "an integer per warp", tolerance=0)
    if issued is not None and kernel.active_lanes == WARP_THREADS:
        yield _exact("thread_instructions", WARP_THREADS * issued, "32 per warp instruction", tolerance=0)
    elif issued is not None:
        lanes = kernel.active_lanes
        why = f"{lanes} to {lanes + 1} per warp instruction: {lanes} of 32 lanes run the loop"
        yield Expectation("thread_instructions", lanes * issued, lanes * issued, (lanes + 1) * issued, "bound", why)
    if threads is not None and path is not None and path.switched_off is not None:
        off = path.switched_off
        why = f"{off} per thread switched off: the loop's last branch" if off else "no instruction is switched off"
        yield _exact("predicated_thread_instructions", threads - off * WARP_THREADS * warps, why, tolerance=0)
    elif threads is not None:
        why = "at most the thread instructions"
        yield Expectation("predicated_thread_instructions", threads, 0, threads, "bound", why)


def _global(kernel: KnownKernel, warps: int) -> Iterator[Expectation]:
    work = kernel.work
    sectors = (work.load_sectors + work.store_sectors + work.reduction_sectors) * warps
    yield _exact("l1_global_load_requests", work.load_requests * warps)
    yield _exact("l1_global_store_requests", work.store_requests * warps)
    yield _exact("l1_global_load_sectors", work.load_sectors * warps)
    yield _exact("l1_global_store_sectors", work.store_sectors * warps)
    yield _exact("l1_global_sectors", sectors)
    yield _exact("l1_local_sectors", 0)
    yield _exact("l1_lsu_sectors", sectors)
    if kernel.l2:
        yield _exact("l2_transactions", sectors, "every sector of L1 goes on to L2")


def _shared(work: Work, warps: int, patched: frozenset[str]) -> Iterator[Expectation]:
    yield _exact("shared_load_instructions", work.shared_loads * warps)
    yield _exact("shared_store_instructions", work.shared_stores * warps)
    loads, stores = work.shared_load_wavefronts * warps, work.shared_store_wavefronts * warps
    sectors = (work.load_sectors + work.store_sectors + work.reduction_sectors) * warps
    for quantity, base, wavefronts, weight in (
        ("shared_load_wavefronts", 0, loads, 1),
        ("shared_store_wavefronts", 0, stores, 1),
        ("shared_wavefronts", 0, loads + stores, 1),
        ("l1_transactions", sectors, loads + stores, 4),
    ):
        expected = base + weight * wavefronts
        # L1 transactions hold the sum of both kinds of wavefronts.
        source = quantity if quantity in WAVEFRONTS else "shared_wavefronts"
        if source in patched or not wavefronts:
            yield _exact(quantity, expected)
        else:
            high = expected + weight * wavefronts * WAVEFRONT_EXCESS
            why = f"the hardware counter also counts arbitration: wavefronts −0/+{WAVEFRONT_EXCESS:.0%}"
            low = expected - base * EXACT_TOLERANCE
            yield Expectation(quantity, expected, low, high + base * EXACT_TOLERANCE, "bound", why)


def _dram(kernel: KnownKernel, warps: int, about: Circumstances) -> Iterator[Expectation]:
    if kernel.dram is None:
        return
    reads, writes = kernel.dram.reads * warps, kernel.dram.writes * warps
    l2_bytes = about.l2_bytes or LARGEST_L2_BYTES
    kept = l2_bytes // SECTOR_BYTES
    low = reads + max(0, writes - kept) if about.flushed else max(0, reads + writes - kept)
    high = (reads + writes) * kernel.dram.at_most * (1 + DRAM_EXCESS) + STRAY_SECTORS
    reasons = [f"+{DRAM_EXCESS:.0%} and {STRAY_SECTORS:,} stray sectors"]
    if writes or not about.flushed:
        size = f"{l2_bytes / 2**20:.0f} MiB" if about.l2_bytes else f"at most {LARGEST_L2_BYTES // 2**20} MiB"
        reasons.append(f"{'writes' if about.flushed else 'data'} may stay in the L2 of {size}")
    reasons += [kernel.dram.why] if kernel.dram.why else []
    yield Expectation("hbm_transactions", reads + writes, low, high, "bound", "; ".join(reasons))


def _arithmetic(work: Work, warps: int) -> Iterator[Expectation]:
    """Operations. FP16 is left out: compilers move constants with half-precision instructions."""
    yield _exact("fp64_flops", work.fp64_flops * warps)
    yield _exact("fp32_flops", work.fp32_flops * warps)
    yield _exact("tensor_fp64_ops", work.tensor_fp64_ops * warps)
    yield _exact("tensor_bf16_ops", work.tensor_bf16_ops * warps)
    for quantity in ("tensor_tf32_ops", "tensor_fp16_ops", "tensor_fp8_ops", "tensor_int8_ops"):
        yield _exact(quantity, 0)
