"""``verify``: the comparison, bounds, instruction counts from a disassembly, and building and profiling behind a seam."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from roofctl.captures.draft import create
from roofctl.captures.manifest import ROOT, Capture, Manifest
from roofctl.core.errors import (
    ApplicationFailed,
    DeviceError,
    InputError,
    RoofctlError,
    ToolFailed,
    ToolNotFound,
    VerificationError,
)
from roofctl.core.gpu import Gpu
from roofctl.core.process import Completed
from roofctl.cuda import sass, toolchain
from roofctl.cuda.sass import ExecutedPath
from roofctl.profilers.request import ProfileRequest, Progress
from roofctl.readers.read import read_text
from roofctl.verify import build, run
from roofctl.verify.compare import CountCheck, Verdict, compare
from roofctl.verify.document import cells, complaint, document, summary
from roofctl.verify.expect import Circumstances, expectations
from roofctl.verify.known_kernels import KNOWN, known_kernel

from support.known_capture import PER_WARP, capture_text, right_counters
from support.shapes import nvprof_metrics, parts

L2 = "lts__t_sectors_srcunit_tex.sum"
DRAM_READ = "dram__sectors_read.sum"
DRAM_WRITE = "dram__sectors_write.sum"
SHARED_LOADS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
SHARED_ATOMICS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"
LDGSTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"
GMMA = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"
TMA_LOADS = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum"
ISSUED = "smsp__inst_executed.sum"
THREAD = "smsp__thread_inst_executed.sum"
PRED_ON = "smsp__thread_inst_executed_pred_on.sum"


def verdict_of(bend: Mapping[str, Mapping[str, float]] | None = None, **options: Any) -> Verdict:
    return compare(parts(capture_text(bend)), **options)


def off(verdict: Verdict) -> set[tuple[str, str]]:
    return {(row.kernel, row.quantity) for row in verdict.off}


def row(verdict: Verdict, kernel: str, quantity: str) -> CountCheck:
    return next(each for each in verdict.rows if (each.kernel, each.quantity) == (kernel, quantity))


# The comparison


def test_right_counts_pass() -> None:
    verdict = verdict_of()
    assert verdict.off == ()
    assert verdict.absent == ()
    assert verdict.not_counted == {}
    assert (verdict.gpu, verdict.compute_capability) == ("NVIDIA H200", "9.0")
    assert {row.kernel for row in verdict.rows} == {kernel.name for kernel in KNOWN}


WRONG: dict[str, tuple[str, float, set[str]]] = {
    "known_triad": (L2, 1.006, {"l2_transactions"}),
    "known_strided_1": (L2, 0.994, {"l2_transactions"}),
    "known_copy": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 2, {"l1_global_load_requests"}),
    "known_atomics": (
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
        1 / 32,
        {"l1_global_sectors", "l1_transactions"},
    ),
    "known_fma_fp64": ("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 0.5, {"fp64_flops"}),
    "known_tensor_bf16": ("sm__ops_path_tensor_src_bf16_dst_fp32.sum", 2, {"tensor_bf16_ops"}),
    "known_shared": ("smsp__inst_executed_op_shared_ld_pred_on_any.sum", 4 / 3, {"shared_load_instructions"}),
    "known_divergent": (THREAD, 4, {"thread_instructions"}),
    "known_strided_8": (THREAD, 0.999, {"thread_instructions", "predicated_thread_instructions"}),
    "known_strided_32": (PRED_ON, 1.001, {"predicated_thread_instructions"}),
    "known_shared_atomics": (SHARED_ATOMICS, 1.1, {"shared_atomic_wavefronts"}),
    "known_async_copy": (LDGSTS, 2, {"shared_ldgsts_wavefronts", "l1_transactions"}),
    "known_texture": ("l1tex__t_sectors_pipe_tex.sum", 2, {"texture_sectors", "l1_transactions"}),
    "known_host_memory": ("lts__t_sectors_srcunit_tex_aperture_sysmem.sum", 0.5, {"system_sectors"}),
    "known_integer": ("smsp__sass_thread_inst_executed_op_integer_pred_on.sum", 0.99, {"integer_instructions"}),
    "known_mufu": ("sm__inst_executed_pipe_xu.sum", 1.01, {"xu_instructions"}),
    "known_fma_fp16": ("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 0.5, {"fp16_fma_instructions"}),
    "known_tensor_fp16": ("sm__ops_path_tensor_src_fp16.sum", 0.5, {"tensor_fp16_ops"}),
    "known_tensor_fp16_fp16acc": ("sm__ops_path_tensor_src_fp16.sum", 2, {"tensor_fp16_ops"}),
    "known_tensor_int8": ("sm__ops_path_tensor_src_int8.sum", 0.5, {"tensor_int8_ops"}),
    "known_wgmma_bf16": (GMMA, 0.5, {"shared_gmma_wavefronts", "l1_transactions"}),
    "known_wgmma_fp8": ("sm__ops_path_tensor_src_fp8.sum", 0.5, {"tensor_fp8_ops"}),
    "known_bulk_copy": (TMA_LOADS, 0.5, {"tma_load_sectors", "l1_transactions"}),
    "known_tensor_bf16_sparse": ("sm__ops_path_tensor_src_bf16_dst_fp32.sum", 0.5, {"tensor_bf16_ops"}),
}


def test_a_wrong_count_is_off_and_nothing_else_is() -> None:
    verdict = verdict_of({kernel: {counter: factor} for kernel, (counter, factor, _) in WRONG.items()})
    assert off(verdict) == {(kernel, quantity) for kernel, (_, _, names) in WRONG.items() for quantity in names}


def test_half_a_percent_is_allowed_where_the_source_is_exact() -> None:
    assert off(verdict_of({"known_triad": {L2: 1.004}, "known_copy": {L2: 0.996}})) == set()


def test_where_zero_is_expected_only_zero_will_do() -> None:
    text = capture_text().replace('"known_strided_8"', '"known_strided_1"', 1)
    verdict = compare(parts(text))
    assert ("known_strided_1", "l2_transactions") in off(verdict)
    wrong = CountCheck("k", "fp64_flops", "exact", 0, 0, 0, 7, "off", "")
    assert wrong.error is None
    assert CountCheck("k", "fp64_flops", "exact", 0, 0, 0, 0, "ok", "").error == 0


def test_warp_instructions_must_be_an_integer_per_warp() -> None:
    verdict = verdict_of({"known_copy": {ISSUED: 1 + 1e-6, THREAD: 1 + 1e-6, PRED_ON: 0.9}})
    assert ("known_copy", "issued_warp_instructions") in off(verdict)


def test_warp_instructions_must_be_those_of_the_code() -> None:
    right = verdict_of(paths={"known_copy": ExecutedPath(PER_WARP, 0)})
    assert off(right) == set()
    assert "20 instructions per warp" in row(right, "known_copy", "issued_warp_instructions").why
    wrong = verdict_of(paths={"known_copy": ExecutedPath(PER_WARP + 1, 0)})
    assert off(wrong) == {("known_copy", "issued_warp_instructions")}


def test_a_loop_switches_its_last_branch_off_once_per_thread() -> None:
    path = {"known_fma_fp32": ExecutedPath(PER_WARP, 1)}
    assert off(verdict_of(paths=path)) == {("known_fma_fp32", "predicated_thread_instructions")}
    assert off(verdict_of({"known_fma_fp32": {PRED_ON: (PER_WARP - 1) / PER_WARP}}, paths=path)) == set()
    unclear = {"known_fma_fp32": ExecutedPath(PER_WARP, None)}
    assert row(verdict_of(paths=unclear), "known_fma_fp32", "predicated_thread_instructions").kind == "bound"


# Bounds


@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (1.079, True), (1.09, False), (0.999, False)])
def test_hardware_wavefronts_have_a_bound(factor: float, accepted: bool) -> None:
    kernel = known_kernel("known_shared")
    assert kernel is not None
    found = {each.quantity: each for each in expectations(kernel, kernel.launch, {}, Circumstances())}
    assert found["shared_load_wavefronts"].accepts(8 * 131_072 * factor) is accepted


def test_arbitration_reaches_l1_transactions() -> None:
    verdict = verdict_of({"known_shared": {SHARED_LOADS: 1.05}})
    found = row(verdict, "known_shared", "l1_transactions")
    assert (found.kind, found.status) == ("bound", "ok")
    assert row(verdict, "known_copy", "l1_transactions").kind == "exact"


@pytest.mark.parametrize(
    ("kernel", "counter"), [("known_shared_atomics", SHARED_ATOMICS), ("known_async_copy", LDGSTS)]
)
def test_parts_of_l1_that_were_not_counted_are_not_expected_in_its_sum(kernel: str, counter: str) -> None:
    every, less = verdict_of(), compare(parts(capture_text(without=[counter])))
    full, rest = row(every, kernel, "l1_transactions"), row(less, kernel, "l1_transactions")
    assert (full.status, rest.status) == ("ok", "ok")
    assert full.expected - rest.expected == 4 * 131_072 * (6 if counter == SHARED_ATOMICS else 4)


def test_integer_instructions_have_a_bound_above_the_loop_s_own() -> None:
    integer = "smsp__sass_thread_inst_executed_op_integer_pred_on.sum"
    assert off(verdict_of({"known_integer": {integer: 1.09}})) == set()
    assert off(verdict_of({"known_integer": {integer: 1.11}})) == {("known_integer", "integer_instructions")}


def test_fp16_products_are_counted_apart_where_the_chip_does() -> None:
    kernel = known_kernel("known_tensor_fp16_fp16acc")
    assert kernel is not None
    apart = expectations(kernel, kernel.launch, {"tensor_fp16_acc16_ops": 1.0}, Circumstances())
    found = {each.quantity: each.expected for each in apart}
    assert (found["tensor_fp16_acc16_ops"], found["tensor_fp16_ops"]) == (2 * 1024**3, 0)


def test_sparse_products_are_counted_apart_where_that_was_collected() -> None:
    kernel = known_kernel("known_tensor_bf16_sparse")
    assert kernel is not None
    apart = expectations(kernel, kernel.launch, {"tensor_bf16_sparse_ops": 1.0}, Circumstances())
    found = {each.quantity: each.expected for each in apart}
    assert (found["tensor_bf16_sparse_ops"], found["tensor_bf16_ops"]) == (2 * 1024**3, 0)


def test_patched_wavefronts_are_exact() -> None:
    kernel = known_kernel("known_shared")
    assert kernel is not None
    exact = Circumstances(patched=frozenset({"shared_load_wavefronts"}))
    kinds = {each.quantity: each.kind for each in expectations(kernel, kernel.launch, {}, exact)}
    assert kinds["shared_load_wavefronts"] == "exact"
    assert kinds["shared_store_wavefronts"] == kinds["l1_transactions"] == "bound"
    exact = Circumstances(patched=frozenset({"shared_wavefronts"}))
    assert {e.quantity: e.kind for e in expectations(kernel, kernel.launch, {}, exact)}["l1_transactions"] == "exact"


def dram(kernel: str, counted: float, **about: Any) -> bool:
    found = known_kernel(kernel)
    assert found is not None
    known = {each.quantity: each for each in expectations(found, found.launch, {}, Circumstances(**about))}
    return known["hbm_transactions"].accepts(counted)


READS, WRITES, MIB = 16_777_216, 8_388_608, 2**20


@pytest.mark.parametrize(
    ("kernel", "counted", "accepted"),
    [
        ("known_triad", READS + WRITES, True),
        ("known_triad", READS + WRITES - 60 * MIB // 32, True),  # stores that a 60 MiB L2 kept
        ("known_triad", READS + WRITES - 60 * MIB // 32 - 1, False),
        ("known_triad", (READS + WRITES) * 1.01 + 119_000, True),
        ("known_triad", (READS + WRITES) * 1.01 + 121_000, False),
        ("known_strided_8", 2_097_151, False),  # reads come cold: nothing may be missing
        ("known_strided_8", 2_097_152, True),
        ("known_strided_32", 2 * 2_097_152, True),
        ("known_strided_32", 3 * 2_097_152, False),
        ("known_fma_fp32", 0, True),
        ("known_fma_fp32", 300_000, False),
    ],
)
def test_dram_has_a_bound(kernel: str, counted: float, accepted: bool) -> None:
    assert dram(kernel, counted, l2_bytes=60 * MIB) is accepted


def test_dram_where_caches_were_not_flushed_or_the_l2_is_unknown() -> None:
    assert dram("known_strided_8", 2_097_152 - 40 * MIB // 32, l2_bytes=40 * MIB, flushed=False)
    assert dram("known_triad", READS + WRITES - 128 * MIB // 32)
    assert not dram("known_triad", READS)


def test_a_broken_bound_is_off() -> None:
    assert off(verdict_of({"known_copy": {DRAM_READ: 2.0}})) == {("known_copy", "hbm_transactions")}
    assert off(verdict_of({"known_triad": {DRAM_WRITE: 0.0}})) == {("known_triad", "hbm_transactions")}


def test_the_l2_of_the_gpu_profile_is_taken() -> None:
    assert "the L2 of 60 MiB" in row(verdict_of(), "known_copy", "hbm_transactions").why
    unknown = compare(parts(capture_text().replace("NVIDIA H200", "NVIDIA Unheard")))
    assert "at most 128 MiB" in row(unknown, "known_copy", "hbm_transactions").why


# What is missing, and what cannot be assessed


def test_a_counter_that_is_not_exact_proves_nothing() -> None:
    """All L2 clients, as ``lts__t_sectors`` counts them, are an upper bound by the catalogue's own word."""
    text = capture_text().replace(L2, "lts__t_sectors.sum")
    assert off(compare(parts(text))) == set()
    bent = capture_text({"known_copy": {L2: 1.5}}).replace(L2, "lts__t_sectors.sum")
    found = row(compare(parts(bent)), "known_copy", "l2_transactions")
    assert found.status == "not assessed"
    assert "upper bound" in found.why


