"""Bytes to lines: encodings, byte-order marks, and files that are not text at all."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from roofctl.errors import InputError

_EXPORT_NCU: Final = "export it with: ncu --import {name} --csv --page raw --print-units base > {stem}.csv"
_EXPORT_NVPROF: Final = "export it with: nvprof --csv --print-gpu-trace -u ns -i {name} --log-file {stem}.csv"
_PACKED: Final = (
    (b"\x1f\x8b", "gunzip"),
    (b"PK\x03\x04", "unzip"),
    (b"\xfd7zXZ\x00", "unxz"),
    (b"BZh", "bunzip2"),
    (b"\x28\xb5\x2f\xfd", "unzstd"),
)
"""How compressed files begin, and what unpacks them."""


def read_lines(path: Path) -> list[str]:
    """Lines of a text file, without line ends.

    UTF-8 with or without a byte-order mark, and UTF-16 with one (PowerShell redirects).
    Bytes that are not UTF-8 are kept as replacement characters: they can only stand in
    application output or names. Raises InputError for folders, unreadable, empty and binary files.
    """
    data = _read_bytes(path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    else:
        _refuse_binary(path, data)
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _read_bytes(path: Path) -> bytes:
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a profiler's output file", hint="name the file inside it")
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file", hint="check the path") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint="check its permissions") from error
    if not data.strip():
        raise InputError(
            f"{path} is empty; expected a profiler's CSV table",
            hint="the profiler run wrote nothing: run it again and look at its messages",
        )
    return data


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
        raise InputError(f"{path} is compressed; expected text", hint=f"unpack it first: {packed} {path.name}")
    if b"\x00" in data[:4096]:
        raise InputError(
            f"{path} is a binary file; expected text",
            hint="give the profiler's CSV output (ncu --csv --page raw, or nvprof --csv)",
        )
