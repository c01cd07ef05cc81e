"""Lines of text files, and files that are not text at all."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roofctl.errors import InputError
from roofctl.readers import streams

MOST_BYTES: Final = 1 << 30
"""Text that is read line by line into memory, at several times its size."""

MOST_LINES: Final = 20_000_000
"""Lines of such text."""

_EXPORT_NCU: Final = "export it with: ncu --import {name} --csv --page raw --print-units base > {stem}.csv"
_EXPORT_NVPROF: Final = "export it with: nvprof --csv --print-gpu-trace -u ns -i {name} --log-file {stem}.csv"
_PACKED: Final = ((b"PK\x03\x04", "unzip"), (b"\xfd7zXZ\x00", "unxz"), (b"BZh", "bunzip2"))
"""How compressed files begin that are not read directly, and what unpacks them."""


def check_text(path: Path) -> None:
    """Raise InputError for a file that is missing, empty, packed in an unknown way, or binary."""
    data = streams.head(path)
    if not data:
        raise _empty(path)
    _refuse_binary(path, data)


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a text file one by one, without line ends.

    UTF-8 with or without a byte-order mark, UTF-16 with or without one (PowerShell redirects), also
    packed with gzip or zstd. Bytes that are not UTF-8 become replacement characters: they can only
    stand in application output or names. Raises InputError as ``check_text`` and ``streams.blocks`` do,
    and for text beyond ``MOST_BYTES``.
    """
    check_text(path)
    taken, lines, blank = 0, 0, True
    for block in streams.blocks(path):
        taken += len(block)
        lines += block.count(b"\n")
        if taken > MOST_BYTES or lines > MOST_LINES:
            raise InputError(
                f"{path} holds more than {MOST_BYTES >> 30} GiB or {MOST_LINES:,} lines of text that must be read "
                "line by line (other tables than ncu's raw or details page, or none at all)",
                hint="export ncu's raw page: ncu --import REPORT --csv --page raw --print-units base > out.csv",
            )
        blank = blank and not block.strip()
        text = block.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
        yield from text.removesuffix("\n").split("\n")
    if blank:
        raise _empty(path)


def _empty(path: Path) -> InputError:
    return InputError(
        f"{path} is empty; expected a profiler's CSV table",
        hint="the profiler run wrote nothing: run it again and look at its messages",
    )


def _refuse_binary(path: Path, data: bytes) -> None:
    names = {"name": path.name, "stem": path.stem}
    if data.startswith(b"NVR\x00"):
        raise InputError(
            f"{path} is an Nsight Compute report (binary), not a CSV table", hint=_EXPORT_NCU.format(**names)
        )
    if data.startswith(b"SQLite format 3"):
        tool = "Nsight Systems" if path.suffix == ".sqlite" else "nvprof"
        hint = _EXPORT_NVPROF.format(**names) if tool == "nvprof" else "roofctl needs ncu's counters: profile with ncu"
        raise InputError(f"{path} is a database of {tool} (SQLite), not a CSV table", hint=hint)
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
    raise InputError(
        f"{path} is a binary file; expected text",
        hint="give the profiler's CSV output (ncu --csv --page raw, or nvprof --csv)",
    )
