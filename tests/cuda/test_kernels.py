"""The kernels build for every chip, and their machine code is what the table says. Needs nvcc, not a GPU."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import pytest

from roofctl.core.errors import DeviceError
from roofctl.core.resources import shipped
from roofctl.cuda import sass
from roofctl.cuda.toolchain import Toolchain, arch_of, find_tool
from roofctl.microbench.table import (
    HELPERS,
    KERNELS,
    LOADS_AND_STORES,
    NO_TCGEN05,
    SOURCES,
    TENSOR_TYPES,
    Microbenchmark,
    builds_for,
)
from roofctl.microbench.tensor import kernels_for, why_none

CHIPS = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
CACHE = Path(tempfile.gettempdir()) / "roofctl-test-cubins"

needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="no nvcc: pip install nvidia-cuda-nvcc")
needs_disassembler = pytest.mark.skipif(
    find_tool("nvdisasm") is None and find_tool("cuobjdump") is None,
    reason="no disassembler: pip install nvidia-cuda-nvdisasm",
)


@lru_cache
def toolchain(chip: tuple[int, int]) -> Toolchain:
    return Toolchain.find(arch_of(chip), cache=CACHE)


@lru_cache
def disassembled(chip: tuple[int, int], source: str) -> dict[str, sass.SassFunction]:
    return toolchain(chip).disassemble(source)


def sources(chip: tuple[int, int]) -> list[str]:
    return [source for source in SOURCES if builds_for(source, chip)]


def of(chip: tuple[int, int], source: str) -> list[Microbenchmark]:
    return [k for k in KERNELS.values() if k.source == source and k.runs_on(chip)]


def of_any_chip(source: str) -> list[Microbenchmark]:
    return [k for k in KERNELS.values() if k.source == source]


def text(source: str) -> str:
    return (shipped("kernels") / source).read_text(encoding="utf-8")


# --- the sources ---


def test_every_file_is_in_the_table_and_the_reverse() -> None:
    assert {path.name for path in shipped("kernels").glob("*.cu")} == set(SOURCES)


@pytest.mark.parametrize("source", SOURCES)
def test_header_names_what_is_measured_and_the_item(source: str) -> None:
    header = text(source).partition("#include")[0]
    assert header.startswith("// Measures: ")
    assert "\n// An item is one " in header


@pytest.mark.parametrize("source", SOURCES)
def test_bytes_operations_and_opcodes_stand_in_the_table_only(source: str) -> None:
    header = text(source).partition("#include")[0].lower()
    assert [word for word in ("bytes per item", "operations per item", "expected opcodes") if word in header] == []
    for kernel in of_any_chip(source):
        assert kernel.opcodes, kernel.name
        assert kernel.item_bytes or kernel.item_operations or kernel.name == "empty", kernel.name


@pytest.mark.parametrize("source", SOURCES)
def test_kernels_have_c_linkage(source: str) -> None:
    code = text(source)
    through_header = len(re.findall(r"^CHAIN_KERNEL\(", code, re.MULTILINE))
    linked = len(re.findall(r'extern "C" __global__', code))
    assert len(re.findall(r"__global__", code)) == linked
    assert linked + through_header > 0


def test_item_bytes_and_operations_follow_from_the_declared_opcodes() -> None:
    """The table's two halves agree: bytes = loads and stores x width, operations = multiply-adds x 2."""
    width = {"l1": None, "shared": None, "hbm": None, "l2": 16, "cache": 16}
    for kernel in KERNELS.values():
        accesses = sum(n for opcode, n in kernel.opcodes if opcode in LOADS_AND_STORES)
        family = kernel.name.split("_")[0]
        if accesses and family in width:
            found = re.search(r"_w(\d+)", kernel.name)
            each = width[family] or int(found[1] if found else 0)
            vectors = int(found[1]) if (found := re.search(r"_v(\d+)", kernel.name)) else 1
            assert kernel.item_bytes * vectors == accesses * each, kernel.name
        for opcode, packed in (("FFMA", 1), ("DFMA", 1), ("HFMA2", 2)):
            fmas = dict(kernel.opcodes).get(opcode)
            assert fmas is None or kernel.item_operations == 2 * packed * fmas, kernel.name


