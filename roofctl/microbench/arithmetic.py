"""Multiply-add chains: FP64, FP32, packed FP16 and BF16, and the rate at which instructions are issued."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, Protocol

from roofctl.cuda import sass
from roofctl.microbench import reference
from roofctl.microbench.bench import Bench, Round, Variant
from roofctl.microbench.checks import check_numbers
from roofctl.microbench.device import KernelLaunch
from roofctl.microbench.table import CHAINS, FP_STEPS, KERNELS, Microbenchmark

_SHAPES: Final = ((1024, 1), (1024, 2), (512, 2), (256, 4))
_BASE_ITERATIONS: Final = 16
_VERIFY_STEPS: Final = 64
_IDENTITY_PERMUTATION: Final = 0x3210


@dataclass(frozen=True)
class Kind:
    """One number type: multiplier and addend of the timed and of the verify launch.

    The timed pair keeps all values normal and finite for ever; the verify pair makes every step count.
    Pairs are as the kernel gets them; ``verify_numbers`` are the same as numbers.
    """

    timed: tuple[float, float]
    verify: tuple[float, float]
    verify_numbers: tuple[float, float]
    tolerance: float
    result: str = "f"

    @property
    def packed(self) -> bool:
        return isinstance(self.verify[0], int)


KINDS: Final[dict[str, Kind]] = {
    "fp32": Kind((0.9990234375, 0.0009765625), (1.0009765625, 0.5), (1.0009765625, 0.5), 1e-5),
    "fp64": Kind((0.9990234375, 0.0009765625), (1.0009765625, 0.5), (1.0009765625, 0.5), 1e-13, "d"),
    # Two halves in 32 bits. Timed: 0.9995 and 0.001, bf16 0.996 and 0.004. Verify: 1 and a step that stays exact.
    "fp16": Kind((0x3BFF3BFF, 0x14001400), (0x3C003C00, 0x30003000), (1.0, 0.125), 1e-6),
    "bf16": Kind((0x3F7F3F7F, 0x3B803B80), (0x3F803F80, 0x3E803E80), (1.0, 0.25), 1e-6),
}


def variants(bench: Bench, kind: str) -> list[Variant]:
    """Loops of different length, different CTA shapes; work in floating-point operations."""
    return [
        _chain(bench, f"{kind}_s{steps}", kind, block, ctas)
        for steps in FP_STEPS[kind]
        for block, ctas in _shapes(bench)
        if bench.supports(f"{kind}_s{steps}")
    ]


def issue_variants(bench: Bench) -> list[Variant]:
    """The FFMA chains, and FFMA with byte permutations for chips that cannot issue an FFMA every clock.

    Work is warp instructions, counted in the machine code; without a disassembler only those that the
    table declares, which leaves out about three a turn.
    """
    names = [f"fp32_s{steps}" for steps in FP_STEPS["fp32"]] + ["issue_mix_s16", "issue_mix_s32"]
    return [_chain(bench, name, "fp32", block, ctas, issue=True) for name in names for block, ctas in _shapes(bench)]


def issued_per_turn(bench: Bench, kernel: Microbenchmark) -> tuple[int, str]:
    """Warp instructions of one loop turn, and where the number comes from."""
    declared = sum(number for _, number in kernel.opcodes)
    code = bench.tools.disassemble(kernel.source).get(kernel.name)
    loop = sass.main_loop(code, frozenset(opcode for opcode, _ in kernel.opcodes)) if code else None
    return (loop.total(), "issued, counted in SASS") if loop else (declared, "useful only: no disassembler")


def _shapes(bench: Bench) -> tuple[tuple[int, int], ...]:
    return _SHAPES[:1] if bench.effort.quick else _SHAPES


def _chain(bench: Bench, name: str, kind: str, block: int, ctas: int, *, issue: bool = False) -> Variant:
    kernel, values = bench.kernel(name), KINDS[kind]
    grid = bench.device.facts.sm_count * ctas
    settings = {"kernel": name, "block": block, "ctas_per_sm": ctas}
    work = grid * block * kernel.item_operations
    if issue:
        per_turn, how = issued_per_turn(bench, kernel)
        work = grid * block // 32 * per_turn
        settings |= {"instructions_per_turn": per_turn, "counted": how}

    def launch(iterations: int, pair: tuple[float, float]) -> KernelLaunch:
        extra = (_IDENTITY_PERMUTATION,) if "PRMT" in dict(kernel.opcodes) else ()
        arguments = (*pair, iterations, bench.results(grid * block * 8), bench.clocks, *extra)
        return KernelLaunch(kernel.source, kernel.name, grid, block, kernel.signature, arguments)

    def round_of(scale: int) -> Round:
        turns = _BASE_ITERATIONS * scale
        return Round((launch(turns, values.timed),), work * turns)

    return Variant(settings, round_of, partial(_verify, bench, name, kind, launch, grid * block))


def _verify(
    bench: Bench,
    name: str,
    kind: str,
    launch: Chain,
    threads: int,
    *,
    full: bool,  # noqa: ARG001 - there is one size
) -> None:
    """A short chain against its recurrence, for every thread of the first and the last CTA's first warp."""
    values = KINDS[kind]
    steps = KERNELS[name].opcodes[0][1] // CHAINS[kind]
    turns = max(1, _VERIFY_STEPS // steps)
    out = bench.results(threads * 8)
    size = struct.calcsize(values.result)
    bench.device.set_bytes(out, 0xFF, threads * size)
    bench.device.run([launch(turns, values.verify)])
    data = bench.device.download(out, threads * size)
    seen = struct.unpack(f"<{threads}{values.result}", data)
    warp = _warp(kind, turns * steps)
    check_numbers(seen[:32], warp, values.tolerance, name)
    # All warps compute the same, bit by bit.
    if data != data[: 32 * size] * (threads // 32):
        check_numbers(seen, warp * (threads // 32), values.tolerance, name)


@lru_cache(maxsize=16)
def _warp(kind: str, steps: int) -> list[float]:
    """What the 32 lanes of a warp compute."""
    m, c = KINDS[kind].verify_numbers
    count, packed = CHAINS[kind], KINDS[kind].packed
    return [reference.chains(lane, m, c, steps, count=count, packed=packed) for lane in range(32)]


class Chain(Protocol):
    """Makes the launch with that many turns and that multiplier and addend."""

    def __call__(self, iterations: int, pair: tuple[float, float]) -> KernelLaunch: ...
