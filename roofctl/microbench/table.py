"""The one table of microbenchmarks: what an item of each kernel moves and computes, and the opcodes of its code.

Every byte and operation that is reported anywhere is an entry of this table times a number of items. The sources in
``kernels/`` say how each is written and why; tests compare their machine code with this table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from roofctl.core.precisions import PRECISIONS

Capability = tuple[int, int]

LOADS_AND_STORES: Final = frozenset(
    {"LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST", "LDSM", "LDGSTS", "RED", "ATOMG"}
)


@dataclass(frozen=True)
class MatrixShape:
    """A matrix kernel's operands: ``m`` rows of A a warp(group), ``n`` columns, bytes of K a row in memory.

    ``turns`` is how often a loop turn adds A B^T to the accumulators.
    """

    m: int
    n: int
    row_bytes: int
    turns: int

    def operations(self, kind: str) -> int:
        """Operations of one loop turn on operands of that type."""
        return 2 * self.m * self.n * (self.row_bytes // TENSOR_TYPES[kind]) * self.turns


@dataclass(frozen=True)
class Microbenchmark:
    """One kernel. An item is an access (HBM) or one turn of the loop of ``threads`` threads together.

    ``item_bytes`` and ``item_operations`` are per item. ``opcodes`` is what the machine code holds per
    turn of the innermost loop, or in all where ``scope`` is ``kernel``. Matrix kernels have the ``kind`` of their
    operands and a ``shape``.
    """

    name: str
    source: str
    signature: str
    threads: int
    item_bytes: int
    item_operations: int
    opcodes: tuple[tuple[str, int], ...]
    scope: Literal["loop", "kernel"] = "loop"
    since: Capability = (7, 0)
    until: Capability = (99, 0)
    not_on: tuple[Capability, ...] = ()
    kind: str = ""
    shape: MatrixShape | None = None

    def runs_on(self, capability: Capability) -> bool:
        """Whether the chip has the instructions of this kernel."""
        return self.since <= capability < self.until and capability not in self.not_on


HBM_SIGNATURE: Final = "PPPIIIIP"
BULK_SIGNATURE: Final = "PPPIIIIPIII"
WALK_SIGNATURE: Final = "PIIIIIIIPIIPP"
L1_SIGNATURE: Final = "PIIIPP"
SHARED_SIGNATURE: Final = "IIIIIPP"
TENSOR_SIGNATURE: Final = "PPIPP"

MIXES: Final[dict[str, tuple[int, int]]] = {"read": (1, 0), "write": (0, 1), "copy": (1, 1), "triad": (2, 1)}
"""Arrays read and written by each access mix of the HBM kernels."""

WIDTHS: Final = (1, 2, 4, 8, 16)
VECTORS: Final = (1, 2, 4, 8)
POLICIES: Final[dict[str, tuple[str, ...]]] = {
    "read": ("plain", "cs", "na", "pf"),
    "write": ("plain", "cs", "na"),
    "copy": ("plain", "cs", "na", "pf"),
    "triad": ("plain", "cs", "na", "pf"),
}
"""Ways to load and store; pf is one of loads."""

BULK_TILE_BYTES: Final = 16384
BULK_STAGES: Final[dict[str, tuple[int, ...]]] = {
    "read": (4, 6),
    "write": (3, 6),
    "copy": (4, 6, 12),
    "triad": (2, 3, 6),
}

_EVERY_FP: Final = {
    "fp32": ("FFMA", "ffIPP"),
    "fp64": ("DFMA", "ddIPP"),
    "fp16": ("HFMA2", "IIIPP"),
    "bf16": ("HFMA2", "IIIPP"),
}
FP_STEPS: Final[dict[str, tuple[int, ...]]] = {
    "fp32": (16, 32, 64, 96),
    "fp64": (16, 32),
    "fp16": (16, 32, 48),
    "bf16": (16, 32, 48),
}
CHAINS: Final[dict[str, int]] = {"fp32": 8, "fp64": 8, "fp16": 16, "bf16": 16}
"""Independent multiply-add chains of a thread: enough to hide latency, and that operands are reused."""


def _hbm() -> Iterator[Microbenchmark]:
    """An item is one access of ``width`` bytes per array; a thread does ``vectors`` of them."""
    for mix, (reads, writes) in MIXES.items():
        variants = [(16, v, policy) for v in VECTORS for policy in POLICIES[mix]]
        variants += [(w, 4, "plain") for w in WIDTHS[:-1]]
        for width, vectors, policy in variants:
            accesses = (("LDG", vectors * reads), ("STG", vectors * writes))
            yield Microbenchmark(
                name=f"hbm_{mix}_w{width}_v{vectors}_{policy}",
                source="hbm.cu",
                signature=HBM_SIGNATURE,
                threads=1,
                item_bytes=width * (reads + writes),
                item_operations=0,
                opcodes=tuple((opcode, number) for opcode, number in accesses if number),
                scope="kernel",
                since=(8, 0) if policy == "pf" else (7, 0),
            )


def _hbm_bulk() -> Iterator[Microbenchmark]:
    """An item is one tile per array."""
    for mix, (reads, writes) in MIXES.items():
        for stages in BULK_STAGES[mix]:
            yield Microbenchmark(
                name=f"hbm_bulk_{mix}_s{stages}",
                source="hbm_bulk.cu",
                signature=BULK_SIGNATURE,
                threads=128,
                item_bytes=BULK_TILE_BYTES * (reads + writes),
                item_operations=0,
                # One request a stream ahead of the loop where there are loads, one in it.
                opcodes=(("UBLKCP", 2 * reads + writes),),
                scope="kernel",
                since=(9, 0),
            )


def _caches() -> Iterator[Microbenchmark]:
    """L2, L1 and shared memory: an item is one loop turn of a thread."""
    for name, unroll in (
        ("l2_read_u2", 2),
        ("l2_read_u4", 4),
        ("l2_read_u8", 8),
        ("l2_read_u16", 16),
        ("cache_read_u4", 4),
    ):
        yield Microbenchmark(name, "l2.cu", WALK_SIGNATURE, 1, 16 * unroll, 0, (("LDG", unroll),))
    for width, loads in ((4, 32), (8, 32), (16, 16), (16, 32)):
        item = width * loads
        yield Microbenchmark(f"l1_read_w{width}_r{loads}", "l1.cu", L1_SIGNATURE, 1, item, 0, (("LDG", loads),))
        yield Microbenchmark(
            f"shared_read_w{width}_r{loads}", "shared.cu", SHARED_SIGNATURE, 1, item, 0, (("LDS", loads),)
        )
    yield Microbenchmark("shared_write_w16_r32", "shared.cu", SHARED_SIGNATURE, 1, 512, 0, (("STS", 32),))
    yield Microbenchmark("shared_copy_w16_r16", "shared.cu", SHARED_SIGNATURE, 1, 512, 0, (("LDS", 16), ("STS", 16)))


def _arithmetic() -> Iterator[Microbenchmark]:
    """Chains of multiply-adds: an item is one loop turn of a thread."""
    for kind, (opcode, signature) in _EVERY_FP.items():
        source, each = "fp16.cu" if kind == "bf16" else f"{kind}.cu", PRECISIONS[kind].operations_per_fma or 0
        for steps in FP_STEPS[kind]:
            fmas = CHAINS[kind] * steps
            yield Microbenchmark(
                f"{kind}_s{steps}", source, signature, 1, 0, each * fmas, ((opcode, fmas),),
                since=(8, 0) if kind == "bf16" else (7, 0),
            )  # fmt: skip
    for steps in (16, 32):
        fmas = CHAINS["fp32"] * steps
        opcodes = (("FFMA", fmas), ("PRMT", fmas))
        yield Microbenchmark(f"issue_mix_s{steps}", "issue.cu", "ffIPPI", 1, 0, 2 * fmas, opcodes)


def _launch() -> Iterator[Microbenchmark]:
    """An item is one launch."""
    yield Microbenchmark("empty", "launch.cu", "", 32, 0, 0, (("EXIT", 1),), scope="kernel")


TENSOR_TYPES: Final[dict[str, int]] = {"fp16": 2, "bf16": 2, "tf32": 4, "fp8": 1, "int8": 1, "fp64": 8}
"""Bytes of one operand element."""

_GMMA: Final = {"fp16": "HGMMA", "bf16": "HGMMA", "tf32": "HGMMA", "fp8": "QGMMA", "int8": "IGMMA"}
_MMA: Final = {"fp16": "HMMA", "bf16": "HMMA", "tf32": "HMMA", "fp8": "QMMA", "int8": "IMMA"}
_BLACKWELL: Final = ((10, 0), (10, 1), (10, 3), (11, 0))
NO_TCGEN05: Final = "the matrix instructions of sm_100 (tcgen05) are not supported yet: theoretical ceilings only"


_WGMMA: Final = MatrixShape(64, 256, 128, 2)
_MMA_SYNC: Final = MatrixShape(16, 64, 32, 4)


def _matrix(
    name: str,
    source: str,
    kind: str,
    shape: MatrixShape,
    opcode: tuple[str, int],
    since: Capability,
    until: Capability = (99, 0),
    *,
    threads: int = 32,
    not_on: tuple[Capability, ...] = (),
) -> Microbenchmark:
    work = shape.operations(kind)
    return Microbenchmark(
        name, source, TENSOR_SIGNATURE, threads, 0, work, (opcode,),
        since=since, until=until, not_on=not_on, kind=kind, shape=shape,
    )  # fmt: skip


def _tensor() -> Iterator[Microbenchmark]:
    """Matrix products: an item is one loop turn of a warp, or of a warpgroup."""
    for kind, opcode in _GMMA.items():
        for form in ("ss", "rs"):
            name = f"wgmma_{kind}_{form}"
            yield _matrix(name, "tensor_wgmma.cu", kind, _WGMMA, (opcode, 8), (9, 0), (9, 1), threads=128)
    for kind, opcode in _MMA.items():
        since = (8, 9) if kind == "fp8" else (8, 0)
        without = ((9, 0), *_BLACKWELL)
        yield _matrix(f"mma_{kind}", "tensor_mma.cu", kind, _MMA_SYNC, (opcode, 32), since, not_on=without)
    for name, shape, since, until in (
        ("mma_fp64_m16n8k16", MatrixShape(16, 32, 128, 8), (9, 0), (9, 1)),
        ("mma_fp64_m8n8k4", MatrixShape(8, 32, 32, 8), (8, 0), (8, 1)),
    ):
        yield _matrix(name, "tensor_fp64.cu", "fp64", shape, ("DMMA", 32), since, until)
    for kind, opcode, shape, since in (
        ("fp16", "HMMA", MatrixShape(16, 64, 32, 4), (7, 0)),
        ("int8", "IMMA", MatrixShape(16, 64, 16, 4), (7, 2)),
    ):
        yield _matrix(f"wmma_{kind}", "tensor_wmma.cu", kind, shape, (opcode, 64), since, (8, 0))


KERNELS: Final[dict[str, Microbenchmark]] = {
    kernel.name: kernel for group in (_hbm, _hbm_bulk, _caches, _arithmetic, _launch, _tensor) for kernel in group()
}

HELPERS: Final[dict[str, tuple[str, str]]] = {
    **{f"fill_e{size}": ("fill.cu", "PQII") for size in (1, 2, 4)},
    **{f"check_e{size}": ("fill.cu", "PQIIP") for size in (1, 2, 4)},
    "clock_probe": ("clock.cu", "PQ"),
}
"""Kernels that measure nothing: their file and signature."""

HELPER_SOURCES: Final = tuple(dict.fromkeys(source for source, _ in HELPERS.values()))
TENSOR_SOURCES: Final = tuple(dict.fromkeys(k.source for k in KERNELS.values() if k.shape))
SOURCES: Final = tuple(dict.fromkeys([*(k.source for k in KERNELS.values()), *HELPER_SOURCES]))


def builds_for(source: str, capability: Capability) -> bool:
    """Whether a file holds anything for that chip: no point in building it otherwise."""
    return source in HELPER_SOURCES or any(k.source == source and k.runs_on(capability) for k in KERNELS.values())
