"""Bytes of an input file as a stream of whole lines: unpacked, as UTF-8, within limits.

Whatever a file claims to be, no more of it is in memory than a block and one line.
"""

from __future__ import annotations

import codecs
import gzip
import itertools
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Final

from roofctl.core.errors import InputError

BLOCK_BYTES: Final = 5 << 19
"""Larger blocks cost less time, and more memory for all that are read at once."""
LONGEST_LINE: Final = 32 << 20
"""Bytes of a line; the widest raw page (8,000 counters) has lines of half a million."""

BOMB_BYTES: Final = 256 << 20
BOMB_RATIO: Final = 400
"""What unpacks to more than ``BOMB_BYTES`` must not be more than this many times its packed size.

Pages of repetitive launches pack 20 to 150 times; gzip ends at 1,032 times, zstd at tens of thousands.
"""

FRUITLESS_BYTES: Final = 8 << 20
"""As ``BOMB_BYTES`` while nothing that looks like a table has come: short lines cost most."""

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
MAGICS: Final[tuple[bytes, ...]] = (_GZIP, _ZSTD)
"""How packed files begin that are unpacked on the way."""
_SNIFFED: Final = 4096
_BOMS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HALF: Final = 0.4
"""Least share of NUL bytes at even or odd places that makes text UTF-16: its ASCII has one in two."""

Block = bytes | bytearray

Progress = Callable[[Path, int, int], None]
"""Called with the path, the bytes read so far and the size of the file."""

_watcher: ContextVar[Progress | None] = ContextVar("watcher", default=None)


def watcher() -> Progress | None:
    """The watcher of this context, for readers that do not read their file themselves."""
    return _watcher.get()


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Tell ``progress`` of every block that is read inside. A file may be read twice, from 0 again."""
    token = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(token)


def blocks(
    path: Path, size: Callable[[], int] = lambda: BLOCK_BYTES, *, fruitless: Callable[[], bool] = lambda: False
) -> Iterator[Block]:
    """Blocks of UTF-8 of about as many bytes as ``size`` says before each, each of whole lines.

    gzip and zstd are unpacked, UTF-16 and UTF-32 recoded, a byte-order mark is taken away; a last line
    without an end gets one. Raises InputError for a folder, an unreadable or damaged file, a line beyond
    ``LONGEST_LINE``, and for what unpacks to many times its size, sooner while what came is ``fruitless``.
    """
    with open_file(path) as file:
        with _reading(path):
            first = file.read(_SNIFFED)
        if not first.startswith(MAGICS) and encoding_of(first) is None:
            file.seek(len(codecs.BOM_UTF8) if first.startswith(codecs.BOM_UTF8) else 0)
            yield from _plain_blocks(file, path, size)
            return
    rest = b""
    for chunk in _decoded(_unpacked(path, size, fruitless), path):
        end = _last_line_end(chunk)
        if end:
            yield b"".join((rest, memoryview(chunk)[:end]))
            rest = chunk[end:]
        else:
            rest += chunk
        if len(rest) > LONGEST_LINE:
            raise _endless(path)
    if rest:
        yield rest + b"\n"


def _plain_blocks(file: BufferedReader, path: Path, size: Callable[[], int]) -> Iterator[Block]:
    """Blocks of a file that is read as it is: the end of a block that is no whole line is read again."""
    total, wanted = os.fstat(file.fileno()).st_size, size()
    tell = _watcher.get()
    while True:
        block = bytearray(wanted)
        with _reading(path):
            count = file.readinto(block)
        del block[count:]
        if not count:
            return
        end = _last_line_end(block)
        if not end and count == wanted:
            if wanted > LONGEST_LINE:
                raise _endless(path)
            wanted = min(2 * wanted, LONGEST_LINE + 1)
            file.seek(-count, os.SEEK_CUR)
            continue
        if end:
            file.seek(end - count, os.SEEK_CUR)
            del block[end:]
        else:
            block += b"\n"
        if tell:
            tell(path, file.tell(), total)
        yield block
        if not end:  # what is written behind it from now on would be half a line
            return
        wanted = size()


def _endless(path: Path) -> InputError:
    return InputError(
        f"{path} holds a line of more than {LONGEST_LINE >> 20} MiB; no profiler prints such a line",
        hint="this is not a profiler's CSV output, or it is damaged: export or capture again",
    )


def _last_line_end(data: Block) -> int:
    """Where the last whole line of ``data`` ends. Old line ends (CR alone) count where there are no others."""
    return data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, len(data) - 1) + 1


def unpacked(path: Path) -> Iterator[bytes]:
    """Chunks of the file's content, unpacked but not decoded. Raises InputError as ``blocks`` does."""
    return _unpacked(path, lambda: BLOCK_BYTES)


