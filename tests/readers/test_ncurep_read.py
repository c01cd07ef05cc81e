"""Nsight Compute reports: the values of the table that ncu prints, or one sentence that says why not."""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from roofctl.cli.main import main
from roofctl.core.errors import InputError, RoofctlError
from roofctl.core.kernel_names import without_casts
from roofctl.core.units import parse_unit
from roofctl.launches.table import Part
from roofctl.quantities import catalogue
from roofctl.quantities.device import device_counters
from roofctl.readers.convert import LARGEST, Converter
from roofctl.readers.ncurep import child, container, export, packed
from roofctl.readers.ncurep import read as ncurep
from roofctl.readers.ncurep.container import small_report
from roofctl.readers.read import read_file
from roofctl.readers.streams import watched

from support.report_files import block, whole

PAIR = Path(__file__).parent.parent / "data" / "captures-h200" / "report"
REPORT = PAIR / "report.ncu-rep"
CORPUS = Path(__file__).parent.parent.parent.parent / "shared" / "corpus"

# Reports hold it; these tables were printed before roofctl asked for it.
WAVES = "launch__waves_per_multiprocessor"
SIZES = {
    *(
        "device__attribute_global_memory_bus_width",
        "sm__maximum_warps_per_active_cycle_pct",
        "launch__registers_per_thread",
        "launch__shared_mem_per_block",
    ),
    *(f"launch__occupancy_limit_{name}" for name in ("blocks", "registers", "shared_mem", "warps")),
}

pytest.importorskip("ncu_report", reason="the extra ncu-rep is not installed")


def part(path: Path) -> Part:
    (only,) = read_file(path)
    return only


def check_twins(report: Part, table: Part, *, only_in_report: set[str]) -> None:
    """Equal to the last digit that the table prints: it rounds rates and averages to two decimals."""
    of_gpu = set(device_counters().dimensions) - only_in_report
    assert set(report.frame.columns) - set(table.frame.columns) - SIZES - of_gpu == only_in_report
    for column in table.frame.columns:
        if table.frame[column].isna().all() or column.startswith("step:"):
            continue
        ours, theirs = list(report.frame[column]), list(table.frame[column])
        if ".avg" in column:
            assert ours == pytest.approx(theirs, abs=0.0051), column
        else:
            assert ours == theirs, column
            assert report.frame[column].dtype == table.frame[column].dtype, column
    assert table.names <= report.names


def test_the_values_are_those_of_the_table_that_ncu_printed() -> None:
    check_twins(part(REPORT), part(PAIR / "capture.csv"), only_in_report={WAVES})


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_packed_report_is_read_as_it_is(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a b.ncu-rep.{suffix}"
    content = REPORT.read_bytes()
    path.write_bytes(gzip.compress(content) if suffix == "gz" else pa.compress(content, codec="zstd", asbytes=True))
    told: list[tuple[Path, int, int]] = []
    with watched(lambda *progress: told.append(progress)):
        found, plain = part(path), part(REPORT)
    pd.testing.assert_frame_equal(found.frame, plain.frame)
    assert found.source == str(path)
    assert {each for each, *_ in told} == {path, REPORT}


@pytest.mark.parametrize("name", ["report", "...gz", "..gz", "a.ncu-rep"])
def test_a_packed_report_may_have_any_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(REPORT.read_bytes()))
    assert part(path).source == str(path)


