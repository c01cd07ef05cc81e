"""The capture folder: what one profiler run left behind, described by ``capture.json``.

It is written aside, in a hidden sibling, and renamed when whole. A folder is never overwritten.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import json
import math
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from roofctl.core.errors import InputError

SCHEMA: Final = 1
MANIFEST: Final = "capture.json"
ROOT: Final = "roofctl-captures"


@dataclass(frozen=True)
class GpuFacts:
    """The GPU as nvidia-smi told it before the run; clocks are of that moment, ``max_`` the highest possible."""

    name: str
    compute_capability: str | None = None
    driver: str | None = None
    max_sm_clock_hz: float | None = None
    sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None


@dataclass(frozen=True)
class Manifest:
    """Facts of one capture. None means unknown.

    ``commands`` are the exact command lines, with the folder's final name. ``left_out`` and ``missing`` give, per
    quantity and per counter, why there is no value. ``data`` names the files to read, in the folder.
    ``kernel`` and ``exclude`` are the user's filters; ``filter_when_read`` says that the profiler did not apply
    them (all), so that a reader must. ``incomplete`` is empty for a whole capture, else the reason.
    """

    argv: tuple[str, ...]
    cwd: str
    profiler: str
    profiler_version: str
    profiler_path: str
    metric_sets: tuple[str, ...]
    counters: tuple[str, ...]
    host: str
    started: str
    ended: str
    data: tuple[str, ...]
    commands: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    gpu: GpuFacts | None = None
    rank: int | None = None
    seconds: float | None = None
    profiler_exit_code: int | None = None
    application_exit_code: int | None = None
    clock_control: str | None = None
    cache_control: str | None = None
    replay_mode: str | None = None
    passes: int | None = None
    kernels: int | None = None
    kernel: str = ""
    exclude: str = ""
    filter_when_read: bool = False
    incomplete: str = ""
    roofctl_version: str = ""
    schema: int = SCHEMA


@dataclass(frozen=True)
class Capture:
    """A capture on disk."""

    folder: Path
    manifest: Manifest


class Draft:
    """A capture in the making. ``folder`` is where to write; it is gone, or has its final name, afterwards."""

    def __init__(self, root: Path, name: str, folder: Path) -> None:
        self.folder = folder
        self._root = root
        self._name = name

    def finish(self, manifest: Manifest) -> Capture:
        """Write the manifest and give the folder its name: ``name``, or ``name-2`` and so on where that is taken."""
        target = _reserve(self._root, self._name)
        renamed = tuple(line.replace(str(self.folder), str(target)) for line in manifest.commands)
        manifest = replace(manifest, commands=renamed)
        text = json.dumps(asdict(manifest), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            (self.folder / MANIFEST).write_text(text, encoding="utf-8")
            self.folder.rename(target)  # replaces the empty folder that holds the name
        except BaseException:
            target.rmdir()
            raise
        return Capture(target, manifest)

    def discard(self, keep: Mapping[str, str] | None = None) -> list[Path]:
        """Remove the folder. Files to ``keep`` are moved beside it, under the capture's name and the suffix given.

        Returns where they are now.
        """
        wanted = {name: suffix for name, suffix in (keep or {}).items() if (self.folder / name).is_file()}
        stem = _free_stem(self._root, self._name, wanted.values())
        kept = [(self.folder / name).replace(self._root / f"{stem}{suffix}") for name, suffix in wanted.items()]
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            self._root.rmdir()  # only where it holds nothing
        return kept


def create(root: Path, name: str) -> Draft:
    """Begin a capture under ``root``, which is made where it does not exist. Raises InputError when it cannot be."""
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        raise InputError(f"{name!r} cannot name a capture", hint="use a plain file name, such as gemm-before")
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = root.resolve() / f".{name}-{secrets.token_hex(4)}.partial"
        folder.mkdir()
    except OSError as error:
        raise unwritable(root, error) from error
    return Draft(root.resolve(), name, folder)


def unwritable(root: Path, error: OSError) -> InputError:
    """The error for a folder of captures that the system does not let us write to."""
    return InputError(
        f"no capture can be written to {root}: {error.strerror}",
        hint="check space and permissions there, or choose another folder with -o",
    )


def _reserve(root: Path, name: str) -> Path:
    """Take the first free name by making the folder: two runs at once never get the same."""
    number = 1
    while True:
        target = root / (name if number == 1 else f"{name}-{number}")
        try:
            target.mkdir()
        except FileExistsError:
            number += 1
        else:
            return target


def _free_stem(root: Path, name: str, suffixes: Iterable[str]) -> str:
    stems = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
    ends = [*suffixes, ".log"]
    return next(stem for stem in stems if not any((root / f"{stem}{end}").exists() for end in ends))


def is_capture(folder: Path) -> bool:
    """Whether a folder holds a capture."""
    return (folder / MANIFEST).is_file()


def latest(root: Path) -> Path:
    """The newest capture under ``root``, by the time its run ended. Raises InputError when there is none."""
    folders = _captures(root)
    if not folders:
        raise InputError(f"there is no capture in {root}", hint="make one: roofctl profile ./app; or name a file")
    return max(folders, key=_ended)


def _ended(folder: Path) -> tuple[float, str]:
    # One damaged capture must not hide the others. As text, times of two zones do not compare.
    with contextlib.suppress(InputError, ValueError, OverflowError):
        return datetime.fromisoformat(read_manifest(folder).ended).timestamp(), folder.name
    return -math.inf, folder.name


def _captures(root: Path) -> list[Path]:
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if not path.name.startswith(".") and is_capture(path))


def resolve(text: str | os.PathLike[str] | None, cwd: Path) -> Path:
    """The capture folder that a user means: a path, the name of one in ``roofctl-captures``, or None for the newest."""
    root = cwd / ROOT
    if text is None:
        return latest(root)
    for candidate in (cwd / text, root / text):
        if is_capture(candidate):
            return candidate
    given = cwd / text
    if given.is_dir():
        if _captures(given):
            return latest(given)
        raise InputError(
            f"{text} is a folder without {MANIFEST}: no capture", hint="name a capture, or a file in that folder"
        )
    names = [path.name for path in _captures(root)]
    close = difflib.get_close_matches(os.fspath(text), names, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(close)}?" if close else _known_hint(root, names)
    raise InputError(f"no file or capture called {os.fspath(text)!r} here", hint=hint)


def _known_hint(root: Path, names: list[str]) -> str:
    return f"in {root}: {', '.join(names[-3:])}" if names else "make one: roofctl profile ./app"


def data_files(folder: Path) -> list[Path]:
    """The files of a capture that hold its counts. Raises InputError when one is gone."""
    files = [folder / name for name in read_manifest(folder).data]
    gone = [path.name for path in files if not path.is_file()]
    if gone:
        raise InputError(
            f"{folder} lacks {', '.join(gone)}, which its {MANIFEST} names",
            hint="the folder was copied in part: copy it whole",
        )
    return files


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a capture folder. Raises InputError that says what is wrong with it."""
    path = folder / MANIFEST
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} has no {MANIFEST}: it is no capture", hint="name the folder that roofctl profile wrote"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read: {error}", hint="the file is damaged: capture again, or read its CSV alone"
        ) from error
    if not isinstance(document, dict) or not isinstance(document.get("schema"), int):
        raise InputError(
            f"{path} has no schema number", hint="the file is damaged: capture again, or read its CSV alone"
        )
    if document["schema"] > SCHEMA:
        raise InputError(
            f"{path} has schema {document['schema']}, roofctl here knows {SCHEMA}", hint="use a newer roofctl"
        )
    return _manifest(document, path)


