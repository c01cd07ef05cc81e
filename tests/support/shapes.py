"""Builders of small profiler output: the shapes that ncu and nvprof print, with invented names and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from roofctl.launches.table import Part
from roofctl.readers.numbers import DecimalSeparator
from roofctl.readers.read import read_text

TIME = "gpu__time_duration.sum"
CLOCK = "sm__cycles_elapsed.avg.per_second"
CYCLES = "sm__cycles_elapsed.avg"
THREAD = "smsp__thread_inst_executed.sum"
ISSUED = "smsp__inst_executed.sum"
LSU = "l1tex__t_sectors_pipe_lsu.sum"
SHARED_LD = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
SHARED_ST = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
L2 = "lts__t_sectors_srcunit_tex.sum"
L2_ALL = "lts__t_sectors.sum"
DRAM_R = "dram__sectors_read.sum"
DRAM_W = "dram__sectors_write.sum"
PATCHED = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"

GLOBAL = {f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum": 0 for op in ("ld", "st", "atom", "red")}
LOCAL = {f"l1tex__t_sectors_pipe_lsu_mem_local_op_{op}.sum": 0 for op in ("ld", "st")}

FULL: Mapping[str, int] = {
    TIME: 100_000,
    CLOCK: 1_500_000_000,
    THREAD: 3_200_000,
    ISSUED: 110_000,
    LSU: 40_000,
    SHARED_LD: 600,
    SHARED_ST: 400,
    L2: 30_000,
    DRAM_R: 15_000,
    DRAM_W: 5_000,
}
"""One launch with every quantity: 100,000 warp instructions in 100 µs (1 GIPS); L1 44,000, L2 30,000, HBM 20,000."""


def unit_of(counter: str) -> str:
    """Unit cell that ncu 2025 prints for ``counter``."""
    if counter.startswith("gpu__time"):
        return "ns"
    if counter.endswith("per_second"):
        return "hz"
    if "pct_of_peak" in counter:
        return "%"
    for word, unit in (("inst_executed", "inst"), ("sectors", "sector"), ("bytes", "byte"), ("cycles", "cycle")):
        if word in counter:
            return unit
    return ""


@dataclass(frozen=True)
class L:
    """One launch: name, counters (numbers or the very text of the cell), and where it ran."""

    kernel: str
    counters: Mapping[str, object] = field(default_factory=lambda: FULL)
    id: str = "0"
    process: str = "100"
    block: str = "(256, 1, 1)"
    grid: str = "(64, 1, 1)"
    cc: str = "9.0"


def line(fields: Iterable[object]) -> str:
    """A CSV line as ncu writes it: every field quoted."""
    return ",".join('"' + str(text).replace('"', '""') + '"' for text in fields)


_BEFORE = ("ID", "Process ID", "Process Name", "Host Name")
_NVTX = (
    "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
    "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
)
_SHAPE = ("Context", "Stream", "Block Size", "Grid Size", "Device", "CC")
_RULES = ("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup")


def ncu_raw(
    launches: Sequence[L], units: Mapping[str, str] | None = None, extra: Mapping[str, object] | None = None
) -> str:
    """Raw page: one row per launch under a row of units. ``extra`` are columns with the same cell in every row."""
    extra = dict(extra or {})
    counters = list(dict.fromkeys(name for each in launches for name in each.counters))
    known = {**{name: unit_of(name) for name in counters}, **(units or {})}
    rows = [[*_BEFORE, "Kernel Name", *_SHAPE, *extra, *counters]]
    rows.append([""] * (len(_BEFORE) + 1 + len(_SHAPE)) + [known.get(name, "") for name in (*extra, *counters)])
    for each in launches:
        fixed = [each.id, each.process, "app", "127.0.0.1", each.kernel, "1", "7", each.block, each.grid, "0", each.cc]
        rows.append([*fixed, *extra.values(), *(each.counters.get(name, "") for name in counters)])
    return "\n".join(map(line, rows)) + "\n"


def ncu_details(
    launches: Sequence[L],
    columns: int = 15,
    *,
    nvtx: bool = False,
    body_item: bool = False,
    units: Mapping[str, str] | None = None,
) -> str:
    """Details page: one row per launch and metric, with 12 (2020), 15, or 20 columns (ragged rule rows follow)."""
    shaped = columns > 12
    header = [*_BEFORE, *(_NVTX if nvtx else ()), "Kernel Name", *(() if shaped else ("Kernel Time",))]
    header += [
        *(_SHAPE if shaped else ("Context", "Stream")),
        "Section Name",
        *(("Body Item Label",) if body_item else ()),
    ]
    header += ["Metric Name", "Metric Unit", "Metric Value", *(_RULES if columns == 20 else ())]
    rows = [header]
    for each in launches:
        place = ["1", "7", each.block, each.grid, "0", each.cc] if shaped else ["2020-Jan-01 00:00:00", "1", "7"]
        fixed = [each.id, each.process, "app", "127.0.0.1", *(('1  "<default domain>:run:none"', "") if nvtx else ())]
        fixed += [each.kernel, *place]
        for name, value in each.counters.items():
            unit = (units or {}).get(name, unit_of(name))
            item = [""] if body_item else []
            rows.append(
                [*fixed, "Command line profiler metrics", *item, name, unit, value, *([""] if columns == 20 else [])]
            )
        if columns == 20:
            rule = ["", "", "", "SOLBottleneck", "OPT", 'Look at, well, "memory"', "local", "12.5"]
            rows.append([*fixed, "SpeedOfLight", *([""] if body_item else []), *rule])
    return "\n".join(map(line, rows)) + "\n"


def ncu_summary(launches: Sequence[L], invocations: int = 10, *, old: bool = False) -> str:
    """``--print-summary per-kernel``: 2024 (tuples, Device, CC) or 2022 (products, one column Device Id)."""
    place = ("Device Id",) if old else ("Device", "CC")
    rows: list[list[object]] = [
        ["Process ID", "Process Name", "Host Name", "Kernel Name", "Block Size", "Grid Size", *place, "Invocations",
         "Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"]
    ]  # fmt: skip
    for each in launches:
        shape = ["256", "16384", "0"] if old else [each.block, each.grid, "0", each.cc]
        for name, value in each.counters.items():
            low, high, mean = value if isinstance(value, tuple) else (value, value, value)
            rows.append([each.process, "app", "127.0.0.1", each.kernel, *shape, invocations, "Command line profiler metrics",
                         name, unit_of(name), low, high, mean])  # fmt: skip
    return "\n".join(map(line, rows)) + "\n"


def nvprof_metrics(
    counters: Mapping[str, object], kernel: str = "k(int)", calls: int = 10, device: str = "Tesla V100S-PCIE-32GB (0)"
) -> str:
    """``nvprof --csv --metrics``: names quoted, numbers not."""
    header = '"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"'
    rows = [f'"{device}","{kernel}",{calls},"{name}","words, and words",{v},{v},{v}' for name, v in counters.items()]
    return "\n".join((header, *rows)) + "\n"


def nvprof_events(
    counters: Mapping[str, int], kernel: str = "k(int)", calls: int = 10, device: str = "Tesla V100S-PCIE-32GB (0)"
) -> str:
    """``nvprof --csv --events``."""
    rows = [f'"{device}","{kernel}",{calls},"{name}",{v},{v},{v},{v * calls}' for name, v in counters.items()]
    return "\n".join(('"Device","Kernel","Invocations","Event Name","Min","Max","Avg","Total"', *rows)) + "\n"


def nvprof_summary(rows: Sequence[str], units: str = ",%,us,,us,us,us,") -> str:
    """Timing summary; ``rows`` are whole lines."""
    return "\n".join(('"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"', units, *rows)) + "\n"


def parts(text: str, decimal: DecimalSeparator | None = None, source: str = "x.csv") -> list[Part]:
    """Parts of ``text`` as read from a file called ``source``."""
    return read_text(text.encode(), source, decimal=decimal)


def write(folder: Path, **texts: str) -> list[Path]:
    """Write each text to ``NAME.csv`` in ``folder``; the paths in order."""
    paths = []
    for name, text in texts.items():
        paths.append(folder / f"{name}.csv")
        paths[-1].write_text(text, encoding="utf-8")
    return paths