def _unpacked(path: Path, size: Callable[[], int], fruitless: Callable[[], bool] = lambda: False) -> Iterator[bytes]:
    """Chunks of the file's content, unpacked."""
    with open_file(path) as file:
        total = os.fstat(file.fileno()).st_size
        magic = file.read(len(_ZSTD))
        file.seek(0)
        packed = magic.startswith(MAGICS)
        content = _unpacker(file, magic) if packed else file
        tell = _watcher.get()
        produced = 0
        while True:
            with _reading(path, packed=packed):
                chunk = content.read(size())
            if not chunk:
                return
            produced += len(chunk)
            done = file.tell()
            most = min(FRUITLESS_BYTES, BOMB_BYTES) if fruitless() else BOMB_BYTES
            if packed and produced > BOMB_RATIO * done and produced > most:
                raise InputError(
                    f"{path} unpacks to more than {BOMB_RATIO} times its size ({produced >> 20} MiB from "
                    f"{done} bytes so far); no capture does",
                    hint="if it is one, unpack it yourself and give the unpacked file",
                )
            if tell:
                tell(path, done, total)
            yield chunk


def _unpacker(file: IO[bytes], magic: bytes) -> Any:
    if magic.startswith(_GZIP):
        return gzip.GzipFile(fileobj=file)
    import pyarrow as pa  # noqa: PLC0415 - only for the few who hand over zstd

    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


@contextmanager
def _reading(path: Path, *, packed: bool = False) -> Iterator[None]:
    """Raise InputError where ``path`` cannot be read inside."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, OSError, ValueError) as error:
        # What unpacks has no number for an error of its own; those of the system have.
        if packed and getattr(error, "errno", None) is None:
            raise InputError(
                f"{path} is compressed but damaged or cut off ({error})",
                hint="copy or compress it again; a cut capture is not read in part",
            ) from error
        raise InputError(f"{path} cannot be read: {error}", hint="check the disk and its permissions") from error


def open_file(path: Path) -> BufferedReader:
    """The file, opened for bytes. Raises InputError for a folder, and for what is not there or not readable."""
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder; expected a profiler's output file", hint="name the file inside it")
        return path.open("rb")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file", hint="check the path") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint="check its permissions") from error


def is_file(path: Path) -> bool:
    """Whether a path is a file; of what the system says nothing of, the one that opens it says why."""
    try:
        return path.is_file()
    except OSError:
        return False


def head(path: Path) -> bytes:
    """The first bytes of the content, unpacked but not decoded; empty for an empty file."""
    return next(_unpacked(path, lambda: _SNIFFED), b"")


def is_packed(path: Path) -> bool:
    """Whether a file is packed with gzip or zstd."""
    with open_file(path) as file:
        return file.read(len(_ZSTD)).startswith(MAGICS)


def is_zstd(path: Path) -> bool:
    """Whether a file is packed with zstd."""
    with open_file(path) as file:
        return file.read(len(_ZSTD)) == _ZSTD


def encoding_of(head: bytes) -> str | None:
    """``utf-16`` and the like when ``head`` is such text, with or without a byte-order mark; None for UTF-8."""
    named = next((encoding for bom, encoding in _BOMS if head.startswith(bom)), None)
    if named or b"\0" not in head:
        return named
    even, odd = (head[start::2].count(0) / max(1, len(head[start::2])) for start in (0, 1))
    if head[1:2] == b"\0" and odd >= _HALF and even < odd / 4:
        return "utf-16-le"
    return "utf-16-be" if head[:1] == b"\0" and even >= _HALF and odd < even / 4 else None


def _decoded(chunks: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """UTF-8 of ``chunks``, without a byte-order mark. Bytes that are no UTF-8 are left to those who decode cells."""
    first = next(chunks, b"")
    encoding = encoding_of(first[:_SNIFFED])
    if encoding is None:
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for chunk in itertools.chain((first,), chunks):
        yield decoder.decode(chunk).encode("utf-8", errors="replace")
    if decoder.decode(b"", final=True):
        raise InputError(
            f"{path} is {encoding.upper()} text that ends within a character: it is cut, or other text was appended",
            hint="copy it again, or capture again",
        )