def test_what_was_not_counted_has_a_reason() -> None:
    verdict = compare(parts(capture_text(without=[L2, THREAD])))
    assert verdict.not_counted["l2_transactions"] == f"{L2} not captured"
    assert "thread_instructions" in verdict.not_counted
    assert verdict.off == ()


def test_kernels_that_did_not_run() -> None:
    absent = ("known_shared", "known_tensor_bf16", "known_tensor_fp64")
    verdict = compare(parts(capture_text(kernels=[each for each in KNOWN if each.name not in absent])))
    assert verdict.absent == absent
    old = [each for each in KNOWN if each.compute_capability_major < 8]
    turing = compare(parts(capture_text(kernels=old, cc="7.5")))
    assert turing.absent == ()
    later = [each for each in KNOWN if not each.only_this_major]
    assert compare(parts(capture_text(kernels=later, cc="10.0"))).absent == ()
    assert compare(parts(capture_text(kernels=later))).absent == ("known_wgmma_bf16", "known_wgmma_fp8")


def test_a_kernel_that_spins_has_no_count_of_instructions() -> None:
    verdict = verdict_of({"known_bulk_copy": {ISSUED: 1.01, THREAD: 3}})
    assert off(verdict) == set()
    assert not [
        each
        for each in verdict.rows
        if each.kernel == "known_bulk_copy" and "instructions" in each.quantity and each.expected
    ]


