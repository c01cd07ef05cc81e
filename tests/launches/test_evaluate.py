"""From counters to quantities: recipes, weights, caveats, and why something is missing."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import pytest

from roofctl.core.errors import InputError
from roofctl.launches.evaluate import divide_exactly, weighted_sum
from roofctl.launches.table import Part, check_frame

from support.shapes import (
    CLOCK,
    CYCLES,
    DRAM_R,
    DRAM_W,
    FULL,
    GLOBAL,
    ISSUED,
    L2,
    L2_ALL,
    LOCAL,
    LSU,
    PATCHED,
    SHARED_LD,
    SHARED_ST,
    THREAD,
    TIME,
    L,
    ncu_details,
    ncu_raw,
    ncu_summary,
    nvprof_metrics,
    nvprof_summary,
    parts,
)
from support.tables import OnePart, evaluated

SHARED = {SHARED_LD: 600, SHARED_ST: 400}


def made(counters: Mapping[str, object], chip: str | None = "gh100") -> OnePart:
    return evaluated(parts(ncu_raw([L("k(int)", counters)]))[0], chip)


def first(part: OnePart, quantity: str) -> object:
    return part.frame[quantity].iloc[0]


def test_every_quantity_of_a_complete_capture() -> None:
    found = made(FULL)
    expected = {
        "thread_instructions": 3_200_000,
        "issued_warp_instructions": 110_000,
        "l1_lsu_sectors": 40_000,
        "shared_wavefronts": 1_000,
        "l1_transactions": 44_000,
        "l2_transactions": 30_000,
        "hbm_transactions": 20_000,
        "sm_clock_hz": 1.5e9,
    }
    assert {name: first(found, name) for name in expected} == expected
    assert first(found, "seconds") == pytest.approx(100e-6)
    assert {name: text for name, text in found.caveats.items() if name in expected} == {}


@pytest.mark.parametrize(
    ("counters", "transactions", "caveat"),
    [
        # a shared wavefront is 128 bytes: four transactions
        ({**GLOBAL, **LOCAL, **SHARED}, 4_000, ""),
        ({LSU: 40_000, **SHARED}, 44_000, ""),
        ({**dict.fromkeys(GLOBAL, 10), **dict.fromkeys(LOCAL, 3), **SHARED}, 4_046, ""),
        ({**dict.fromkeys(GLOBAL, 10), **SHARED}, 4_040, "local-memory sectors were not captured"),
        (
            {**dict(list(dict.fromkeys(GLOBAL, 10).items())[:2]), **dict.fromkeys(LOCAL, 3), **SHARED},
            4_026,
            "atomic or reduction sectors",
        ),
        (
            {**dict(list(dict.fromkeys(GLOBAL, 10).items())[:3]), **dict.fromkeys(LOCAL, 3), **SHARED},
            4_036,
            "atomic or reduction sectors",
        ),
        ({"l1tex__t_bytes.sum": 320, **SHARED}, 4_010, "includes texture fetches"),
        ({"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum": 5, LSU: 0, **SHARED}, 4_020, ""),
    ],
)
def test_l1_transactions(counters: dict[str, object], transactions: int, caveat: str) -> None:
    found = made(counters)
    assert first(found, "l1_transactions") == transactions
    assert caveat in found.caveats.get("l1_transactions", "")
    assert bool(found.caveats.get("l1_transactions")) == bool(caveat)


@pytest.mark.parametrize("counters", [{LSU: 40_000}, {**GLOBAL, **LOCAL}, SHARED])
def test_half_of_l1_is_not_l1(counters: dict[str, object]) -> None:
    assert "l1_transactions" not in made(counters).frame


CLASSES = {
    f"lts__t_sectors_srcunit_tex_op_{op}.sum": n
    for op, n in (("read", 1), ("write", 20), ("atom", 300), ("red", 4_000))
}
ALL_CLASSES = {name.replace("_srcunit_tex", ""): n for name, n in CLASSES.items()}


@pytest.mark.parametrize(
    ("counters", "chip", "sectors", "caveat"),
    [
        ({L2: 30_000, L2_ALL: 46_000}, "gh100", 30_000, ""),
        (CLASSES, "gh100", 4_321, ""),
        ({**ALL_CLASSES, **CLASSES}, "gh100", 4_321, ""),
        (ALL_CLASSES, "gv100", 4_321, "counts every client of L2"),
        ({L2_ALL: 46_000}, "ga100", 46_000, "between the two L2 partitions"),
        ({L2_ALL: 46_000}, "gh100", 46_000, "between the two L2 partitions"),
        ({L2_ALL: 46_000}, "gb100", 46_000, "between the two L2 partitions"),
        ({L2_ALL: 46_000}, "ad102", 46_000, "counts every client of L2"),
        ({L2_ALL: 46_000}, None, 46_000, "counts every client of L2"),
        ({"lts__t_bytes.sum": 64}, "gv100", 2, "counts every client of L2"),
    ],
)
def test_l2_transactions(counters: dict[str, object], chip: str | None, sectors: int, caveat: str) -> None:
    found = made(counters, chip)
    assert first(found, "l2_transactions") == sectors
    assert caveat in found.caveats.get("l2_transactions", "")
    assert bool(found.caveats.get("l2_transactions")) == bool(caveat)


@pytest.mark.parametrize(
    ("counters", "sectors"),
    [
        ({DRAM_R: 5, DRAM_W: 7}, 12),
        ({"dram__sectors_op_read.sum": 5, "dram__sectors_op_write.sum": 7}, 12),
        ({"dram__bytes_read.sum": 320, "dram__bytes_write.sum": 64}, 12),
        ({"dram__bytes_op_read.sum": 320, "dram__bytes_op_write.sum": 64}, 12),
        ({"dram__bytes.sum": 384}, 12),
        ({"dram__bytes.sum": 400}, 12.5),
        ({"dram__sectors.sum": 12}, 12),
    ],
)
def test_hbm_transactions(counters: dict[str, object], sectors: float) -> None:
    found = made(counters)
    assert first(found, "hbm_transactions") == sectors
    assert "hbm_transactions" not in found.caveats


@pytest.mark.parametrize(
    ("counters", "seconds", "caveat"),
    [
        ({TIME: 100_000, "gpu__time_active.avg": 90_000}, 100e-6, ""),
        ({"gpu__time_active.avg": 90_000}, 90e-6, ""),
        ({CYCLES: "130,000.00", CLOCK: "1,300,000,000.00"}, 100e-6, ""),
        ({CYCLES: "130,000.00", CLOCK: "1,300,000,000.00", PATCHED: 5}, 100e-6, "run with patched instructions"),
        ({TIME: 100_000, PATCHED: 5}, 100e-6, ""),
    ],
)
def test_time(counters: dict[str, object], seconds: float, caveat: str) -> None:
    found = made(counters)
    assert first(found, "seconds") == pytest.approx(seconds)
    assert caveat in found.caveats.get("seconds", "")
    assert bool(found.caveats.get("seconds")) == bool(caveat)
    assert found.patched == (PATCHED in counters)


@pytest.mark.parametrize("cycles", ["130,000.00", "0.00"])
def test_a_rate_of_zero_gives_no_time(cycles: str) -> None:
    found = made({CYCLES: cycles, CLOCK: "0.00", DRAM_R: "1,234,567"})
    assert found.frame.get("seconds", pd.Series([pd.NA])).isna().tolist() == [True]


def test_thread_instructions_from_a_ratio_are_rounded_with_a_caveat() -> None:
    found = made({ISSUED: 1_000, "smsp__thread_inst_executed_per_inst_executed.ratio": "31.99"})
    assert first(found, "thread_instructions") == 31_990
    assert "rounded ratio" in found.caveats["thread_instructions"]


HFMA = "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"
PIPE = "sm__inst_executed_pipe_tensor.sum"
COMBINED = "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum"
TENSOR_HALF = "sm__ops_path_tensor_src_fp16_dst_{}.sum"


def test_half_precision_instructions_are_counted_once_each() -> None:
    found = made({HFMA: 62, HFMA.replace("hfma", "hadd"): 3, HFMA.replace("hfma", "hmul"): 4})
    assert first(found, "fp16_fma_instructions") == 62
    assert first(found, "fp16_other_instructions") == 7
    assert first(found, "fp16_flops") == 4 * 62 + 2 * 7


@pytest.mark.parametrize(
    ("counters", "chip", "operations", "caveat"),
    [
        ({PIPE: 16}, "gv100", 8_192, "estimate: 512 operations per tensor-pipe instruction"),
        ({PIPE.replace("sm__", "smsp__"): 16}, "gv100", 8_192, "estimate: 512 operations per tensor-pipe instruction"),
        ({PIPE: 16, TENSOR_HALF.format("fp16"): 5, TENSOR_HALF.format("fp32"): 8_000}, "gv100", 8_000, ""),
        ({COMBINED: 4_096, TENSOR_HALF.format("fp16"): 5}, "tu102", 4_096, ""),
    ],
)
def test_tensor_operations_of_chips_with_other_counters(
    counters: dict[str, object], chip: str, operations: int, caveat: str
) -> None:
    found = made(counters, chip)
    assert first(found, "tensor_fp16_ops") == operations
    assert found.caveats.get("tensor_fp16_ops", "") == caveat
    if TENSOR_HALF.format("fp16") in counters:
        assert first(found, "tensor_fp16_acc16_ops") == 5


@pytest.mark.parametrize("chip", ["tu102", "ga100", "ad102", "gh100", None])
def test_the_estimate_of_tensor_operations_is_for_volta_only(chip: str | None) -> None:
    """HFMA2 runs in the tensor pipe of an H200: the estimate would invent work there."""
    found = made({PIPE: 523_776}, chip)
    assert first(found, "tensor_pipe_instructions") == 523_776
    assert "tensor_fp16_ops" not in found.frame
    assert found.missing["tensor_fp16_ops"].startswith("tensor operations were not counted (sm__ops_path_tensor_")
    assert found.missing["tensor_fp16_ops"].endswith(" not captured)")


def test_a_combined_counter_is_all_half_precision_on_turing_only() -> None:
    counters = {COMBINED: 4_096, TENSOR_HALF.format("fp16"): 5}
    assert "tensor_fp16_ops" not in made(counters, "gh100").frame
    assert "tensor_fp16_ops" not in made(counters, None).frame


LOADS = "smsp__inst_executed_op_global_ld.sum"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"


@pytest.mark.parametrize(
    ("counters", "requests", "caveat"),
    [
        ({REQUESTS: 3_145_728, LOADS.replace(".sum", "_pred_on_any.sum"): 4_096}, 3_145_728, ""),
        ({LOADS.replace(".sum", "_pred_on_any.sum"): 4_096, LOADS: 5_000}, 4_096, "instructions, not requests"),
        ({LOADS: 5_000}, 5_000, "all predicated off are counted"),
    ],
)
def test_requests_are_taken_from_instructions_with_a_word(
    counters: dict[str, object], requests: int, caveat: str
) -> None:
    found = made(counters)
    assert first(found, "l1_global_load_requests") == requests
    assert caveat in found.caveats.get("l1_global_load_requests", "")
    assert bool(found.caveats.get("l1_global_load_requests")) == bool(caveat)


BYTES = "smsp__sass_data_bytes_mem_global_op_ld.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"


@pytest.mark.parametrize(
    ("counters", "chip", "used", "caveat"),
    [
        ({BYTES: 4_096, BYTES.replace("_ld", "_ldgsts"): 100}, "gh100", 4_196, ""),
        ({BYTES: 4_096}, "gh100", 4_096, "asynchronous copies were not captured"),
        ({BYTES: 4_096}, "gv100", 4_096, ""),
        ({SECTORS: 1_024, PER_SECTOR: "4.00"}, "gh100", 4_096, "rounded ratio"),
    ],
)
def test_bytes_that_loads_use(counters: dict[str, object], chip: str, used: int, caveat: str) -> None:
    text = ncu_raw([L("k(int)", counters)], units={PER_SECTOR: "byte/sector"})
    found = evaluated(parts(text)[0], chip)
    assert first(found, "global_load_used_bytes") == used
    assert caveat in found.caveats.get("global_load_used_bytes", "")
    assert bool(found.caveats.get("global_load_used_bytes")) == bool(caveat)


def test_atomics_are_atomics_and_reductions() -> None:
    counts = dict(zip(GLOBAL, (1, 20, 300, 4_000), strict=True))
    assert first(made(counts), "l1_global_atomic_sectors") == 4_300


def test_waves_and_clocks_beside_the_time() -> None:
    found = made({
        "launch__waves_per_multiprocessor": "62.06",
        "lts__cycles_elapsed.avg.per_second": "1,709,000,000.00",
        "dram__cycles_elapsed.avg.per_second": "3,199,000,000.00",
    })  # fmt: skip
    values = [first(found, name) for name in ("waves_per_sm", "l2_clock_hz", "memory_clock_hz")]
    assert values == [62.06, 1.709e9, 3.199e9]
    assert found.counters == frozenset(), "none of them counts work"


def test_zero_is_a_value_and_missing_is_none() -> None:
    found = evaluated(parts(ncu_raw([L("k(int)", {L2: 0, DRAM_R: 5, DRAM_W: "n/a"})]))[0], "gh100")
    assert first(found, "l2_transactions") == 0
    assert "hbm_transactions" not in found.frame
    assert found.missing["hbm_transactions"] == f"{DRAM_W} has no value in any launch (n/a or nan)"


@pytest.mark.parametrize(
    ("counters", "chip", "quantity", "reason"),
    [
        ({TIME: 5}, "gh100", "hbm_transactions", "dram__sectors_{read,write}.sum not captured"),
        ({TIME: 5}, "gb202", "hbm_transactions", "dram__sectors_op_{read,write}.sum not captured"),
        ({TIME: 5}, "gb10b", "hbm_transactions", "gb10b cannot count it: this chip has no DRAM counters"),
        ({TIME: 5}, None, "l2_transactions", "lts__t_sectors_srcunit_tex.sum not captured"),
        ({TIME: 5, DRAM_R: 5}, "gh100", "hbm_transactions", "dram__sectors_write.sum not captured"),
        (
            {LSU: 5},
            "gh100",
            "l1_transactions",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}.sum not captured",
        ),
        (
            {**SHARED},
            "gh100",
            "l1_transactions",
            "l1tex__t_sectors_pipe_lsu.sum not captured",
        ),
        ({THREAD: 5}, "gh100", "seconds", "gpu__time_duration.sum not captured"),
    ],
)
def test_the_reason_names_the_counter_that_would_give_it(
    counters: dict[str, object], chip: str | None, quantity: str, reason: str
) -> None:
    assert made(counters, chip).missing[quantity] == reason


@pytest.mark.parametrize(
    ("quantity", "reason"),
    [
        ("thread_instructions", "thread_inst_executed not captured"),
        ("hbm_transactions", "dram_write_transactions not captured"),
        ("l2_transactions", "l2_tex_read_transactions and l2_tex_write_transactions not captured"),
        (
            "l1_transactions",
            (
                "gld_transactions, gst_transactions and atomic_transactions not captured; "
                "shared_load_transactions and shared_store_transactions not captured"
            ),
        ),
        ("sm_clock_hz", "nvprof has no counter for it"),
        ("seconds", "GPU activities Avg not captured"),
    ],
)
def test_reasons_speak_the_profilers_own_names(quantity: str, reason: str) -> None:
    part = parts(nvprof_metrics({"inst_executed": 5, "dram_read_transactions": 5}))[0]
    assert evaluated(part, "gv100").missing[quantity] == reason


def test_reasons_of_a_page_with_labels_only_are_ncus() -> None:
    part = parts(ncu_details([L("k(int)", {"Executed Instructions": "1,234,567"})]))[0]
    assert evaluated(part, "ga102").missing["thread_instructions"] == f"{THREAD} not captured"


def test_spread_of_a_summary() -> None:
    text = ncu_summary([L("k(int)", {TIME: ("90,016.00", "95,136.00", "93,188.16")})], 100)
    frame = evaluated(parts(text)[0], "ga100").frame
    assert frame[["seconds_min", "seconds", "seconds_max"]].iloc[0].tolist() == [
        pytest.approx(t) for t in (90.016e-6, 93.18816e-6, 95.136e-6)
    ]


def test_a_spread_that_contradicts_itself_is_not_trusted() -> None:
    text = nvprof_summary(['"GPU activities",100.0,50.0,2,25.0,26.0,27.0,"k(int)"'])
    frame = evaluated(parts(text)[0], None).frame
    assert frame["seconds"].tolist() == [pytest.approx(25e-6)]
    assert frame["seconds_min"].isna().tolist() == [True]
    assert frame["seconds_max"].isna().tolist() == [True]
    assert frame["seconds_total"].tolist() == [pytest.approx(50e-6)]


def test_counts_stay_integers_beyond_2_to_the_53() -> None:
    big = 2**53 + 1
    found = made({LSU: big, SHARED_LD: 0, SHARED_ST: 0, "dram__bytes.sum": 32 * big})
    assert first(found, "l1_transactions") == big
    assert first(found, "hbm_transactions") == big
    assert str(found.frame["hbm_transactions"].dtype) == "Int64"


def test_weighted_sum_and_exact_division() -> None:
    columns = {"a": pd.Series([1, 2, None], dtype="Int64"), "b": pd.Series([10, None, 30], dtype="Int64")}
    total = weighted_sum(columns, {"a": 1, "b": 4})
    assert total.tolist() == [41, pd.NA, pd.NA]
    assert divide_exactly(pd.Series([64, None], dtype="Int64"), 32).dtype == "Int64"
    assert divide_exactly(pd.Series([64, 65], dtype="Int64"), 32).tolist() == [2.0, 2.03125]


def test_a_broken_frame_is_refused_by_name() -> None:
    good = parts(ncu_raw([L("k(int)")]))[0]
    with pytest.raises(InputError, match="the frame lacks grid, launches"):
        check_frame(good.frame.drop(columns=["grid", "launches"]))
    with pytest.raises(InputError, match="no kernel name or no launches"):
        evaluated(Part(good.frame.assign(launches=0), "x", good.names), None)
    (nameless,) = parts(ncu_raw([L("")]))
    with pytest.raises(InputError, match="no kernel name"):
        evaluated(nameless, None)


def test_quantities_are_in_the_catalogues_order() -> None:
    names = made(FULL).quantities
    assert [n for n in names if n.endswith("_transactions")] == [
        "l1_transactions",
        "l2_transactions",
        "hbm_transactions",
    ]


def test_operations_from_rates_per_clock() -> None:
    """What a full report of ncu holds: 1,000 FMAs per clock over 141,000 clocks."""
    rate = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
    rates = {rate.format("fadd"): 0, rate.format("fmul"): 0, rate.format("ffma"): 1_000}
    found = made({**rates, "smsp__cycles_elapsed.avg": 141_000}, "ga100")
    assert first(found, "fp32_flops") == 2 * 1_000 * 141_000
    assert "rates per cycle" in found.caveats["fp32_flops"]
    timed = made({**rates, "smsp__cycles_elapsed.avg.per_second": 1_410_000_000, TIME: 100_000}, "ga100")
    assert first(timed, "fp32_flops") == pytest.approx(2 * 1_000 * 141_000)