@pytest.mark.parametrize(
    ("name", "m", "n", "k"),
    [
        ("wgmma_fp16_ss", 64, 256, 16),
        ("wgmma_tf32_rs", 64, 256, 8),
        ("wgmma_fp8_ss", 64, 256, 32),
        ("wgmma_int8_rs", 64, 256, 32),
        ("mma_bf16", 16, 8, 16),
        ("mma_tf32", 16, 8, 8),
        ("mma_int8", 16, 8, 32),
        ("mma_fp64_m16n8k16", 16, 8, 16),
        ("mma_fp64_m8n8k4", 8, 8, 4),
    ],
)
def test_matrix_operations_are_instructions_times_their_shape(name: str, m: int, n: int, k: int) -> None:
    kernel = KERNELS[name]
    assert kernel.item_operations == kernel.opcodes[0][1] * 2 * m * n * k


# --- what chips have ---


@pytest.mark.parametrize(
    ("chip", "expected"),
    [
        ((7, 5), {"fp16": "wmma", "int8": "wmma"}),
        ((8, 0), {"fp16": "mma", "bf16": "mma", "tf32": "mma", "int8": "mma", "fp64": "mma_fp64_m8n8k4"}),
        ((8, 6), {"fp16": "mma", "bf16": "mma", "tf32": "mma", "int8": "mma"}),
        ((8, 9), {"fp16": "mma", "bf16": "mma", "tf32": "mma", "fp8": "mma", "int8": "mma"}),
        ((9, 0), {**dict.fromkeys(("fp16", "bf16", "tf32", "fp8", "int8"), "wgmma"), "fp64": "mma_fp64_m16n8k16"}),
        ((10, 0), {}),
        ((12, 0), {"fp16": "mma", "bf16": "mma", "tf32": "mma", "fp8": "mma", "int8": "mma"}),
    ],
)
def test_each_chip_is_measured_with_its_own_matrix_instruction(chip: tuple[int, int], expected: dict[str, str]) -> None:
    found = {kind: kernels_for(kind, chip) for kind in TENSOR_TYPES}
    assert {kind for kind, names in found.items() if names} == set(expected)
    for kind, prefix in expected.items():
        assert all(name.startswith(prefix) for name in found[kind])


def test_sm_100_is_named_as_not_supported_yet() -> None:
    assert why_none("bf16", (10, 0)) == NO_TCGEN05
    assert "sm_75 has no bf16" in why_none("bf16", (7, 5))


# --- machine code ---


@needs_nvcc
def test_everything_builds_for_every_chip() -> None:
    jobs = [(chip, source) for chip in CHIPS for source in sources(chip)]
    with ThreadPoolExecutor() as pool:
        images = list(pool.map(lambda job: toolchain(job[0]).build(job[1]), jobs))
    assert len(jobs) > 80
    assert all(image[:4] == b"\x7fELF" for image in images)


@needs_nvcc
@needs_disassembler
@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: f"sm_{chip[0]}{chip[1]}")
def test_a_files_kernels_are_the_tables(chip: tuple[int, int]) -> None:
    for source in sources(chip):
        declared = {k.name for k in of(chip, source)} | {name for name, (file, _) in HELPERS.items() if file == source}
        built = set(disassembled(chip, source))
        assert declared <= built, source


@needs_nvcc
@needs_disassembler
@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: f"sm_{chip[0]}{chip[1]}")
def test_the_loop_is_the_loop_that_was_written(chip: tuple[int, int]) -> None:
    wrong = [problem for source in sources(chip) for k in of(chip, source) if (problem := _problem(chip, k))]
    assert wrong == []