def test_no_traffic_of_a_unit_is_expected_where_the_chip_has_none() -> None:
    verdict = compare(parts(capture_text(without=[TMA_LOADS, GMMA])))
    assert verdict.off == ()
    assert not verdict.not_counted


def test_another_application_is_not_assessed() -> None:
    with pytest.raises(InputError, match="no kernel of kernels/known"):
        compare(parts(capture_text().replace("known_", "other_")))


def test_a_capture_with_nothing_to_compare_does_not_pass() -> None:
    everything = [name for name in right_counters(KNOWN[0]) if not name.startswith("gpu__")]
    with pytest.raises(InputError, match="no counter whose value is known"):
        compare(parts(capture_text(without=everything)))


def test_nvprof_gives_no_shape_so_the_default_launch_is_taken() -> None:
    counters = {"inst_executed": 20 * 2_097_152, "gld_transactions": 8_388_608, "gst_transactions": 8_388_608}
    verdict = compare(parts(nvprof_metrics(counters, kernel="known_copy(int*, int const *)")))
    assert verdict.off == ()
    assert row(verdict, "known_copy", "l1_global_load_sectors").counted == 8_388_608
    assert any("by default" in note.text for note in verdict.notes)


RENAMED = {
    '"triad(': '"known_triad(',
    '"copy1(': '"known_copy(',
    '"transpose_naive(': '"known_transpose_naive(',
    "void transpose_smem<float, 0>": "known_transpose_conflicted",
    "void transpose_smem<float, 1>": "known_transpose_padded",
    **{f"void strided_read<{stride}>": f"known_strided_{stride}" for stride in (1, 8, 32)},
    '"atomics(': '"known_atomics(',
}
"""Older kernels of the same work: what a real GPU counted for them must fit the table."""


