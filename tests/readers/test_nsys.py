"""Times of Nsight Systems: its tables, its SQLite export, and how they meet the counters of ncu."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from roofctl.core.errors import InputError, NoKernels
from roofctl.output.rows import rows as rows_of
from roofctl.readers.read import read_file, read_text
from roofctl.study.analyse import AnalysisRequest, analyse_inputs
from tests.support.shapes import L, ncu_raw

API = (
    "Processing [x.sqlite] with [cuda_api_sum.py]...\n"
    "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
    "81.2,131012864,1,131012864.0,131012864.0,131012864,131012864,0.0,cudaMalloc\n"
)
HEADER = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
KERNELS = (
    "Processing [x.sqlite] with [cuda_gpu_kern_sum.py]...\n"
    + HEADER
    + '90.0,25000000,5,5000000.0,5000000.0,4000000,6000000,8313.1,"sweep(float *, int)"\n'
    '10.0,3000000,3,1000000.0,1000000.0,900000,1100000,8313.1,"fill<(int)3>(int *)"\n'
)
SIZES = (
    "Processing [x.sqlite] with [cuda_gpu_mem_size_sum.py]...\n"
    "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation\n"
    '4000.5,2000,2.0,1.0,0.001,64.0,5.0,"[CUDA memcpy Host-to-Device]"\n'
)
OLD = (
    '"Time(%)","Total Time (ns)","Instances","Average","Minimum","Maximum","Name"\n'
    '90.0,25000000,5,5000000.0,4000000,6000000,"sweep(float *, int)"\n'
    '10.0,3000000,3,1000000.0,900000,1100000,"fill<(int)3>(int *)"\n'
)
TEXT = """\
[1/8] [========================100%] r.nsys-rep
 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

 Time (%)  Total Time (ns)  Instances  Avg (ns)   Med (ns)   Min (ns)  Max (ns)  StdDev (ns)         Name
 --------  ---------------  ---------  ---------  ---------  --------  --------  -----------  -------------------
     90.0       25,000,000          5  5000000.0  5000000.0   4000000   6000000       8313.1  sweep(float *, int)
     10.0          3000000          3  1000000.0  1000000.0    900000   1100000       8313.1  fill<(int)3>(int *)

 ** CUDA GPU MemOps Summary (by Size) (cuda_gpu_mem_size_sum):

 Total (MB)  Count  Avg (MB)           Operation
 ----------  -----  --------  ----------------------------
     4000.5   2000       2.0  [CUDA memcpy Host-to-Device]

