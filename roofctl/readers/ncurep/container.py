"""The container of an Nsight Compute report (.ncu-rep): where its results lie, and whether the file is whole.

A report begins with ``NVR`` and a NUL; then come messages (protobuf), each behind its length as four bytes,
little end first: one file header, and then blocks. A block is a header and a payload of results. The header holds
how many results there are, a table of texts (names of metrics; later blocks number theirs on), the payload's size
and the process. Reports of 2020 to 2025 agree in this.

What the results say is for NVIDIA's own reader. It keeps every result in memory, 360 kB each, takes a cut file for
a whole one, and does not say which process a result is of. So results are handed to it some at a time, in small
reports of the same form that hold only the metrics wanted.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from roofctl.readers.ncurep.wire import BYTES, VARINT, encoded, fields

MAGIC: Final = b"NVR\x00"

_LARGEST_HEADER: Final = 64 << 20
_LARGEST_RESULT: Final = 256 << 20
_LENGTH_BYTES: Final = 4
_LEAST_RESULT: Final = 5
"""Bytes of a result at least: its length, and something."""
_RESULTS, _SESSION, _TEXTS, _PAYLOAD, _PROCESS = 2, 3, 4, 5, 6
"""Fields of a block's header."""
_VERSION: Final = re.compile(rb"(\d{4}\.\d+\.\d+)(?:\.\d+)* \(build ")


class IncompleteReport(ValueError):  # noqa: N818 - the name says what is wrong
    """The file does not have the form of a report, or ends too early. The text says where and how."""


class Stored(NamedTuple):
    """Where a result lies in the file, and which process it is of."""

    offset: int
    size: int
    process: str


@dataclass
class Index:
    """A report in short: ``head`` and ``sessions`` belong to every part of it; ``texts`` by number.

    ``programs`` gives the path of the program and the host of each process.
    """

    head: bytes = b""
    sessions: list[bytes] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    results: list[Stored] = field(default_factory=list)
    programs: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Version of the ncu that wrote the report, such as ``2025.3.1``; empty where it does not say (2020)."""
        found = (match for session in self.sessions if (match := _VERSION.search(session)))
        return next((match.group(1).decode() for match in found), "")


def is_report(path: Path) -> bool:
    """Whether a file begins as a report does, whatever its name."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def index(path: Path) -> Index:
    """Look through a report without reading its results. Raises IncompleteReport, and OSError."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if file.read(len(MAGIC)) != MAGIC:
            raise IncompleteReport("it does not begin as a report does")
        found = Index()
        head = _message(file, size, "the file header")
        found.head = MAGIC + _length(len(head)) + head
        while file.tell() < size:
            _block(file, size, found)
    return found


def _block(file: BinaryIO, size: int, found: Index) -> None:
    begin = file.tell()
    header = _message(file, size, "a block")
    numbers = dict.fromkeys((_RESULTS, _PAYLOAD), 0)
    process = ""
    try:
        for number, kind, value in fields(header):
            if number in numbers and isinstance(value, int):
                numbers[number] = value
            elif number == _TEXTS and isinstance(value, bytes):
                found.texts += [
                    text.decode("utf-8", "replace") for _, _, text in fields(value) if isinstance(text, bytes)
                ]
            elif number == _PROCESS and isinstance(value, bytes):
                parts = {n: v for n, _, v in fields(value)}
                process = str(parts.get(1, ""))
                found.programs[process] = (_text(parts.get(3)), _text(parts.get(2)))
            elif number == _SESSION and kind == BYTES:
                found.sessions.append(header)
    except (ValueError, IndexError) as error:
        raise IncompleteReport(f"the block at byte {begin:,} is damaged") from error
    end = file.tell() + numbers[_PAYLOAD]
    if end > size:
        raise IncompleteReport(
            f"it is cut: the block at byte {begin:,} goes on to byte {end:,}, the file ends at {size:,}"
        )
    _results(file, (begin, end), numbers[_RESULTS], process, found)
    file.seek(end)


def _text(value: int | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _results(file: BinaryIO, block: tuple[int, int], count: int, process: str, found: Index) -> None:
    """Note where the results of a block lie; ``block`` is where it begins and ends, ``count`` what it claims."""
    begin, end = block
    at = file.tell()
    if count * _LEAST_RESULT > end - at:
        raise IncompleteReport(f"the block at byte {begin:,} claims {count:,} results in {end - at:,} bytes")
    for _ in range(count):
        length = _length_at(file, at, end, "a result")
        at += _LENGTH_BYTES
        if not length:
            raise IncompleteReport(f"a result at byte {at:,} is empty")
        if length > _LARGEST_RESULT:
            raise IncompleteReport(f"a result of {length:,} bytes at byte {at:,} is larger than any")
        found.results.append(Stored(at, length, process))
        at += length


def _message(file: BinaryIO, size: int, what: str) -> bytes:
    at = file.tell()
    length = _length_at(file, at, size, what)
    at += _LENGTH_BYTES
    if length > _LARGEST_HEADER:
        raise IncompleteReport(f"{what} of {length:,} bytes at byte {at:,} is larger than any")
    file.seek(at)
    return file.read(length)


def _length_at(file: BinaryIO, at: int, end: int, what: str) -> int:
    text = os.pread(file.fileno(), _LENGTH_BYTES, at)  # a file's own read would fill its buffer each time
    length = int.from_bytes(text, "little") if len(text) == _LENGTH_BYTES else end
    if at + _LENGTH_BYTES + length > end:
        raise IncompleteReport(f"it is cut or damaged: {what} at byte {at:,} goes on beyond byte {end:,}")
    return length


def _length(number: int) -> bytes:
    return struct.pack("<I", number)


def small_report(head: bytes, sessions: Sequence[bytes], texts: Sequence[str], results: Sequence[bytes]) -> bytes:
    """A report of the same form with these results only."""
    payload = b"".join(_length(len(result)) + result for result in results)
    table = b"".join(_field(1, text.encode()) for text in texts)
    header = _number(1, 0) + _number(_RESULTS, len(results)) + _field(_TEXTS, table) + _number(_PAYLOAD, len(payload))
    blocks = [*sessions, header]
    return b"".join((head, *(_length(len(block)) + block for block in blocks), payload))


def _number(number: int, value: int) -> bytes:
    return encoded(number << 3 | VARINT) + encoded(value)


def _field(number: int, value: bytes) -> bytes:
    return encoded(number << 3 | BYTES) + encoded(len(value)) + value