def test_the_table_fits_what_an_h200_counted(data: Path) -> None:
    read = []
    for name in ("known_counts-all-logfile.csv", "known_counts-l2-sources.csv"):
        text = (data / "ncu-2025.3-h200" / name).read_text(encoding="utf-8")
        for old, new in RENAMED.items():
            assert old in text
            text = text.replace(old, new)
        read += read_text(text.encode(), name)
    verdict = compare(read)
    assert verdict.off == ()
    assert len({each.kernel for each in verdict.rows}) == 9
    assert len(verdict.agreeing) > 200
    exact = [each for each in verdict.rows if each.kind == "exact" and each.quantity != "l1_lsu_sectors"]
    assert [each for each in exact if each.counted != each.expected] == []


# Words


def test_summary_and_complaint() -> None:
    verdict = verdict_of({"known_triad": {L2: 1.5}, "known_copy": {DRAM_READ: 2.0}})
    assert f"{len(KNOWN)} kernels" in summary(verdict)
    assert "known_triad l2_transactions 37,748,736, expected 25,165,824" in complaint(verdict)
    assert "known_copy hbm_transactions 25,165,824, expected 14,811,136 to 17,064,988" in complaint(verdict)


def test_a_long_complaint_is_cut() -> None:
    bend = {kernel.name: {L2: 2.0} for kernel in KNOWN}
    checked = sum(kernel.l2 for kernel in KNOWN)
    assert complaint(verdict_of(bend)).endswith(f"and {checked - 4} more")


