# ruff: noqa: E501 - lines of a file, as they are
"""Lines of large files in every layout that is neither a plain raw page nor a plain details page, made up."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from made import Pages, kernel_names, quoted

from roofctl.quantities import catalogue

TRACE: Final = (
    '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem",'
    '"Dynamic SMem","Size","Throughput","SrcMemType","DstMemType","Device","Context","Stream","Name","Correlation_ID"\n'
)
COUNTERS: Final = (
    *("inst_executed", "gld_transactions", "gst_transactions", "l2_read_transactions", "l2_write_transactions"),
    *("dram_read_transactions", "dram_write_transactions", "shared_load_transactions", "shared_store_transactions"),
    *("gld_efficiency", "sm_efficiency", "achieved_occupancy", "ipc", "issue_slot_utilization"),
)
SUMMARY: Final = (
    *("gpu__time_duration.sum", "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum", "dram__sectors_read.sum"),
    *(
        "dram__sectors_write.sum",
        "lts__t_sectors_srcunit_tex.sum",
        "l1tex__t_sectors_pipe_lsu.sum",
        "sm__throughput.avg",
    ),
)


def _drawn() -> random.Random:
    return random.Random(1)  # noqa: S311 - reproducible, not secret


def gpu_trace(rows: int) -> Iterator[str]:
    """Nvprof's GPU trace: a copy for every two kernels."""
    draw = _drawn()
    names = [name.replace('"', '""') for name in kernel_names(40, draw)]
    yield "==7== Profiling result:\n"
    yield TRACE
    yield "s,ms,,,,,,,,B,B,MB,GB/s,,,,,,,\n"
    for number in range(rows):
        begin, time = f"{number * 1e-4:.6f}", f"{draw.random():.6f}"
        if number % 3 == 2:  # noqa: PLR2004
            yield f'{begin},{time},,,,,,,,,,0.065536,30.275974,"Pageable","Device","V100 (0)","1","7","[CUDA memcpy HtoD]",{number}\n'
        else:
            yield f'{begin},{time},{1 << number % 9},1,1,128,1,1,24,0,0,,,,,"V100 (0)","1","7","{names[number % 40]}",{number}\n'


def timing_summary(rows: int) -> Iterator[str]:
    """Nvprof's timing summary of as many kernels."""
    draw = _drawn()
    yield '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n'
    yield ",%,ms,,us,us,us,\n"
    for number in range(rows):
        time = draw.random() * 1e3
        yield f'"GPU activities",0.001,{time / 10:.6f},100,{time:.6f},{time * 0.9:.6f},{time * 1.1:.6f},"kernel_{number}(float*, int)"\n'


def metrics(kernels: int) -> Iterator[str]:
    """Nvprof's metrics: a row per kernel and metric."""
    draw = _drawn()
    yield '"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"\n'
    for number in range(kernels):
        for name in COUNTERS:
            value = f"{draw.random() * 100:.6f}%" if "efficiency" in name else str(draw.randrange(10**9))
            yield f'"V100 (0)","kernel_{number}(float*, int)",10,"{name}","words, and words",{value},{value},{value}\n'


def trace_metrics(rows: int) -> Iterator[str]:
    """Nvprof's GPU trace with metrics: a row per launch."""
    draw = _drawn()
    yield '"Device","Context","Stream","Kernel","Correlation_ID",' + ",".join(f'"{name}"' for name in COUNTERS) + "\n"
    yield "," * (4 + len(COUNTERS)) + "\n"
    for number in range(rows):
        values = ",".join(str(draw.randrange(10**8)) for _ in COUNTERS)
        yield f'"V100 (0)","1","7","kernel_{number % 40}(float*, int)",{number},{values}\n'


def two_tables(kernels: int) -> Iterator[str]:
    """Nvprof's events, then its metrics."""
    draw = _drawn()
    yield '"Device","Kernel","Invocations","Event Name","Min","Max","Avg","Total"\n'
    for number in range(kernels):
        value = draw.randrange(10**9)
        yield f'"V100 (0)","kernel_{number}(float*, int)",10,"thread_inst_executed",{value},{value},{value},{value * 10}\n'
    yield "\n"
    yield from metrics(kernels)


def kernel_summary(kernels: int) -> Iterator[str]:
    """Ncu's --print-summary per-kernel."""
    draw = _drawn()
    header = (
        '"Process ID","Process Name","Host Name","Kernel Name","Block Size","Grid Size","Device","CC","Invocations",'
    )
    yield header + '"Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"\n'
    for number in range(kernels):
        fixed = [
            "7",
            "app",
            "127.0.0.1",
            f"kernel_{number}(float *, int)",
            "(256, 1, 1)",
            "(64, 1, 1)",
            "0",
            "9.0",
            "100",
        ]
        for name in SUMMARY:
            value = draw.random() * 1e7
            unit = "ns" if "time" in name else "inst" if "inst" in name else "%" if "avg" in name else "sector"
            numbers = (f"{value * 0.9:,.2f}", f"{value * 1.1:,.2f}", f"{value:,.2f}")
            yield quoted([*fixed, "Command line profiler metrics", name, unit, *numbers])


def _details(launches: int) -> Iterator[str]:
    known = catalogue().counters()
    yield from Pages(tuple(name for name in Pages().header if name in known)).details(launches)


def ragged(launches: int) -> Iterator[str]:
    """A details page with five columns for rules: rows of 16 fields, and one of 20 after every ten."""
    rules = '"Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"'
    for number, line in enumerate(_details(launches)):
        if not number:
            yield f"{line[:-1]},{rules}\n"
            continue
        yield f'{line[:-1]},""\n'
        if number % 10 == 0:
            begin = '","'.join(line.split('","')[:-3])
            yield f'{begin}","","","","SOLBottleneck","OPT","Look at, well, ""memory""","local","12.5"\n'


def european(launches: int) -> Iterator[str]:
    """A raw page whose numbers have commas before decimals."""
    swapped = str.maketrans(",.", ".,")
    lines = Pages().raw(launches)
    yield next(lines)
    yield next(lines)
    for line in lines:
        cells = line[1:-2].split('","')
        yield (
            '"'
            + '","'.join([*cells[:11], *(c.translate(swapped) if c[:1].isdigit() else c for c in cells[11:])])
            + '"\n'
        )


def crlf(launches: int) -> Iterator[str]:
    """A raw page as Windows ends lines."""
    return (line[:-1] + "\r\n" for line in Pages().raw(launches))


def raw_log(launches: int) -> Iterator[str]:
    """A raw page with a line of the application before each of its lines."""
    for number, line in enumerate(Pages().raw(launches)):
        yield f"step {number}, loss 0.5, it took 7 ms\n"
        yield line


def details_log(launches: int) -> Iterator[str]:
    """A details page with a line of the application before each of its lines."""
    for number, line in enumerate(_details(launches)):
        yield f"step {number} of many: residual 1.0e-9\n"
        yield line
