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
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

MAGIC: Final = b"NVR\x00"

_LARGEST_HEADER: Final = 64 << 20
_LARGEST_RESULT: Final = 256 << 20
_LEAST_RESULT: Final = 5
"""Bytes of a result at least: its length, and something."""
_RESULTS, _SESSION, _TEXTS, _PAYLOAD, _PROCESS = 2, 3, 4, 5, 6
_METRIC: Final = 13
"""Fields of a block's header, and the one of a result that holds a metric."""
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_ALIKE: Final = ("numa__", "nvlink__", "c2clink__")
"""Metrics that are nearly always the same in all results, and never wanted."""
_METRIC_KEY: Final = _METRIC << 3 | _BYTES
_NAME_KEY: Final = 1 << 3 | _VARINT
_LOW: Final = 0x7F
_TWO_BYTES: Final = 0x3FFF
_VERSION: Final = re.compile(rb"(\d{4}\.\d+\.\d+)(?:\.\d+)* \(build ")


class NotWhole(ValueError):  # noqa: N818 - reads as what happened
    """The file does not have the form of a report, or ends too early. The text says where and how."""


@dataclass(frozen=True)
class Stored:
    """Where a result lies in the file, and which process it is of."""

    offset: int
    size: int
    process: str


@dataclass
class Index:
    """A report in short: ``head`` and ``sessions`` belong to every part of it; ``texts`` by number."""

    head: bytes = b""
    sessions: list[bytes] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    results: list[Stored] = field(default_factory=list)

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
    """Look through a report without reading its results. Raises NotWhole, and OSError."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if file.read(len(MAGIC)) != MAGIC:
            raise NotWhole("it does not begin as a report does")
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
                process = str(next((v for n, k, v in fields(value) if (n, k) == (1, _VARINT)), ""))
            elif number == _SESSION and kind == _BYTES:
                found.sessions.append(header)
    except (ValueError, IndexError) as error:
        raise NotWhole(f"the block at byte {begin:,} is damaged") from error
    end = file.tell() + numbers[_PAYLOAD]
    if end > size:
        raise NotWhole(f"it is cut: the block at byte {begin:,} goes on to byte {end:,}, the file ends at {size:,}")
    _results(file, (begin, end), numbers[_RESULTS], process, found)
    file.seek(end)


def _results(file: BinaryIO, block: tuple[int, int], count: int, process: str, found: Index) -> None:
    """Note where the results of a block lie; ``block`` is where it begins and ends, ``count`` what it claims."""
    begin, end = block
    room = end - file.tell()
    if count * _LEAST_RESULT > room:
        raise NotWhole(f"the block at byte {begin:,} claims {count:,} results in {room:,} bytes")
    for _ in range(count):
        length = _read_length(file, end, "a result")
        if not length:
            raise NotWhole(f"a result at byte {file.tell():,} is empty")
        if length > _LARGEST_RESULT:
            raise NotWhole(f"a result of {length:,} bytes at byte {file.tell():,} is larger than any")
        found.results.append(Stored(file.tell(), length, process))
        file.seek(length, os.SEEK_CUR)


def _message(file: BinaryIO, size: int, what: str) -> bytes:
    length = _read_length(file, size, what)
    if length > _LARGEST_HEADER:
        raise NotWhole(f"{what} of {length:,} bytes at byte {file.tell():,} is larger than any")
    return file.read(length)


def _read_length(file: BinaryIO, end: int, what: str) -> int:
    begin = file.tell()
    text = file.read(4)
    length: int = struct.unpack("<I", text)[0] if len(text) == 4 else end  # noqa: PLR2004 - four bytes
    if begin + 4 + length > end:
        raise NotWhole(f"it is cut or damaged: {what} at byte {begin:,} goes on beyond byte {end:,}")
    return length


def _length(number: int) -> bytes:
    return struct.pack("<I", number)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & _LOW) << shift
        if byte <= _LOW:  # else more follow
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
        key, at = _varint(data, at)
        kind = key & 7
        value: int | bytes
        if kind == _VARINT:
            value, at = _varint(data, at)
        elif kind in (_EIGHT, _FOUR, _BYTES):
            length, at = _varint(data, at) if kind == _BYTES else (8 if kind == _EIGHT else 4, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"a field of kind {kind}")
        if at > size or not key >> 3:
            raise ValueError("a field goes on beyond its message")
        yield key >> 3, kind, value


@dataclass(frozen=True)
class Short:
    """A result in short, and the bytes of its metrics that many results have in common."""

    result: bytes
    common: bytes


class Slimmer:
    """Leaves those metrics in a result whose names are ``wanted``, without its sections and the like.

    ``seen`` are names of the other metrics. Attributes of the device (``fixed`` is how their names begin) are the
    same in every result of a device: where they are, byte for byte, those of the result that was learned from, they
    are left out too. ``common`` are wanted metrics with few values, such as those of the launch shape.
    """

    def __init__(
        self, texts: Sequence[str], wanted: AbstractSet[str], fixed: str, common: AbstractSet[str] = frozenset()
    ) -> None:
        self._texts = texts
        self._wanted = frozenset(number for number, text in enumerate(texts) if text in wanted)
        self._fixed = frozenset(n for n, text in enumerate(texts) if text.startswith(fixed) and text not in wanted)
        self._alike = self._fixed.union(n for n, text in enumerate(texts) if text.startswith(_ALIKE)) - self._wanted
        self._common = frozenset(number for number in self._wanted if texts[number] in common)
        self._runs: dict[int, bytes] = {}
        self._fixed_runs = -1
        self._seen: set[int] = set()

    @property
    def seen(self) -> frozenset[str]:
        """Names of metrics that results had and that were not wanted."""
        return frozenset(self._texts[number] for number in self._seen if number < len(self._texts))

    def learn(self, result: bytes) -> None:
        """Take the device's attributes of this result for those of the results that follow."""
        self._runs, self._fixed_runs = {}, -1  # until all of it was understood
        first = last = -1
        for number, begin, end in _metrics(result):
            self._seen.add(number)
            if number in self._alike:
                if begin != last or (number in self._fixed) != (first in self._fixed):
                    first = number
                self._runs[first] = self._runs.get(first, b"") + result[begin:end]
                last = end
        self._seen -= self._wanted
        self._fixed_runs = sum(number in self._fixed for number in self._runs)

    def slim(self, result: bytes) -> Short | None:  # noqa: C901, PLR0912 - written out for speed
        """The result in short; None where its device's attributes are others, or in another order.

        Raises ValueError or IndexError for bytes that are no result.
        """
        kept: list[bytes] = []
        common = b""
        fixed_runs = 0
        wanted, fixed, runs, seen = self._wanted, self._fixed, self._runs, self._seen
        at = begin = 0  # begin: of what is kept since the last metric left out
        size = len(result)
        while at < size:
            start = at
            if result[at] != _METRIC_KEY:
                at = _skip(result, at)
                if result[start : start + 2] in _UNUSED:
                    kept.append(result[begin:start])
                    begin = at
                continue
            # Written out, without calls: a report has hundreds of metrics per launch.
            length = result[at + 1]
            at += 2
            if length > _LOW:
                if result[at] <= _LOW:
                    length = length & _LOW | result[at] << 7
                    at += 1
                else:
                    length, at = _varint(result, at - 1)
            number = result[at + 1]
            if number > _LOW:
                number = number & _LOW | result[at + 2] << 7
                if number > _TWO_BYTES:
                    number, _ = _varint(result, at + 1)
            at += length
            if number in wanted:
                if number in self._common:
                    common += result[start:at]
                continue
            run = runs.get(number)
            if run is not None and result.startswith(run, start):
                at = start + len(run)
                fixed_runs += number in fixed
            elif number in fixed:
                return None
            else:
                seen.add(number)
            if begin < start:
                kept.append(result[begin:start])
            begin = at
        if at != size:
            raise ValueError("a field goes on beyond its message")
        if fixed_runs != self._fixed_runs:
            return None
        kept.append(result[begin:])
        return Short(b"".join(kept), common)


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > _LOW:
        out.append(value & _LOW | _LOW + 1)
        value >>= 7
    out.append(value)
    return bytes(out)