def test_cells_leave_zeros_out_unless_asked() -> None:
    verdict = verdict_of({"known_triad": {L2: 1.5}})
    lines = cells(verdict)
    assert len(cells(verdict, zeros=True)) == len(verdict.rows) > len(lines)
    found = next(line for line in lines if line[:2] == ["known_triad", "l2_transactions"])
    assert found[2:] == ["25,165,824", "37,748,736", "+50.000%", "OFF: every sector of L1 goes on to L2"]


def test_document_has_plain_numbers() -> None:
    found = document(verdict_of(), ["x.csv"])
    assert (found["schema"], found["off"], found["absent_kernels"]) == (1, 0, [])
    first = found["rows"][0]
    assert first["counted"] == first["expected"] == PER_WARP * 524_288
    assert all(math.isfinite(entry["high"]) for entry in found["rows"])


# Instructions from the code

STRAIGHT = """
\t\tFunction : known_copy
\t.headerflags\t@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                /* 0x00000a00ff017b82 */
                                                                         /* 0x000fe20000000800 */
        /*0010*/                   LDG.E R3, desc[UR4][R2.64] ;          /* 0x0000000402037981 */
        /*0020*/                   STG.E desc[UR4][R4.64], R3 ;          /* 0x0000000304007986 */
        /*0030*/                   EXIT ;                                /* 0x000000000000794d */
        /*0040*/                   BRA 0x40;                             /* 0xfffffffc00fc7947 */
        /*0050*/                   NOP;                                  /* 0x0000000000007918 */
\t\t..........
"""
LOOP = """
\t\tFunction : known_fma_fp32
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   VIADD R0, R0, 0xffffffff ;
        /*0020*/                   FFMA R4, R4, R2.reuse, R3.reuse ;
        /*0030*/                   ISETP.GT.AND P0, PT, R0, 0x1, PT ;
        /*0040*/               @P0 BRA 0x10 ;
        /*0050*/                   EXIT ;
"""
GUARD = """
\t\tFunction : known_strided_8
        /*0000*/                   LDG.E R3, desc[UR4][R2.64] ;
        /*0010*/                   ISETP.NE.AND P0, PT, R3, R0, PT ;
        /*0020*/              @!P0 EXIT ;
        /*0030*/                   STG.E desc[UR4][R4.64], R3 ;
        /*0040*/                   EXIT ;
"""


