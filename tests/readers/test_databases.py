"""SQLite databases of profilers: named, with what they hold and the commands that print them."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from roofctl.core.errors import InputError
from roofctl.readers.read import read_file

KERNEL = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"


def database(path: Path, **rows: int) -> Path:
    with closing(sqlite3.connect(path)) as file:
        for table, count in rows.items():
            file.execute(f"CREATE TABLE {table} (value INT)")
            file.executemany(f"INSERT INTO {table} VALUES (?)", [(number,) for number in range(count)])  # noqa: S608
        file.commit()
    return path


def refused(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        read_file(path)
    return caught.value


@pytest.mark.parametrize("name", ["app.nvvp", "app.nvprof", "app.csv"])
def test_nvprof_s_database_says_how_to_print_it(tmp_path: Path, name: str) -> None:
    rows = {"StringTable": 3, KERNEL: 12, "CUPTI_ACTIVITY_KIND_METRIC": 24, "CUPTI_ACTIVITY_KIND_EVENT": 0}
    error = refused(database(tmp_path / name, **rows))
    assert "12 kernel launches, 24 metric values, 0 event values" in error.message
    assert error.hint == (
        f"print it where nvprof is: nvprof -i {name} --csv --print-gpu-trace -u ns --log-file app-time.csv; "
        f"nvprof -i {name} --csv --log-file app-counts.csv"
    )


def test_a_timeline_has_one_command(tmp_path: Path) -> None:
    error = refused(database(tmp_path / "app.nvvp", StringTable=1, CUPTI_ACTIVITY_KIND_KERNEL=2))
    assert error.hint.count("nvprof -i") == 1


def test_a_database_without_kernels_says_so(tmp_path: Path) -> None:
    error = refused(database(tmp_path / "app.nvvp", StringTable=1, CUPTI_ACTIVITY_KIND_MEMCPY=4))
    assert "0 kernel launches" in error.message
    assert "no kernel was profiled" in error.hint


def test_nsight_systems_is_named(tmp_path: Path) -> None:
    assert "Nsight Systems" in refused(database(tmp_path / "a.sqlite", StringIds=1, **{KERNEL: 1})).message


def test_another_database_is_named(tmp_path: Path) -> None:
    assert "of no profiler" in refused(database(tmp_path / "a.db", places=1)).message


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "app.nvvp"
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    assert "damaged SQLite database" in refused(path).message


@pytest.mark.nvprof
@pytest.mark.skipif(not shutil.which("nvprof"), reason="no nvprof on PATH")
def test_a_real_nvprof_knows_the_options_of_the_commands(tmp_path: Path) -> None:
    path = database(tmp_path / "app.nvvp", StringTable=1, **{KERNEL: 1}, CUPTI_ACTIVITY_KIND_METRIC=1)
    for command in refused(path).hint.removeprefix("print it where nvprof is: ").split("; "):
        answer = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert "invalid option" not in answer.stdout + answer.stderr
        assert answer.returncode not in (3, 5, 20)
