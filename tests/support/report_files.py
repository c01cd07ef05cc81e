"""Containers of .ncu-rep files, written byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

from roofctl.readers.ncurep import container

HEAD = container.MAGIC + struct.pack("<I", 2) + b"\x08\x07"


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def text(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def whole(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def metric(name: int, value: int) -> bytes:
    return text(13, whole(1, name) + text(2, whole(5, value)))


def block(results: list[bytes], process: int = 650, texts: list[str] | None = None, session: bytes = b"") -> bytes:
    payload = b"".join(struct.pack("<I", len(result)) + result for result in results)
    header = whole(1, 0) + whole(2, len(results))
    header += text(3, session) if session else b""
    header += text(4, b"".join(text(1, name.encode()) for name in texts or []))
    header += whole(5, len(payload)) + text(6, whole(1, process) + text(2, b"host"))
    return struct.pack("<I", len(header)) + header + payload


def write(folder: Path, *blocks: bytes) -> Path:
    path = folder / "a.ncu-rep"
    path.write_bytes(HEAD + b"".join(blocks))
    return path