"""
TRACE = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
    "Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
    "100,660534,124,,,,,,,,,,4.194,6345.982,Pinned,Device,NVIDIA L4 (0),1,,13,[CUDA memcpy Host-to-Device]\n"
    '200,7000,128,64,2,1,256,1,1,16,0.000,0.000,,,,,NVIDIA L4 (0),1,,13,"sweep(float *, int)"\n'
    '300,9000,129,64,2,1,256,1,1,16,0.000,0.000,,,,,NVIDIA L4 (0),1,,13,"sweep(float *, int)"\n'
)


def export(path: Path, launches: list[tuple[str, int, int]], *, gpu: bool = True) -> Path:
    """An SQLite export with launches of (kernel, nanoseconds, blocks of the grid)."""
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
        file.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, demangledName INT, gridX INT, "
            "gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT)"
        )
        names = {name: number for number, name in enumerate(dict.fromkeys(name for name, *_ in launches), 5)}
        file.executemany("INSERT INTO StringIds VALUES (?, ?)", [(number, name) for name, number in names.items()])
        file.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, ?, ?, 1, 1, 256, 1, 1)",
            [(1000 * i, 1000 * i + ns, names[name], grid) for i, (name, ns, grid) in enumerate(launches)],
        )
        if gpu:
            file.execute("CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, computeMajor INT, computeMinor INT)")
            file.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA L4', 8, 9)")
    file.close()
    return path


def rows(*inputs: Path, **options: str) -> list[dict[str, object]]:
    return rows_of(analyse_inputs(AnalysisRequest(inputs=inputs, **options)).results)  # type: ignore[arg-type]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", [KERNELS, API + KERNELS + SIZES, SIZES + KERNELS + API, OLD, TEXT])
def test_a_summary_of_kernels_among_the_other_tables(text: str, tmp_path: Path) -> None:
    found = rows(written(tmp_path / "x.csv", text))
    assert [(row["kernel"], row["launches"]) for row in found] == [("sweep(float *, int)", 5), ("fill<3>(int *)", 3)]
    assert [row["seconds"] for row in found] == pytest.approx([5e-3, 1e-3])


def test_a_summary_in_other_units() -> None:
    (part,) = read_text(KERNELS.replace("(ns)", "(us)").encode(), "x.csv")
    assert part.frame["nsys kernel Avg"].tolist() == pytest.approx([5.0, 1.0])


def test_a_summary_by_launch_shape() -> None:
    text = (
        HEADER.replace("Name", "GridXYZ,BlockXYZ,Name")
        + '90.0,25000000,5,5000000.0,5000000.0,4000000,6000000,8313.1,"  64    2    1"," 256    1    1",sweep(int)\n'
    )
    (part,) = read_text(text.encode(), "x.csv")
    assert part.frame.loc[0, ["grid", "block"]].tolist() == ["(64, 2, 1)", "(256, 1, 1)"]


def test_a_trace_has_a_row_per_launch() -> None:
    (part,) = read_text(TRACE.encode(), "x.csv")
    assert part.frame["nsys kernel Duration"].tolist() == pytest.approx([7e-6, 9e-6])
    assert set(part.frame["device"]) == {"NVIDIA L4"}
    assert set(part.frame["grid"]) == {"(64, 2, 1)"}


def test_an_export_has_a_row_per_launch_and_the_gpu(tmp_path: Path) -> None:
    (part,) = read_file(export(tmp_path / "x.sqlite", [("sweep(int)", 7000, 64), ("fill(int)", 500, 8)]))
    assert part.frame["kernel"].tolist() == ["sweep(int)", "fill(int)"]
    assert part.frame["grid"].tolist() == ["(64, 1, 1)", "(8, 1, 1)"]
    assert part.frame["nsys kernel Duration"].tolist() == pytest.approx([7e-6, 5e-7])
    assert part.frame.loc[0, ["device", "compute_capability"]].tolist() == ["NVIDIA L4", "8.9"]


def test_an_export_without_kernels(tmp_path: Path) -> None:
    with pytest.raises(NoKernels, match="no kernel was traced"):
        read_file(export(tmp_path / "x.sqlite", []))


def test_tables_without_kernels_say_what_prints_them() -> None:
    with pytest.raises(InputError, match="none of kernels") as caught:
        read_text((API + SIZES).encode(), "x.csv")
    assert "cuda_gpu_kern_sum" in caught.value.hint


COUNTED = {
    "gpu__time_duration.sum": 2_000_000,
    "sm__cycles_elapsed.avg.per_second": 2_000_000_000,
    "smsp__inst_executed.sum": 60_000_000,
    "smsp__thread_inst_executed.sum": 1_920_000_000,
}


@pytest.mark.parametrize("timed", ["sweep(float *, int)", "sweep", "sweep(float*,int)", "sweep(float …"])
def test_times_and_launches_come_from_nsys_and_counts_from_ncu(timed: str, tmp_path: Path) -> None:
    counts = written(tmp_path / "counts.csv", ncu_raw([L("sweep(float *, int)", COUNTED)]))
    times = written(tmp_path / "times.csv", HEADER + f'90.0,5000000,5,1000000.0,1,900000,1100000,1,"{timed}"\n')
    for inputs in ((counts, times), (times, counts)):
        (row,) = rows(*inputs, profile="l4")
        assert (row["launches"], row["seconds"]) == (5, pytest.approx(1e-3))
        assert row["issued_warp_instructions"] == 60_000_000
        assert row["sm_clock_hz"] is None  # ncu's clock belongs to its own run


def test_a_base_name_of_several_kernels_stays_apart(tmp_path: Path) -> None:
    counts = written(tmp_path / "c.csv", ncu_raw([L("sweep<1>(int)", COUNTED), L("sweep<2>(int)", COUNTED)]))
    times = written(tmp_path / "t.csv", HEADER + "90.0,5000000,5,1000000.0,1,900000,1100000,1,sweep\n")
    result = analyse_inputs(AnalysisRequest(inputs=(counts, times)))
    assert {row["kernel"] for row in rows_of(result.results)} == {"sweep<1>(int)", "sweep<2>(int)", "sweep"}
    assert any("may be any of several kernels" in note.text for note in result.notes)


def test_launches_with_grids_that_were_not_counted_are_no_part_of_rates(tmp_path: Path) -> None:
    counts = written(tmp_path / "c.csv", ncu_raw([L("sweep(int)", COUNTED, cc="8.9")]))
    launches = [("sweep(int)", 1_000_000, 64), ("sweep(int)", 9_000_000, 999), ("sweep(int)", 9_000_000, 999)]
    (row,) = rows(counts, export(tmp_path / "x.sqlite", launches))
    assert row["launches"] == 3
    assert row["gips"] == pytest.approx(60.0)
