"""A capture of the known kernels as ncu would print it if every counter were right, for tests to bend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from roofctl.verify.known_kernels import KNOWN
from roofctl.verify.known_work import KnownKernel

from support.shapes import L, ncu_raw

PER_WARP = 20
"""Warp instructions per warp, invented: all but the tensor and FMA loops are checked to be the same number per warp only."""

_TENSOR = {
    "fp64": "fp64",
    "tf32": "tf32_dst_fp32",
    "bf16": "bf16_dst_fp32",
    "fp16": "fp16",
    "fp8": "fp8",
    "int8": "int8",
}


def right_counters(kernel: KnownKernel) -> dict[str, int]:
    """Counters of one launch of the default size, under ncu's names on an H200."""
    work, warps = kernel.work, kernel.launch.warps
    lanes = 32 if kernel.active_lanes == 32 else kernel.active_lanes + 0.5
    sectors = work.load_sectors + work.store_sectors + work.reduction_sectors
    shared = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op"
    sass = "smsp__sass_thread_inst_executed_op"
    per_warp = {
        "smsp__inst_executed.sum": PER_WARP,
        "smsp__thread_inst_executed.sum": int(PER_WARP * lanes),
        "smsp__thread_inst_executed_pred_on.sum": int(PER_WARP * lanes),
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": work.load_requests,
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": work.store_requests,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": work.load_sectors,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": work.store_sectors,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum": 0,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum": work.reduction_sectors,
        "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum": 0,
        "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum": 0,
        "l1tex__t_sectors_pipe_lsu.sum": sectors,
        "l1tex__t_sectors_pipe_tex.sum": work.texture_sectors,
        "lts__t_sectors_srcunit_tex.sum": sectors + work.texture_sectors,
        "lts__t_sectors_srcunit_tex_aperture_sysmem.sum": work.system_sectors,
        "smsp__inst_executed_op_shared_ld_pred_on_any.sum": work.shared_loads,
        "smsp__inst_executed_op_shared_st_pred_on_any.sum": work.shared_stores,
        f"{shared}_ld.sum": work.shared_load_wavefronts,
        f"{shared}_st.sum": work.shared_store_wavefronts,
        f"{shared}_atom.sum": work.shared_atomic_wavefronts,
        f"{shared}_gmma.sum": work.shared_gmma_wavefronts,
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum": work.shared_ldgsts_wavefronts,
        "l1tex__t_sectors_pipe_lsu_mem_dshared.sum": 0,
        "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum": work.tma_load_sectors,
        "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum": work.tma_store_sectors,
        "dram__sectors_read.sum": kernel.dram.reads if kernel.dram else 1,
        "dram__sectors_write.sum": kernel.dram.writes if kernel.dram else 1,
        f"{sass}_dadd_pred_on.sum": 0,
        f"{sass}_dmul_pred_on.sum": 0,
        f"{sass}_dfma_pred_on.sum": work.fp64_flops // 2,
        f"{sass}_fadd_pred_on.sum": 0,
        f"{sass}_fmul_pred_on.sum": 0,
        f"{sass}_ffma_pred_on.sum": work.fp32_flops // 2,
        f"{sass}_hadd_pred_on.sum": 0,
        f"{sass}_hmul_pred_on.sum": 0,
        f"{sass}_hfma_pred_on.sum": (work.fp16_flops or 0) // 4,
        f"{sass}_integer_pred_on.sum": work.integer_instructions or 100,
        "sm__inst_executed_pipe_xu.sum": work.xu_instructions or 1,
        **{f"sm__ops_path_tensor_src_{name}.sum": 0 for name in _TENSOR.values()},
        "sm__ops_path_tensor_src_bf16_dst_fp32.sum": work.tensor_bf16_ops + work.tensor_bf16_sparse_ops,
        "sm__ops_path_tensor_src_fp64.sum": work.tensor_fp64_ops,
        "sm__ops_path_tensor_src_fp16.sum": work.tensor_fp16_ops + work.tensor_fp16_acc16_ops,
        "sm__ops_path_tensor_src_fp8.sum": work.tensor_fp8_ops,
        "sm__ops_path_tensor_src_int8.sum": work.tensor_int8_ops,
    }
    return {"gpu__time_duration.sum": 100_000, **{name: count * warps for name, count in per_warp.items()}}


def capture_text(
    bend: Mapping[str, Mapping[str, float]] | None = None,
    *,
    kernels: Iterable[KnownKernel] = KNOWN,
    without: Iterable[str] = (),
    cc: str = "9.0",
) -> str:
    """The raw page. ``bend`` multiplies counters of kernels, ``without`` leaves counters out."""
    launches = []
    for kernel in kernels:
        counters: dict[str, object] = {n: v for n, v in right_counters(kernel).items() if n not in without}
        for name, factor in (bend or {}).get(kernel.name, {}).items():
            counters[name] = round(right_counters(kernel)[name] * factor)
        launches.append(L(kernel.name, counters, grid=str(kernel.launch.grid), block=str(kernel.launch.block), cc=cc))
    return ncu_raw(launches, extra={"device__attribute_display_name": "NVIDIA H200"})