def only(text: str) -> sass.SassFunction:
    (code,) = sass.functions(text).values()
    return code


def test_straight_code_is_counted_to_its_exit() -> None:
    assert only(STRAIGHT).executed() == ExecutedPath(4, 0)
    assert only(STRAIGHT).only_loop() is None
    assert only(STRAIGHT).instructions[1] == sass.Instruction(0x10, "LDG.E", "R3, desc[UR4][R2.64]")


def test_a_loop_counts_its_body_times_its_iterations() -> None:
    assert only(LOOP).only_loop() == (1, 4)
    assert only(LOOP).executed(iterations=1000) == ExecutedPath(2 + 4 * 1000, 1)
    assert only(LOOP).executed() is None


def test_a_guarded_exit_ends_the_path_only_where_all_lanes_take_it() -> None:
    assert only(GUARD).executed(guarded=True) == ExecutedPath(3, 0)
    assert only(GUARD).executed() is None


@pytest.mark.parametrize("line", ["@P1 BRA 0x30 ;", "CALL.REL.NOINC 0x100 ;", "BRA `(.L_x_1) ;", "BSYNC B0 ;"])
def test_code_that_does_not_determine_the_path(line: str) -> None:
    assert only(STRAIGHT.replace("LDG.E R3, desc[UR4][R2.64] ;", line)).executed() is None


def test_code_without_an_exit_or_without_the_loop_does_not_determine_it() -> None:
    assert only(STRAIGHT.replace("EXIT", "NOP")).executed() is None
    assert only(STRAIGHT).executed(iterations=1000) is None


def test_an_instruction_with_a_predicate_may_be_off() -> None:
    text = STRAIGHT.replace("           LDG.E", "      @!P1 LDG.E")
    assert only(text).executed() == ExecutedPath(4, None)


def test_paths_of_known_kernels_only() -> None:
    text = STRAIGHT + LOOP + GUARD + STRAIGHT.replace("known_copy", "other")
    assert set(build.known_paths(sass.functions(text))) == {"known_copy", "known_fma_fp32", "known_strided_8"}
    assert build.known_paths(sass.functions("no disassembly")) == {}


# Building


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for variable in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(toolchain, "_USUAL", tmp_path / "cuda")
    monkeypatch.setattr(toolchain.sysconfig, "get_path", lambda _: str(tmp_path / "packages"))


@pytest.mark.usefixtures("no_tools")
def test_no_nvcc_says_what_to_do() -> None:
    with pytest.raises(ToolNotFound, match="nvcc is not on PATH") as caught:
        build.find_nvcc()
    assert "--from" in caught.value.hint
    assert build.disassembled_paths(Path("known")) == {}


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.usefixtures("no_tools")
def test_nvcc_is_found_in_cuda_home_and_in_the_usual_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = script(tmp_path / "cuda" / "bin" / "nvcc", "true")
    assert build.find_nvcc() == usual
    home = script(tmp_path / "home" / "bin" / "nvcc", "true")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert build.find_nvcc() == home
    first = script(tmp_path / "nvcc", "true")
    assert build.find_nvcc() == first


@pytest.mark.usefixtures("no_tools")
def test_a_compiler_that_fails_is_quoted(tmp_path: Path) -> None:
    script(tmp_path / "nvcc", "echo 'nvcc fatal: Unsupported gpu architecture' >&2; exit 1")
    with pytest.raises(ToolFailed, match="Unsupported gpu architecture") as caught:
        build.build(tmp_path, "sm_70")
    assert "sm_70" in caught.value.hint


