"""Matrix instructions: every operand type that the chip has, on zeros (issue) and on random numbers (sustained)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Final, Protocol

from roofctl.microbench import reference
from roofctl.microbench.bench import Bench, Round, Variant
from roofctl.microbench.checks import check_numbers
from roofctl.microbench.device import KernelLaunch
from roofctl.microbench.table import KERNELS, NO_TCGEN05, TENSOR_TYPES, MatrixShape

WARPGROUP_THREADS: Final = 128
_WARPGROUP_SHAPES: Final = ((2 * WARPGROUP_THREADS, 1), (WARPGROUP_THREADS, 1))
_WARP_SHAPES: Final = ((256, 2), (256, 1), (128, 2))
_BASE_ITERATIONS: Final = 16
_VERIFY_TURNS: Final = 2
_MOST_GROUPS: Final = 2
_SWIZZLE_BYTES: Final = 1024
_TOLERANCE: Final = {"fp16": 1e-3, "bf16": 1e-3, "tf32": 1e-3, "fp8": 5e-3, "int8": 0.0, "fp64": 1e-12}
_SM_100: Final = 10
_SEEDS: Final = (4711, 815)


def kernels_for(kind: str, capability: tuple[int, int]) -> list[str]:
    """The matrix kernels of a type that a chip can run."""
    return [k.name for k in KERNELS.values() if k.shape and k.kind == kind and k.runs_on(capability)]


def why_none(kind: str, capability: tuple[int, int]) -> str:
    """Why a chip has no matrix ceiling of that type."""
    if capability[0] in (_SM_100, _SM_100 + 1):
        return NO_TCGEN05
    return f"sm_{capability[0]}{capability[1]} has no {kind} matrix instruction that roofctl measures"


def shape_of(kernel: str) -> MatrixShape:
    """The operands of a matrix kernel."""
    shape = KERNELS[kernel].shape
    if shape is None:
        raise ValueError(f"{kernel} is no matrix kernel")
    return shape


@contextmanager
def operands(bench: Bench, kind: str, *, zeros: bool) -> Iterator[tuple[int, int, bool]]:
    """Device copies of A and B, as large as the largest kernel of the type needs."""
    names = kernels_for(kind, bench.device.facts.compute_capability)
    size_a = max(shape_of(name).m * shape_of(name).row_bytes * _MOST_GROUPS for name in names)
    size_b = max(shape_of(name).n * shape_of(name).row_bytes for name in names)
    with bench.memory(size_a, size_b) as (a, b):
        for address, size, seed in ((a, size_a, _SEEDS[0]), (b, size_b, _SEEDS[1])):
            bench.device.upload(address, bytes(size) if zeros else _random(kind, size, seed)[0])
        yield a, b, zeros


@lru_cache(maxsize=16)
def _random(kind: str, size: int, seed: int) -> tuple[bytes, list[float]]:
    return reference.operands(kind, size // TENSOR_TYPES[kind], seed)


def variants(bench: Bench, kind: str, held: tuple[int, int, bool]) -> list[Variant]:
    """Every kernel of the type in every shape."""
    made: list[Variant] = []
    for name in kernels_for(kind, bench.device.facts.compute_capability):
        shapes = _WARPGROUP_SHAPES if KERNELS[name].threads == WARPGROUP_THREADS else _WARP_SHAPES
        made += [_variant(bench, kind, name, held, *shape) for shape in (shapes[:1] if bench.effort.quick else shapes)]
    return made


def _variant(bench: Bench, kind: str, name: str, held: tuple[int, int, bool], block: int, ctas: int) -> Variant:
    kernel, shape = bench.kernel(name), shape_of(name)
    grid = bench.device.facts.sm_count * ctas
    units = block // kernel.threads
    element = 8 if kind == "fp64" else 4
    out_bytes = grid * units * shape.m * shape.n * element
    shared = (
        _SWIZZLE_BYTES + (shape.n + units * shape.m) * shape.row_bytes if kernel.threads == WARPGROUP_THREADS else 0
    )

    def launch(iterations: int) -> KernelLaunch:
        values = (held[0], held[1], iterations, bench.results(out_bytes), bench.clocks)
        return KernelLaunch(kernel.source, name, grid, block, kernel.signature, values, shared)

    def round_of(scale: int) -> Round:
        turns = _BASE_ITERATIONS * scale
        return Round((launch(turns),), grid * units * kernel.item_operations * turns)

    verify = partial(_verify, bench, kind, name, launch, (block, grid, out_bytes), zeros=held[2])
    return Variant({"kernel": name, "block": block, "ctas_per_sm": ctas}, round_of, verify)


def _verify(
    bench: Bench, kind: str, name: str, launch: Turns, sizes: tuple[int, int, int], *, zeros: bool, full: bool  # noqa: ARG001
) -> None:  # fmt: skip
    """Random operands: the product against the host's, and every CTA against the first. Zeros: all zeros."""
    block, grid, out_bytes = sizes
    shape, kernel = shape_of(name), KERNELS[name]
    # Warpgroups have rows of A of their own; warps all multiply the same rows.
    units = block // kernel.threads
    rows = shape.m * (units if kernel.threads == WARPGROUP_THREADS else 1)
    out = bench.results(out_bytes)
    bench.device.set_bytes(out, 0xFF, out_bytes)
    bench.device.run([launch(_VERIFY_TURNS)])
    expected = [0.0] * (rows * shape.n) if zeros else _product(kind, shape)[: rows * shape.n]
    letter = {"fp64": "d", "int8": "i"}.get(kind, "f")
    size = struct.calcsize(letter) * rows * shape.n
    first = bench.device.download(out, size)
    check_numbers(struct.unpack(f"<{rows * shape.n}{letter}", first), expected, _TOLERANCE[kind], name)
    last = bench.device.download(out + out_bytes - size, size)
    check_numbers(
        struct.unpack(f"<{rows * shape.n}{letter}", last), expected, _TOLERANCE[kind], f"{name}, last of {grid} CTAs"
    )


@lru_cache(maxsize=32)
def _product(kind: str, shape: MatrixShape) -> list[float]:
    """A B^T as the verify launch leaves it, for the most rows that any launch has."""
    rows = shape.m * _MOST_GROUPS
    # A generator with the same seed starts the same way: these are the leading elements of the device's operands.
    _, a = _random(kind, shape.row_bytes * rows, _SEEDS[0])
    _, b = _random(kind, shape.row_bytes * shape.n, _SEEDS[1])
    return reference.product(a, b, rows, shape.n, shape.turns * _VERIFY_TURNS)


class Turns(Protocol):
    """Makes the launch with that many turns of the loop."""

    def __call__(self, iterations: int) -> KernelLaunch: ...
