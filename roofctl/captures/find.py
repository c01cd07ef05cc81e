"""Folders and patterns as input: the captures and profiler files that they hold, and the rank in a name."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from roofctl.captures.manifest import is_capture
from roofctl.core.errors import InputError

_TABLES: Final = (".csv", ".csv.gz", ".csv.zst", ".csv.nsight")
_REPORTS: Final = (".ncu-rep", ".ncu-repz", ".ncu-rep.gz", ".ncu-rep.zst", ".nsight-cuprof-report")
_OTHERS: Final = (".nvvp", ".nvprof", ".txt", ".log")
"""Suffixes of files that are read only where there is no other: a log beside its table holds no table."""
_CYCLE: Final = re.compile(r"\.csv\.cycle\.\d+$")
"""Tables that a run wrote for each of its cycles of counters."""
_RANK: Final = re.compile(r"(?:^|[^A-Za-z])rank[-_.=]?(\d{1,6})(?![A-Za-z\d])", re.IGNORECASE)
_SHORT_RANK: Final = re.compile(r"(?P<before>.*[-_.]r)(?P<number>\d{1,6})(?P<after>(?![A-Za-z\d]).*)")
_NUMBERED: Final = re.compile(r"(?P<before>.*[^\d.])\.(?P<number>\d{1,6})(?P<after>\.\D.*)")


def is_pattern(path: Path) -> bool:
    """Whether a path is meant as a pattern (``runs/*.csv`` in quotes): it has wildcards, and nothing has its name."""
    return glob.has_magic(str(path)) and not path.exists()


def matching(path: Path, here: Path) -> list[Path]:
    """Files and folders that a pattern matches, in the order of their numbers. Raises InputError when none does."""
    paths = [Path(name) for name in glob.glob(str(path), root_dir=here, recursive=True)]  # noqa: PTH207 - takes absolute ones
    if not paths:
        raise InputError(f"nothing matches {path}", hint="check the pattern; ** stands for folders of any depth")
    return sorted(paths, key=_natural)


def inside(
    folder: Path,
    unreadable: Callable[[OSError], object] | None = None,
    kind_of: Callable[[Path], str] = lambda _: "",
) -> list[Path]:
    """Captures (as folders) and profiler files in a folder and those below it, in the order of their numbers.

    Links are followed, each folder and file counts once. A report is left out beside the table that was printed
    of it. ``unreadable`` is called for folders below that cannot be read, ``kind_of`` for files whose name says
    nothing: ``report`` or ``table`` of those that are a profiler's. Raises InputError when there is nothing.
    """
    captures: list[Path] = []
    files: list[Path] = []
    errors: list[OSError] = []
    seen: set[str] = set()
    for name, folders, names in os.walk(folder, onerror=errors.append, followlinks=True):
        here, real = Path(name), os.path.realpath(name)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        if here != folder and is_capture(here):
            captures.append(here)
            folders.clear()
            continue
        # Links last, so that a folder goes by its own name where both are there.
        shown = (each for each in folders if not each.startswith("."))
        folders[:] = sorted(shown, key=lambda each: ((here / each).is_symlink(), each))
        files += [here / each for each in names if not each.startswith(".")]
    inputs = captures + _profiles(files, kind_of)
    if not inputs and errors:
        raise InputError(
            f"{errors[0].filename} cannot be read: {errors[0].strerror}", hint="ask its owner for the right to read it"
        )
    if not inputs:
        raise InputError(
            f"{folder} is a folder that holds neither captures nor profiler files ({', '.join((*_TABLES, *_REPORTS))})",
            hint="name a capture, or the files",
        )
    if unreadable:
        for error in errors:
            unreadable(error)
    return sorted(inputs, key=_natural)


def _profiles(files: Sequence[Path], kind_of: Callable[[Path], str]) -> list[Path]:
    named = (*_TABLES, *_REPORTS, *_OTHERS)
    others = _once(path for path in files if not path.name.endswith(named) and not _CYCLE.search(path.name))
    kinds = {path: kind_of(path) for path in others}
    tables = _once(
        path for path in files if path.name.endswith(_TABLES) or _CYCLE.search(path.name) or kinds.get(path) == "table"
    )
    printed = {_unnamed(path) for path in tables}
    reports = _once(
        path
        for path in files
        if (path.name.endswith(_REPORTS) or kinds.get(path) == "report") and _unnamed(path) not in printed
    )
    return [*tables, *reports] or _once(path for path in files if path.name.endswith(_OTHERS))


def _unnamed(path: Path) -> str:
    """A path without the suffixes of a table, a report, or compression."""
    return re.sub(r"\.(?:csv|ncu-repz?|nsight-cuprof-report)(?:\.\w+)*$", "", str(path))


def _once(files: Iterable[Path]) -> list[Path]:
    """Regular files, each once: no pipe or device, on which reading may block for ever; no link to another of them."""
    regular = [path for path in files if not special(path)]
    linked = {path: os.path.realpath(path) for path in regular if path.is_symlink()}
    seen = {os.path.realpath(path) for path in regular if path not in linked} if linked else set()
    kept: list[Path] = []
    for path in regular:
        if path not in linked or linked[path] not in seen:
            kept.append(path)
        if path in linked:
            seen.add(linked[path])
    return kept


def special(path: Path) -> str:
    """What a path is that can be opened but is no file: a pipe, a device, a socket; empty for any other."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    kinds = (("pipe", stat.S_ISFIFO), ("socket", stat.S_ISSOCK), ("device", stat.S_ISCHR), ("device", stat.S_ISBLK))
    return next((kind for kind, holds in kinds if holds(mode)), "")


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """``rank2`` before ``rank10``."""
    parts = re.split(r"(\d+)", str(path))
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]


def ranks(paths: Sequence[Path]) -> list[int | None]:
    """The rank in each name, else None.

    ``rank3`` and ``rank_3`` in the name of a file, else of its folder, give it. ``out.3.csv`` and ``out_r003.csv``
    give it only where the files of that name are numbered from 0 on, none missing: else the number may be a process or
    a version.
    """
    numbered, short = _numbered(paths, _NUMBERED), _numbered(paths, _SHORT_RANK)
    return [
        _first((_rank_in(_RANK, path.name), _rank_in(_RANK, path.parent.name), numbered.get(path), short.get(path)))
        for path in paths
    ]


def _first(known: Iterable[int | None]) -> int | None:
    return next((rank for rank in known if rank is not None), None)


def _rank_in(pattern: re.Pattern[str], name: str) -> int | None:
    numbers = {int(match) for match in pattern.findall(name)}
    return numbers.pop() if len(numbers) == 1 else None


def _numbered(paths: Iterable[Path], pattern: re.Pattern[str]) -> dict[Path, int]:
    families: dict[tuple[Path, str, str], dict[Path, int]] = {}
    for path in paths:
        match = pattern.fullmatch(path.name)
        if match:
            family = (path.parent, match["before"], match["after"])
            families.setdefault(family, {})[path] = int(match["number"])
    complete = (family for family in families.values() if sorted(family.values()) == list(range(len(family))))
    return {path: number for family in complete if len(family) > 1 for path, number in family.items()}
