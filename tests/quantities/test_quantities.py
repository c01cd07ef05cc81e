"""The catalogue: what makes each quantity on each chip, with which weight, and what it refuses."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from roofctl.core.errors import InputError
from roofctl.quantities import catalogue
from roofctl.quantities.listing import formula, listing
from roofctl.quantities.shipped import shipped

from support.shapes import DRAM_R, GLOBAL, ISSUED, L2, L2_ALL, PATCHED, THREAD

KNOWN = catalogue()
MODULE = sys.modules["roofctl.quantities.shipped"]  # the package's function of that name hides it
CHIPS = [
    *("gv100", "gv11b", "tu102", "tu116", "ga100", "ga102", "ga10b", "ad102", "gh100"),
    *("gb100", "gb110", "gb112", "gb202", "gb10b", "gb20b", "gb20c"),
]
NO_DRAM = ("gv11b", "ga10b", "gb10b", "gb20b", "gb20c")
PARTITIONED = ("ga100", "gh100", "gb100", "gb110", "gb112")


def rows(chip: str, profiler: str = "ncu", sets: Sequence[str] = ()) -> dict[str, dict[str, object]]:
    return {row["quantity"]: row for row in listing(KNOWN, chip, profiler, sets)}


def test_weights() -> None:
    parts = [composition.quantities for composition in KNOWN.quantities["l1_transactions"].compositions]
    assert parts == [
        {"l1_global_sectors": 1, "l1_local_sectors": 1, "shared_wavefronts": 4},
        {"l1_lsu_sectors": 1, "shared_wavefronts": 4},
        {"l1_global_sectors": 1, "shared_wavefronts": 4},
    ]
    special = {"max_sm_clock_hz": {1000}, "fp64_flops": {1, 2}, "fp32_flops": {1, 2, 4}, "fp16_flops": {1, 2, 4}}
    special["tensor_fp16_ops"], special["tensor_fp16_acc16_ops"] = {1, 512}, {0, 1}
    special["fp16_fma_instructions"] = special["fp16_other_instructions"] = {1}
    for name, quantity in KNOWN.quantities.items():
        expected = special.get(name, {1})
        assert {w for r in quantity.recipes for w in (*r.counters.values(), *r.optional.values())} <= expected, name
        divisors = {recipe.divisor for recipe in quantity.recipes}
        assert divisors <= ({1, 32} if name.endswith(("_transactions", "_sectors")) else {1}), name


@pytest.mark.parametrize(
    ("quantity", "weights"),
    [
        ("fp64_flops", {"dadd": 1, "dmul": 1, "dfma": 2}),
        ("fp32_flops", {"fadd": 1, "fmul": 1, "ffma": 2, "fadd2": 2, "fmul2": 2, "ffma2": 4}),
        ("fp16_flops", {"hadd": 2, "hmul": 2, "hfma": 4}),
    ],
)
def test_weights_of_floating_point_work(quantity: str, weights: dict[str, int]) -> None:
    recipe = KNOWN.quantities[quantity].recipes[0]
    expected = {f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum": weight for op, weight in weights.items()}
    assert {**recipe.counters, **recipe.optional} == expected


def test_bytes_and_only_bytes_are_divided_by_a_sector() -> None:
    for quantity in KNOWN.quantities.values():
        for recipe in quantity.recipes if quantity.dimension == "count" and "_used_" not in quantity.name else ():
            assert (recipe.divisor == 32) == any("bytes" in name for name in recipe.counters), recipe


def test_l2_counts_what_came_from_the_multiprocessors_first() -> None:
    first, *others = KNOWN.quantities["l2_transactions"].recipes
    assert first.counters == {L2: 1}
    assert [r.caveat("gh100") == "" for r in others if r.profiler == "ncu"] == [True, False, False, False]


@pytest.mark.parametrize(("chip", "words"), [(c, "link" if c in PARTITIONED else "every client") for c in CHIPS])
def test_all_sources_l2_counter_has_a_caveat_on_every_chip(chip: str, words: str) -> None:
    recipe = next(r for r in KNOWN.quantities["l2_transactions"].recipes if r.counters == {L2_ALL: 1})
    expected = "between the two L2 partitions" if words == "link" else "counts every client of L2"
    assert expected in recipe.caveat(chip)
    assert KNOWN.chips[chip].partitioned_l2 == (words == "link")


def test_l2_classes_are_counted_once_each() -> None:
    recipe = KNOWN.quantities["l2_transactions"].recipes[1]
    assert recipe.counters == {f"lts__t_sectors_srcunit_tex_op_{op}.sum": 1 for op in ("read", "write", "atom", "red")}


def test_chips_and_capabilities() -> None:
    assert list(KNOWN.chips) == CHIPS
    capabilities = {
        "7.0": "gv100",
        "7.2": "gv11b",
        "7.5": "tu102",
        "8.0": "ga100",
        "8.6": "ga102",
        "8.7": "ga10b",
        "8.9": "ad102",
        "9.0": "gh100",
        "10.0": "gb100",
        "10.1": "gb10b",
        "10.3": "gb110",
        "11.0": "gb10b",
        "12.0": "gb202",
        "12.1": "gb20b",
    }
    assert {c: KNOWN.chip_of(c) for c in capabilities} == capabilities
    assert KNOWN.chip_of("3.5") is None
    assert KNOWN.chip_of(None) is None
    assert [c for c in CHIPS if KNOWN.chips[c].bulk_copy] == CHIPS[CHIPS.index("gh100") :]
    assert [c for c in CHIPS if KNOWN.chips[c].nvprof] == ["gv100", "gv11b"]


@pytest.mark.parametrize(
    ("device", "chip"),
    [
        ("NVIDIA GeForce GTX 1660 SUPER", "tu116"),
        ("GeForce GTX 1650", "tu116"),
        ("NVIDIA T1000 8GB", "tu116"),
        ("Tesla T4", "tu102"),
        ("NVIDIA GeForce RTX 2080 Ti", "tu102"),
        ("", "tu102"),
    ],
)
def test_the_name_of_a_device_tells_chips_of_one_compute_capability_apart(device: str, chip: str) -> None:
    assert KNOWN.chip_of("7.5", device) == chip


def test_chip_by_name_lists_the_known_ones() -> None:
    assert KNOWN.chip(" GH100 ").name == "gh100"
    with pytest.raises(InputError, match="no chip called 'gx1'") as caught:
        KNOWN.chip("gx1")
    assert "gh100" in caught.value.hint


@pytest.mark.parametrize("chip", CHIPS)
def test_what_a_chip_can_count(chip: str) -> None:
    found = rows(chip)
    has_dram = chip not in NO_DRAM
    assert found["hbm_transactions"]["available"] == found["memory_clock_hz"]["available"] == has_dram
    core = [
        name
        for name, row in found.items()
        if {"instruction", "walls"} & set(row["sets"])
        and name not in ("hbm_transactions", "memory_clock_hz")
        and not name.startswith("peak_")
    ]
    assert [name for name in core if not found[name]["available"]] == []
    assert found["l2_transactions"]["counters"] == [L2]
    if has_dram:
        assert found["hbm_transactions"]["counters"][0] == ("dram__sectors_op_read.sum" if chip == "gb202" else DRAM_R)
    else:
        assert found["hbm_transactions"]["remark"] == "missing: this chip has no DRAM counters"


@pytest.mark.parametrize("chip", [c for c in CHIPS if c not in ("gv100", "gv11b")])
def test_nvprof_counts_only_to_volta(chip: str) -> None:
    found = rows(chip, "nvprof")
    made = [row for row in found.values() if row["counters"]]
    assert made == []
    assert "use ncu" in str(found["issued_warp_instructions"]["remark"])


def test_nvprof_on_volta() -> None:
    found = rows("gv100", "nvprof")
    assert found["issued_warp_instructions"]["formula"] == "inst_executed"
    assert found["thread_instructions"]["counters"] == ["thread_inst_executed"]
    assert (
        found["sm_clock_hz"]["remark"] == "missing: nvprof has no counter for it"
        or not found["sm_clock_hz"]["available"]
    )


def test_listing_by_set() -> None:
    walls = rows("gh100", sets=["walls"])
    assert {"l1_global_sectors", "l1_local_sectors"} <= set(walls)
    assert all("walls" in row["sets"] for row in walls.values())
    assert rows("gh100", sets=["no such"]) == {}


def test_formulas() -> None:
    quantity = KNOWN.quantities
    assert formula(quantity["thread_instructions"].recipes[0]) == THREAD
    assert formula(quantity["max_sm_clock_hz"].recipes[0]) == "1000 x device__attribute_max_gpu_frequency_khz"
    assert formula(quantity["seconds"].recipes[2]) == "sm__cycles_elapsed.avg / sm__cycles_elapsed.avg.per_second"
    assert formula(quantity["thread_instructions"].recipes[1]).startswith(f"{ISSUED} x smsp__thread_inst")
    by_bytes = next(r for r in quantity["hbm_transactions"].recipes if "dram__bytes_read.sum" in r.counters)
    assert formula(by_bytes) == "(dram__bytes_read.sum + dram__bytes_write.sum) / 32"
    assert rows("gh100")["l1_transactions"]["formula"] == (
        "l1_global_sectors + l1_local_sectors + 4 x shared_wavefronts or l1_lsu_sectors + 4 x shared_wavefronts"
    )


def test_counters_cover_every_recipe_and_patched_is_a_prefix() -> None:
    assert {*GLOBAL, THREAD, L2_ALL, "GPU activities Avg", KNOWN.labels["Duration"]} <= KNOWN.counters()
    assert KNOWN.patched(PATCHED)
    assert not KNOWN.patched(THREAD)


@pytest.mark.parametrize(
    ("counter", "dimension"),
    [
        ("gpu__time_duration.sum", "seconds"),
        (THREAD, "count"),
        (KNOWN.labels["SM Frequency"], "hertz"),
        ("launch__waves_per_multiprocessor", None),
        ("no such", None),
    ],
)
def test_dimension_of(counter: str, dimension: str | None) -> None:
    assert KNOWN.dimension_of(counter) == dimension


@pytest.mark.parametrize("chip", [*CHIPS, None])
def test_a_recipe_of_certain_chips_is_for_no_other(chip: str | None) -> None:
    recipes = [(q.name, r) for q in KNOWN.quantities.values() for r in q.recipes if r.chips]
    limited = [r for name, r in recipes if not name.endswith("_sparse_ops")]
    assert {c for r in limited for c in r.counters} == {
        "sm__inst_executed_pipe_tensor.sum",
        "smsp__inst_executed_pipe_tensor.sum",
        "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum",
    }
    usable = [r for r in limited if r.holds_on(chip) and KNOWN.available(r, chip)]
    assert len(usable) == {"gv100": 4, "tu102": 1}.get(chip or "", 0)
    sparse = [name for name, r in recipes if name.endswith("_sparse_ops") and KNOWN.available(r, chip)]
    assert len(sparse) == len(set(sparse)) == SPARSE_TYPES.get(chip or "", 0)


SPARSE_TYPES = {
    "ga100": 6,
    "ga102": 6,
    "ga10b": 6,
    "ad102": 7,
    "gh100": 5,
    "gb100": 7,
    "gb10b": 7,
    "gb110": 10,
    "gb112": 10,
    "gb202": 10,
    "gb20b": 10,
    "gb20c": 10,
}
"""Types of operation whose 2:4 sparse part a chip counts; Volta and Turing have no sparsity."""


@pytest.mark.parametrize(
    ("chip", "quantity", "operands"),
    [
        ("ga100", "fp16", ["src_fp16_dst_fp32"]),
        ("gh100", "fp16", ["op_hgmma_src_fp16", "op_hmma_src_fp16_dst_fp16", "op_hmma_src_fp16_dst_fp32"]),
        ("gh100", "fp8", ["src_fp8"]),
        ("gb100", "fp4_fp6_fp8", [f"op_utcqmma_src_fp4_fp6_fp8_dst_{to}" for to in ("fp16", "fp32")]),
        ("gb100", "int8", ["op_imma_src_int8", "op_utcimma_src_int8"]),
        ("gb110", "int8", ["op_imma_src_int8"]),
        ("gb202", "fp4", ["src_fp4_dst_fp32"]),
    ],
)
def test_sparse_work_is_counted_per_kind_of_instruction_from_hopper_on(
    chip: str, quantity: str, operands: list[str]
) -> None:
    counters = rows(chip)[f"tensor_{quantity}_sparse_ops"]["counters"]
    assert counters == [f"sm__ops_path_tensor_{name}_sparsity_on.sum" for name in operands]


FP4 = {"gb100", "gb110", "gb112", "gb202", "gb10b", "gb20b", "gb20c"}
AS_ONE = {"gb100", "gb10b"}


@pytest.mark.parametrize("chip", CHIPS)
def test_types_of_tensor_cores_by_chip(chip: str) -> None:
    found = {name.removeprefix("tensor_").removesuffix("_ops") for name, row in rows(chip).items() if row["available"]}
    assert ("fp4" in found) == (chip in FP4)
    assert ("fp4_fp6_fp8" in found) == (chip in AS_ONE)
    assert ("fp6" in found) == (chip in FP4 - AS_ONE)
    assert ("fp8" in found) == (chip in {"ad102", "gh100"} | FP4 - AS_ONE)
    assert ("fp8_acc16" in found) == (chip in FP4 - AS_ONE)
    assert ("fp16_acc16" in found) == (chip not in ("gh100", "tu116"))
    assert ("int4" in found) == (chip in ("tu102", "ga100", "ga102", "ga10b", "ad102"))
    assert ("int1" in found) == (chip in ("tu102", "ga100", "ga102", "ga10b", "ad102", "gh100"))
    assert ("int8" in found) == (chip not in ("gv100", "tu116"))
    assert [name for name in found if name in ("fp64", "tf32", "bf16", "fp16")] == [] or chip != "tu116"


@pytest.mark.parametrize("chip", CHIPS)
def test_packed_single_precision_is_counted_on_data_center_blackwell(chip: str) -> None:
    counters = rows(chip)["fp32_flops"]["counters"]
    assert any("ffma2" in counter for counter in counters) == (chip in ("gb100", "gb110", "gb112"))  # type: ignore[attr-defined]


def test_a_turing_s_half_precision_tensor_work_is_collected_by_its_combined_counter() -> None:
    assert rows("tu102")["tensor_fp16_ops"]["counters"] == [
        "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum",
    ]
    assert rows("tu102")["tensor_fp16_acc16_ops"]["counters"] == ["sm__ops_path_tensor_src_fp16_dst_fp16.sum"]
    assert "neither BF16 nor TF32" in str(rows("tu102")["tensor_bf16_ops"]["remark"])


def test_bytes_of_asynchronous_copies_are_asked_for_where_there_are_any() -> None:
    counted = {chip: rows(chip)["global_load_used_bytes"] for chip in CHIPS}
    assert [chip for chip in CHIPS if len(counted[chip]["counters"]) == 1] == ["gv100", "gv11b", "tu102", "tu116"]  # type: ignore[arg-type]
    assert {row["remark"] for row in counted.values()} == {""}


def test_only_times_and_counts_add_up() -> None:
    assert [name for name, quantity in KNOWN.quantities.items() if not quantity.additive] == [
        name for name, quantity in KNOWN.quantities.items() if quantity.dimension in ("hertz", "fraction", "ratio")
    ]


FAULTS = {
    "schema": ("ncu.yaml", "schema: 1", "schema: 9", "schema 9; expected schema 1"),
    "operation": ("ncu.yaml", "- sum: {gpu__time_duration.sum: 1}", "- mean: {gpu__time_duration.sum: 1}", "seconds: keys"),
    "undeclared": ("nvprof.yaml", "  seconds:\n", "  minutes:\n", "minutes"),
    "dimension": ("quantities.yaml", "dimension: hertz", "dimension: metres", "dimension 'metres'"),
    "no recipe": ("quantities.yaml", "quantities:\n", "quantities:\n  x: {dimension: count, sets: [], meaning: m}\n", "x without a recipe"),
    "chips": ("ncu.yaml", "chips: [gv100]\n      caveat: &per", "chips: [gx1]\n      caveat: &per", "tensor_fp16_ops: chips ['gx1']"),
    "composed": ("quantities.yaml", "l1_local_sectors: 1, shared", "l9: 1, shared", "composed of l9"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_tables_names_file_and_key(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, old, new, words = FAULTS[fault]
    shutil.copytree(Path(str(MODULE.__file__)).parent, tmp_path / "q")
    text = (tmp_path / "q" / file).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "q" / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr("roofctl.quantities.documents.resources.files", lambda _package: tmp_path / "q")
    with pytest.raises(InputError) as caught:
        shipped.__wrapped__()
    assert words in caught.value.message
