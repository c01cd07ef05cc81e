"""Reports packed with gzip or zstd. NVIDIA's reader takes no stream, so they become a file for as long as it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from roofctl.core.errors import InputError, RoofctlError
from roofctl.launches.table import Part
from roofctl.readers import streams
from roofctl.readers.ncurep.container import MAGIC

_SUFFIX: Final = ".ncu-rep"


def is_report(path: Path) -> bool:
    """Whether a file is packed and is a report, unpacked. Raises InputError as ``streams.head`` does."""
    return streams.is_file(path) and streams.is_packed(path) and streams.head(path).startswith(MAGIC)


def read_report(path: Path, read: Callable[[Path], list[Part]]) -> list[Part]:
    """What ``read`` makes of the report, in the name of the packed file. Raises its errors and ``streams.blocks``'."""
    with unpacked(path) as plain:
        return read_as(plain, path, read)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A report as a file that is not packed, for as long as it is used; ``path`` itself where it is none."""
    if not is_report(path):
        yield path
        return
    with TemporaryDirectory(prefix="roofctl-") as folder:
        plain = Path(folder) / (path.stem if path.stem.endswith(_SUFFIX) else f"report{_SUFFIX}")
        _unpack(path, plain)
        yield plain


def read_as(file: Path, name: Path, read: Callable[[Path], list[Part]]) -> list[Part]:
    """What ``read`` makes of a file, in the name of another: in parts, notes, errors and progress."""
    try:
        with _watched_as(name):
            parts = read(file)
    except RoofctlError as error:
        error.message = error.message.replace(str(file), str(name))
        error.args = (error.message,)
        if file.name in error.hint:
            error.hint += " (unpack it for that)"
        raise
    return [_named(part, file, name) for part in parts]


def _unpack(path: Path, plain: Path) -> None:
    chunks = streams.unpacked(path)
    try:
        with plain.open("wb") as file:
            file.writelines(chunks)
    except OSError as error:
        raise InputError(
            f"{path} is a packed report that cannot be unpacked into {plain.parent.parent}: {error.strerror}",
            hint="set TMPDIR to a folder with more space; or unpack it, and give the unpacked file",
        ) from error


def _watched_as(path: Path) -> AbstractContextManager[None]:
    """Tell the watcher of ``path``, whatever file is read inside."""
    tell = streams.watcher()
    return streams.watched(lambda _, done, total: tell(path, done, total)) if tell else nullcontext()


def _named(part: Part, plain: Path, path: Path) -> Part:
    notes = tuple(replace(note, text=note.text.replace(str(plain), str(path))) for note in part.notes)
    return replace(part, source=str(path), notes=notes)
