"""L2, L1 and shared memory: kernels that stay in one level, in every shape that may be the fastest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from roofctl.microbench import reference
from roofctl.microbench.bench import NEEDLE, NEVER, Bench, Round, Variant
from roofctl.microbench.checks import check_sum
from roofctl.microbench.device import KernelLaunch
from roofctl.microbench.table import Microbenchmark

L2_SHARES: Final = (0.26, 0.401)
"""Least and most of the L2 that a calibration set takes: with near copies of far lines it still fits."""

_L2_SHAPES: Final = (
    ("l2_read_u2", 1024, 2),
    ("l2_read_u4", 512, 2),
    ("l2_read_u4", 1024, 1),
    ("l2_read_u8", 256, 2),
    ("l2_read_u8", 512, 1),
    ("l2_read_u16", 256, 1),
)
_QUICK_L2_SHAPES: Final = (("l2_read_u4", 512, 2), ("l2_read_u8", 512, 1))
_TICKET_BYTES: Final = 1 << 16
"""What a warp reads before it draws another ticket: enough to hide the atomic, little enough to end together."""
_BASE_ITERATIONS: Final = 64
_MUL, _ADD = reference.PATTERN


@dataclass(frozen=True)
class Buffer:
    """Device memory filled with the pattern."""

    address: int
    size: int


@contextmanager
def filled(bench: Bench, size: int) -> Iterator[Buffer]:
    """``size`` bytes of pattern for a while."""
    with bench.memory(size) as (address,):
        bench.fill(address, size // 4, 4)
        yield Buffer(address, size)


@dataclass(frozen=True)
class Walk:
    """A grid whose CTAs each walk a part of a buffer: ``part`` bytes in turns of ``turn`` bytes.

    The warps of a CTA read side by side, or each its own contiguous part (``by_warp``). ``shared_work``: warps
    draw tickets, so that SMs with more of the crossbar do more; without it all do the same.
    """

    kernel: str
    block: int
    ctas_per_sm: int
    part: int
    turn: int
    by_warp: bool = False
    shared_work: bool = True


def l2_walks(bench: Bench, l2_bytes: int) -> list[Walk]:
    """Every shape with sets between the two shares of the L2, in full turns."""
    if bench.effort.quick:
        return [walk for shape in _QUICK_L2_SHAPES for walk in _walks(bench, l2_bytes, *shape)[:1]]
    return [walk for shape in _L2_SHAPES for walk in _walks(bench, l2_bytes, *shape)]


def _walks(bench: Bench, l2_bytes: int, name: str, block: int, ctas: int) -> list[Walk]:
    """The smallest and the largest set of a shape; none where one turn of all CTAs is too much."""
    turn = bench.kernel(name).item_bytes * block
    grid = bench.device.facts.sm_count * ctas
    least, most = (int(share * l2_bytes) for share in L2_SHARES)
    turns = range(max(1, -(-least // (turn * grid))), most // (turn * grid) + 1)
    chosen = dict.fromkeys((turns[0], turns[-1])) if turns else {}
    return [Walk(name, block, ctas, turn * number, turn, by_warp) for number in chosen for by_warp in (False, True)]


def walk_bytes(bench: Bench, walk: Walk) -> int:
    """Bytes that all CTAs of a walk read together."""
    return walk.part * walk.ctas_per_sm * bench.device.facts.sm_count


def walk_variant(bench: Bench, buffer: Buffer, walk: Walk) -> Variant:
    """A walk as a variant; its settings name the working set."""
    kernel = bench.kernel(walk.kernel)
    grid = bench.device.facts.sm_count * walk.ctas_per_sm
    warps, chunk = grid * (walk.block // 32), walk.turn // (walk.block // 32)
    share = walk.part // (walk.block // 32)
    # Strides of CTAs, warps and turns, where a walk wraps, and by how much CTAs start apart.
    places = (walk.part, share, chunk, share, 7) if walk.by_warp else (walk.part, chunk, walk.turn, walk.part, 7)
    turns = max(1, _TICKET_BYTES // chunk)

    def launch(turns: int, each: int, counter: int, mask: int = NEVER, needle: int = NEEDLE) -> KernelLaunch:
        values = (buffer.address, *places, turns, warps * each, counter, mask, needle, bench.total, bench.clocks)
        return KernelLaunch(kernel.source, kernel.name, grid, walk.block, kernel.signature, values)

    def round_of(scale: int) -> Round:
        counter = bench.small("tickets") if walk.shared_work else 0
        return Round((launch(turns, scale, counter),), warps * scale * turns * chunk)

    def verify(*, full: bool) -> None:
        # Without a counter every warp does the same, so the sum is known.
        rounds = 2 if full else 1
        expected = rounds * reference.pattern_sum(walk.part // 4 * grid, 4, _MUL, _ADD)
        check_sum(bench, launch(walk.part // walk.turn, rounds, 0, 0, 0), expected, kernel.name)

    settings = {
        "kernel": walk.kernel, "block": walk.block, "ctas_per_sm": walk.ctas_per_sm, "set_bytes": walk.part * grid,
        "order": "by warp" if walk.by_warp else "by CTA", "work": "shared" if walk.shared_work else "equal",
    }  # fmt: skip
    return Variant(settings, round_of, verify)


def l1_variants(bench: Bench, buffer: Buffer) -> list[Variant]:
    """Loads of 4, 8 and 16 bytes, one or two CTAs an SM."""
    names = ("l1_read_w4_r32", "l1_read_w8_r32", "l1_read_w16_r32", "l1_read_w16_r16")
    shapes = ((512, 1),) if bench.effort.quick else ((512, 1), (1024, 1), (512, 2))
    return [_l1(bench, buffer, name, block, ctas) for name in names for block, ctas in shapes]


def l1_buffer_bytes(sm_count: int) -> int:
    """The largest buffer an L1 variant walks: 2048 bytes for each of 32 warps an SM."""
    return sm_count * 32 * 4 * 32 * 16


def _l1(bench: Bench, buffer: Buffer, name: str, block: int, ctas: int) -> Variant:
    kernel = bench.kernel(name)
    loads = dict(kernel.opcodes)["LDG"]
    width = kernel.item_bytes // loads
    grid = bench.device.facts.sm_count * ctas

    def launch(iterations: int, mask: int = NEVER, needle: int = NEEDLE) -> KernelLaunch:
        values = (buffer.address, iterations, mask, needle, bench.total, bench.clocks)
        return KernelLaunch(kernel.source, kernel.name, grid, block, kernel.signature, values, prefer_l1=True)

    def verify(*, full: bool) -> None:  # noqa: ARG001 - there is one size
        words = grid * block * 4 * width // 4
        check_sum(bench, launch(3, 0, 0), 3 * (loads // 4) * reference.pattern_sum(words, 4, _MUL, _ADD), name)

    settings = {"kernel": name, "width": width, "block": block, "ctas_per_sm": ctas}
    return Variant(settings, partial(_loop_round, launch, grid * block * kernel.item_bytes), verify)


def _loop_round(launch: Launcher, work: int, scale: int) -> Round:
    iterations = _BASE_ITERATIONS * scale
    return Round((launch(iterations),), work * iterations)


class Launcher(Protocol):
    """Makes the launch with that many turns of the loop; mask and needle 0 for the verify launch."""

    def __call__(self, iterations: int, mask: int = NEVER, needle: int = NEEDLE) -> KernelLaunch: ...


SHARED_MIXES: Final[dict[str, tuple[str, ...]]] = {
    "read": ("shared_read_w8_r32", "shared_read_w16_r32", "shared_read_w4_r32"),
    "write": ("shared_write_w16_r32",),
    "copy": ("shared_copy_w16_r16",),
}


def shared_variants(bench: Bench, mix: str) -> list[Variant]:
    """Reads of 4, 8 and 16 bytes, writes, copies; half and full CTAs."""
    blocks = (1024,) if bench.effort.quick else (1024, 512)
    return [_shared(bench, name, mix, block) for name in SHARED_MIXES[mix] for block in blocks]


def _shared(bench: Bench, name: str, mix: str, block: int) -> Variant:
    kernel = bench.kernel(name)
    grid = bench.device.facts.sm_count

    def launch(iterations: int, mask: int = NEVER, needle: int = NEEDLE) -> KernelLaunch:
        values = (iterations, _MUL, _ADD, mask, needle, bench.total, bench.clocks)
        return KernelLaunch(kernel.source, kernel.name, grid, block, kernel.signature, values)

    def verify(*, full: bool) -> None:  # noqa: ARG001 - there is one size
        check_sum(bench, launch(3, 0, 0), _shared_sum(kernel, mix, block, turns=3) * grid, name)

    settings = {"kernel": name, "block": block, "ctas_per_sm": 1}
    return Variant(settings, partial(_loop_round, launch, grid * block * kernel.item_bytes), verify)


def _shared_sum(kernel: Microbenchmark, mix: str, block: int, *, turns: int) -> int:
    """What the words of one CTA add up to: each warp has a kibibyte, 256 words."""
    starts = [256 * warp for warp in range(block // 32)]
    if mix == "read":
        # A turn reads the warp's kibibyte as often as its loads cover it.
        times = turns * kernel.item_bytes * 32 // 1024
        return times * reference.strided_sum(starts, 256, _MUL, _ADD)
    if mix == "write":
        return reference.strided_sum(starts, 256, _MUL, _ADD)
    return 2 * reference.strided_sum([start + 128 for start in starts], 128, _MUL, _ADD)
