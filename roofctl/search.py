"""Folders and patterns as input: the captures and profiler files that they hold, and the rank that a name tells."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from roofctl.captures import is_capture
from roofctl.errors import InputError

_TABLES: Final = (".csv", ".csv.gz", ".csv.zst")
_REPORT: Final = ".ncu-rep"
_OTHERS: Final = (".nvvp", ".nvprof", ".txt", ".log")
"""Looked at only where nothing else is: a log beside its table holds no table."""
_RANK: Final = re.compile(r"(?:^|[^A-Za-z])rank[-_.=]?(\d{1,6})(?![A-Za-z\d])", re.IGNORECASE)
_SHORT_RANK: Final = re.compile(r"[-_.]r(\d{1,6})(?![A-Za-z\d])")
_NUMBERED: Final = re.compile(r"(?P<before>.*[^\d.])\.(?P<number>\d{1,6})(?P<after>\.\D.*)")


def is_pattern(path: Path) -> bool:
    """Whether a path is meant as a pattern (``runs/*.csv`` in quotes): it has wildcards, and nothing has its name."""
    return glob.has_magic(str(path)) and not path.exists()


def matching(path: Path, here: Path) -> list[Path]:
    """Files and folders that a pattern matches, in the order of their numbers. Raises InputError when none does."""
    found = [Path(name) for name in glob.glob(str(path), root_dir=here, recursive=True)]  # noqa: PTH207 - takes absolute ones
    if not found:
        raise InputError(f"nothing matches {path}", hint="check the pattern; ** stands for folders of any depth")
    return sorted(found, key=_natural)


def inside(folder: Path) -> list[Path]:
    """Captures (as folders) and profiler files in a folder and those below it, in the order of their numbers.

    A report is left out beside the table that was printed of it. Raises InputError when there is nothing.
    """
    captures: list[Path] = []
    files: list[Path] = []
    for name, folders, names in os.walk(folder):
        here = Path(name)
        if here != folder and is_capture(here):
            captures.append(here)
            folders.clear()
            continue
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        files += [here / each for each in names if not each.startswith(".")]
    found = captures + _profiles(files)
    if not found:
        raise InputError(
            f"{folder} is a folder that holds neither captures nor profiler files ({', '.join(_TABLES)}, {_REPORT})",
            hint="name a capture, or the files",
        )
    return sorted(found, key=_natural)


def _profiles(files: Sequence[Path]) -> list[Path]:
    tables = [path for path in files if path.name.endswith(_TABLES)]
    printed = {re.sub(r"\.csv(\.\w+)?$", "", str(path)) for path in tables}
    reports = [path for path in files if path.suffix == _REPORT and str(path.with_suffix("")) not in printed]
    return [*tables, *reports] or [path for path in files if path.name.endswith(_OTHERS)]


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """``rank2`` before ``rank10``."""
    parts = re.split(r"(\d+)", str(path))
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]


def ranks(paths: Sequence[Path]) -> list[int | None]:
    """The rank that each name tells, else None.

    ``rank3`` and ``rank_3`` in the name of a file or of its folder tell it, and ``_r003`` in that of a file.
    ``out.3.csv`` tells it only where the files of that name are numbered from 0 without a gap: else the number may be
    a process or a version.
    """
    numbered = _numbered(paths)
    return [
        _first(
            (numbered.get(path), _told(_RANK, path.name), _told(_SHORT_RANK, path.name), _told(_RANK, path.parent.name))
        )
        for path in paths
    ]


def _first(known: Iterable[int | None]) -> int | None:
    return next((rank for rank in known if rank is not None), None)


def _told(pattern: re.Pattern[str], name: str) -> int | None:
    found = {int(match) for match in pattern.findall(name)}
    return found.pop() if len(found) == 1 else None


def _numbered(paths: Iterable[Path]) -> dict[Path, int]:
    families: dict[tuple[Path, str, str], dict[Path, int]] = {}
    for path in paths:
        match = _NUMBERED.fullmatch(path.name)
        if match:
            family = (path.parent, match["before"], match["after"])
            families.setdefault(family, {})[path] = int(match["number"])
    whole = (family for family in families.values() if sorted(family.values()) == list(range(len(family))))
    return {path: number for family in whole if len(family) > 1 for path, number in family.items()}