@pytest.mark.usefixtures("no_tools")
def test_the_command_builds_every_source(tmp_path: Path) -> None:
    script(tmp_path / "nvcc", f'echo "$@" > {tmp_path}/asked')
    assert build.build(tmp_path, "sm_90") == tmp_path / "known"
    asked = (tmp_path / "asked").read_text(encoding="utf-8").split()
    assert "-arch=sm_90" in asked
    assert sum(word.endswith(".cu") for word in asked) == len(build.sources())
    assert not [word for word in asked if "fast" in word or "fmad" in word]


@pytest.mark.usefixtures("no_tools")
def test_the_disassembly_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "cuobjdump", "true")
    completed = Completed(("cuobjdump",), 0, STRAIGHT)
    monkeypatch.setattr(toolchain, "run", lambda argv, timeout: completed)
    assert build.disassembled_paths(tmp_path / "known") == {"known_copy": ExecutedPath(4, 0)}
    completed = Completed(("cuobjdump",), 255, STRAIGHT)
    assert build.disassembled_paths(tmp_path / "known") == {}


@pytest.mark.parametrize(
    ("gpu", "expected"),
    [(Gpu("NVIDIA H200", "9.0"), "sm_90a"), (Gpu("Tesla T4", "7.5"), "sm_75"), (Gpu("NVIDIA B200", "10.0"), "sm_100")],
)
def test_auto_is_the_architecture_of_the_gpu(monkeypatch: pytest.MonkeyPatch, gpu: Gpu, expected: str) -> None:
    monkeypatch.setattr(build, "find_gpu", lambda: gpu)
    assert build.architecture() == expected


@pytest.mark.parametrize("gpu", [None, Gpu("NVIDIA Old")])
def test_auto_without_a_gpu(monkeypatch: pytest.MonkeyPatch, gpu: Gpu | None) -> None:
    monkeypatch.setattr(build, "find_gpu", lambda: gpu)
    with pytest.raises(DeviceError) as caught:
        build.architecture()
    assert "--arch" in caught.value.hint
    assert build.architecture("sm_90a") == build.architecture("sm_90") == "sm_90a"
    assert build.architecture("sm_86") == "sm_86"
    with pytest.raises(InputError, match="no GPU architecture"):
        build.architecture("hopper")


# The complete run, with compiler and profiler replaced at our seam


def manifest(**facts: Any) -> Manifest:
    fixed: dict[str, Any] = {
        "argv": ("known",),
        "cwd": "/",
        "profiler": "ncu",
        "profiler_version": "2025.3.1",
        "profiler_path": "ncu",
        "metric_sets": ("instruction",),
        "counters": (),
        "host": "h",
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T00:00:09+00:00",
        "data": ("counters.csv",),
        "commands": (),
        "cache_control": "all",
    }
    return Manifest(**{**fixed, **facts})


def made(root: Path, text: str, **facts: Any) -> Capture:
    draft = create(root, "known")
    (draft.folder / "counters.csv").write_text(text, encoding="utf-8")
    return draft.finish(manifest(**facts))


