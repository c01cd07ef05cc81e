"""The captures of a folder as rows, and their removal."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from shlex import join
from typing import Any, Final

from roofctl.captures.manifest import Manifest, captures_in
from roofctl.captures.read import ended, read_manifest
from roofctl.core.errors import InputError, RoofctlError

_MEGABYTE: Final = 1e6
LIST_COLUMNS: Final = ("capture", "ended", "GPU", "profiler", ">launches", "sets", ">size", "application")


def rows(root: Path) -> list[dict[str, Any]]:
    """Facts of each capture in ``root``, the newest first; of a damaged one its name, size and ``problem``."""
    return [_row(folder) for folder in sorted(captures_in(root), key=ended, reverse=True)]


def _row(folder: Path) -> dict[str, Any]:
    try:
        return details(folder, read_manifest(folder))
    except InputError as error:
        return {"name": folder.name, "path": str(folder), "bytes": size_of(folder), "problem": error.message}


def details(folder: Path, manifest: Manifest) -> dict[str, Any]:
    """Everything that a manifest holds, with the capture's name, path and size on disk in bytes."""
    own = {"name": folder.name, "path": str(folder), "bytes": size_of(folder), "problem": manifest.incomplete or None}
    return {**own, **asdict(manifest)}


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder and below it."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def cells(row: dict[str, Any]) -> list[str]:
    """A row as text, in the order of ``LIST_COLUMNS``; unknown ones are empty."""
    if "argv" not in row:
        return [row["name"], *[""] * 5, size_text(row["bytes"]), "(damaged)"]
    gpu = row["gpu"] or {}
    launches = "" if row["kernels"] is None else f"{row['kernels']:,}"
    return [
        row["name"],
        row["ended"][:16].replace("T", " "),
        gpu.get("name") or "",
        f"{row['profiler']} {row['profiler_version']}",
        launches,
        ", ".join(row["metric_sets"]),
        size_text(row["bytes"]),
        join(row["argv"]),
    ]


def lines(row: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """What there is to say of one capture, as pairs of a heading and a text; unknown facts are left out."""
    gpu = row["gpu"] or {}
    codes = {row["profiler"]: row["profiler_exit_code"], "application": row["application_exit_code"]}
    filters = {option: row[option.replace("-", "_")] for option in ("kernel", "kernel-base", "exclude")}
    controls = {"clocks": row["clock_control"], "caches": row["cache_control"], "replay": row["replay_mode"]}
    facts = {
        "capture": row["path"],
        "incomplete": row["incomplete"],
        "application": join(row["argv"]),
        "folder": row["cwd"],
        "GPU": ", ".join(filter(None, (gpu.get("name"), gpu.get("uuid")))),
        "driver": gpu.get("driver"),
        "host": row["host"],
        "rank": row["rank"],
        "started": row["started"][:19],
        "ended": row["ended"][:19],
        "seconds": row["seconds"] and f"{row['seconds']:.1f}",
        "profiler": f"{row['profiler']} {row['profiler_version']} ({row['profiler_path']})",
        "control": ", ".join(f"{name} {value}" for name, value in controls.items() if value),
        "sets": ", ".join(row["metric_sets"]),
        "filters": ", ".join(f"--{name} {value}" for name, value in filters.items() if value),
        "launches": row["kernels"],
        "passes": row["passes"],
        "exit codes": ", ".join(f"{name} {code}" for name, code in codes.items() if code is not None),
        "files": ", ".join(row["data"]),
        "size": size_text(row["bytes"]),
        "roofctl": row["roofctl_version"],
    }
    yield from ((name, str(value)) for name, value in facts.items() if value not in (None, ""))
    yield from (("not counted", f"{name}: {reason}") for name, reason in row["left_out"].items())


def size_text(size: int) -> str:
    """A size in bytes as kB below 1 MB, else as MB."""
    return f"{size / _MEGABYTE:,.1f} MB" if size >= _MEGABYTE else f"{size / 1e3:.1f} kB"


def remove(folder: Path) -> None:
    """Delete a capture with all its files; of a link to one only the link."""
    try:
        if folder.is_symlink():
            folder.unlink()
        else:
            shutil.rmtree(folder)
    except OSError as error:
        raise RoofctlError(
            f"{error.filename or folder} cannot be removed: {error.strerror or error}",
            hint="check the rights on the folder that holds it",
        ) from error