def _manifest(document: Mapping[str, Any], path: Path) -> Manifest:
    values = {
        spec.name: _checked(document[spec.name], str(spec.type), spec.name, path)
        for spec in fields(Manifest)
        if spec.name in document
    }
    needed = (
        "argv",
        "cwd",
        "profiler",
        "profiler_version",
        "host",
        "started",
        "ended",
        "data",
        "metric_sets",
        "counters",
        "commands",
    )
    lacking = [name for name in (*needed, "profiler_path") if name not in values]
    if lacking:
        raise InputError(
            f"{path} lacks {', '.join(lacking)}", hint="the file is damaged: capture again, or read its CSV alone"
        )
    if values.get("gpu") is not None:
        known = {spec.name for spec in fields(GpuFacts)}
        values["gpu"] = GpuFacts(**{name: value for name, value in values["gpu"].items() if name in known})
    return Manifest(**values)


def _checked(value: Any, kind: str, name: str, path: Path) -> Any:
    """``value`` if it has the type that the field is annotated with; lists become tuples."""
    if kind.startswith("tuple"):
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise _wrong(path, name, "a list of texts")
    accepted = {
        "str": (str,),
        "int": (int,),
        "bool": (bool,),
        "str | None": (str, type(None)),
        "int | None": (int, type(None)),
        "float | None": (float, int, type(None)),
        "GpuFacts | None": (dict, type(None)),
        "Mapping[str, str]": (dict,),
    }[kind]
    if not isinstance(value, accepted):
        raise _wrong(path, name, kind)
    return value


def _wrong(path: Path, name: str, expected: str) -> InputError:
    return InputError(
        f"{path}: {name} is not {expected}", hint="the file is damaged: capture again, or read its CSV alone"
    )
