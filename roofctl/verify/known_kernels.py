"""The counts that each kernel of ``kernels/known`` must show, per warp: the only place where they stand.

Every launch is made of full warps that all do the same, so each count is a number per warp times the warps
of the launch. Tests compare the table with the machine code.
"""

from __future__ import annotations

from typing import Final

from roofctl.core.units import SECTOR_BYTES, WARP_THREADS
from roofctl.verify.known_work import Dram, KnownKernel, LaunchShape, Work

ITERATIONS: Final = 1000
"""Iterations of the loops in registers: ``kIterations`` of the sources."""

WGMMA_ITERATIONS: Final = 64
"""Iterations of the loops over wgmma: ``kWgmmaIterations`` of the source."""

MATRIX: Final = 1024
"""M, N and K of the matrix products: ``kMatrix`` of the sources."""


def _row(threads: int) -> LaunchShape:
    return LaunchShape((threads // 256, 1, 1), (256, 1, 1))


_N: Final = 2**26
_REGISTERS: Final = _row(1056 * 256)
_TILES: Final = LaunchShape((256, 256, 1), (32, 8, 1))
_TENSOR_STEPS: Final = {"bf16": MATRIX // 16, "fp64": MATRIX // 4}


def _product(name: str, depth: int, *, loads: int = 6, **operations: int) -> KnownKernel:
    """A matrix product of ``mma.cu``: each step takes ``depth`` entries of K in ``loads`` loads of 8 sectors."""
    steps = MATRIX // depth
    return KnownKernel(
        name=name,
        file="mma.cu",
        work=Work(
            load_requests=loads * steps,
            load_sectors=8 * loads * steps,
            store_requests=2,
            store_sectors=16,
            **operations,
        ),
        launch=_row(MATRIX * MATRIX // 128 * WARP_THREADS),
        l2=False,
        iterations=steps,
        compute_capability_major=8,
    )


def _wgmma(name: str, depth: int, operation: str) -> KnownKernel:
    """A kernel of ``wgmma.cu``, a quarter of a warpgroup's work: 4 wgmma of 64 x 128 x ``depth`` in each iteration."""
    return KnownKernel(
        name=name,
        file="wgmma.cu",
        work=Work(
            load_requests=12,
            load_sectors=12 * 16,
            store_requests=32,
            store_sectors=32 * 8,
            shared_stores=12,
            shared_store_wavefronts=12 * 4,
            shared_gmma_wavefronts=48 * WGMMA_ITERATIONS,
            wgmma_groups=WGMMA_ITERATIONS,
            **{operation: 2 * 64 * 128 * depth * WGMMA_ITERATIONS},
        ),
        launch=LaunchShape((1056, 1, 1), (128, 1, 1)),
        l2=False,
        iterations=WGMMA_ITERATIONS,
        compute_capability_major=9,
        only_this_major=True,
    )


_PRODUCT_OPS: Final = 2 * 16 * 8 * MATRIX

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
        name="known_fma_fp16",
        file="fma.cu",
        work=Work(store_requests=1, store_sectors=16, fp16_flops=32 * 4 * 4 * ITERATIONS),
        dram=Dram(writes=16),
        launch=_REGISTERS,
        iterations=ITERATIONS,
    ),
    KnownKernel(
        name="known_integer",
        file="integer.cu",
        work=Work(store_requests=1, store_sectors=16, integer_instructions=32 * 4 * 2 * 4 * ITERATIONS),
        dram=Dram(writes=16),
        launch=_REGISTERS,
        iterations=ITERATIONS,
    ),
    KnownKernel(
        name="known_mufu",
        file="mufu.cu",
        work=Work(store_requests=1, store_sectors=8, xu_instructions=3 * ITERATIONS + 1),
        dram=Dram(writes=8),
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
        name="known_shared_atomics",
        file="shared_atomics.cu",
        work=Work(
            store_requests=1,
            store_sectors=4,
            shared_loads=1,
            shared_load_wavefronts=1,
            shared_stores=1,
            shared_store_wavefronts=1,
            shared_atomic_wavefronts=1 + 4 + 1,
        ),
        dram=Dram(writes=4),
        launch=_row(_N // 16),
    ),
    KnownKernel(
        name="known_async_copy",
        file="async_copy.cu",
        work=Work(
            load_requests=1,
            load_sectors=16,
            store_requests=1,
            store_sectors=16,
            shared_loads=1,
            shared_load_wavefronts=4,
            shared_ldgsts_wavefronts=4,
        ),
        dram=Dram(reads=16, writes=16),
        launch=_row(_N // 16),
        compute_capability_major=8,
    ),
    KnownKernel(
        name="known_texture",
        file="texture.cu",
        work=Work(store_requests=1, store_sectors=8, texture_sectors=8),
        dram=Dram(reads=8, writes=8),
        launch=_row(_N // 16),
    ),
    KnownKernel(
        name="known_host_memory",
        file="host_memory.cu",
        work=Work(load_requests=1, load_sectors=4, store_requests=1, store_sectors=4, system_sectors=4),
        dram=Dram(writes=4),
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
    _product("known_tensor_fp16", 16, tensor_fp16_ops=_PRODUCT_OPS),
    _product("known_tensor_fp16_fp16acc", 16, tensor_fp16_acc16_ops=_PRODUCT_OPS),
    _product("known_tensor_int8", 32, tensor_int8_ops=_PRODUCT_OPS),
    _product("known_tensor_bf16_sparse", 32, loads=8, tensor_bf16_sparse_ops=_PRODUCT_OPS),
    _wgmma("known_wgmma_bf16", 16, "tensor_bf16_ops"),
    _wgmma("known_wgmma_fp8", 32, "tensor_fp8_ops"),
    KnownKernel(
        name="known_bulk_copy",
        file="bulk_copy.cu",
        work=Work(tma_load_sectors=8192 // SECTOR_BYTES, tma_store_sectors=8192 // SECTOR_BYTES),
        dram=Dram(reads=256, writes=256),
        launch=LaunchShape((_N // 2048, 1, 1), (32, 1, 1)),
        l2=False,
        spins=True,
        compute_capability_major=9,
    ),
)


def known_kernel(name: str) -> KnownKernel | None:
    """The kernel of a function's base name, None when it is not one of ours."""
    return next((kernel for kernel in KNOWN if kernel.name == name), None)