Start = Callable[..., list[ProfileRequest]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start with a profiler that leaves ``text``, or with an error; gives the requests it got."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def start(text: str = "", error: RoofctlError | None = None, *, kept: bool = False) -> list[ProfileRequest]:
        requests: list[ProfileRequest] = []

        def profile(request: ProfileRequest, *, progress: Callable[[Progress], None]) -> Capture:
            requests.append(request)
            progress(Progress(messages=("the profiler says",)))
            if error and not kept:
                raise error
            capture = made(request.output or Path(ROOT), text or capture_text())
            return Capture(capture.folder, capture.manifest, error)

        monkeypatch.setattr(run.profiling, "profile", profile)
        monkeypatch.setattr(run, "find_nvcc", lambda: "nvcc")
        monkeypatch.setattr(run, "build", lambda folder, arch: folder / "known")
        monkeypatch.setattr(run, "disassembled_paths", lambda program: {})
        return requests

    return start


def verify(**options: Any) -> tuple[Verdict, Path | None, list[str]]:
    lines: list[str] = []
    verdict, folder = run.verify_here(run.VerifyRequest(arch="sm_90", **options), lines.append)
    return verdict, folder, lines


def test_a_run_that_passes_leaves_nothing_behind(here: Start, tmp_path: Path) -> None:
    requests = here()
    verdict, folder, lines = verify()
    assert (verdict.off, folder) == ((), None)
    assert list(tmp_path.iterdir()) == []
    assert requests[0].sets == ("all",)
    assert "the profiler says" in lines
    assert any("no cuobjdump" in line for line in lines)


def test_keep_leaves_the_capture_where_captures_are(here: Start, tmp_path: Path) -> None:
    requests = here()
    _, folder, _ = verify(keep=True, sets=("flop",), profiler="ncu")
    assert folder is not None
    assert folder.parent.name == "roofctl-captures"
    assert [path.name for path in tmp_path.iterdir()] == ["roofctl-captures"]
    assert (requests[0].sets, requests[0].profiler) == (("flop",), "ncu")


def test_a_run_that_fails_says_where_it_left_everything(here: Start) -> None:
    here(capture_text({"known_triad": {L2: 1.5}}))
    verdict, folder, lines = verify()
    assert verdict.off
    assert folder is not None
    assert folder.is_dir()
    assert any("the program and the capture are in" in line for line in lines)


def test_a_set_that_does_not_exist_is_refused_before_anything_is_built(here: Start, tmp_path: Path) -> None:
    here()
    with pytest.raises(InputError, match="no metric set called 'nosuch'"):
        verify(sets=("nosuch",))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", [False, True])
def test_a_wrong_result_is_no_application_failure(here: Start, kept: bool) -> None:
    here(error=ApplicationFailed("failed", code=1), kept=kept)
    with pytest.raises(VerificationError, match="wrong result"):
        verify()


def test_other_failures_of_the_program_stay_what_they_are(here: Start) -> None:
    here(error=ApplicationFailed("no device", code=3))
    with pytest.raises(ApplicationFailed, match="no device"):
        verify()


# An existing capture


def test_a_capture_folder_knows_whether_caches_were_flushed(tmp_path: Path) -> None:
    text = capture_text({"known_strided_8": {DRAM_READ: 0.5}})
    flushed = made(tmp_path / "one", text)
    assert off(run.verify_capture([flushed.folder])) == {("known_strided_8", "hbm_transactions")}
    warm = made(tmp_path / "two", text, cache_control="none")
    assert off(run.verify_capture([warm.folder])) == set()


def test_a_manifest_names_the_gpu_where_the_data_does_not(tmp_path: Path) -> None:
    text = capture_text().replace("NVIDIA H200", "")
    gpu = Gpu("NVIDIA H200", "9.0")
    verdict = run.verify_capture([made(tmp_path, text, gpu=gpu).folder])
    assert verdict.gpu == "NVIDIA H200"
    assert "60 MiB" in row(verdict, "known_copy", "hbm_transactions").why


def test_a_capture_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made(tmp_path / ROOT, capture_text())
    assert run.verify_capture([Path("known")]).off == ()
    with pytest.raises(InputError, match="no file or capture called"):
        run.verify_capture([Path("nothing.csv")])


def test_files_of_one_capture_and_a_folder_with_more(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text(capture_text(), encoding="utf-8")
    assert run.verify_capture([path]).off == ()
    with pytest.raises(InputError, match="cannot be completed"):
        run.verify_capture([made(tmp_path, capture_text()).folder, path])


def test_all_known_kernels_agree_on_an_h200() -> None:
    folder = Path(__file__).parent.parent / "data" / "captures-h200" / "known-29"
    verdict = run.verify_capture([folder])
    assert (verdict.off, verdict.absent) == ((), ())
    assert {row.kernel for row in verdict.rows} == {kernel.name for kernel in KNOWN}
    by_bound = {(row.kernel, row.quantity) for row in verdict.rows if "wgmma group" in row.why}
    assert by_bound == {
        (f"known_wgmma_{name}", quantity)
        for name in ("bf16", "fp8")
        for quantity in ("shared_wavefronts", "l1_transactions")
    }
