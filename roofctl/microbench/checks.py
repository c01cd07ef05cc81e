"""Compare what a kernel computed with the host's result; each function raises VerificationError."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from roofctl.core.errors import VerificationError
from roofctl.microbench import reference
from roofctl.microbench.bench import Bench
from roofctl.microbench.device import KernelLaunch

_MOST_DIFFERENCES: Final = 10
_EDGE_ELEMENTS: Final = 1024
_WRONG: Final = "nothing was reported for it; report this with the GPU's name and the output of nvcc --version"


def check_memory(bench: Bench, address: int, elements: int, width: int, *, line: tuple[int, int], what: str) -> None:
    """Element i is ``line[0]`` * i + ``line[1]``: all are counted on the device, both ends are recomputed here."""
    mul, add = line
    wrong = bench.small("wrong")
    bench.device.set_bytes(wrong, 0, 8)
    bench.device.run([bench.helper(f"check_e{width}", address, elements, mul % 2**32, add % 2**32, wrong)])
    (count,) = struct.unpack("<Q", bench.device.download(wrong, 8))
    edge = min(_EDGE_ELEMENTS, elements)
    for first in (0, elements - edge):
        seen = bench.device.download(address + first * width, edge * width)
        if seen != reference.pattern_bytes(first, edge, width, mul, add):
            raise VerificationError(f"{what}: elements {first} to {first + edge} hold wrong values", hint=_WRONG)
    if count:
        raise VerificationError(f"{what}: {count} of {elements} elements hold wrong values", hint=_WRONG)


def check_sum(bench: Bench, launch: KernelLaunch, expected: int, what: str) -> None:
    """The sum over all that a launch loaded, modulo 2^32."""
    bench.device.set_bytes(bench.total, 0, 4)
    bench.device.run([launch])
    (seen,) = struct.unpack("<I", bench.device.download(bench.total, 4))
    if seen != expected % 2**32:
        raise VerificationError(f"{what}: the loaded words add up to {seen}, expected {expected % 2**32}", hint=_WRONG)


def check_numbers(seen: Sequence[float], expected: Sequence[float], tolerance: float, what: str) -> None:
    """Numbers within a tolerance relative to the largest; NaN fails."""
    bad = reference.worst(seen, expected, tolerance)
    if bad:
        lines = "".join(f"\n  [{i}] {seen[i]!r}, expected {expected[i]!r}" for i in bad[:_MOST_DIFFERENCES])
        raise VerificationError(f"{what}: {len(bad)} of {len(expected)} results are wrong:{lines}", hint=_WRONG)
