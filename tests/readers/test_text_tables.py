"""Tables that ncu and nvprof print as text: read as the CSV that they print with ``--csv``."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.output.rows import rows as rows_of
from roofctl.readers.read import read_text
from roofctl.study.analyse import AnalysisRequest, analyse_inputs

SUMMARY = """\
==77== NVPROF is profiling process 77, command: ./app
==77== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:   60.00%  12.000ms        10  1.2000ms  1.1000ms  1.3000ms  sweep(float*, int)
                   39.99%  8.0000ms         4  2.0000ms  1.9000ms  2.1000ms  [CUDA memcpy HtoD]
                    0.01%  1.5000us         3     500ns     400ns     600ns  fill<int, 3>(int*)
      API calls:   90.00%  100.00ms        14  7.1429ms  1.0000us  90.000ms  cudaLaunchKernel
==77== Unified Memory profiling result:
Device "TITAN V (0)"
   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name
     169  38.201KB  4.0000KB  608.00KB  6.304688MB  725.1520us  Host To Device
"""
OLD_SUMMARY = """\
==77== Profiling result:
Time(%)      Time     Calls       Avg       Min       Max  Name
 60.00%  12.000ms        10  1.2000ms  1.1000ms  1.3000ms  sweep(float*, int)
 40.00%  8.0000ms         4  2.0000ms  1.9000ms  2.1000ms  [CUDA memcpy HtoD]

==77== API calls:
Time(%)      Time     Calls       Avg       Min       Max  Name
 90.00%  100.00ms        14  7.1429ms  1.0000us  90.000ms  cudaLaunchKernel
"""
TRACE = """\
==77== Profiling result:
   Start  Duration            Grid Size      Block Size     Regs*    SSMem*    DSMem*      Size  Throughput  SrcMemType  DstMemType           Device   Context    Stream  Name
1.18378s  1.0880us                    -               -         -         -         -        4B  3.5063MB/s    Pageable      Device     TITAN V (0)         1         7  [CUDA memcpy HtoD]
1.18401s  15.232us             (64 2 1)       (256 1 1)        16        0B        0B         -           -           -           -     TITAN V (0)         1         7  sweep(float*, int) [115]
1.18501s  16.768us             (64 2 1)       (256 1 1)        16        0B        0B         -           -           -           -     TITAN V (0)         1         7  sweep(float*, int) [118]

Regs: Number of registers used per CUDA thread.
"""
COUNTS = """\
==77== Profiling application: ./app
==77== Profiling result:
==77== Event result:
Invocations                                Event Name         Min         Max         Avg       Total
Device "TITAN V (0)"
    Kernel: sweep(float*, int)
         10                      thread_inst_executed    16777216    16777216    16777216   167772160

==77== Metric result:
Invocations                               Metric Name                            Metric Description         Min         Max         Avg
Device "TITAN V (0)"
    Kernel: sweep(float*, int)
         10                             inst_executed                         Instructions Executed      600000      600000      600000
         10                         dram_utilization                     Device Memory Utilization     Low (1)     Mid (5)     Low (3)
         10                    dram_read_transactions               Device Memory Read Transactions      100000      120000      110000
         10                   dram_write_transactions              Device Memory Write Transactions       10000       10000       10000
"""
PAGE = """\
==PROF== Connected to process 3520 (/home/u/sgemm)
Running kernel 21 on device 0, with a comma.
==PROF== Profiling "sgemm": 0%..
==WARNING== Launching the workload is taking more time than expected.
..50%....100% - 8 passes
==PROF== Disconnected from process 3520
[3520] sgemm@127.0.0.1
  void sgemm<4, float>(int, float *, const float *) (128, 2, 1)x(32, 32, 1), Context 1, Stream 7, Device 0, CC 7.5
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ----------------
    Metric Name             Metric Unit     Metric Value
    ----------------------- ----------- ----------------
    DRAM Frequency                  Ghz             5.00
    SM Frequency                    Mhz           585.00
    Memory Throughput                 %            49.95
    Duration                         ms             2.50
    SM Active Cycles              cycle     1,400,000.00
    ----------------------- ----------- ----------------

    OPT   This workload is utilizing greater than 80.0% of the available compute.

    Section: Compute Workload Analysis
    -------------------- ----------- ------------
    Metric Name          Metric Unit Metric Value
    -------------------- ----------- ------------
    Executed Ipc Active   inst/cycle         1.50
    -------------------- ----------- ------------

    Section: Launch Statistics
    ------------------- --------------- ---------------
    Metric Name             Metric Unit    Metric Value
    ------------------- --------------- ---------------
    # SMs                            SM              40
    Waves Per SM                                   6.40
    ------------------- --------------- ---------------

