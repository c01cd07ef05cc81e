"""Readers: every shape that the profilers print, to the same exact numbers; foreign text never breaks them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofctl.core.errors import CounterAccessError, InputError, RoofctlError
from roofctl.launches.table import Part
from roofctl.readers.read import read_file, read_text

from support.shapes import (
    CLOCK,
    CYCLES,
    DRAM_R,
    DRAM_W,
    FULL,
    ISSUED,
    L2,
    LSU,
    PATCHED,
    SHARED_LD,
    THREAD,
    TIME,
    L,
    line,
    ncu_details,
    ncu_raw,
    ncu_summary,
    nvprof_events,
    nvprof_metrics,
    nvprof_summary,
    parts,
)
from support.tables import evaluated

TWO = [L("void scale<4>(T1 *, int)"), L("void scale<4>(T1 *, int)", {**FULL, TIME: 120_000}, id="1")]
APP = 'loss 0.5, "step", 3, it\'s "odd'


def only(read: list[Part]) -> Part:
    assert len(read) == 1
    return read[0]


def column(part: Part, name: str) -> list[object]:
    return part.frame[name].tolist()


def value(text: str, counter: str = ISSUED, unit: str = "inst", **kwargs: object) -> object:
    """What a details page with one such cell (and a clearly point-marked one) gives."""
    page = ncu_details([L("k(int)", {counter: text, CYCLES: "1,234.50"})], units={counter: unit})
    return column(only(parts(page, **kwargs)), counter)[0]  # type: ignore[arg-type]


SHAPES: dict[str, str] = {
    "raw": ncu_raw(TWO),
    "raw with neighbours": ncu_raw(
        TWO,
        extra={
            "smsp__inst_executed.avg": 7,
            "smsp__inst_executed.sum.per_second": 8,
            "inst_executed": 9,
            "launch__kernel_name": "",
        },
    ),
    "details of 2020": ncu_details(TWO, 12),
    "details": ncu_details(TWO, 15),
    "details with rules": ncu_details(TWO, 20),
    "details with NVTX": ncu_details(TWO, nvtx=True),
    "details with NVTX and rules": ncu_details(TWO, 20, nvtx=True),
    "details with item labels": ncu_details(TWO, body_item=True),
    "details of 2020 with everything": ncu_details(TWO, 12, nvtx=True, body_item=True),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_ncu_shape_gives_the_same_counters(shape: str) -> None:
    part = only(parts(SHAPES[shape]))
    assert column(part, "kernel") == [TWO[0].kernel] * 2
    assert column(part, "launches") == [1, 1]
    assert column(part, TIME) == [pytest.approx(100e-6), pytest.approx(120e-6)]
    for counter, number in FULL.items():
        if counter != TIME:
            assert column(part, counter) == [number, number], counter


@pytest.mark.parametrize("shape", [name for name in SHAPES if "2020" not in name])
def test_launch_shape_and_capability(shape: str) -> None:
    part = only(parts(SHAPES[shape]))
    assert column(part, "block") == ["(256, 1, 1)"] * 2
    assert column(part, "grid") == ["(64, 1, 1)"] * 2
    assert column(part, "compute_capability") == ["9.0"] * 2


def test_neighbours_of_a_counter_are_not_it() -> None:
    lone = {"smsp__inst_executed.avg": 7, "sm__inst_executed.sum.per_cycle_active": "1.50", THREAD: 64}
    part = only(parts(ncu_raw([L("k(int)", lone)])))
    assert ISSUED not in part.frame
    assert "sm__inst_executed.sum" not in part.frame
    assert part.names >= set(lone)


def test_rule_rows_are_counted_and_said() -> None:
    notes = only(parts(SHAPES["details with rules"])).notes
    assert [note.text for note in notes] == ["x.csv: 2 rule rows passed over"]


def test_rows_longer_than_the_header_are_named_and_passed_over() -> None:
    rows = ncu_raw(TWO).splitlines()
    rows[3] += ',"more"'
    part = only(parts("\n".join(rows)))
    assert len(part.frame) == 1
    assert "1 rows do not fit the header of line 1 (21 columns) and were passed over: line 4" in part.notes[0].text
    assert part.notes[0].warning


def test_a_metric_in_two_sections_is_taken_from_the_first() -> None:
    rows = ncu_details([L("k(int)", {ISSUED: 5})]).splitlines()
    part = only(parts("\n".join([*rows, rows[1].replace('"5"', '"7"')])))
    assert column(part, ISSUED) == [5]


ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "byte-order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "byte-order mark before a banner": lambda text: b"\xef\xbb\xbf==PROF== Connected to Process 1\r\n" + text.encode(),
    "UTF-16 LE": lambda text: text.encode("utf-16"),
    "UTF-16 BE": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "Latin-1 in the application's lines": lambda text: b"\xe9t\xe9, d\xe9bit\n" + text.encode(),
    "no line end": lambda text: text.rstrip("\n").encode(),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "capture.csv"
    path.write_bytes(ENCODINGS[encoding](ncu_raw(TWO)))
    part = only(read_file(path))
    assert column(part, ISSUED) == [110_000, 110_000]
    assert column(part, "kernel")[0] == TWO[0].kernel


@pytest.mark.parametrize("shape", ["raw", "details", "details with rules"])
def test_lines_before_between_and_after(shape: str) -> None:
    rows = SHAPES[shape].splitlines()
    text = [
        "==PROF== Connected to process 3 (/opt/app)",
        APP,
        *rows[:3],
        APP,
        "==WARNING== x, y",
        *rows[3:],
        APP,
        "==PROF== Disconnected",
    ]
    part = only(parts("\n".join(text)))
    assert column(part, ISSUED) == [110_000, 110_000]
    foreign = [note for note in part.notes if note.detail]
    assert [note.text for note in foreign] == [
        "x.csv: 3 lines that belong to no table passed over, the first is line 2"
    ]


def test_a_spreadsheet_writes_no_quotes_and_semicolons() -> None:
    text = "\ufeffID;Process ID;Kernel Name;Metric Name;Metric Unit;Metric Value\r\n0;7;k;smsp__inst_executed.sum;inst;1.234.567\r\n"
    part = only(parts(text.replace("\r", "")))
    assert column(part, ISSUED) == [1_234_567]


@pytest.mark.parametrize("text", ["n/a", "nan", "(!) nan", "inf", "no data", ""])
def test_missing_cells_stay_missing(text: str) -> None:
    part = only(parts(ncu_raw([L("k(int)", {ISSUED: text, THREAD: 64})])))
    assert part.frame[ISSUED].isna().tolist() == [True]
    assert ISSUED not in part.names


@pytest.mark.parametrize("text", ["0", "0.00"])
def test_zero_stays_zero(text: str) -> None:
    assert value(text) == 0


def test_counts_beyond_2_to_the_53_stay_exact() -> None:
    assert value("9,007,199,254,740,993") == 9_007_199_254_740_993


@pytest.mark.parametrize(
    ("counter", "unit", "text", "expected"),
    [
        (TIME, "nsecond", "181,600", 181.6e-6),
        (TIME, "usecond", "181.60", 181.6e-6),
        (TIME, "msecond", "0.1816", 181.6e-6),
        (TIME, "second", "6.07", 6.07),
        (TIME, "ns", "181,600", 181.6e-6),
        (TIME, "us", "181.60", 181.6e-6),
        (TIME, "ms", "0.18", 180e-6),
        (TIME, "s", "6.07", 6.07),
        (CLOCK, "cycle/second", "1,980,000,000.00", 1.98e9),
        (CLOCK, "cycle/nsecond", "1.98", 1.98e9),
        (CLOCK, "hz", "1980000000", 1.98e9),
        (CLOCK, "Ghz", "1.98", 1.98e9),
        ("dram__bytes.sum", "Mbyte", "40.114816", 40_114_816),
        ("dram__bytes.sum", "byte", "787,427,072", 787_427_072),
        ("dram__bytes.sum", "Kbyte", "17.77", 17_770),
        (SHARED_LD, "", "2,176,025", 2_176_025),
        ("device__attribute_max_gpu_frequency_khz", "", "1,980,000", 1_980_000),
    ],
)
def test_units_of_all_years(counter: str, unit: str, text: str, expected: float) -> None:
    assert value(text, counter, unit) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("counter", "unit", "wanted"),
    [
        (TIME, "", "a time"),
        (TIME, "cycle", "a time"),
        (TIME, "fortnight", "a time"),
        (CLOCK, "ns", "a frequency"),
        (ISSUED, "%", "a count"),
    ],
)
def test_a_wrong_unit_is_refused(counter: str, unit: str, wanted: str) -> None:
    with pytest.raises(InputError, match=f"x.csv line 2: {counter} has unit '{unit}'; expected {wanted}"):
        value("5", counter, unit)


@pytest.mark.parametrize("text", ["1.2.3", "many", "12x"])
def test_a_cell_that_is_no_number_is_named(text: str) -> None:
    with pytest.raises(InputError, match=f"x.csv line 2: '{text}' under {ISSUED} is not a number"):
        value(text)


@pytest.mark.parametrize("text", ["99999999999999999999", "1e300", "1e999"])
def test_a_count_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="which no counter can be"):
        value(text)


def test_a_negative_value_is_missing_in_that_launch_only() -> None:
    part = only(
        parts(ncu_details([L("k(int)", {ISSUED: "-5", TIME: "100"}), L("k(int)", {ISSUED: "7", TIME: "100"}, id="1")]))
    )
    assert part.frame[ISSUED].isna().tolist() == [True, False]
    assert part.frame[TIME].notna().all()
    (note,) = part.notes
    assert note.warning
    assert f"values below 0, which no counter can have, are left out: {ISSUED} (1)" in note.text


def test_exponents_are_said_to_have_lost_digits() -> None:
    page = ncu_details([L("k(int)", {ISSUED: "2.12761E+11"})])
    part = only(parts(page))
    assert column(part, ISSUED) == [212_761_000_000]
    assert "1 values are in exponent form" in part.notes[0].text


# --- decimal separator of a file ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "issued"),
    [
        ({ISSUED: "181,600", CYCLES: "1,234.50"}, 181_600),
        ({ISSUED: "181.600", CYCLES: "1.234,50"}, 181_600),
        ({ISSUED: "181.600", "sm__throughput.avg": "9,00"}, 181_600),  # a counter that roofctl does not use decides
        ({ISSUED: "181,600", "sm__throughput.avg": "9.00"}, 181_600),
        ({ISSUED: "181'600", CYCLES: "1'234.50"}, 181_600),
        ({ISSUED: "181\u202f600", CYCLES: "1\u202f234,50"}, 181_600),
    ],
)
@pytest.mark.parametrize("page", [ncu_raw, ncu_details])
def test_the_file_settles_its_mark(page: Callable[..., str], cells: dict[str, object], issued: int) -> None:
    assert column(only(parts(page([L("k(int)", cells, cc="8.9")]))), ISSUED) == [issued]


@pytest.mark.parametrize("page", [ncu_raw, ncu_details])
def test_only_ambiguous_values_need_an_answer(page: Callable[..., str]) -> None:
    text = page([L("k(int)", {ISSUED: "181.600"}, cc="8.9")])  # CC 8.9 is no evidence: it has a point in every locale
    with pytest.raises(InputError, match=r"'181\.600' may hold a thousands separator") as caught:
        parts(text)
    assert "--decimal" in caught.value.hint
    assert column(only(parts(text, decimal="comma")), ISSUED) == [181_600]
    assert column(only(parts(text, decimal="point")), ISSUED) == [181.6]


def test_mixed_marks_are_refused() -> None:
    with pytest.raises(InputError, match="mixes decimal separators"):
        parts(ncu_raw([L("k(int)", {ISSUED: "1,234,567", THREAD: "1.234.567"})]))


def test_nvprof_always_writes_points() -> None:
    text = nvprof_summary(['"GPU activities",100.0,25.500,1,25.500,25.500,25.500,"k(int)"'])
    assert column(only(parts(text)), "GPU activities Avg") == [pytest.approx(25.5e-6)]


def test_european_windows_file(data: Path) -> None:
    part = only(read_file(data / "ncu-2025.1-l4-windows" / "details-european.csv"))
    assert column(part, "kernel") == ["unnamed>::axpy(float, const float *, float *)"] * 2 + ["sum_all(float *)"]
    assert column(part, TIME) == [pytest.approx(t) for t in (84.512e-6, 85.488e-6, 9.216e-6)]
    assert column(part, DRAM_R) == [1_048_576, 1_048_576, 8_192]
    assert column(part, DRAM_W) == [524_288, 524_290, 64]


# --- summaries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", [False, True])
def test_ncu_summary(old: bool) -> None:
    text = ncu_summary(
        [L("k(int)", {TIME: ("90,016.00", "95,136.00", "93,188.16"), DRAM_R: ("4.00", "6.00", "5.25"), DRAM_W: 0})],
        100,
        old=old,
    )
    part = only(parts(text))
    assert column(part, "launches") == [100]
    assert column(part, "is_summary") == [True]
    assert column(part, "grid") == [None if old else "(64, 1, 1)"]
    assert column(part, TIME) == [pytest.approx(93.18816e-6)]
    assert column(part, f"min:{TIME}") == [pytest.approx(90.016e-6)]
    assert column(part, f"max:{TIME}") == [pytest.approx(95.136e-6)]
    assert column(part, DRAM_R) == [5.25]
    assert column(part, DRAM_W) == [0]


def test_ncu_summary_of_2022(data: Path) -> None:
    part = only(read_file(data / "ncu-2022.3-a100" / "summary.csv"))
    assert column(part, "kernel") == ["gather(int *, const int *)", "reset(int *)"]
    assert column(part, "launches") == [4, 2]
    assert column(part, DRAM_R)[0] == 40_001.25
    assert part.frame[DRAM_R].isna().tolist() == [False, True]
    assert column(part, THREAD) == [6_400_002, 320]


def test_a_kernel_of_two_shapes_is_two_summaries() -> None:
    text = ncu_summary([L("k(int)", {ISSUED: 5}), L("k(int)", {ISSUED: 7}, grid="(9, 1, 1)")])
    assert column(only(parts(text)), ISSUED) == [5, 7]


# --- nvprof -----------------------------------------------------------------------------------------------------------


def test_nvprof_metrics_events_and_timing(data: Path) -> None:
    folder = data / "nvprof-11.8-v100s"
    metrics, events, timing = (only(read_file(folder / f"{name}.csv")) for name in ("metrics", "events", "timing"))
    assert column(metrics, "device") == ["Tesla V100S-PCIE-32GB"]
    assert column(metrics, "launches") == [50]
    assert column(metrics, "l2_read_transactions") == [90_000]
    assert column(metrics, "min:l2_read_transactions") == [89_000]
    assert column(metrics, "shared_store_transactions") == [500]
    assert {"gld_efficiency", "dram_utilization"} <= metrics.names
    assert column(events, "thread_inst_executed") == [9_000_000]
    assert column(timing, "kernel") == ["scaleRows(float*, float const *, int)"]
    # every column has its own unit: ms, us, ms, us
    assert column(timing, "total:GPU activities Avg") == [pytest.approx(1.25e-3)]
    assert column(timing, "GPU activities Avg") == [pytest.approx(25e-6)]
    assert column(timing, "min:GPU activities Avg") == [pytest.approx(24e-6)]
    assert column(timing, "max:GPU activities Avg") == [pytest.approx(26.5e-6)]
    assert "3 rows that are no kernels (copies, fills, API calls) passed over" in timing.notes[0].text


def test_two_tables_in_one_file(data: Path) -> None:
    events, metrics = read_file(data / "nvprof-11.8-v100s" / "two-tables.csv")
    assert column(events, "thread_inst_executed") == [9_000_000]
    assert column(metrics, "gld_transactions") == [120_000]


def test_an_old_summary_without_types() -> None:
    text = '"Time(%)","Time","Calls","Avg","Min","Max","Name"\n%,us,,us,us,us,\n60.0,50.0,2,25.0,24.0,26.0,"k(int)"\n40.0,33.0,1,33.0,33.0,33.0,"[CUDA memset]"\n'
    part = only(parts(text))
    assert column(part, "kernel") == ["k(int)"]
    assert column(part, "GPU activities Avg") == [pytest.approx(25e-6)]
    assert "1 rows that are no kernels" in part.notes[0].text


def test_gpu_trace(data: Path) -> None:
    part = only(read_file(data / "nvprof-11.8-titanxp" / "gpu-trace.csv"))
    assert column(part, "kernel") == ["step(int, double*)", "step(int, double*)", "void norm<float>(float*, int)"]
    assert column(part, "GPU trace Duration") == [pytest.approx(t) for t in (20e-6, 30e-6, 7.5e-6)]
    assert column(part, "grid") == ["(120, 1, 1)", "(120, 1, 1)", "(8, 4, 1)"]
    assert column(part, "block") == ["(128, 1, 1)", "(128, 1, 1)", "(32, 8, 1)"]
    assert column(part, "device") == ["TITAN Xp"] * 3
    assert part.notes[0].text.endswith("3 rows that are no kernels (copies, fills, page faults) passed over")


def test_trace_with_metrics(data: Path) -> None:
    part = only(read_file(data / "nvprof-11.8-titanxp" / "trace-metrics.csv"))
    assert column(part, "inst_executed") == [4_000, 4_200, 640]
    assert column(part, "dram_write_transactions") == [100, 100, 0]
    assert column(part, "launches") == [1, 1, 1]


def test_a_value_with_its_unit_glued_on() -> None:
    part = only(parts(nvprof_metrics({"dram_read_bytes": "40.860352KB", "dram_write_bytes": "0B"})))
    assert column(part, "dram_read_bytes") == [40_860.352]
    assert column(part, "dram_write_bytes") == [0]


def test_device_level_rows_are_refused_with_the_reason(data: Path) -> None:
    with pytest.raises(InputError, match=r"none is a kernel .*2 rows that belong to the device, not to a kernel"):
        read_file(data / "nvprof-11.8-titanxp" / "device-level.csv")


def test_unified_memory_rows_after_a_summary_are_said() -> None:
    text = nvprof_summary(['"GPU activities",100.0,25.0,1,25.0,25.0,25.0,"k(int)"'])
    text += '"Device","Count","Avg Size","Min Size","Max Size","Total Size","Total Time",""\n'
    text += (
        '"TITAN Xp (0)",5,"40.860352KB","4.0KB","60.0KB","204.3KB",35.2us,"Host To Device"\nTotal CPU Page faults: 49\n'
    )
    part = only(parts(text))
    assert column(part, "kernel") == ["k(int)"]
    assert any("1 rows that belong to the device" in note.text for note in part.notes)


def test_interleaved_processes_are_refused() -> None:
    text = "==11== NVPROF is profiling process 11, command: a\n==12== NVPROF is profiling process 12, command: a\n"
    with pytest.raises(InputError, match="output of 2 nvprof processes written over each other") as caught:
        parts(text + nvprof_metrics({"inst_executed": 1}))
    assert "%p" in caught.value.hint


@pytest.mark.parametrize("calls", ["", "n/a", "0", "many"])
def test_a_summary_row_without_calls_is_no_launch(calls: str) -> None:
    text = nvprof_summary(
        [
            f'"GPU activities",100.0,25.0,{calls},25.0,25.0,25.0,"k(int)"',
            '"GPU activities",1.0,25.0,2,25.0,25.0,25.0,"j(int)"',
        ]
    )
    part = only(parts(text))
    assert column(part, "kernel") == ["j(int)"]
    assert any("line 3" in note.text for note in part.notes)


# --- several captures in one file -------------------------------------------------------------------------------------


def test_processes_that_share_counters_are_one_capture() -> None:
    text = ncu_details([L("k(int)", process="1"), L("k(int)", process="2")])
    assert column(only(parts(text)), "process") == ["1", "2"]


def test_processes_that_share_none_are_two(data: Path) -> None:
    first, second = read_file(data / "ncu-2020.2-v100" / "two-captures.csv")
    assert column(first, "dram__bytes.sum") == [64_000_000, 64_000_064]
    assert column(first, CYCLES) == [130_000, 156_000]
    assert column(second, CYCLES) == [19_500_000, 19_500_000]
    assert [evaluated(part, "gv100").patched for part in (first, second)] == [False, True]


def test_a_repeated_header_repeats_the_ids() -> None:
    part = only(parts(ncu_details([L("k(int)")]) + ncu_details([L("k(int)", {**FULL, TIME: 200_000})])))
    assert column(part, TIME) == [pytest.approx(100e-6), pytest.approx(200e-6)]


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ncu_raw([]), "header of a table (ncu raw) but no row under it"),
        (ncu_details([]), "header of a table (ncu details) but no row under it"),
        (nvprof_metrics({}), "header of a table (nvprof metrics) but no row under it"),
        (ncu_details([L("ComputeX", {"SQ_INSTS_VALU": 5, "FetchSize": 7})]), "AMD counters (FetchSize, SQ_INSTS_VALU)"),
        ('"Index","KernelName","gpu-id"\n0,"k",1\n', "table of AMD's rocprof"),
        (
            "Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n100,5,1,5,k\n",
            "tables of Nsight Systems (nsys), but none of",
        ),
    ],
)
def test_tables_that_hold_nothing_for_roofctl(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parts(text)
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "banner",
    [
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission",
        "==77== Warning: ERR_NVGPUCTRPERM - The user does not have permission",
    ],
)
@pytest.mark.parametrize("table", ["", ncu_raw([]), ncu_raw(TWO), nvprof_metrics({"inst_executed": 1})])
def test_denied_counters_decide_whatever_else_the_file_holds(banner: str, table: str) -> None:
    with pytest.raises(CounterAccessError, match="ERR_NVGPUCTRPERM") as caught:
        parts(f"{banner}\n{table}")
    assert "SYS_ADMIN" in caught.value.hint


def test_timing_needs_no_counters() -> None:
    text = "==77== Warning: ERR_NVGPUCTRPERM\n" + nvprof_summary(
        ['"GPU activities",100.0,25.0,1,25.0,25.0,25.0,"k(int)"']
    )
    assert len(only(parts(text)).frame) == 1


def test_the_profilers_own_errors_are_passed_on() -> None:
    part = only(parts(ncu_raw(TWO) + "==ERROR== The application returned an error code (7).\n"))
    assert part.notes[0].text == (
        "incomplete capture x.csv: the profiler says: ==ERROR== The application returned an error code (7)."
    )
    assert part.notes[0].incomplete
    assert part.notes[0].warning


# --- our own captures of an H200 --------------------------------------------------------------------------------------


def test_details_and_raw_pages_of_one_application_agree(data: Path) -> None:
    raw, details = (
        only(read_file(data / "ncu-2025.3-h200" / f"known_counts-{n}.csv")).frame for n in ("all-logfile", "details")
    )
    assert raw["kernel"].tolist() == details["kernel"].tolist()
    assert raw["grid"].tolist() == details["grid"].tolist()
    exact = [
        c
        for c in details.columns
        if c in raw.columns and ("mem_global" in c or "mem_local" in c or "inst_executed" in c)
    ]
    assert len(exact) >= 9
    for counter in exact:
        assert raw[counter].tolist() == details[counter].tolist(), counter


def test_application_replay_and_log_file_agree(data: Path) -> None:
    one, two = (
        only(read_file(data / "ncu-2025.3-h200" / f"known_counts-{n}.csv")).frame for n in ("all-logfile", "app-replay")
    )
    for counter in (ISSUED, THREAD):
        assert one[counter].tolist() == two[counter].tolist()


# --- property ---------------------------------------------------------------------------------------------------------

SEEDS = [
    *SHAPES.values(),
    ncu_summary(TWO),
    nvprof_metrics({"inst_executed": 5, "gld_efficiency": "87.25%"}),
    nvprof_events({"thread_inst_executed": 7}),
    nvprof_summary(['"GPU activities",100.0,25.0,1,25.0,25.0,25.0,"k(int)"']),
    '"Device","Context","Stream","Kernel","Correlation_ID","inst_executed"\n,,,,,\n"TITAN Xp (0)","1","7","k(int)",1,5\n',
    '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Device","Name"\ns,ms,,,,,,,,\n0.1,0.2,1,1,1,32,1,1,"T (0)","k(int)"\n',
]
_PIECES = [
    '"',
    ",",
    '","',
    "\n",
    "",
    "nan",
    "-1",
    "1e99",
    "1.2.3",
    ";",
    "==",
    "\x00",
    "é",
    " ",
    "0",
    "9" * 30,
    '""',
    "inf",
    "(!)",
]


def mutated(text: str, seed: int, times: int) -> str:
    """``text`` with pieces cut out, doubled, or replaced at places drawn from ``seed``."""
    draw = random.Random(seed)  # noqa: S311
    for _ in range(times):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice([0, 1, 1, 5, 40]))
        text = text[:start] + draw.choice([*_PIECES, text[start:end] * 2]) + text[end:]
    return text


@settings(max_examples=400, derandomize=True, deadline=None, database=None)
@given(text=st.sampled_from(SEEDS), seed=st.integers(0, 10**6), times=st.integers(1, 6))
def test_damaged_files_give_parts_or_our_errors(text: str, seed: int, times: int) -> None:
    try:
        read = read_text(mutated(text, seed, times).encode(), "x.csv")
        for part in read:
            evaluated(part, "gh100")
    except RoofctlError as error:
        assert "x.csv" in error.message or "a row has no kernel name" in error.message  # noqa: PT017
    else:
        assert sum(len(part.frame) for part in read) > 0


def test_line_numbers_in_messages_are_those_of_the_file() -> None:
    text = ncu_details([L("k(int)", {LSU: 5, L2: "x1"})])
    with pytest.raises(InputError, match=r"x\.csv line 5:"):
        parts("banner\nbanner\n" + text)


def test_cells_with_quotes_and_commas_in_names() -> None:
    name = 'void f<"a, b", 3>(int, char const *)'
    assert column(only(parts(ncu_raw([L(name)]))), "kernel") == [name]
    assert line(["a", 'b"c']) == '"a","b""c"'


def test_patched_counters_are_seen_even_when_unused() -> None:
    part = only(parts(ncu_raw([L("k(int)", {"sm__sass_unknown.sum": 5, TIME: 50_000})])))
    assert evaluated(part, None).patched
    assert PATCHED not in part.names


@pytest.mark.parametrize(("column", "cell"), [("", ""), (',"Correlation_ID"', ",{id}")])
def test_the_correlation_id_behind_a_name_is_no_part_of_it(column: str, cell: str) -> None:
    head = (
        '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread",'
        f'"Static SMem","Dynamic SMem","Size","Throughput","Device","Context","Stream","Name"{column}\n'
        f"s,us,,,,,,,,B,B,MB,GB/s,,,,{',' if column else ''}\n"
    )
    rows = [
        f'0.1,10,4,1,1,32,1,1,8,0,0,,,"Tesla V100-SXM2-16GB (0)","1","7","k(int) [{n}]"' + cell.format(id=n)
        for n in (94, 105)
    ]
    part = only(parts(head + "\n".join(rows) + "\n"))
    assert list(part.frame["kernel"]) == ["k(int)", "k(int)"]