def test_a_packed_report_for_which_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ncu-rep.gz"
    path.write_bytes(gzip.compress(REPORT.read_bytes()))

    def full(_: Path) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("roofctl.readers.streams.unpacked", lambda path: (full(path) for _ in range(1)))
    with pytest.raises(InputError, match=r"cannot be unpacked into .*: No space left on device") as caught:
        packed.read_report(path, read_file)
    assert "TMPDIR" in caught.value.hint
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(REPORT.read_bytes(), mtime=0)[:-9], "is compressed but damaged or cut off"),
        (gzip.compress(REPORT.read_bytes()[:-9], mtime=0), "is an incomplete Nsight Compute report"),
        (gzip.compress(b"NVR\0" + bytes(900), mtime=0), "is an Nsight Compute report in which no kernel was profiled"),
        (gzip.compress(b"NVR\0" + bytes(300 << 20), mtime=0), "unpacks to more than 400 times its size"),
    ],
)
def test_what_is_wrong_with_a_packed_report_is_said_of_the_file_that_was_given(
    content: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.ncu-rep.gz"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_file(path)
    assert caught.value.message.startswith(f"{path} {said}")


@pytest.mark.parametrize("kind", ["dram", "flops"])
def test_the_values_of_a_report_of_2020(kind: str) -> None:
    if not CORPUS.is_dir():
        pytest.skip("the corpus of public captures is not beside the repository")
    name = {"dram": "2020", "flops": "flops"}[kind]
    report, table = (
        part(CORPUS / f"gene-summit-v100-rank0-{name}.ncu-rep"),
        part(CORPUS / f"gene-summit-v100-rank0-{kind}.csv"),
    )
    attributes = {f"device__attribute_{end}" for end in ("clock_rate", "max_gpu_frequency_khz", "multiprocessor_count")}
    check_twins(report, table, only_in_report={*attributes, WAVES})


def test_counts_are_whole_numbers() -> None:
    frame = part(REPORT).frame
    assert frame["smsp__inst_executed.sum"].dtype == "Int64"
    assert frame["gpu__time_duration.sum"].dtype == "Float64"
    first = frame.iloc[0]
    assert (first["kernel"], first["grid"], first["block"]) == (
        "triad(float4 *, const float4 *, const float4 *, float, unsigned long)",
        "(65536, 1, 1)",
        "(256, 1, 1)",
    )
    assert (first["device"], first["compute_capability"], first["process"]) == ("NVIDIA H200", "9.0", "650")


def test_a_report_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(REPORT), "--format", "json"]) == 0
    ours = json.loads(capsys.readouterr().out)["kernels"]
    assert main(["report", str(PAIR / "capture.csv"), "--format", "json"]) == 0
    theirs = json.loads(capsys.readouterr().out)["kernels"]
    assert [row["kernel"] for row in ours] == [row["kernel"] for row in theirs]
    for one, two in zip(ours, theirs, strict=True):
        assert one["l2_transactions"] == two["l2_transactions"]
        assert one["gips"] == two["gips"]


@pytest.mark.parametrize("name", ["report", "report.csv", "report.bin"])
def test_the_name_does_not_decide(tmp_path: Path, name: str) -> None:
    shutil.copy(REPORT, tmp_path / name)
    assert len(part(tmp_path / name).frame) == 12


def test_a_table_under_the_name_of_a_report_is_read(tmp_path: Path) -> None:
    shutil.copy(PAIR / "capture.csv", tmp_path / "table.ncu-rep")
    assert len(part(tmp_path / "table.ncu-rep").frame) == 12


def test_a_folder_with_only_a_report_is_a_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = Path(__file__).parent.parent / "data" / "captures-h200" / "base-clock" / "capture.json"
    manifest = json.loads(source.read_text(encoding="utf-8"))
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "capture.json").write_text(json.dumps({**manifest, "data": ["report.ncu-rep"]}), encoding="utf-8")
    shutil.copy(REPORT, folder)
    assert main(["report", str(folder)]) == 0
    assert "triad" in capsys.readouterr().out


def replicated(folder: Path, count: int, edit: Callable[[int, bytes], bytes] = lambda _, result: result) -> Path:
    """A report of ``count`` launches: the results of ours, again and again."""
    found, data = container.index(REPORT), REPORT.read_bytes()
    results = [data[each.offset : each.offset + each.size] for each in found.results]
    many = [edit(number, results[number % len(results)]) for number in range(count)]
    path = folder / "many.ncu-rep"
    path.write_bytes(small_report(found.head, found.sessions, found.texts, many))
    return path


def test_many_launches_in_slices_and_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ncurep, "_CHILD_BYTES", 1 << 20)
    frame = part(replicated(tmp_path, 2500)).frame.drop(columns="process")
    once = part(REPORT).frame.drop(columns="process")
    expected = pd.concat([once] * 209, ignore_index=True).iloc[:2500]
    pd.testing.assert_frame_equal(frame, expected)


def test_whoever_watches_is_told_how_much_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ncurep, "_CHILD_BYTES", 1 << 20)
    monkeypatch.setattr(ncurep, "_LOOK_SECONDS", 0.001)
    path = replicated(tmp_path, 2500)
    told: list[tuple[Path, int, int]] = []
    with watched(lambda *step: told.append(step)):
        assert len(part(path).frame) == 2500
    size = sum(stored.size for stored in container.index(path).results)
    assert {(where, of) for where, _, of in told} == {(path, size)}
    steps = [done for _, done, _ in told]
    assert steps == sorted(steps)
    assert steps[-1] == size
    assert len(set(steps)) > 2