"""
OLD_PAGE = """\
[77] app@127.0.0.1
  ij_deriv(double *, int), 2020-Aug-27 18:24:40, Context 1, Stream 7
    Section: Command line profiler metrics
    ---------------------------------------------------------------------- --------------- ------------------------------
    dram__bytes.sum                                                                  Mbyte                          32.00
    gpu__time_duration.sum                                                         usecond                         100.00
    smsp__inst_executed.sum                                                           inst                      1,000,000
    ---------------------------------------------------------------------- --------------- ------------------------------

"""


def launches(text: str) -> list[tuple[str, int]]:
    return [
        (kernel, int(count))
        for part in read_text(text.encode(), "x.txt")
        for kernel, count in zip(part.frame["kernel"], part.frame["launches"], strict=True)
    ]


def rows(folder: Path, text: str, **options: str) -> list[dict[str, object]]:
    path = folder / "x.txt"
    path.write_text(text, encoding="utf-8")
    return rows_of(analyse_inputs(AnalysisRequest(inputs=(path,), **options)).results)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [SUMMARY, OLD_SUMMARY])
def test_a_timing_summary_of_nvprof(text: str, tmp_path: Path) -> None:
    first, *others = rows(tmp_path, text)
    assert (first["kernel"], first["launches"], first["seconds"]) == ("sweep(float*, int)", 10, pytest.approx(1.2e-3))
    assert [row["kernel"] for row in others] == (["fill<int, 3>(int*)"] if text is SUMMARY else [])


def test_a_trace_of_nvprof_has_a_row_per_launch_with_its_grid() -> None:
    (part,) = read_text(TRACE.encode(), "x.txt")
    assert part.frame["kernel"].tolist() == ["sweep(float*, int)"] * 2
    assert part.frame["grid"].tolist() == ["(64, 2, 1)"] * 2
    assert part.frame["block"].tolist() == ["(256, 1, 1)"] * 2
    assert part.frame["device"].tolist() == ["TITAN V"] * 2
    assert part.frame["GPU trace Duration"].tolist() == pytest.approx([15.232e-6, 16.768e-6])


def test_metrics_and_events_of_nvprof(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, COUNTS)
    assert (row["issued_warp_instructions"], row["thread_instructions"]) == (600_000, 16_777_216)
    assert row["hbm_transactions"] == 120_000


def test_counters_that_roofctl_does_not_use_are_no_fault(tmp_path: Path) -> None:
    kept = [text for text in COUNTS.splitlines() if "transactions" not in text and "inst_executed" not in text]
    (row,) = rows(tmp_path, "\n".join(kept))
    assert (row["kernel"], row["launches"], row["seconds"]) == ("sweep(float*, int)", 10, None)


def test_the_text_page_of_ncu_holds_what_its_details_page_does(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, PAGE, profile="t4")
    assert (row["kernel"], row["grid"]) == ("void sgemm<4, float>(int, float *, const float *)", "(128, 2, 1)")
    assert (row["seconds"], row["sm_clock_hz"]) == (pytest.approx(2.5e-3), pytest.approx(585e6))
    assert row["issued_warp_instructions"] == 1.5 * 1_400_000 * 40


def test_a_text_page_of_2020_has_no_header_over_its_columns(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, OLD_PAGE, profile="v100")
    assert (row["seconds"], row["hbm_transactions"]) == (pytest.approx(1e-4), 1_000_000)
    assert row["issued_warp_instructions"] == 1_000_000


def test_launches_of_a_text_page_follow_each_other() -> None:
    assert launches(OLD_PAGE + OLD_PAGE.partition("\n")[2]) == [("ij_deriv(double *, int)", 1)] * 2


def test_a_table_with_glued_units_is_read(tmp_path: Path) -> None:
    (row,) = rows(
        tmp_path,
        "Time(%),Time,Calls,Avg,Min,Max,Name\n"
        '60.00%,12.000ms,10,1.2000ms,1.1000ms,1.3000ms,"sweep(float*, int)"\n'
        "40.00%,8.000ms,4,2.000ms,1.9000ms,2.1000ms,[CUDA memcpy HtoD]\n",
    )
    assert (row["launches"], row["seconds"]) == (10, pytest.approx(1.2e-3))