# Fields of a result that say nothing of its numbers, and that NVIDIA's reader takes most of its time and room for.
_UNUSED: Final = frozenset(_encoded(number << 3 | _BYTES) for number in (17, 19, 21, 28))
"""Sections of the details page, findings of rules, NVTX ranges, the call stack."""


def _metrics(result: bytes) -> Iterator[tuple[int, int, int]]:
    """Number of the name, begin and end of each metric of a result."""
    at, size = 0, len(result)
    while at < size:
        end = _skip(result, at)
        if result[at] == _METRIC_KEY:
            _, inner = _varint(result, at + 1)
            if result[inner] != _NAME_KEY:
                raise ValueError("a metric does not begin with its name")
            yield _varint(result, inner + 1)[0], at, end
        at = end
    if at != size:
        raise ValueError("a field goes on beyond its message")


def _skip(data: bytes, at: int) -> int:
    """Where the field that begins at ``at`` ends."""
    key = data[at]
    if key <= _LOW and key & 7 == _BYTES and data[at + 1] <= _LOW:
        return at + 2 + data[at + 1]
    if key <= _LOW and key & 7 == _VARINT and data[at + 1] <= _LOW:
        return at + 2
    if key <= _LOW and key & 7 == _BYTES and data[at + 2] <= _LOW:
        return at + 3 + (data[at + 1] & _LOW | data[at + 2] << 7)
    key, at = _varint(data, at)
    kind = key & 7
    if kind == _VARINT:
        _, at = _varint(data, at)
    elif kind == _BYTES:
        length, at = _varint(data, at)
        at += length
    elif kind in (_EIGHT, _FOUR):
        at += 8 if kind == _EIGHT else 4
    else:
        raise ValueError(f"a field of kind {kind}")
    return at


def small_report(head: bytes, sessions: Sequence[bytes], texts: Sequence[str], results: Sequence[bytes]) -> bytes:
    """A report of the same form with these results only."""
    payload = b"".join(_length(len(result)) + result for result in results)
    table = b"".join(_field(1, text.encode()) for text in texts)
    header = _number(1, 0) + _number(_RESULTS, len(results)) + _field(_TEXTS, table) + _number(_PAYLOAD, len(payload))
    blocks = [*sessions, header]
    return b"".join((head, *(_length(len(block)) + block for block in blocks), payload))


def _number(number: int, value: int) -> bytes:
    return _encoded(number << 3 | _VARINT) + _encoded(value)


def _field(number: int, value: bytes) -> bytes:
    return _encoded(number << 3 | _BYTES) + _encoded(len(value)) + value