def test_a_disk_without_room_for_progress_is_no_fault(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 24)
    expected = child.read(plan)
    assert Path(plan["counter"]).stat().st_size == 24
    assert child.read({**plan, "counter": str(tmp_path / "gone" / "plan.read")}) == expected


def test_a_second_device_keeps_its_own_attributes(tmp_path: Path) -> None:
    def edit(number: int, result: bytes) -> bytes:
        return result.replace(b"NVIDIA H200", b"NVIDIA H100") if number % 3 == 1 else result

    frame = part(replicated(tmp_path, 9, edit)).frame
    assert frame["device"].tolist() == ["NVIDIA H200", "NVIDIA H100", "NVIDIA H200"] * 3
    assert frame["launch__sm_count"].tolist() == [132] * 9


def test_every_launch_has_its_own_shape(tmp_path: Path) -> None:
    def edit(number: int, result: bytes) -> bytes:
        # The first result's grid is (65536, 1, 1), 0x80 0x80 0x04 as it is written: 65537 and 65538 for some.
        return result.replace(b"\x28\x80\x80\x04", b"\x28" + bytes((0x80 + number % 3, 0x80, 0x04)))

    ours = [number for number in range(120) if number % 12 == 0]
    grids = part(replicated(tmp_path, 120, edit)).frame["grid"][ours].tolist()
    assert grids == [f"({65536 + number % 3}, 1, 1)" for number in ours]
    assert len(set(part(replicated(tmp_path, 36, lambda n, r: edit(n // 12, r))).frame["grid"])) > 4


TIME = "gpu__time_duration.sum"


def with_time(result: bytes, nanoseconds: float) -> bytes:
    """A result with another duration."""
    number = container.index(REPORT).texts.index(TIME)
    at = result.index(whole(1, number) + b"\x12\x09\x19") + len(whole(1, number)) + 3
    return result[:at] + struct.pack("<d", nanoseconds) + result[at + 8 :]


def test_every_launch_has_its_own_numbers(tmp_path: Path) -> None:
    def edit(number: int, result: bytes) -> bytes:
        return with_time(result, math.nan if number == 50 else math.inf if number == 70 else 1000.0 + number)

    times = part(replicated(tmp_path, 200, edit)).frame[TIME]
    assert np.flatnonzero(times.isna()).tolist() == [50, 70]
    there = [number for number in range(200) if number not in {50, 70}]
    assert times[there].tolist() == [(1000 + number) / 10**9 for number in there]


def plan_of(folder: Path, count: int) -> child.Plan:
    path = replicated(folder, count)
    found = container.index(path)
    counters = sorted(catalogue().counters() - {*child.IDENTITY})
    plan = ncurep._plan(path, found, found.results, counters, folder / "plan.json")
    read: child.Plan = json.loads(plan.read_text(encoding="utf-8"))
    return read


@pytest.mark.parametrize("column", [[1.5, -0.0, 1e300], [], [1.0, None], [1, 2], ["a", None], [0.5, "a"]])
def test_a_column_is_packed_and_unpacked(column: child.Column) -> None:
    packed = child.packed(column)
    assert repr(child.unpacked(json.loads(json.dumps(packed)))) == repr(column)
    assert isinstance(packed, str) == all(isinstance(value, float) for value in column)


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s", "Hz", "Khz", "inst", "byte", "Kbyte", "%", ""])
@pytest.mark.parametrize(
    "values",
    [
        [182_720.0, 1.0, 7.0, 123_456_789_123.0, 2.0**53 - 1],
        [0.0, -0.0],
        [1.5, 2.0, 0.1, 1e-9],
        [2.0**53 + 2, 1e18],
        [3.0, None, 4.5],
        [3, 5.0, 2**62 + 1],
        [None],
    ],
)
def test_columns_are_those_of_their_values_one_by_one(unit: str, values: list[float | None]) -> None:
    parsed = parse_unit(unit)
    assert parsed is not None
    converter = Converter("a", "point", catalogue(), _units={("x", unit): parsed})
    try:
        expected = [
            None if value is None else ncurep._number("x", value, parsed, Converter("a", "point", catalogue()), 0)
            for value in values
        ]
        column = ncurep._numbers("x", values, unit, converter)
    except InputError:
        assert max(value for value in values if value is not None) > LARGEST
    else:
        assert repr(column) == repr(expected)


def test_launches_of_several_processes_stand_as_ncu_prints_them(tmp_path: Path) -> None:
    found, data = container.index(REPORT), REPORT.read_bytes()
    results = [data[each.offset : each.offset + each.size] for each in found.results]
    path = tmp_path / "two.ncu-rep"
    blocks = [block([results[n]], process=(500, 400)[n % 2], texts=found.texts if n == 0 else []) for n in range(4)]
    path.write_bytes(found.head + b"".join(blocks))
    assert part(path).frame["process"].tolist() == ["500", "500", "400", "400"]
    names = [kernel.partition("(")[0] for kernel in part(path).frame["kernel"]]
    assert names == [part(REPORT).frame["kernel"][n].partition("(")[0] for n in (0, 2, 1, 3)]


def refused(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        read_file(path)
    assert path.name in caught.value.message
    assert caught.value.hint
    return caught.value


def test_a_cut_report_is_refused(tmp_path: Path) -> None:
    data = REPORT.read_bytes()
    path = tmp_path / "cut.ncu-rep"
    for end in (5, 11, 300, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:end])
        assert "incomplete" in refused(path).message, end


def test_an_empty_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.ncu-rep").touch()
    assert "is empty" in refused(tmp_path / "empty.ncu-rep").message
    (tmp_path / "folder.ncu-rep").mkdir()
    assert "is a folder" in refused(tmp_path / "folder.ncu-rep").message


def test_garbage_under_the_name_of_a_report_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "garbage.ncu-rep"
    path.write_bytes(bytes(range(256)) * 40)
    assert "does not begin as one" in refused(path).message


def test_a_report_without_kernels_says_so(tmp_path: Path) -> None:
    found = container.index(REPORT)
    path = tmp_path / "none.ncu-rep"
    path.write_bytes(small_report(found.head, found.sessions, [], []))
    error = refused(path)
    assert "is an Nsight Compute report of ncu 2025.3.1 in which no kernel was profiled" in error.message


def damaged(folder: Path, version: bytes) -> Path:
    """A whole container whose results are of a form that the reader does not know."""
    found = container.index(REPORT)
    sessions = [session.replace(b"2025.3.1", version) for session in found.sessions]
    path = folder / "other.ncu-rep"
    path.write_bytes(small_report(found.head, sessions, found.texts, [b"\x08\x01", b"\x08\x02"]))
    return path


def test_a_report_of_a_newer_ncu_is_named_so(tmp_path: Path) -> None:
    error = refused(damaged(tmp_path, b"2099.1.0"))
    assert "made by ncu 2099.1.0, newer than the report reader here" in error.message
    assert "pip install -U ncu-report" in error.hint


def test_a_damaged_report_is_named_so(tmp_path: Path) -> None:
    assert "is a damaged Nsight Compute report" in refused(damaged(tmp_path, b"2024.1.0")).message


def test_a_reader_that_crashes_is_an_error_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nkill -SEGV $$\n", encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert "crashed (SIGSEGV)" in refused(REPORT).message


def test_a_reader_that_does_not_load_is_no_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "ncu_report.py").write_text('raise ImportError("libnvperf_host.so: no such file")', encoding="utf-8")
    error = refused(REPORT)
    assert "does not load here: ImportError: libnvperf_host.so: no such file" in error.message
    assert "damaged" not in error.message


def test_a_reader_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(ncurep, "_SECONDS", 0.2)
    assert "was stopped" in refused(REPORT).message


def broken_reader(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setenv("PYTHONPATH", str(folder))
    (folder / "ncu_report.py").write_text(program, encoding="utf-8")


def test_a_reader_that_does_not_load_is_replaced_by_ncu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken_reader(tmp_path, monkeypatch, 'raise ImportError("libnvperf_host.so: no such file")')
    fake_ncu(tmp_path, monkeypatch, f"cat {PAIR / 'capture.csv'}")
    assert len(part(REPORT).frame) == 12


def test_memory_of_a_child_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken_reader(tmp_path, monkeypatch, f"import mmap\nmmap.mmap(-1, {child.MEMORY_BYTES})")
    error = refused(REPORT)
    assert "needs more memory than it may have here" in error.message
    assert "damaged" not in error.message


@pytest.mark.parametrize("hard", [3 << 30, 64 << 30])
def test_a_memory_limit_of_the_user_stays(hard: int) -> None:
    program = (
        "import resource\nfrom roofctl.readers.ncurep.child import limit_memory\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({hard}, {hard}))\nlimit_memory()\n"
        "print(*resource.getrlimit(resource.RLIMIT_AS))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.split() == [str(min(hard, child.MEMORY_BYTES))] * 2


def test_a_report_is_read_under_a_lower_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limited = tmp_path / "python"
    limited.write_text(f'#!/bin/sh\nulimit -v 3000000\nexec {sys.executable} "$@"\n', encoding="utf-8")
    limited.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(limited))
    assert len(part(REPORT).frame) == 12


def test_a_fault_that_is_not_the_readers_does_not_damage_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python").write_text(
        "#!/bin/sh\necho 'OSError: [Errno 28] No space left on device' >&2\nexit 1\n", encoding="utf-8"
    )
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    error = refused(REPORT)
    assert "No space left on device" in error.message
    assert "damaged" not in error.message


@pytest.mark.parametrize("seed", range(6))
def test_mutated_reports_give_numbers_or_our_error(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - repeatable
    data = bytearray(REPORT.read_bytes())
    for _ in range(chance.choice((1, 5, 50))):
        data[chance.randrange(45_000, len(data))] = chance.randrange(256)
    path = tmp_path / "mutated.ncu-rep"
    path.write_bytes(data)
    try:
        frame = part(path).frame
    except RoofctlError as error:
        assert path.name in error.message  # noqa: PT017
    else:
        assert len(frame) == 12


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void f<(int)1>(T1 *)", "void f<1>(T1 *)"),
        ("f<float, (int)-8, (bool)0>(int)", "f<float, -8, 0>(int)"),
        ("f<(unsigned long)4>()", "f<4>()"),
        ("f(int)", "f(int)"),
        ("f<A<(int)2>>(void (*)(int), int)", "f<A<2>>(void (*)(int), int)"),
        ("operator()(int)1", "operator()(int)1"),
    ],
)
def test_casts_in_names(name: str, short: str) -> None:
    assert without_casts(name) == short


@pytest.fixture
def no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ncurep, "find_spec", lambda _: None)


def fake_ncu(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    tool = folder / "bin" / "ncu"
    tool.parent.mkdir()
    tool.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) echo "Version 2022.3.0.0 (build 1)"; exit 0;; esac\n{body}\n',
        encoding="utf-8",
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("no_reader")
def test_without_the_reader_ncu_prints_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_ncu(tmp_path, monkeypatch, f'echo "$LC_ALL" "$@" > {tmp_path}/asked\ncat {PAIR / "capture.csv"}')
    assert part(REPORT).frame["kernel"].tolist() == part(PAIR / "capture.csv").frame["kernel"].tolist()
    assert (tmp_path / "asked").read_text() == f"C --import {REPORT} --csv --page raw --print-units base\n"


@pytest.mark.usefixtures("no_reader")
def test_an_ncu_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_ncu(tmp_path, monkeypatch, "echo \"==ERROR== Failed to load report file '$2'.\"; exit 1")
    error = refused(REPORT)
    assert "ncu 2022.3.0 cannot read this report, which ncu 2025.3.1 made: Failed to load report file" in error.message
    assert "pip install 'roofctl[ncu-rep]'" in error.hint


@pytest.mark.usefixtures("no_reader")
def test_an_ncu_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_ncu(tmp_path, monkeypatch, "exec sleep 60")
    monkeypatch.setattr(export, "_SECONDS", 0.5)
    assert "ncu cannot print it" in (error := refused(REPORT)).message
    assert "did not answer within" in error.message


@pytest.mark.usefixtures("no_reader")
def test_an_ncu_that_prints_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_ncu(tmp_path, monkeypatch, "exit 0")
    assert "ncu 2022.3.0 printed nothing of this report" in refused(REPORT).message


@pytest.mark.usefixtures("no_reader")
def test_without_reader_and_ncu_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    error = refused(REPORT)
    assert "needs NVIDIA's reader or ncu, and neither is here" in error.message
    assert error.hint.startswith("pip install 'roofctl[ncu-rep]'; or where ncu is: ncu --import report.ncu-rep")


@pytest.mark.ncu
@pytest.mark.usefixtures("no_reader")
@pytest.mark.skipif(not shutil.which("ncu"), reason="no ncu on PATH")
def test_a_real_ncu_prints_what_the_reader_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = part(REPORT)
    monkeypatch.undo()
    read = part(REPORT)
    assert printed.frame["kernel"].tolist() == read.frame["kernel"].tolist()
    counters = [name for name in printed.frame.columns if name.endswith(".sum")]
    assert len(counters) == 10
    pd.testing.assert_frame_equal(printed.frame[counters], read.frame[counters])
