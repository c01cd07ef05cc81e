"""Protobuf messages as bytes: numbers of variable length and the fields of a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

KIND: Final = 7
"""The bits of a field's key that say of what kind it is."""
VARINT, _EIGHT, BYTES, _FOUR = 0, 1, 2, 5
"""Kinds of fields: whole numbers, numbers of eight bytes, bytes behind their length, numbers of four bytes."""
LOW: Final = 0x7F
"""The bits of a byte that belong to a number; the other one says that more bytes follow."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The whole number at ``at``, and where it ends. Raises ValueError or IndexError where there is none."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & LOW) << shift
        if byte <= LOW:  # else more follow
            return value, at
        shift += 7
        if shift > 63:  # noqa: PLR2004 - ten bytes at most
            raise ValueError("a number is too long")


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Fields of a message: number, kind, value (bytes unless a whole number).

    Raises ValueError or IndexError for bytes that are no message.
    """
    at, size = 0, len(data)
    while at < size:
        key, at = varint(data, at)
        kind = key & KIND
        value: int | bytes
        if kind == VARINT:
            value, at = varint(data, at)
        elif kind in (_EIGHT, _FOUR, BYTES):
            length, at = varint(data, at) if kind == BYTES else (8 if kind == _EIGHT else 4, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"a field of kind {kind}")
        if at > size or not key >> 3:
            raise ValueError("a field goes on beyond its message")
        yield key >> 3, kind, value


def encoded(value: int) -> bytes:
    """A whole number as ``varint`` reads it."""
    out = bytearray()
    while value > LOW:
        out.append(value & LOW | LOW + 1)
        value >>= 7
    out.append(value)
    return bytes(out)


def skip(data: bytes, at: int) -> int:
    """Where the field that begins at ``at`` ends. Raises ValueError or IndexError where there is none."""
    key = data[at]
    if key <= LOW and key & KIND == BYTES and data[at + 1] <= LOW:
        return at + 2 + data[at + 1]
    if key <= LOW and key & KIND == VARINT and data[at + 1] <= LOW:
        return at + 2
    if key <= LOW and key & KIND == BYTES and data[at + 2] <= LOW:
        return at + 3 + (data[at + 1] & LOW | data[at + 2] << 7)
    key, at = varint(data, at)
    kind = key & KIND
    if kind == VARINT:
        _, at = varint(data, at)
    elif kind == BYTES:
        length, at = varint(data, at)
        at += length
    elif kind in (_EIGHT, _FOUR):
        at += 8 if kind == _EIGHT else 4
    else:
        raise ValueError(f"a field of kind {kind}")
    return at
