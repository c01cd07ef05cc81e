"""Lines of text files, and files that are not text at all."""

from __future__ import annotations

import codecs
import itertools
import shlex
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from roofctl.core.errors import InputError
from roofctl.readers import streams
from roofctl.readers.databases import MAGIC as DATABASE
from roofctl.readers.find_tables import Scanner

MOST_LINES: Final = 20_000_000
"""Lines outside tables: beyond it a file is no capture."""

_T = TypeVar("_T")
_AHEAD: Final = 2
"""Blocks that are worked on at once."""

_BINARY: Final = 0.02
"""Share of bytes that are NUL or of no text from which on a file with NULs is no text: damage is rarer."""

_DAMAGED: Final = "\ufffd".encode()

_PACKED: Final = ((b"PK\x03\x04", "unzip"), (b"\xfd7zXZ\x00", "unxz"), (b"BZh", "bunzip2"))
"""How compressed files begin that are not read directly, and what unpacks them."""


def check_text(path: Path) -> None:
    """Raise InputError for a file that is missing, empty, packed in an unknown way, or binary."""
    data = streams.head(path)
    if not data:
        raise _empty(path)
    _refuse_binary(path, data)


def text_blocks(path: Path, scanner: Scanner) -> Iterator[streams.Block]:
    """The content of a text file as ``plain_text``, in blocks of whole lines, as large as ``scanner`` wants them.

    UTF-8 with or without a byte-order mark, UTF-16 with or without one (PowerShell redirects), also
    packed with gzip or zstd. Raises InputError as ``check_text`` and ``streams.blocks`` do.
    """
    check_text(path)
    blank = True
    for block in streams.blocks(path, scanner.block_bytes, fruitless=lambda: not scanner.promising):
        blank = blank and not block.strip()
        yield plain_text(block)
    if blank:
        raise _empty(path)


def ahead(items: Iterator[_T], work: Callable[[_T], object]) -> Iterator[_T]:
    """``items``, in order, each after ``work`` was done on it in a thread; none is started for a single item."""
    yield from itertools.islice(items, 1)
    second = next(items, None)
    if second is None:
        return
    yield second
    with ThreadPoolExecutor(_AHEAD) as pool:
        waiting: deque[tuple[_T, Future[object]]] = deque()
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) > _AHEAD:
                item, done = waiting.popleft()  # noqa: PLW2901
                done.result()
                yield item
        for item, done in waiting:
            done.result()
            yield item


def plain_text(block: streams.Block) -> streams.Block:
    """``block`` with LF as the only line end, and each damaged byte (no UTF-8, or NUL) as a replacement character."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\0" in block:
        block = block.replace(b"\0", _DAMAGED)
    if not block.isascii():
        try:
            block.decode()
        except UnicodeDecodeError:
            block = block.decode(errors="replace").encode()
    return block


def too_long(source: str) -> InputError:
    """The error for text without end outside tables."""
    return InputError(
        f"{source} holds more than {MOST_LINES:,} lines of text that must be read line by line "
        "(they belong to no table)",
        hint="export ncu's raw page: ncu --import REPORT --csv --page raw --print-units base > out.csv",
    )


def _empty(path: Path) -> InputError:
    return InputError(
        f"{path} is empty; expected a profiler's CSV table",
        hint="the profiler run wrote nothing: run it again and look at its messages",
    )


def _refuse_binary(path: Path, data: bytes) -> None:
    if any(data.startswith(magic) for magic in streams.MAGICS):
        raise InputError(
            f"{path} is compressed twice; expected text packed once at most", hint=f"unpack it: {_unpacking(path)}"
        )
    if data.startswith(DATABASE):  # as it is, it was recognised before
        raise InputError(
            f"{path} holds an SQLite database, compressed; only text and reports are read compressed",
            hint=f"unpack it, and give the unpacked file: {_unpacking(path)}",
        )
    packed = next((tool for magic, tool in _PACKED if data.startswith(magic)), None)
    if packed:
        raise InputError(
            f"{path} is compressed; expected text, or text packed with gzip or zstd",
            hint=f"unpack it first: {packed} {path.name}",
        )
    if b"\x00" not in data or streams.encoding_of(data):
        return
    before, bom, _ = data.partition(codecs.BOM_UTF16_LE)
    if bom and b"\x00" not in before:
        raise InputError(
            f"{path} is UTF-8 text to which UTF-16 was appended (PowerShell's >> does that); expected one encoding",
            hint="write it in one piece: ncu --log-file FILE, or: … | Out-File -Encoding utf8 FILE",
        )
    strange = data.count(0) + data.decode("utf-8", errors="replace").count("\ufffd")
    if strange < _BINARY * len(data):
        return
    raise InputError(
        f"{path} is a binary file; expected text",
        hint="give the profiler's CSV output (ncu --csv --page raw, or nvprof --csv)",
    )


def _unpacking(path: Path) -> str:
    """The command that unpacks a file once, to a name of its own."""
    tool = "zstd -dc" if streams.is_zstd(path) else "gzip -dc"
    name = path.stem if path.suffix in (".gz", ".zst") else f"{path.name}.unpacked"
    return f"{tool} {shlex.quote(path.name)} > {shlex.quote(name)}"
