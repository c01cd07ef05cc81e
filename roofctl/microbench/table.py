"""The one table of microbenchmarks: what an item of each kernel moves and computes, and what its code must show.

The header of each file in ``kernels/`` states the same numbers. Every byte and operation that is
reported anywhere is an entry of this table times a number of items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Capability = tuple[int, int]

LOADS_AND_STORES: Final = frozenset(
    {"LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST", "LDSM", "LDGSTS", "RED", "ATOMG"}
)


@dataclass(frozen=True)
class Microbenchmark:
    """One kernel. An item is an access (HBM) or one turn of the loop of ``threads`` threads together.

    ``item_bytes`` and ``item_operations`` are per item. ``opcodes`` is what the machine code holds per
    turn of the innermost loop, or in all where ``scope`` is ``kernel``.
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
    for kind, (opcode, signature) in _EVERY_FP.items():
        source = "fp16.cu" if kind == "bf16" else f"{kind}.cu"
        packed = 2 if opcode == "HFMA2" else 1
        for steps in FP_STEPS[kind]:
            fmas = CHAINS[kind] * steps
            yield Microbenchmark(
                f"{kind}_s{steps}", source, signature, 1, 0, 2 * packed * fmas, ((opcode, fmas),),
                since=(8, 0) if kind == "bf16" else (7, 0),
            )  # fmt: skip
    for steps in (16, 32):
        fmas = CHAINS["fp32"] * steps
        opcodes = (("FFMA", fmas), ("PRMT", fmas))
        yield Microbenchmark(f"issue_mix_s{steps}", "issue.cu", "ffIPPI", 1, 0, 2 * fmas, opcodes)


def _launch() -> Iterator[Microbenchmark]:
    yield Microbenchmark("empty", "launch.cu", "", 32, 0, 0, (("EXIT", 1),), scope="kernel")


@dataclass(frozen=True)
class Shape:
    """A matrix kernel's operands: ``m`` rows of A a warp(group), ``n`` columns, bytes of K a row in memory.

    ``turns`` is how often a loop turn adds A B^T to the accumulators.
    """

    m: int
    n: int
    row_bytes: int
    turns: int


TENSOR_TYPES: Final[dict[str, int]] = {"fp16": 2, "bf16": 2, "tf32": 4, "fp8": 1, "int8": 1, "fp64": 8}
"""Bytes of one operand element."""

SHAPES: Final[dict[str, Shape]] = {
    "wgmma": Shape(64, 256, 128, 2),
    "mma": Shape(16, 64, 32, 4),
    "mma_fp64_m16n8k16": Shape(16, 32, 128, 8),
    "mma_fp64_m8n8k4": Shape(8, 32, 32, 8),
    "wmma_fp16": Shape(16, 64, 32, 4),
    "wmma_int8": Shape(16, 64, 16, 4),
}
_GMMA: Final = {"fp16": "HGMMA", "bf16": "HGMMA", "tf32": "HGMMA", "fp8": "QGMMA", "int8": "IGMMA"}
_MMA: Final = {"fp16": "HMMA", "bf16": "HMMA", "tf32": "HMMA", "fp8": "QMMA", "int8": "IMMA"}
_BLACKWELL: Final = ((10, 0), (10, 1), (10, 3), (11, 0))
NO_TCGEN05: Final = "the matrix instructions of sm_100 (tcgen05) are not supported yet: theoretical ceilings only"


def shape_of(kernel: str) -> Shape:
    """The operands of a matrix kernel."""
    return next(shape for prefix, shape in sorted(SHAPES.items(), reverse=True) if kernel.startswith(prefix))


def _operations(shape: Shape, kind: str) -> int:
    return 2 * shape.m * shape.n * (shape.row_bytes // TENSOR_TYPES[kind]) * shape.turns


def _tensor() -> Iterator[Microbenchmark]:
    for kind, opcode in _GMMA.items():
        operations = _operations(SHAPES["wgmma"], kind)
        for form in ("ss", "rs"):
            yield Microbenchmark(
                f"wgmma_{kind}_{form}", "tensor_wgmma.cu", TENSOR_SIGNATURE, 128, 0, operations, ((opcode, 8),),
                since=(9, 0), until=(9, 1),
            )  # fmt: skip
    for kind, opcode in _MMA.items():
        yield Microbenchmark(
            f"mma_{kind}", "tensor_mma.cu", TENSOR_SIGNATURE, 32, 0, _operations(SHAPES["mma"], kind), ((opcode, 32),),
            since=(8, 9) if kind == "fp8" else (8, 0), not_on=((9, 0), *_BLACKWELL),
        )  # fmt: skip
    for name, until, opcodes in (("m16n8k16", (9, 1), 32), ("m8n8k4", (8, 1), 32)):
        kernel = f"mma_fp64_{name}"
        work = _operations(SHAPES[kernel], "fp64")
        yield Microbenchmark(
            kernel, "tensor_fp64.cu", TENSOR_SIGNATURE, 32, 0, work, (("DMMA", opcodes),),
            since=(9, 0) if name == "m16n8k16" else (8, 0), until=until,
        )  # fmt: skip
    for kind, opcode in (("fp16", "HMMA"), ("int8", "IMMA")):
        kernel = f"wmma_{kind}"
        since = (7, 2) if kind == "int8" else (7, 0)
        yield Microbenchmark(
            kernel, "tensor_wmma.cu", TENSOR_SIGNATURE, 32, 0, _operations(SHAPES[kernel], kind), ((opcode, 64),),
            since=since, until=(8, 0),
        )  # fmt: skip


KERNELS: Final[dict[str, Microbenchmark]] = {
    kernel.name: kernel for group in (_hbm, _hbm_bulk, _caches, _arithmetic, _launch, _tensor) for kernel in group()
}

HELPERS: Final[dict[str, tuple[str, str]]] = {
    **{f"fill_e{size}": ("fill.cu", "PQII") for size in (1, 2, 4)},
    **{f"check_e{size}": ("fill.cu", "PQIIP") for size in (1, 2, 4)},
    "clock_probe": ("clock.cu", "PQ"),
}
"""Kernels that measure nothing: their file and signature."""

SOURCES: Final = tuple(
    dict.fromkeys([*(k.source for k in KERNELS.values()), *(source for source, _ in HELPERS.values())])
)


def builds_for(source: str, capability: Capability) -> bool:
    """Whether a file holds anything for that chip: no point in building it otherwise."""
    helpers = any(helper == source for helper, _ in HELPERS.values())
    return helpers or any(k.source == source and k.runs_on(capability) for k in KERNELS.values())
