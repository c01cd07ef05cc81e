"""Device memory: four access mixes, with every block size, vectors per thread, policy and way of access."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from roofctl.core.errors import DeviceError
from roofctl.microbench import reference
from roofctl.microbench.bench import NEEDLE, NEVER, Bench, Probe, Round, Variant
from roofctl.microbench.checks import check_memory, check_sum
from roofctl.microbench.device import Copy, Job, KernelLaunch
from roofctl.microbench.table import BULK_STAGES, BULK_TILE_BYTES, MIXES, POLICIES, VECTORS, WIDTHS, Microbenchmark

BLOCKS: Final = (128, 256, 512, 1024)
_GRANULE: Final = 1 << 22
"""Arrays are multiples of this: of every tile, and of every cycle of a narrow pattern."""

_QUICK_SHAPES: Final = ((512, 1), (512, 4))

_POISON: Final = 0xEE
_DEFAULT_BYTES: Final = 32 << 30
_QUICK_BYTES: Final = 8 << 30
_CHECK_BYTES: Final = 1 << 26
_WIDTH_BYTES: Final = 2 << 30
_SHARE_OF_FREE: Final = 0.6
_TIMES_L2: Final = 8
_LEAST_TIMES_L2: Final = 2
_ARRAYS: Final = 3
_MUL, _ADD = reference.PATTERN
_SCALAR: Final = 3


@dataclass(frozen=True)
class Arrays:
    """One slab of device memory that every mix divides into as many arrays as it needs."""

    address: int
    size: int

    def split(self, mix: str) -> tuple[int, tuple[int, int, int]]:
        """Bytes of each array, and the addresses of a (written), b and c (read)."""
        reads, writes = MIXES[mix]
        size = self.size // (reads + writes) // _GRANULE * _GRANULE
        b = self.address + size * (writes if reads else 0)
        return size, (self.address, b, b + size if reads > 1 else b)


@contextmanager
def arrays(bench: Bench) -> Iterator[Arrays]:
    """The slab: ``bench.size_bytes``, else 32 GiB or what fits. Too small a one would measure the L2."""
    free, usual = bench.device.free_bytes(), _QUICK_BYTES if bench.effort.quick else _DEFAULT_BYTES
    size = slab_bytes(bench.size_bytes, free, bench.device.facts.l2_bytes, usual)
    with bench.memory(size) as (address,):
        yield Arrays(address, size)


def slab_bytes(wanted: int | None, free: int, l2_bytes: int, usual: int = _DEFAULT_BYTES) -> int:
    """Bytes of the working set. Raises DeviceError, with both numbers, when it is too small or does not fit.

    One of less than ``_TIMES_L2`` times the L2 per array is taken where it was ``wanted``: ``small_set`` warns.
    """
    times = _TIMES_L2 if wanted is None else _LEAST_TIMES_L2
    least = times * l2_bytes * _ARRAYS
    size = wanted if wanted is not None else min(usual, int(free * _SHARE_OF_FREE))
    if size > free:
        raise DeviceError(
            f"out of device memory: the working set is {size / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free",
            hint="give a smaller --size-mb, or end what else uses this GPU",
        )
    if size < least:
        raise DeviceError(
            f"a working set of {size / 1e6:,.0f} MB would measure the L2: three arrays of {times} x the L2 "
            f"({l2_bytes / 1e6:,.0f} MB) need {least / 1e6:,.0f} MB",
            hint="give a larger --size-mb, or free device memory",
        )
    return size // _GRANULE * _GRANULE


def small_set(size: int, l2_bytes: int) -> str | None:
    """Why a working set may read high: a part of each array stays in the L2. None where it is large enough."""
    times = size / (_ARRAYS * l2_bytes)
    if times >= _TIMES_L2:
        return None
    enough = _TIMES_L2 * _ARRAYS * l2_bytes
    return (
        f"the working set of {size / 1e6:,.0f} MB is three arrays of {times:.1f} x the L2: a part of them stays in the "
        f"L2, and the rate may be higher than that of the memory; {enough / 1e6:,.0f} MB avoid it"
    )


def size_variants(bench: Bench, slab: Arrays, mix: str) -> list[Variant]:
    """The same shape on working sets of a thirty-second of the slab up to all of it."""
    least = _TIMES_L2 * bench.device.facts.l2_bytes * _ARRAYS
    sizes = [slab.size >> shift for shift in range(5, -1, -1)]
    parts = [Arrays(slab.address, size // _GRANULE * _GRANULE) for size in sizes if size >= least or size == slab.size]
    return [_plain(bench, part, mix, 16, 256, 4, "plain") for part in parts]


def variants(bench: Bench, slab: Arrays, mix: str, policies: Sequence[str] = ("plain",)) -> list[Variant]:
    """Plain loads and stores in every shape, bulk copies where the chip has them, and the driver's copy."""
    known = [policy for policy in policies if bench.supports(f"hbm_{mix}_w16_v1_{policy}")]
    shapes = [(block, vectors, policy) for policy in known for block in BLOCKS for vectors in VECTORS]
    if bench.effort.quick:
        shapes = [shape for shape in shapes if shape[:2] in _QUICK_SHAPES]
    chosen = [_plain(bench, slab, mix, 16, *shape) for shape in shapes]
    if not bench.effort.quick:
        chosen += list(_bulk_variants(bench, slab, mix))
    return [*chosen, _driver_copy(bench, slab)] if mix == "copy" else chosen


