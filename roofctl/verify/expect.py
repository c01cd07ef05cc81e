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
from roofctl.verify.known_work import KnownKernel, LaunchShape, Work

EXACT_TOLERANCE: Final = 0.005
STRAY_SECTORS: Final = 120_000
"""DRAM sectors of a profiler's saving, restoring and flushing that a launch may show besides its own."""

LARGEST_L2_BYTES: Final = 128 * 2**20
"""Taken for the L2 where its size is not known; no GPU so far has a larger one."""

WAVEFRONTS: Final = (
    "shared_load_wavefronts",
    "shared_store_wavefronts",
    "shared_wavefronts",
    "shared_atomic_wavefronts",
    "shared_ldgsts_wavefronts",
)
SHARED_COUNTS: Final = (*WAVEFRONTS, "shared_load_instructions")
"""Quantities that only patched instructions count exactly."""
WAVEFRONT_EXCESS: Final = 0.08
INTEGER_EXCESS: Final = 0.1
PACKED_FMA_FLOPS: Final = 4
DRAM_EXCESS: Final = 0.01

Kind = Literal["exact", "bound"]


@dataclass(frozen=True)
class Circumstances:
    """What the expectations depend on besides the launch.

    ``patched``: quantities of ``SHARED_COUNTS`` that come from patched instructions, not from the hardware counters
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
    """What a launch of ``kernel`` must show; some expectations depend on what else was ``counted``."""
    return [
        *_instructions(kernel, launch, counted, about.paths.get(kernel.name)),
        *_global(kernel, launch.warps),
        *_hopper(kernel.work, launch.warps, counted),
        *_shared(kernel.work, launch.warps, about.patched),
        *_l1(kernel.work, launch.warps, counted, about.patched),
        *_dram(kernel, launch.warps, about),
        *_arithmetic(kernel.work, launch.warps),
        *_tensor(kernel.work, launch.warps, counted),
    ]


def _exact(quantity: str, expected: float, why: str = "", tolerance: float = EXACT_TOLERANCE) -> Expectation:
    return Expectation(quantity, expected, expected * (1 - tolerance), expected * (1 + tolerance), "exact", why)


def _instructions(
    kernel: KnownKernel, launch: LaunchShape, counted: Mapping[str, float], path: ExecutedPath | None
) -> Iterator[Expectation]:
    if kernel.spins:
        return
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
    sectors = _lsu_sectors(work) * warps
    yield _exact("l1_global_load_requests", work.load_requests * warps)
    yield _exact("l1_global_store_requests", work.store_requests * warps)
    yield _exact("l1_global_load_sectors", work.load_sectors * warps)
    yield _exact("l1_global_store_sectors", work.store_sectors * warps)
    yield _exact("l1_global_sectors", sectors)
    yield _exact("l1_local_sectors", 0)
    yield _exact("l1_lsu_sectors", sectors)
    yield _exact("texture_sectors", work.texture_sectors * warps)
    yield _exact("system_sectors", work.system_sectors * warps)
    if kernel.l2:
        sectors += work.texture_sectors * warps
        yield _exact("l2_transactions", sectors, "every sector of L1 goes on to L2")


def _hopper(work: Work, warps: int, counted: Mapping[str, float]) -> Iterator[Expectation]:
    """Traffic that only some chips have: not counted means that there is none."""
    for quantity, count in (
        ("dsmem_sectors", 0),
        ("tma_load_sectors", work.tma_load_sectors),
        ("tma_store_sectors", work.tma_store_sectors),
        ("shared_gmma_wavefronts", work.shared_gmma_wavefronts),
    ):
        if quantity in counted:
            yield _exact(quantity, count * warps)


def _lsu_sectors(work: Work) -> int:
    return work.load_sectors + work.store_sectors + work.reduction_sectors


def _shared(work: Work, warps: int, patched: frozenset[str]) -> Iterator[Expectation]:
    loads, counter = work.shared_loads * warps, "shared_load_instructions"
    copied = work.shared_ldgsts_wavefronts and counter not in patched
    yield _with_copies(loads) if copied else _exact(counter, loads)
    yield _exact("shared_store_instructions", work.shared_stores * warps)
    loads, stores = work.shared_load_wavefronts * warps, work.shared_store_wavefronts * warps
    for quantity, wavefronts in (
        ("shared_load_wavefronts", loads),
        ("shared_store_wavefronts", stores),
        ("shared_wavefronts", loads + stores),
        ("shared_atomic_wavefronts", work.shared_atomic_wavefronts * warps),
        ("shared_ldgsts_wavefronts", work.shared_ldgsts_wavefronts * warps),
    ):
        groups = work.wgmma_groups * warps if quantity == "shared_wavefronts" else 0
        yield _with_wavefronts(quantity, 0, wavefronts, 1, exact=quantity in patched, groups=groups)


def _with_copies(loads: int) -> Expectation:
    """Load instructions of shared memory by a hardware counter beside asynchronous copies."""
    why = f"the hardware counter also counts some asynchronous copies: −0/+{WAVEFRONT_EXCESS:.0%}"
    return Expectation("shared_load_instructions", loads, loads, loads * (1 + WAVEFRONT_EXCESS), "bound", why)


def _l1(work: Work, warps: int, counted: Mapping[str, float], patched: frozenset[str]) -> Iterator[Expectation]:
    """L1 transactions; parts that the capture did not count are not in its sum either."""
    optional = {
        "texture_sectors": work.texture_sectors,
        "tma_load_sectors": work.tma_load_sectors,
        "tma_store_sectors": work.tma_store_sectors,
        "shared_gmma_wavefronts": 4 * work.shared_gmma_wavefronts,
    }
    sectors = _lsu_sectors(work) + sum(count for quantity, count in optional.items() if quantity in counted)
    parts = {
        "shared_wavefronts": work.shared_load_wavefronts + work.shared_store_wavefronts,
        "shared_atomic_wavefronts": work.shared_atomic_wavefronts if "shared_atomic_wavefronts" in counted else 0,
        "shared_ldgsts_wavefronts": work.shared_ldgsts_wavefronts if "shared_ldgsts_wavefronts" in counted else 0,
    }
    exact = all(quantity in patched for quantity, wavefronts in parts.items() if wavefronts)
    groups = work.wgmma_groups * warps
    yield _with_wavefronts(
        "l1_transactions", sectors * warps, sum(parts.values()) * warps, 4, exact=exact, groups=groups
    )


def _with_wavefronts(
    quantity: str, base: int, wavefronts: int, weight: int, *, exact: bool, groups: int = 0
) -> Expectation:
    """A ``base`` that is exact and ``weight`` per shared-memory wavefront; ``exact``: whether those are exact too.

    ``groups`` are the wgmma groups that all warps wait for: the hardware counters show up to a wavefront for each.
    """
    expected = base + weight * wavefronts
    if exact or not wavefronts:
        return _exact(quantity, expected)
    why = f"the hardware counter also counts arbitration: wavefronts −0/+{WAVEFRONT_EXCESS:.0%}"
    low = expected - base * EXACT_TOLERANCE
    high = expected + weight * (groups + (wavefronts + groups) * WAVEFRONT_EXCESS) + base * EXACT_TOLERANCE
    if groups:
        why += ", and up to one wavefront for each wgmma group that a warp waits for"
    return Expectation(quantity, expected, low, high, "bound", why)


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
    """Operations outside tensor cores, and instructions of single pipes where only the source's work runs in them."""
    yield _exact("fp64_flops", work.fp64_flops * warps)
    yield _exact("fp32_flops", work.fp32_flops * warps)
    if work.fp16_flops is not None:
        yield _exact("fp16_flops", work.fp16_flops * warps)
        yield _exact("fp16_fma_instructions", work.fp16_flops // PACKED_FMA_FLOPS * warps)
    if work.xu_instructions is not None:
        yield _exact("xu_instructions", work.xu_instructions * warps)
    if work.integer_instructions is not None:
        expected = work.integer_instructions * warps
        why = f"loops and addresses need integers too: −0/+{INTEGER_EXCESS:.0%}"
        high = expected * (1 + INTEGER_EXCESS)
        yield Expectation("integer_instructions", expected, expected, high, "bound", why)


def _tensor(work: Work, warps: int, counted: Mapping[str, float]) -> Iterator[Expectation]:
    """Operations of tensor cores. Hopper counts FP16 products as one, whatever they add in.

    The counter of a type counts 2:4-sparse products too, which another one counts apart where it was collected.
    """
    fp16, fp16_sums = work.tensor_fp16_ops, work.tensor_fp16_acc16_ops
    if "tensor_fp16_acc16_ops" in counted:
        yield _exact("tensor_fp16_acc16_ops", fp16_sums * warps)
    else:
        fp16 += fp16_sums
    yield _exact("tensor_fp16_ops", fp16 * warps)
    yield _exact("tensor_fp64_ops", work.tensor_fp64_ops * warps)
    bf16, sparse = work.tensor_bf16_ops, work.tensor_bf16_sparse_ops
    if "tensor_bf16_sparse_ops" in counted:
        yield _exact("tensor_bf16_sparse_ops", sparse * warps)
    else:
        bf16 += sparse
    yield _exact("tensor_bf16_ops", bf16 * warps)
    yield _exact("tensor_fp8_ops", work.tensor_fp8_ops * warps)
    yield _exact("tensor_int8_ops", work.tensor_int8_ops * warps)
    yield _exact("tensor_tf32_ops", 0)
