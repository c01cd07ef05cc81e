"""A made-up GPU as captures describe it: attributes, peaks per clock, and a capture that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from support.shapes import FULL, L, ncu_raw, write

PEAK = ".sum.peak_sustained"
SMS = 40
ATTRIBUTES: Mapping[str, object] = {
    "device__attribute_display_name": "NVIDIA Toy",
    "device__attribute_multiprocessor_count": SMS,
    "device__attribute_num_schedulers_per_multiprocessor": 4,
    "device__attribute_max_gpu_frequency_khz": 1_800_000,
    "device__attribute_memory_clock_rate": 8_001_000,
    "device__attribute_global_memory_bus_width": 256,
}
PEAKS: Mapping[str, object] = {
    f"smsp__inst_executed{PEAK}": 4 * SMS,
    f"l1tex__data_pipe_lsu_wavefronts{PEAK}": SMS,
    f"lts__t_sectors_srcunit_tex{PEAK}": 64,
    f"dram__bytes{PEAK}": 64,
    f"sm__sass_thread_inst_executed_op_ffma_pred_on{PEAK}": 128 * SMS,
    f"sm__ops_path_tensor_src_bf16_dst_fp32{PEAK}": 2048 * SMS,
    f"sm__ops_path_tensor_src_fp64{PEAK}": 64 * SMS,
}
OPS = {f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum": 1000 for op in ("fadd", "fmul", "ffma")}
L2_CLOCK = {"lts__cycles_elapsed.avg.per_second": 1_600_000_000}


def capture(folder: Path, *facts: Mapping[str, object], cc: str = "8.6", **more: object) -> Path:
    counters = {**FULL, **{name: value for each in facts for name, value in each.items()}, **more}
    (path,) = write(folder, a=ncu_raw([L("k(int)", counters, cc=cc)]))
    return path