def refined(bench: Bench, slab: Arrays, mix: str, probes: Sequence[Probe]) -> list[Variant]:
    """The other load policies for the three best shapes."""
    plain = sorted((p for p in probes if p.settings.get("policy") == "plain"), key=lambda p: -p.rate)
    best = [(p.settings["block"], p.settings["vectors"]) for p in plain[: 1 if bench.effort.quick else 3]]
    return [
        _plain(bench, slab, mix, 16, *shape, policy)
        for policy in POLICIES[mix][1:]
        if bench.supports(f"hbm_{mix}_w16_v1_{policy}")
        for shape in best
    ]


def width_variants(bench: Bench, slab: Arrays, mix: str) -> list[Variant]:
    """The same shape with accesses of 1 to 16 bytes, on a part of the slab: narrow ones are slow."""
    part = Arrays(slab.address, min(slab.size, _WIDTH_BYTES))
    return [_plain(bench, part, mix, width, 256, 4, "plain") for width in WIDTHS]


def _plain(bench: Bench, slab: Arrays, mix: str, width: int, block: int, vectors: int, policy: str) -> Variant:
    kernel = bench.kernel(f"hbm_{mix}_w{width}_v{vectors}_{policy}")
    size, addresses = slab.split(mix)

    def launch(bytes_per_array: int, mask: int = NEVER, needle: int = NEEDLE) -> KernelLaunch:
        grid = bytes_per_array // (width * vectors * block)
        values = (*addresses, *_constants(mix), mask, needle, bench.total)
        return KernelLaunch(kernel.source, kernel.name, grid, block, kernel.signature, values)

    def round_of(scale: int) -> Round:
        jobs: tuple[Job, ...] = (launch(size),) * scale
        return Round(jobs, scale * (size // width) * kernel.item_bytes)

    settings = {
        "kernel": "loads",
        "width": width,
        "block": block,
        "vectors": vectors,
        "policy": policy,
        "set_bytes": slab.size,
    }
    verify = partial(_verify, bench, mix, kernel, addresses, min(width, 4), launch, (size, min(size, _CHECK_BYTES)))
    return Variant(settings, round_of, verify, clocked=False)


def _constants(mix: str) -> tuple[int, int]:
    """Mul and add of a kernel: the triad's scalar, else the pattern that the write kernel writes."""
    return (_SCALAR, 0) if mix == "triad" else (_MUL, _ADD)


def _bulk_variants(bench: Bench, slab: Arrays, mix: str) -> Iterator[Variant]:
    """The deepest ring in order: on an H200 bulk copies trail plain loads in every mix and shape."""
    stages = BULK_STAGES[mix][-1]
    if bench.supports(f"hbm_bulk_{mix}_s{stages}"):
        streams = 2 if mix == "triad" else 1
        shared = streams * stages * BULK_TILE_BYTES + 64 + stages * 8
        fits = min(4, bench.device.facts.shared_bytes_per_block // shared)
        yield _bulk(bench, slab, mix, stages, max(1, fits), shared, "contiguous")


def _bulk(bench: Bench, slab: Arrays, mix: str, stages: int, ctas: int, shared: int, order: str) -> Variant:
    kernel = bench.kernel(f"hbm_bulk_{mix}_s{stages}")
    size, addresses = slab.split(mix)
    grid = bench.device.facts.sm_count * ctas

    def tiles(bytes_per_array: int) -> int:
        return bytes_per_array // BULK_TILE_BYTES // grid

    def launch(bytes_per_array: int, mask: int = NEVER, needle: int = NEEDLE) -> KernelLaunch:
        each = tiles(bytes_per_array)
        places = (each, 1) if order == "contiguous" else (1, grid)
        values = (*addresses, *_constants(mix), mask, needle, bench.total, each, *places)
        return KernelLaunch(kernel.source, kernel.name, grid, 128, kernel.signature, values, shared)

    def round_of(scale: int) -> Round:
        jobs: tuple[Job, ...] = (launch(size),) * scale
        return Round(jobs, scale * tiles(size) * grid * kernel.item_bytes)

    covered = tuple(tiles(b) * grid * BULK_TILE_BYTES for b in (size, min(size, _CHECK_BYTES)))
    settings = {"kernel": "bulk", "stages": stages, "ctas_per_sm": ctas, "order": order, "set_bytes": slab.size}
    verify = partial(_verify, bench, mix, kernel, addresses, 4, launch, (covered[0], covered[1]))
    return Variant(settings, round_of, verify, clocked=False)


class _Launcher(Protocol):
    """The ``launch`` functions above."""

    def __call__(self, bytes_per_array: int, mask: int = NEVER, needle: int = NEEDLE) -> KernelLaunch: ...


def _verify(
    bench: Bench,
    mix: str,
    kernel: Microbenchmark,
    addresses: tuple[int, int, int],
    width: int,
    launch: _Launcher,
    sizes: tuple[int, int],
    *,
    full: bool,
) -> None:
    """Run once on known data, after poisoning what is to be written, and check every element."""
    size = sizes[0] if full else sizes[1]
    elements = size // width
    a, b, c = addresses
    for address in {b, c} if MIXES[mix][0] else ():
        bench.fill(address, elements, width)
    if mix == "read":
        check_sum(bench, launch(size, 0, 0), reference.pattern_sum(elements, width, _MUL, _ADD), kernel.name)
        return
    bench.device.set_bytes(a, _POISON, size)
    bench.device.run([launch(size)])
    factor = 1 + _SCALAR if mix == "triad" else 1
    check_memory(bench, a, elements, width, line=(factor * _MUL, factor * _ADD), what=kernel.name)


def _driver_copy(bench: Bench, slab: Arrays) -> Variant:
    size, (a, b, _) = slab.split("copy")

    def round_of(scale: int) -> Round:
        jobs: tuple[Job, ...] = (Copy(a, b, size),) * scale
        return Round(jobs, scale * 2 * size)

    def verify(*, full: bool) -> None:
        part = size if full else min(size, _CHECK_BYTES)
        bench.fill(b, part // 4, 4)
        bench.device.set_bytes(a, _POISON, part)
        bench.device.run([Copy(a, b, part)])
        check_memory(bench, a, part // 4, 4, line=reference.PATTERN, what="the driver's copy")

    return Variant({"kernel": "driver's copy", "set_bytes": slab.size}, round_of, verify, clocked=False)
