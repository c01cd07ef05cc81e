"""SQLite databases of profilers: what is in them, and how to get tables out of them.

Those of Nsight Systems are read. nvprof's (.nvvp, .nvprof) are not: a metric or an event stands there under a number
whose meaning only the CUPTI of nvprof itself knows. So nvprof has to print them.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Final

from roofctl.core.errors import InputError
from roofctl.launches.table import Part
from roofctl.readers import nsys_export

MAGIC: Final = b"SQLite format 3\x00"
_KERNELS: Final = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")
_COUNTS: Final = {
    "metric values": ("CUPTI_ACTIVITY_KIND_METRIC", "CUPTI_ACTIVITY_KIND_METRIC_INSTANCE"),
    "event values": ("CUPTI_ACTIVITY_KIND_EVENT", "CUPTI_ACTIVITY_KIND_EVENT_INSTANCE"),
}


def is_database(path: Path) -> bool:
    """Whether a file begins as an SQLite database does, whatever its name."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read(path: Path) -> list[Part]:
    """Times in an export of Nsight Systems. Raises InputError for any other: whose it is, what prints it."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as file:
            tables = {str(name) for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if nsys_export.is_export(tables):
                return nsys_export.read_export(path)
            if "StringTable" not in tables or not any(name.startswith("CUPTI_ACTIVITY_KIND_") for name in tables):
                raise InputError(
                    f"{path} is an SQLite database, but of no profiler",
                    hint="give the profiler's CSV output, or an ncu report (.ncu-rep)",
                )
            raise _of_nvprof(path, file, tables)
    except sqlite3.Error as error:
        raise InputError(
            f"{path} is a damaged SQLite database: {error}", hint="copy it again, or profile again (nvprof --csv)"
        ) from error


def _of_nvprof(path: Path, file: sqlite3.Connection, tables: set[str]) -> InputError:
    def rows(names: tuple[str, ...]) -> int:
        # Names come from the lists above.
        counts = (file.execute(f"SELECT count(*) FROM {name}") for name in names if name in tables)  # noqa: S608
        return sum(int(count.fetchone()[0]) for count in counts)

    held = {"kernel launches": rows(_KERNELS), **{what: rows(names) for what, names in _COUNTS.items()}}
    commands = []
    if held["kernel launches"]:
        commands.append(f"nvprof -i {path.name} --csv --print-gpu-trace -u ns --log-file {path.stem}-time.csv")
    if held["metric values"] or held["event values"]:
        commands.append(f"nvprof -i {path.name} --csv --log-file {path.stem}-counts.csv")
    contents = ", ".join(f"{count:,} {what}" for what, count in held.items())
    return InputError(
        f"{path} is a database of nvprof (SQLite) with {contents}; only nvprof can tell which counters they are",
        hint=f"print it where nvprof is: {'; '.join(commands)}"
        if commands
        else "no kernel was profiled: check the kernel filter and that the app uses the GPU, then profile again",
    )
