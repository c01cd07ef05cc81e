"""The known kernels: the table against numbers worked out by hand, the sources, the compiler, and real counts."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from roofctl.core import process
from roofctl.core.resources import shipped
from roofctl.cuda import sass
from roofctl.cuda.toolchain import compile_command, find_tool
from roofctl.verify.build import known_paths, sources
from roofctl.verify.expect import Circumstances, expectations
from roofctl.verify.known_kernels import ITERATIONS, KNOWN, MATRIX, WGMMA_ITERATIONS, known_kernel
from roofctl.verify.known_work import KnownKernel, LaunchShape

FOLDER = shipped("kernels") / "known"
ARCHITECTURES = ("75", "80", "86", "89", "90a")

# Worked out by hand from the sources for the default sizes (2^26 words, a square of 8192, 1056 blocks, K = 1024).
BY_HAND: dict[str, dict[str, int]] = {
    "known_triad": {
        "l1_global_load_requests": 1_048_576,
        "l1_global_store_requests": 524_288,
        "l1_global_load_sectors": 16_777_216,
        "l1_global_store_sectors": 8_388_608,
        "l1_global_sectors": 25_165_824,
        "l1_lsu_sectors": 25_165_824,
        "l1_transactions": 25_165_824,
        "l2_transactions": 25_165_824,
        "hbm_transactions": 25_165_824,
        "fp32_flops": 134_217_728,
    },
    "known_copy": {
        "l1_global_load_requests": 2_097_152,
        "l1_global_store_requests": 2_097_152,
        "l1_global_load_sectors": 8_388_608,
        "l1_global_store_sectors": 8_388_608,
        "l2_transactions": 16_777_216,
        "hbm_transactions": 16_777_216,
        "fp32_flops": 0,
    },
    "known_strided_1": {"l1_global_load_requests": 65_536, "l1_transactions": 262_144, "l2_transactions": 262_144},
    "known_strided_8": {"l1_global_load_requests": 65_536, "l1_transactions": 2_097_152, "hbm_transactions": 2_097_152},
    "known_strided_32": {"l1_global_load_requests": 65_536, "l2_transactions": 2_097_152, "l1_global_store_sectors": 0},
    "known_transpose_naive": {
        "l1_global_load_requests": 2_097_152,
        "l1_global_load_sectors": 8_388_608,
        "l1_global_store_sectors": 67_108_864,
        "l2_transactions": 75_497_472,
        "hbm_transactions": 16_777_216,
    },
    "known_transpose_conflicted": {
        "shared_load_instructions": 2_097_152,
        "shared_store_instructions": 2_097_152,
        "shared_load_wavefronts": 67_108_864,
        "shared_store_wavefronts": 2_097_152,
        "shared_wavefronts": 69_206_016,
        "l1_transactions": 16_777_216 + 4 * 69_206_016,
        "l2_transactions": 16_777_216,
    },
    "known_transpose_padded": {
        "shared_load_wavefronts": 2_097_152,
        "shared_store_wavefronts": 2_097_152,
        "l1_transactions": 33_554_432,
        "l2_transactions": 16_777_216,
    },
    # 270,336 threads, 1000 iterations: 2 double or 4 single FMAs each.
    "known_fma_fp64": {"fp64_flops": 1_081_344_000, "fp32_flops": 0, "l2_transactions": 135_168},
    "known_fma_fp32": {"fp32_flops": 2_162_688_000, "fp64_flops": 0, "l1_global_store_requests": 8_448},
    # Packed pairs: 4 FMAs of 2 operations each on 2 values.
    "known_fma_fp16": {"fp16_flops": 4_325_376_000, "fp16_fma_instructions": 1_081_344_000, "fp32_flops": 0},
    "known_integer": {"integer_instructions": 8_650_752_000, "fp32_flops": 0, "l1_global_store_requests": 8_448},
    # 8,448 warps with 3,001 instructions each.
    "known_mufu": {"xu_instructions": 25_352_448, "fp32_flops": 0, "l2_transactions": 67_584},
    "known_divergent": {"fp32_flops": 135_168_000, "l2_transactions": 33_792, "l1_global_store_requests": 8_448},
    "known_atomics": {
        "l1_global_load_sectors": 524_288,
        "l1_global_store_sectors": 0,
        "l1_global_sectors": 4_718_592,
        "l2_transactions": 4_718_592,
        "hbm_transactions": 524_288,
    },
    "known_shared": {
        "shared_load_instructions": 1_048_576,
        "shared_store_instructions": 131_072,
        "shared_wavefronts": 1_179_648,
        "l1_transactions": 1_048_576 + 4 * 1_179_648,
        "l2_transactions": 1_048_576,
    },
    "known_shared_atomics": {
        "shared_atomic_wavefronts": 786_432,
        "shared_ldgsts_wavefronts": 0,
        "shared_wavefronts": 262_144,
        "l2_transactions": 524_288,
    },
    "known_async_copy": {
        "shared_ldgsts_wavefronts": 524_288,
        "shared_atomic_wavefronts": 0,
        "shared_wavefronts": 524_288,
        "shared_load_instructions": 131_072,
        "shared_store_instructions": 0,
        "l1_global_load_requests": 131_072,
        "l1_global_load_sectors": 2_097_152,
        "l2_transactions": 4_194_304,
    },
    "known_texture": {
        "texture_sectors": 1_048_576,
        "l1_global_load_requests": 0,
        "l1_lsu_sectors": 1_048_576,
        "hbm_transactions": 2_097_152,
    },
    "known_host_memory": {
        "system_sectors": 524_288,
        "l1_global_load_sectors": 524_288,
        "l2_transactions": 1_048_576,
        "hbm_transactions": 524_288,
    },
    "known_tensor_bf16": {
        "tensor_bf16_ops": 2_147_483_648,
        "tensor_fp64_ops": 0,
        "l1_global_load_requests": 3_145_728,
        "l1_global_load_sectors": 25_165_824,
        "l1_global_store_sectors": 131_072,
    },
    "known_tensor_fp64": {
        "tensor_fp64_ops": 2_147_483_648,
        "tensor_bf16_ops": 0,
        "fp64_flops": 0,
        "l1_global_load_requests": 8_388_608,
        "l1_global_load_sectors": 67_108_864,
        "l1_global_store_sectors": 262_144,
    },
    "known_tensor_fp16": {
        "tensor_fp16_ops": 2_147_483_648,
        "tensor_bf16_ops": 0,
        "l1_global_load_requests": 3_145_728,
        "l1_global_store_sectors": 131_072,
    },
    "known_tensor_fp16_fp16acc": {"tensor_fp16_ops": 2_147_483_648, "l1_global_store_sectors": 131_072},
    "known_tensor_int8": {
        "tensor_int8_ops": 2_147_483_648,
        "l1_global_load_requests": 1_572_864,
        "l1_global_load_sectors": 12_582_912,
    },
    # 4,224 warps; a wgmma reads 2 KiB of A and 4 KiB of B.
    "known_wgmma_bf16": {
        "tensor_bf16_ops": 1056 * 4 * 64 * 2 * 64 * 128 * 16,
        "tensor_fp8_ops": 0,
        "l1_global_load_requests": 50_688,
        "l1_global_load_sectors": 811_008,
        "l1_global_store_sectors": 1_081_344,
        "shared_store_wavefronts": 202_752,
    },
    "known_wgmma_fp8": {"tensor_fp8_ops": 1056 * 4 * 64 * 2 * 64 * 128 * 32, "tensor_bf16_ops": 0},
    "known_bulk_copy": {"l1_global_load_requests": 0, "l1_lsu_sectors": 0, "hbm_transactions": 16_777_216},
    # As much as the dense product that it stands for; A is half as large.
    "known_tensor_bf16_sparse": {"tensor_bf16_ops": 2_147_483_648, "l1_global_load_requests": 2_097_152},
}


def expected(kernel: KnownKernel, launch: LaunchShape | None = None) -> dict[str, float]:
    found = expectations(kernel, launch or kernel.launch, {}, Circumstances())
    return {each.quantity: each.expected for each in found}


@pytest.mark.parametrize("kernel", KNOWN, ids=lambda kernel: kernel.name)
def test_counts_are_those_worked_out_by_hand(kernel: KnownKernel) -> None:
    found = expected(kernel)
    wanted = BY_HAND[kernel.name]
    assert {quantity: found[quantity] for quantity in wanted} == wanted
    assert found["l1_local_sectors"] == 0


def test_matrix_products_are_2_m_n_k() -> None:
    for name in ("bf16", "fp64"):
        kernel = known_kernel(f"known_tensor_{name}")
        assert kernel is not None
        assert expected(kernel)[f"tensor_{name}_ops"] == 2 * MATRIX**3
        # What is read again and again does not reach L2 as often as L1.
        assert "l2_transactions" not in expected(kernel)


def test_counts_follow_the_launch() -> None:
    triad = KNOWN[0]
    half = LaunchShape((triad.launch.grid[0] // 2, 1, 1), triad.launch.block)
    assert {name: 2 * value for name, value in expected(triad, half).items()} == expected(triad)


@pytest.mark.parametrize(
    ("grid", "block", "warps"),
    [("(65536, 1, 1)", "(256, 1, 1)", 524_288), ("(256, 256, 1)", "(32, 8, 1)", 524_288), ("(3,1,1)", "(33,1,1)", 6)],
)
def test_warps_of_a_launch(grid: str, block: str, warps: int) -> None:
    assert LaunchShape.parse(grid, block).warps == warps


def test_a_shape_that_is_none() -> None:
    with pytest.raises(ValueError, match="unpack"):
        LaunchShape.parse("65536", "(256, 1, 1)")


def test_unknown_kernels_are_not_ours() -> None:
    assert known_kernel("triad") is None


def test_every_kernel_of_the_sources_is_in_the_table_and_the_reverse() -> None:
    found = {
        (name, path.name)
        for path in FOLDER.glob("*.cu")
        for name in re.findall(r"__global__.*?\b(known_\w+)\(", path.read_text(encoding="utf-8"), re.DOTALL)
    }
    assert found == {(kernel.name, kernel.file) for kernel in KNOWN}


def test_every_source_is_built_and_described() -> None:
    assert [path.name for path in sources()] == sorted({kernel.file for kernel in KNOWN} | {"main.cu"})
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in {kernel.file for kernel in KNOWN} if f"| {name} |" not in readme] == []


@pytest.mark.parametrize("path", sorted({kernel.file for kernel in KNOWN}))
def test_every_source_begins_with_what_it_checks(path: str) -> None:
    assert (FOLDER / path).read_text(encoding="utf-8").startswith("// Checks: ")


@pytest.mark.parametrize(
    ("constant", "value"),
    [("kIterations", ITERATIONS), ("kMatrix", MATRIX), ("kWgmmaIterations", WGMMA_ITERATIONS)],
)
def test_constants_are_those_of_the_sources(constant: str, value: int) -> None:
    texts = [(FOLDER / name).read_text(encoding="utf-8") for name in ("known.cuh", "wgmma.cu")]
    assert re.search(rf"constexpr int {constant} = (\d+);", "".join(texts))[1] == str(value)  # type: ignore[index]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program for every architecture that the tests look at, built once."""
    nvcc = find_tool("nvcc")
    if nvcc is None:
        pytest.skip("needs nvcc")
    path = tmp_path_factory.mktemp("known") / "known"
    targets = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in ARCHITECTURES]
    warnings = ("-Xcompiler=-Wall,-Wextra,-Werror", "-Werror=all-warnings")
    process.run(compile_command(nvcc, sources(), path, *targets, "--threads", "0", *warnings)).checked()
    return path


