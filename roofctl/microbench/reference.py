"""Expected results, computed on the host: sums of patterns, recurrences, matrix products. Pure Python."""

from __future__ import annotations

import bisect
import itertools
import math
import random
import struct
from collections.abc import Sequence
from operator import mul as multiply
from typing import Final

_U32: Final = 1 << 32
_WORD_BYTES: Final = 4
_NAN_E4M3: Final = 0x7F

PATTERN: Final = (2654435761, 12345)
"""Multiplier (odd, so a narrow element takes all its values equally often) and addend of filled memory."""


def pattern_bytes(first: int, count: int, width: int, mul: int, add: int) -> bytes:
    """Elements ``first`` to ``first + count`` of a filled array; element i is mul * i + add in its own width."""
    mask = (1 << 8 * width) - 1
    return b"".join(((mul * i + add) & mask).to_bytes(width, "little") for i in range(first, first + count))


def pattern_sum(count: int, width: int, mul: int, add: int) -> int:
    """Sum of the first ``count`` elements, modulo 2^32.

    Elements narrower than 4 bytes need a ``count`` that is a multiple of all their values.
    """
    if width == _WORD_BYTES:
        return (mul * (count * (count - 1) // 2) + add * count) % _U32
    values = 1 << 8 * width
    if mul % 2 == 0 or count % values:
        raise ValueError(f"{count} elements of {width} bytes are no whole number of cycles of {values}")
    return count // values * (values * (values - 1) // 2) % _U32


def strided_sum(starts: Sequence[int], length: int, mul: int, add: int) -> int:
    """Sum modulo 2^32 of runs of 4-byte elements, each ``length`` long."""
    return sum(length * (mul * start + add) + mul * (length * (length - 1) // 2) for start in starts) % _U32


def chain(start: float, m: float, c: float, steps: int) -> float:
    """A = a * m + c, ``steps`` times."""
    for _ in range(steps):
        start = start * m + c
    return start


def chains(lane: int, m: float, c: float, steps: int, *, count: int, packed: bool) -> float:
    """Sum over a thread's ``count`` chains, which start at lane + chain number; packed ones half a unit higher too."""
    starts = [lane + k + half for k in range(count) for half in ((0.0, 0.5) if packed else (0.0,))]
    return math.fsum(chain(start, m, c, steps) for start in starts)


def operands(kind: str, count: int, seed: int) -> tuple[bytes, list[float]]:
    """``count`` random operand elements, as the device reads them and as numbers."""
    rng = random.Random(seed)  # noqa: S311 - operands, not secrets
    if kind == "int8":
        data = rng.randbytes(count)
        return data, [float(value) for value in struct.unpack(f"{count}b", data)]
    values = [rng.gauss(0.0, 1.0) for _ in range(count)]
    if kind == "fp64":
        return struct.pack(f"<{count}d", *values), values
    if kind == "fp16":
        data = struct.pack(f"<{count}e", *values)
        return data, list(struct.unpack(f"<{count}e", data))
    if kind in ("bf16", "tf32"):
        kept = 0xFFFF0000 if kind == "bf16" else 0xFFFFE000
        bits = [word & kept for word in struct.unpack(f"<{count}I", struct.pack(f"<{count}f", *values))]
        numbers = list(struct.unpack(f"<{count}f", struct.pack(f"<{count}I", *bits)))
        return (
            struct.pack(f"<{count}H", *(b >> 16 for b in bits)) if kind == "bf16" else struct.pack(f"<{count}I", *bits)
        ), numbers
    if kind == "fp8":
        codes = bytes(encode_e4m3(value) for value in values)
        return codes, [decode_e4m3(code) for code in codes]
    raise ValueError(f"no operands of type {kind}")


def decode_e4m3(code: int) -> float:
    """The value of an 8-bit float with 4 exponent and 3 mantissa bits; 0x7f and 0xff are NaN."""
    sign = -1.0 if code & 0x80 else 1.0
    exponent, mantissa = code >> 3 & 15, code & 7
    if code & _NAN_E4M3 == _NAN_E4M3:
        return math.nan
    return sign * (math.ldexp(8 + mantissa, exponent - 10) if exponent else math.ldexp(mantissa, -9))


_E4M3: Final = [decode_e4m3(code) for code in range(0x7F)]
_HALFWAY: Final = [(low + high) / 2 for low, high in itertools.pairwise(_E4M3)]


def encode_e4m3(value: float) -> int:
    """The nearest 8-bit float, never NaN."""
    return bisect.bisect(_HALFWAY, abs(value)) | (0x80 if value < 0 else 0)


def product(a: Sequence[float], b: Sequence[float], m: int, n: int, times: int) -> list[float]:
    """``times`` A B^T, row by row: A is m rows, B is n rows, K follows from the length of A."""
    k = len(a) // m
    columns = [b[j * k : (j + 1) * k] for j in range(n)]
    rows = [a[i * k : (i + 1) * k] for i in range(m)]
    return [times * sum(map(multiply, row, column)) for row in rows for column in columns]


def worst(seen: Sequence[float], expected: Sequence[float], tolerance: float) -> tuple[int, ...]:
    """Indices of values that are off by more than ``tolerance`` of the largest expected value; NaN always is."""
    scale = max((abs(value) for value in expected), default=0.0) or 1.0
    pairs = zip(seen, expected, strict=True)
    return tuple(i for i, (s, e) in enumerate(pairs) if not abs(s - e) <= tolerance * scale)
