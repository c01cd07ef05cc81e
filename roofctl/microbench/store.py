"""Where measured results are kept: beside the GPU profile or in the user's folder, with every earlier one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from roofctl.core.errors import InputError, RoofctlError
from roofctl.core.files import atomic_path
from roofctl.core.profile_files import MEASURED_SUFFIX, user_profiles
from roofctl.gpus import FoundProfile, Measured, find_measured, load_measured
from roofctl.gpus.writer import render

HISTORY_FOLDER: Final = "history"

_COMMENTS: Final = {
    "": "Measured ceilings, written by roofctl calibrate. Not for hand editing: measure again instead.\n"
    "Rates are in SI units; each is the median of its samples.",
    "provenance": "How, where and with what it was measured; every mix with its statistics and the settings that won.",
}


@dataclass(frozen=True)
class Change:
    """One ceiling before and after; None where it was not measured."""

    name: str
    before: float | None
    after: float | None

    @property
    def relative(self) -> float | None:
        """After / before - 1."""
        return None if self.before is None or self.after is None else self.after / self.before - 1


def changes(before: Measured | None, after: Measured) -> list[Change]:
    """What is different, ceiling by ceiling, in the order of the new result."""
    old = before.ceilings if before else {}
    names = dict.fromkeys([*after.ceilings, *old])
    return [
        Change(n, old[n].value if n in old else None, after.ceilings[n].value if n in after.ceilings else None)
        for n in names
    ]


def merged(before: Measured | None, after: Measured) -> Measured:
    """``after`` with the ceilings that it lacks from an earlier result of the very same GPU."""
    if before is None or not same_gpu(before, after):
        return after
    old, new = before.provenance, after.provenance
    provenance = {**new, **{key: {**old.get(key, {}), **new.get(key, {})} for key in ("levels", "absent", "sweeps")}}
    order = dict.fromkeys([*before.ceilings, *after.ceilings])
    together = {**before.ceilings, **after.ceilings}
    return after.model_copy(update={"ceilings": {name: together[name] for name in order}, "provenance": provenance})


def same_gpu(one: Measured, other: Measured) -> bool:
    """Whether two results are of one physical GPU."""
    key = "gpu_uuid_sha256"
    return one.gpu_name == other.gpu_name and one.provenance.get(key) == other.provenance.get(key)


def keeps_better(before: Measured | None, after: Measured) -> bool:
    """Whether a quick result must not replace an earlier full one."""
    return bool(before and after.provenance.get("quick") and before.provenance.get("quick") is False)


@dataclass(frozen=True)
class Kept:
    """A result after ``keep``: with an earlier one's ceilings, its file (None: not written), and the earlier one."""

    measured: Measured
    path: Path | None
    before: Measured | None


def keep(found: FoundProfile, measured: Measured) -> Kept:
    """Write a result where lookups find it; a quick one does not replace an earlier full one."""
    before = earlier(found)
    if keeps_better(before, measured):
        return Kept(measured, None, before)
    together, path = merged(before, measured), target(found)
    write(path, together)
    return Kept(together, path, before)


def text_of(measured: Measured) -> str:
    """The file's text."""
    return render(measured.model_dump(mode="json"), _COMMENTS)


def earlier(found: FoundProfile) -> Measured | None:
    """The result that is in force; None also for one that cannot be read, which must not stop a new one."""
    try:
        return find_measured(found)
    except InputError:
        return None


def target(found: FoundProfile) -> Path:
    """Where a new result goes: where lookups will find it first, beside the profile if that can be written."""
    name = f"{found.profile.name}{MEASURED_SUFFIX}"
    beside, own = found.path.parent / name, user_profiles() / name
    if found.layer == "packaged" and own.is_file():
        return own
    return beside if _writable(beside) else own


def _writable(path: Path) -> bool:
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def write(path: Path, measured: Measured) -> None:
    """Write in one step; what stood there before goes into the history."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            _archive(path)
        _replace(path, text_of(measured))
    except OSError as error:
        raise RoofctlError(
            f"{path} cannot be written: {error.strerror or error}", hint="--no-write measures without writing"
        ) from error


def _archive(path: Path) -> None:
    folder = history_folder(path)
    folder.mkdir(parents=True, exist_ok=True)
    text = path.read_text(encoding="utf-8")
    match = re.search(r'^measured_at: "?([\w:+.-]+)"?$', text, re.MULTILINE)
    stamp = re.sub(r"\W", "", match[1]) if match else "undated"
    # Two quick results can be of the same second; neither may be lost.
    names = (f"{stamp}{f'-{number}' if number else ''}{MEASURED_SUFFIX}" for number in count())
    free = next(p for p in map(folder.joinpath, names) if not p.exists() or p.read_text(encoding="utf-8") == text)
    _replace(free, text)


def _replace(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
        # A result is for everyone who reads the profile, whatever the user's mask.
        temporary.chmod(0o644)


def history_folder(path: Path) -> Path:
    """Where the earlier results of one file are."""
    return path.parent / HISTORY_FOLDER / path.name.removesuffix(MEASURED_SUFFIX)


def history(found: FoundProfile) -> list[Measured]:
    """Every readable result of a profile, newest first, from beside it and from the user's folder."""
    name = f"{found.profile.name}{MEASURED_SUFFIX}"
    paths = dict.fromkeys(folder / name for folder in (found.path.parent, user_profiles()))
    results: list[Measured] = []
    for path in paths:
        results += [measured for measured in _readable(path) if measured not in results]
    return sorted(results, key=lambda measured: measured.measured_at or "", reverse=True)


def _readable(path: Path) -> Iterator[Measured]:
    for candidate in (path, *sorted(history_folder(path).glob(f"*{MEASURED_SUFFIX}"))):
        if candidate.is_file():
            try:
                yield load_measured(candidate)
            except InputError:
                continue


def history_rows(results: list[Measured]) -> list[dict[str, Any]]:
    """The history as plain data: when, with what, and every ceiling's value."""
    return [
        {
            "measured_at": result.measured_at,
            "gpu_name": result.gpu_name,
            "driver": result.provenance.get("driver"),
            "quick": result.provenance.get("quick"),
            "roofctl_version": result.roofctl_version,
            "ceilings": {name: ceiling.value for name, ceiling in result.ceilings.items()},
            "units": {name: ceiling.unit for name, ceiling in result.ceilings.items()},
        }
        for result in results
    ]