@pytest.fixture(scope="session")
def code(program: Path) -> dict[str, dict[str, sass.SassFunction]]:
    """Functions per architecture."""
    tool = find_tool("cuobjdump")
    if tool is None:
        pytest.skip("needs cuobjdump")
    listings = {
        number: process.run([str(tool), "-sass", "-arch", f"sm_{number}", str(program)]).checked().stdout
        for number in ARCHITECTURES
    }
    return {number: sass.functions(text) for number, text in listings.items()}


def test_it_compiles_without_a_warning_for_every_architecture(program: Path) -> None:
    assert program.stat().st_size > 0


def test_its_launches_are_those_of_the_table(program: Path) -> None:
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
    assert listed.splitlines() == [f"{k.name} {k.launch.grid} {k.launch.block}" for k in KNOWN]


def test_its_sizes_are_options(program: Path) -> None:
    options = ["--list", "--only", "known_copy,known_fma_fp32", "--elements", "8192", "--blocks", "2"]
    listed = subprocess.run([program, *options], capture_output=True, text=True, check=True).stdout
    assert listed == "known_copy (32, 1, 1) (256, 1, 1)\nknown_fma_fp32 (2, 1, 1) (256, 1, 1)\n"


@pytest.mark.parametrize(
    "options",
    [["--elements", "8191"], ["--elements"], ["--side", "x"], ["--blocks", "-1"], ["--nothing"], ["--only", "triad"]],
)
def test_it_refuses_what_it_cannot_run(program: Path, options: list[str]) -> None:
    completed = subprocess.run([program, *options, "--list"], capture_output=True, text=True, check=False)
    assert completed.returncode == 2
    assert completed.stderr.startswith("known: ")
    assert completed.stdout == ""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_loops_are_in_the_code(code: dict[str, dict[str, sass.SassFunction]], architecture: str) -> None:
    """One loop per kernel, with exactly the arithmetic of one iteration: nothing unrolled, folded or added."""
    wanted = {
        "known_fma_fp64": ("DFMA", 2),
        "known_fma_fp32": ("FFMA", 4),
        "known_fma_fp16": ("HFMA2", 4),
        "known_divergent": ("FFMA", 1),
    }
    if architecture >= "80":
        products = ("bf16", "fp16", "fp16_fp16acc", "bf16_sparse")
        wanted |= {f"known_tensor_{name}": ("HMMA", 1) for name in products}
        wanted |= {"known_tensor_fp64": ("DMMA", 1), "known_tensor_int8": ("IMMA", 1)}
    if architecture == "90a":
        wanted |= {"known_wgmma_bf16": ("HGMMA", 4), "known_wgmma_fp8": ("QGMMA", 4)}
    found = code[architecture]
    for kernel, (operation, count) in wanted.items():
        body = found[kernel].only_loop()
        assert body is not None, kernel
        instructions = found[kernel].instructions
        inside, total = sass.count(instructions[body[0] : body[1] + 1]), sass.count(instructions)
        assert (inside[operation], total[operation]) == (count, count), kernel
        others = {"FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA", "HADD2", "HMUL2", "HMMA", "DMMA", "IMMA"} - {
            operation
        }
        assert [name for name in others if total[name]] == [], kernel


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_integer_loop_has_its_32_instructions_and_few_more(
    code: dict[str, dict[str, sass.SassFunction]], architecture: str
) -> None:
    function = code[architecture]["known_integer"]
    body = function.only_loop()
    assert body is not None
    moves = ("IMAD.MOV.U32", "MOV")  # which the counter leaves out
    inside = sass.count(each for each in function.instructions[body[0] : body[1] + 1] if each.opcode not in moves)
    assert (inside["LOP3"], inside["SHF"]) == (8, 8)
    assert sum(inside[name] for name in ("IMAD", "IADD3", "VIADD")) - 16 in (0, 1)  # the loop's counter
    assert sum(inside.values()) <= 32 + 3


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_only_the_transcendental_chains_use_the_xu_pipe(
    code: dict[str, dict[str, sass.SassFunction]], architecture: str
) -> None:
    function = code[architecture]["known_mufu"]
    body = function.only_loop()
    assert body is not None
    inside, total = sass.count(function.instructions[body[0] : body[1] + 1]), sass.count(function.instructions)
    assert (inside["MUFU"], total["MUFU"]) == (3, 4)
    assert [name for name in total if name.startswith(("I2F", "F2I", "F2F"))] == []


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_memory_instructions_are_those_of_the_table(
    code: dict[str, dict[str, sass.SassFunction]], architecture: str
) -> None:
    """Loads, stores, reductions and shared accesses per warp, read off the code."""
    found = code[architecture]
    for kernel in KNOWN:
        if kernel.name not in found or not kernel.runs_on(int(architecture[0])):
            continue
        # Loads of the matrix products by mma are in their loops; the other loops load nothing.
        times = kernel.iterations or 1 if kernel.name.startswith("known_tensor") else 1
        # Some compilers put loads that are never on before an asynchronous copy.
        total = sass.count(each for each in found[kernel.name].instructions if each.predicate != "!PT")
        assert (total["LDG"] + total["LDGSTS"]) * times == kernel.work.load_requests, kernel.name
        assert total["STG"] - kernel.guarded == kernel.work.store_requests, kernel.name
        assert total["RED"] + total["REDG"] == (kernel.work.reduction_sectors > 0), kernel.name
        assert total["ATOM"] + total["ATOMG"] + total["LDL"] + total["STL"] == 0, kernel.name
        assert total["ATOMS"] == (3 if kernel.work.shared_atomic_wavefronts else 0), kernel.name
        assert total["LDGSTS"] == (kernel.work.shared_ldgsts_wavefronts > 0), kernel.name
        assert total["TLD"] + total["TEX"] + total["TLD4"] == (kernel.work.texture_sectors > 0), kernel.name
        assert (total["LDS"], total["STS"]) == (kernel.work.shared_loads, kernel.work.shared_stores), kernel.name


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_code_gives_how_many_instructions_a_warp_executes(
    code: dict[str, dict[str, sass.SassFunction]], architecture: str
) -> None:
    paths = known_paths(code[architecture])
    wanted = {kernel.name for kernel in KNOWN if kernel.runs_on(int(architecture[0])) and not kernel.spins}
    assert set(paths) >= wanted - {"known_divergent"}
    assert paths["known_copy"].switched_off == 0
    # A copy is a dozen instructions, a triad more of them; a chain is its body times its iterations.
    assert 8 < paths["known_copy"].instructions < paths["known_triad"].instructions < 40
    assert paths["known_fma_fp32"].instructions > (4 + 1) * ITERATIONS
    assert paths["known_fma_fp32"].switched_off == 1
