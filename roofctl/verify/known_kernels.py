"""The counts that each kernel of ``kernels/known`` must show, per warp: the only place where they stand.

Every launch is made of full warps that all do the same, so each count is a number per warp times the warps
of the launch. Tests compare the table with the machine code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from roofctl.core.units import WARP_THREADS

ITERATIONS: Final = 1000
"""Iterations of the FMA loops: ``kIterations`` of the sources."""

MATRIX: Final = 1024
"""M, N and K of the matrix products: ``kMatrix`` of the sources."""


@dataclass(frozen=True)
class LaunchShape:
    """Shape of a launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    @classmethod
    def parse(cls, grid: str, block: str) -> LaunchShape:
        """From a profiler's cells, such as ``(65536, 1, 1)`` and ``(256, 1, 1)``. Raises ValueError."""
        return cls(_three(grid), _three(block))

    @property
    def warps(self) -> int:
        """Warps of all blocks; a block's last warp may be a part of one."""
        threads = self.block[0] * self.block[1] * self.block[2]
        return self.grid[0] * self.grid[1] * self.grid[2] * -(-threads // WARP_THREADS)


def _three(text: str) -> tuple[int, int, int]:
    x, y, z = (int(digits) for digits in re.findall(r"\d+", text))
    return x, y, z


@dataclass(frozen=True)
class Work:
    """What one warp does, all counts from the source. Sectors are 32 bytes, an FMA is two operations."""

    load_requests: int = 0
    load_sectors: int = 0
    store_requests: int = 0
    store_sectors: int = 0
    reduction_sectors: int = 0
    shared_loads: int = 0
    shared_load_wavefronts: int = 0
    shared_stores: int = 0
    shared_store_wavefronts: int = 0
    fp32_flops: int = 0
    fp64_flops: int = 0
    tensor_bf16_ops: int = 0
    tensor_fp64_ops: int = 0


@dataclass(frozen=True)
class Dram:
    """DRAM sectors per warp if no cache kept anything; ``at_most`` times that where memory moves more than that."""

    reads: int = 0
    writes: int = 0
    at_most: float = 1.0
    why: str = ""


@dataclass(frozen=True)
class KnownKernel:
    """One kernel: its name, source file, work per warp, and the launch that ``known`` gives it by default.

    ``l2``: whether every sector of L1 goes on to L2 (nothing is read twice). ``active_lanes``: lanes that run
    nearly all of its instructions. ``iterations``: of its only loop. ``guarded``: all lanes leave at the first
    guarded exit.
    """

    name: str
    file: str
    work: Work
    launch: LaunchShape
    dram: Dram | None = None
    l2: bool = True
    active_lanes: int = WARP_THREADS
    iterations: int | None = None
    guarded: bool = False
    compute_capability_major: int = 0


def _row(threads: int) -> LaunchShape:
    return LaunchShape((threads // 256, 1, 1), (256, 1, 1))


_N: Final = 2**26
_REGISTERS: Final = _row(1056 * 256)
_TILES: Final = LaunchShape((256, 256, 1), (32, 8, 1))
_TENSOR_STEPS: Final = {"bf16": MATRIX // 16, "fp64": MATRIX // 4}

KNOWN: Final[tuple[KnownKernel, ...]] = (
    KnownKernel(
        name="known_triad",
        file="triad.cu",
        work=Work(load_requests=2, load_sectors=32, store_requests=1, store_sectors=16, fp32_flops=32 * 4 * 2),
        dram=Dram(reads=32, writes=16),
        launch=_row(_N // 4),
    ),
    KnownKernel(
        name="known_copy",
        file="copy.cu",
        work=Work(load_requests=1, load_sectors=4, store_requests=1, store_sectors=4),
        dram=Dram(reads=4, writes=4),
        launch=_row(_N),
    ),
    KnownKernel(
        name="known_strided_1",
        file="strided.cu",
        work=Work(load_requests=1, load_sectors=4),
        dram=Dram(reads=4),
        launch=_row(_N // 32),
        guarded=True,
    ),
    KnownKernel(
        name="known_strided_8",
        file="strided.cu",
        work=Work(load_requests=1, load_sectors=32),
        dram=Dram(reads=32),
        launch=_row(_N // 32),
        guarded=True,
    ),
    KnownKernel(
        name="known_strided_32",
        file="strided.cu",
        work=Work(load_requests=1, load_sectors=32),
        dram=Dram(reads=32, at_most=2.0, why="memory may hand out 64 bytes where 32 are asked for"),
        launch=_row(_N // 32),
        guarded=True,
    ),
    KnownKernel(
        name="known_transpose_naive",
        file="transpose.cu",
        work=Work(load_requests=4, load_sectors=16, store_requests=4, store_sectors=128),
        dram=Dram(reads=16, writes=16, at_most=2.0, why="partly written lines are filled and evicted"),
        launch=_TILES,
    ),
    KnownKernel(
        name="known_transpose_conflicted",
        file="transpose.cu",
        work=Work(
            load_requests=4,
            load_sectors=16,
            store_requests=4,
            store_sectors=16,
            shared_loads=4,
            shared_load_wavefronts=128,
            shared_stores=4,
            shared_store_wavefronts=4,
        ),
        dram=Dram(reads=16, writes=16),
        launch=_TILES,
    ),
    KnownKernel(
        name="known_transpose_padded",
        file="transpose.cu",
        work=Work(
            load_requests=4,
            load_sectors=16,
            store_requests=4,
            store_sectors=16,
            shared_loads=4,
            shared_load_wavefronts=4,
            shared_stores=4,
            shared_store_wavefronts=4,
        ),
        dram=Dram(reads=16, writes=16),
        launch=_TILES,
    ),
    KnownKernel(
        name="known_fma_fp64",
        file="fma.cu",
        work=Work(store_requests=1, store_sectors=16, fp64_flops=32 * 2 * 2 * ITERATIONS),
        dram=Dram(writes=16),
        launch=_REGISTERS,
        iterations=ITERATIONS,
    ),
    KnownKernel(
        name="known_fma_fp32",
        file="fma.cu",
        work=Work(store_requests=1, store_sectors=16, fp32_flops=32 * 4 * 2 * ITERATIONS),
        dram=Dram(writes=16),
        launch=_REGISTERS,
        iterations=ITERATIONS,
    ),
    KnownKernel(
        name="known_divergent",
        file="divergent.cu",
        work=Work(store_requests=1, store_sectors=4, fp32_flops=8 * 2 * ITERATIONS),
        dram=Dram(writes=4),
        launch=_REGISTERS,
        active_lanes=8,
    ),
    KnownKernel(
        name="known_atomics",
        file="atomics.cu",
        work=Work(load_requests=1, load_sectors=4, reduction_sectors=32),
        dram=Dram(reads=4),
        launch=_row(_N // 16),
    ),
    KnownKernel(
        name="known_shared",
        file="shared.cu",
        work=Work(
            load_requests=1,
            load_sectors=4,
            store_requests=1,
            store_sectors=4,
            shared_loads=8,
            shared_load_wavefronts=8,
            shared_stores=1,
            shared_store_wavefronts=1,
        ),
        dram=Dram(reads=4, writes=4),
        launch=_row(_N // 16),
    ),
    KnownKernel(
        name="known_tensor_bf16",
        file="tensor.cu",
        work=Work(
            load_requests=6 * _TENSOR_STEPS["bf16"],
            load_sectors=48 * _TENSOR_STEPS["bf16"],
            store_requests=2,
            store_sectors=16,
            tensor_bf16_ops=2 * 16 * 8 * MATRIX,
        ),
        launch=_row(MATRIX * MATRIX // 128 * WARP_THREADS),
        l2=False,
        iterations=_TENSOR_STEPS["bf16"],
        compute_capability_major=8,
    ),
    KnownKernel(
        name="known_tensor_fp64",
        file="tensor.cu",
        work=Work(
            load_requests=2 * _TENSOR_STEPS["fp64"],
            load_sectors=16 * _TENSOR_STEPS["fp64"],
            store_requests=1,
            store_sectors=16,
            tensor_fp64_ops=2 * 8 * 8 * MATRIX,
        ),
        launch=_row(MATRIX * MATRIX // 64 * WARP_THREADS),
        l2=False,
        iterations=_TENSOR_STEPS["fp64"],
        compute_capability_major=8,
    ),
)


def known_kernel(name: str) -> KnownKernel | None:
    """The kernel of a function's base name, None when it is not one of ours."""
    return next((kernel for kernel in KNOWN if kernel.name == name), None)