def _problem(chip: tuple[int, int], kernel: Microbenchmark) -> str:
    """What the machine code of one kernel has too much or too little; empty when it is as declared."""
    code = disassembled(chip, kernel.source)[kernel.name]
    opcodes = frozenset(opcode for opcode, _ in kernel.opcodes)
    counted = sass.without_padding(code) if kernel.scope == "kernel" else sass.main_loop(code, opcodes)
    if counted is None:
        return f"{kernel.name}: no loop holds {sorted(opcodes)}"
    # The compiler may unroll: then every count is the same multiple of what is declared.
    first, number = kernel.opcodes[0]
    times = counted[first] / number
    if times < 1 or times != int(times) or (times > 1 and kernel.scope == "kernel"):
        return f"{kernel.name}: {counted[first]} {first}, declared {number}"
    for opcode, number in kernel.opcodes:
        if counted[opcode] != number * times:
            return f"{kernel.name}: {counted[opcode]} {opcode}, declared {number} x {times:g}"
    return _extra(kernel, counted, opcodes, times)


def _extra(kernel: Microbenchmark, counted: Counter[str], opcodes: frozenset[str], times: float) -> str:
    if kernel.scope == "loop":
        unwanted = {o: n for o, n in counted.items() if o in LOADS_AND_STORES - opcodes}
        if unwanted:
            return f"{kernel.name}: {unwanted} in the loop"
    declared = sum(number for _, number in kernel.opcodes)
    instructions = counted.total() - counted["NOP"]
    if opcodes & {"FFMA", "DFMA", "HFMA2"} and instructions > (declared + 6) * times:
        return f"{kernel.name}: {instructions} instructions for {declared} declared"
    return ""


@needs_nvcc
@needs_disassembler
@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: f"sm_{chip[0]}{chip[1]}")
def test_the_empty_kernel_is_empty(chip: tuple[int, int]) -> None:
    """At most the stack pointer, which the compiler sets whether it is used or not, and the exit."""
    counted = sass.without_padding(disassembled(chip, "launch.cu")["empty"])
    assert counted.pop("EXIT") == 1
    assert set(counted) <= {"MOV", "LDC"}
    assert counted.total() <= 1


@needs_nvcc
@needs_disassembler
def test_hopper_uses_both_half_precision_pipes_and_no_emulation() -> None:
    for name in ("fp16_s16", "bf16_s16"):
        (loop, *_) = disassembled((9, 0), "fp16.cu")[name].loops()
        forms = Counter(i.opcode.replace(".BF16_V2", "") for i in loop if i.base == "HFMA2")
        assert forms["HFMA2"] == forms["HFMA2.MMA"] == 128
        # An instruction that reads three registers without reuse takes two issue slots: 20 % lost where a quarter did.
        assert sum("reuse" not in i.operands for i in loop if i.base == "HFMA2") <= 8
    hopper = disassembled((9, 0), "tensor_wgmma.cu")
    assert not any(i.base in {"HMMA", "IMMA", "LDL", "STL"} for kernel in hopper.values() for i in kernel.instructions)


@needs_nvcc
@needs_disassembler
def test_l2_loads_pass_the_l1_and_share_one_base() -> None:
    code = disassembled((9, 0), "l2.cu")["l2_read_u8"]
    (loop,) = code.loops()
    loads = [i for i in loop if i.base == "LDG"]
    assert all("STRONG.GPU" in i.opcode and ".128" in i.opcode for i in loads)
    # One base register with immediate offsets, and all in flight before the first is used.
    assert len({i.operands.split("[")[-1].partition(".")[0] for i in loads}) == 1
    order = [i.base for i in loop]
    assert order[order.index("LDG") :][:8] == ["LDG"] * 8


@needs_nvcc
def test_a_kernel_that_does_not_build_says_where(tmp_path: Path) -> None:
    tools = Toolchain.find("sm_90a", cache=tmp_path / "cache")
    tools.folder = tmp_path
    (tmp_path / "bad.cu").write_text('extern "C" __global__ void k() { this is not C; }\n')
    with pytest.raises(
        DeviceError, match=r"kernels/bad\.cu does not build for sm_90a with nvcc [\d.]+:\n.*bad\.cu\(1\)"
    ):
        tools.build("bad.cu")


@needs_nvcc
def test_an_architecture_that_nvcc_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="does not know sm_30"):
        Toolchain.find("sm_30", cache=tmp_path).build("clock.cu")
