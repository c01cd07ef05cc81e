"""How the work of a known kernel is described: what one warp does, and its launch."""

from __future__ import annotations

import re
from dataclasses import dataclass

from roofctl.core.units import WARP_THREADS


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
    """What one warp does, all counts from the source. Sectors are 32 bytes, an FMA is two operations.

    None is not compared: every kernel computes addresses with integers, and compilers move constants with FP16
    instructions and convert integers in the XU pipe. ``integer_instructions``: those of threads that the source's
    loop has; loops and addresses need some more. ``xu_instructions``: warp instructions.
    """

    load_requests: int = 0
    load_sectors: int = 0
    store_requests: int = 0
    store_sectors: int = 0
    reduction_sectors: int = 0
    shared_loads: int = 0
    shared_load_wavefronts: int = 0
    shared_stores: int = 0
    shared_store_wavefronts: int = 0
    shared_atomic_wavefronts: int = 0
    shared_ldgsts_wavefronts: int = 0
    shared_gmma_wavefronts: int = 0
    wgmma_groups: int = 0
    tma_load_sectors: int = 0
    tma_store_sectors: int = 0
    texture_sectors: int = 0
    system_sectors: int = 0
    integer_instructions: int | None = None
    xu_instructions: int | None = None
    fp16_flops: int | None = None
    fp32_flops: int = 0
    fp64_flops: int = 0
    tensor_bf16_ops: int = 0
    tensor_bf16_sparse_ops: int = 0
    tensor_fp16_ops: int = 0
    tensor_fp16_acc16_ops: int = 0
    tensor_fp8_ops: int = 0
    tensor_int8_ops: int = 0
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
    guarded exit. ``spins``: it waits in a loop, so that its instructions differ from run to run.
    ``only_this_major``: no later architecture has its instructions.
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
    spins: bool = False
    compute_capability_major: int = 0
    only_this_major: bool = False

    def runs_on(self, major: int) -> bool:
        """Whether a GPU of this major compute capability has its instructions."""
        oldest = self.compute_capability_major
        return major == oldest if self.only_this_major else major >= oldest
