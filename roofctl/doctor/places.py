"""Files, folders and processes that bear on profiling: ncu's lock, folders to write to, services."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from roofctl.captures.manifest import ROOT
from roofctl.core.profile_files import user_profiles
from roofctl.doctor.machine import Folder, LockFile
from roofctl.profilers import lock

_SERVICES: Final = ("nv-hostengine", "dcgm")


def temp_folders(root: Path, environ: Mapping[str, str]) -> list[Path]:
    """Where ncu may have put its lock, the folder that it takes here first."""
    return list(dict.fromkeys([*lock.named_folders(environ), root / "tmp"]))


def locks(root: Path, environ: Mapping[str, str]) -> tuple[LockFile, ...]:
    """Every lock file of ncu, never touched."""
    protected = _protected_regular(root)
    files = []
    for position, folder in enumerate(temp_folders(root, environ)):
        path = folder / lock.LOCK_NAME
        try:
            status, parent = path.lstat(), folder.stat()
        except OSError:
            continue
        # An open that creates is refused for a file of someone else in a sticky folder, even to root.
        refused = protected and parent.st_mode & stat.S_ISVTX and status.st_uid not in (os.geteuid(), parent.st_uid)
        files.append(
            LockFile(
                path,
                owner=lock.owner(path) or str(status.st_uid),
                mode=stat.S_IMODE(status.st_mode),
                foreign=status.st_uid != os.geteuid(),
                used=position == 0,
                blocked=bool(refused) or not os.access(path, os.R_OK | os.W_OK),
            )
        )
    return tuple(files)


def _protected_regular(root: Path) -> bool:
    try:
        return (root / "proc/sys/fs/protected_regular").read_text().strip() not in ("", "0")
    except OSError:
        return False


def folders(root: Path, environ: Mapping[str, str], cwd: Path) -> tuple[Folder, ...]:
    """The folders that roofctl and ncu write to."""
    captures, temp = cwd / ROOT, temp_folders(root, environ)[0]
    own = user_profiles()
    return (
        Folder(
            "captures folder", captures, writable(captures), "work in a folder of yours, or roofctl profile -o FOLDER"
        ),
        Folder("GPU profile folder", own, writable(own), "set XDG_CONFIG_HOME to a folder of yours"),
        Folder("ncu temp folder", temp, temp.is_dir() and writable(temp), "set TMPDIR to an existing folder of yours"),
    )


def writable(folder: Path) -> bool:
    """Whether we may write into a folder, or create it where it does not exist yet."""
    place = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)


def services(root: Path) -> tuple[str, ...]:
    """Names of running DCGM processes, each once."""
    return tuple(sorted({name for name in _commands(root) if name.startswith(_SERVICES)}))


def _commands(root: Path) -> Iterator[str]:
    for path in (root / "proc").glob("[0-9]*/comm"):
        try:
            yield path.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:  # it ended meanwhile
            continue
