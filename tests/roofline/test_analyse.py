"""Rows and points: which instructions count, which levels have a point, what bounds, and why something is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from roofctl.core.errors import InputError
from roofctl.launches.aggregate import Group
from roofctl.output.rows import COLUMNS, L1_PARTS
from roofctl.output.rows import rows as rows_of
from roofctl.quantities import catalogue
from roofctl.roofline.analyse import ModelChoice, ModelResults, analyse
from roofctl.roofline.evidence import Machine
from roofctl.roofline.instruction import Instructions
from roofctl.roofline.kernel import rounded_count
from roofctl.roofline.model import Bandwidth, Clock, Peak, Roofline
from roofctl.roofline.select import Selection

from support.shapes import (
    DRAM_R,
    DRAM_W,
    FULL,
    GLOBAL,
    ISSUED,
    L2,
    L2_ALL,
    LOCAL,
    LSU,
    SHARED_LD,
    SHARED_ST,
    THREAD,
    TIME,
    L,
    ncu_raw,
    ncu_summary,
    parts,
)
from support.tables import kernels as table_of

SM = Clock(1e9, "sm")
# Ridges: L1 1, L2 2, HBM 8 warp instructions per transaction.
ROOF = Roofline(
    "toy",
    Peak(8e9, "theoretical", SM),
    (
        Bandwidth("l1", 32 * 8e9, "theoretical", SM),
        Bandwidth("l2", 32 * 4e9, "theoretical"),
        Bandwidth("hbm", 32 * 1e9, "theoretical"),
    ),
)


def analysed(
    *files: Sequence[L],
    chip: str | None = "gh100",
    group: Group = "kernel",
    instructions: Instructions = "thread",
    roofline: Roofline | None = ROOF,
    **selection: Any,
) -> ModelResults:
    read = [part for i, each in enumerate(files) for part in parts(ncu_raw(each), source=f"runs/{'abc'[i]}.csv")]
    captures = table_of(read, group, chip)
    known = catalogue().chips.get(chip or "")
    machine = Machine(roofline) if roofline else None
    return analyse(
        captures, machine, choice=ModelChoice(instructions=instructions), chip=known, selection=Selection(**selection)
    )


def row(counters: Mapping[str, object], **options: Any) -> Mapping[str, Any]:
    return rows_of(analysed([L("k(int)", counters)], **options))[0]


def texts(results: ModelResults) -> list[str]:
    return [note.text for note in results.notes]


def without(*names: str, **more: object) -> dict[str, object]:
    return {**{k: v for k, v in FULL.items() if k not in names}, **more}


def test_a_complete_launch() -> None:
    found = row(FULL)
    assert list(found) == list(COLUMNS["instruction"])
    expected = {
        "kernel": "k(int)",
        "short_name": "k",
        "launches": 1,
        "time_share": 1.0,
        "warp_instructions": 100_000,
        "issued_warp_instructions": 110_000,
        "thread_instructions": 3_200_000,
        "l1_transactions": 44_000,
        "l2_transactions": 30_000,
        "hbm_transactions": 20_000,
        "l1_lsu_sectors": 40_000,
        "l1_global_sectors": None,
        "l1_local_sectors": None,
        "shared_wavefronts": 1_000,
        "l1_intensity": pytest.approx(100 / 44),
        "l2_intensity": pytest.approx(100 / 30),
        "hbm_intensity": pytest.approx(5.0),
        "gips": pytest.approx(1.0),
        "limit": None,
        "limit_use": pytest.approx(0.2),
        "headroom_seconds": pytest.approx(0.8e-4),
        "all_counted": False,
        # At the 1.5 GHz of the launch the SM's own ceilings are 1.5 times those at 1 GHz; L2 and HBM stay.
        "use": pytest.approx({"l2": 0.3 / 4, "hbm": 0.2, "l1": 0.44 / 12, "issue": 1.1 / 12}),
        **dict.fromkeys(L1_PARTS),
        "counted_launches": 1,
        "sm_clock_hz": 1.5e9,
        "grid": "(64, 1, 1)",
        "block": "(256, 1, 1)",
        "source": "runs/a.csv",
        "seconds": pytest.approx(1e-4),
        "seconds_total": pytest.approx(1e-4),
        "seconds_median": pytest.approx(1e-4),
        "seconds_min": pytest.approx(1e-4),
        "seconds_max": pytest.approx(1e-4),
        "issued_gips": pytest.approx(1.1),
        "issued_of_peak": pytest.approx(1.1 / 8),
        "thread_efficiency": pytest.approx(1 / 1.1),
        "lost_fraction": pytest.approx(1 - 1 / 1.1),
        "predicated_on_fraction": None,
        "verdict": "unknown: the busiest counted resource is HBM at 20%; a pipe could bind "
        "(roofctl profile --set limits counts the pipes)",
        "advice": [],
        "rank": None,
        "incomplete": None,
    }
    assert dict(found) == expected


def test_points_share_one_height_and_know_their_launches() -> None:
    (kernel,) = analysed([L("k(int)"), L("k(int)", id="1")]).points
    assert [(p.level, p.traffic, p.per_second) for p in kernel.points] == [
        ("l1", 44_000, pytest.approx(1e9)),
        ("l2", 30_000, pytest.approx(1e9)),
        ("hbm", 20_000, pytest.approx(1e9)),
    ]
    assert kernel.launches == 2
    assert kernel.issued_per_second == pytest.approx(1.1e9)
    assert kernel.seconds_total == pytest.approx(200e-6)
    assert kernel.note == ""
    assert kernel.missing == {}


def test_a_kernels_rate_is_the_quotient_of_sums() -> None:
    slow = without(TIME, THREAD, **{TIME: 300_000, THREAD: 320_000})
    found = rows_of(analysed([L("k(int)"), L("k(int)", slow, id="1")]))[0]
    assert found["gips"] == pytest.approx((100_000 + 10_000) / 400e-6 / 1e9)
    assert found["hbm_intensity"] == pytest.approx(110 / 40)


# --- instructions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counters", "instructions", "count", "note"),
    [
        (FULL, "thread", 100_000, None),
        (FULL, "issued", 110_000, None),
        (without(THREAD), "thread", 110_000, "points use issued warp instructions: thread instructions were not captured (k)"),
        (without(THREAD), "issued", 110_000, None),
        (without(ISSUED), "issued", 100_000,
         "points use thread instructions / 32 (a lower bound): issued warp instructions were not captured (k)"),
        (without(ISSUED), "thread", 100_000,
         "issued warp instructions were not captured: thread instructions / 32 is a lower bound of them (k)"),
        (without(ISSUED, THREAD), "thread", None, f"no instruction count: {THREAD} not captured (k)"),
        (without(THREAD, **{THREAD: 3_200_016}), "thread", 100_000.5, None),
        (without(THREAD, **{THREAD: 3_521_000}), "thread", 110_031.25, None),  # 0.03 % above 32: passes differ
        (without(THREAD, **{THREAD: 3_600_000}), "thread", 110_000,
         "more than 32 thread instructions per warp instruction: the counters do not belong together, so points use issued warp instructions (k)"),
    ],
)  # fmt: skip
def test_which_instructions_count(
    counters: dict[str, object], instructions: Instructions, count: float | None, note: str | None
) -> None:
    results = analysed([L("k(int)", counters)], instructions=instructions)
    assert rows_of(results)[0]["warp_instructions"] == count
    assert rows_of(results)[0]["gips"] == (None if count is None else pytest.approx(count / 1e5))
    assert texts(results) == ([note] if note else [])


def test_no_instructions_no_points_but_the_traffic_is_listed() -> None:
    results = analysed([L("k(int)", without(ISSUED, THREAD))])
    assert results.points[0].points == ()
    assert results.points[0].missing == dict.fromkeys(("l1", "l2", "hbm"), "no instruction count")
    assert rows_of(results)[0]["hbm_transactions"] == 20_000
    assert rows_of(results)[0]["hbm_intensity"] is None
    assert rows_of(results)[0]["limit"] is None


def test_no_time_no_rate() -> None:
    results = analysed([L("k(int)", without(TIME))])
    found = rows_of(results)[0]
    assert (found["seconds"], found["gips"], found["time_share"]) == (None, None, None)
    assert found["hbm_intensity"] == pytest.approx(5.0)
    assert results.points[0].missing["hbm"] == "no time"
    assert texts(results) == [f"no time: {TIME} not captured (k)"]


# --- levels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["l2", "hbm"])
def test_zero_traffic_is_no_point_and_says_why(level: str) -> None:
    zero = {L2: 0} if level == "l2" else {DRAM_R: 0, DRAM_W: 0}
    results = analysed([L("k(int)", without(*zero, **zero))])
    assert rows_of(results)[0][f"{level}_transactions"] == 0
    assert rows_of(results)[0][f"{level}_intensity"] is None
    assert results.points[0].point(level) is None
    assert results.points[0].missing[level] == "no traffic at this level"
    assert texts(results) == [f"no {level.upper()} point: no traffic at this level (k)"]


def test_a_missing_level_names_its_counter() -> None:
    results = analysed([L("k(int)", without(DRAM_R))])
    assert rows_of(results)[0]["hbm_transactions"] is None
    assert results.points[0].missing == {"hbm": "dram__sectors_read.sum not captured"}
    assert texts(results) == ["no HBM point: dram__sectors_read.sum not captured (k)"]


TMA = "not counted: L2 got more from the multiprocessors than L1 counted (bulk copies by TMA, or textures)"


@pytest.mark.parametrize(
    ("counters", "chip", "transactions"),
    [
        # nothing at L1 although L2 is busy: not counted, on any chip
        ({LSU: 0, SHARED_LD: 0, SHARED_ST: 0, L2: 3_000_000}, "gh100", None),
        ({LSU: 0, SHARED_LD: 0, SHARED_ST: 0, L2: 30_000}, "ga100", None),
        ({**GLOBAL, **LOCAL, SHARED_LD: 0, SHARED_ST: 0, L2: 3_000_000}, "gh100", None),
        # only shared wavefronts at L1: the global part was not counted
        ({LSU: 0, SHARED_LD: 5_000, SHARED_ST: 5_000, L2: 3_000_000}, "gh100", None),
        # some at L1, more at L2: only a chip with bulk copies explains it
        ({LSU: 40_000, SHARED_LD: 0, SHARED_ST: 0, L2: 3_000_000}, "gh100", None),
        ({LSU: 40_000, SHARED_LD: 0, SHARED_ST: 0, L2: 3_000_000}, "ga100", 40_000),
        ({LSU: 40_000, SHARED_LD: 0, SHARED_ST: 0, L2: 41_000}, "gh100", 40_000),
        # an all-sources counter sees instruction fetches too, and is above L1 by nature
        ({LSU: 0, SHARED_LD: 50, SHARED_ST: 50, L2_ALL: 20_000}, "gh100", 400),
        ({LSU: 40_000, SHARED_LD: 0, SHARED_ST: 0, L2_ALL: 3_000_000}, "gh100", 40_000),
        ({LSU: 0, SHARED_LD: 0, SHARED_ST: 0, L2_ALL: 3_000_000}, "gh100", None),
        # idle everywhere is idle
        ({LSU: 0, SHARED_LD: 0, SHARED_ST: 0, L2: 0}, "gh100", 0),
    ],
)
def test_traffic_that_passes_l1_by_is_not_zero(
    counters: dict[str, object], chip: str, transactions: int | None
) -> None:
    base = without(LSU, SHARED_LD, SHARED_ST, L2)
    results = analysed([L("k(int)", {**base, **counters})], chip=chip)
    assert rows_of(results)[0]["l1_transactions"] == transactions
    assert (results.points[0].missing.get("l1") == TMA) == (transactions is None)
    assert any(TMA in text for text in texts(results)) == (transactions is None)


@pytest.mark.parametrize(
    ("counters", "level", "words", "caveat"),
    [
        (without(L2, **{L2_ALL: 46_000}), "l2", "lts__t_sectors also counts traffic between the two L2 partitions", "upper bound of the traffic"),
        (without(LSU, **dict.fromkeys(GLOBAL, 10_000)), "l1", "local-memory sectors were not captured", "lower bound of the traffic"),
        (without(LSU, **{"l1tex__t_sectors.sum": 40_000}), "l1", "L1 sectors include texture fetches", "traffic not exact"),
    ],
)  # fmt: skip
def test_a_caveat_goes_with_its_point(counters: dict[str, object], level: str, words: str, caveat: str) -> None:
    results = analysed([L("k(int)", counters)])
    point = results.points[0].point(level)
    assert point is not None
    assert point.caveat == caveat
    assert [text.startswith(f"{level.upper()}: {words}") for text in texts(results)] == [True]


def test_a_caveat_is_noted_once_for_all_kernels() -> None:
    counters = without(L2, **{L2_ALL: 46_000})
    results = analysed([L(f"k{i}(int)", counters, id=str(i)) for i in range(5)])
    assert next(text for text in texts(results) if text.startswith("L2:")).endswith("(all kernels)")
    part = analysed(
        [L("a(int)", id="0"), *(L(f"k{i}(int)", without(DRAM_R, **{DRAM_R: "n/a"}), id=str(i + 1)) for i in range(5))]
    )
    assert texts(part) == ["no HBM point: no value for this kernel (k0, k1, k2 and 2 more)"]


# --- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counters", "limit"),
    [
        (FULL, None),  # nothing near its ceiling, and pipes were not counted
        (without(DRAM_R, **{DRAM_R: 70_000}), "hbm"),
        (without(LSU, **{LSU: 800_000}), "l1"),
        (without(ISSUED, **{ISSUED: 1_100_000}), "issue"),
        (without(ISSUED, **{ISSUED: 850_000}), None),  # a pipe of half the issue rate could be full
        (without(DRAM_R), None),
    ],
)
def test_limit(counters: dict[str, object], limit: str | None) -> None:
    assert row(counters)["limit"] == limit


def test_without_ceilings_limits_are_unknown() -> None:
    found = row(FULL, roofline=None)
    assert found["gips"] == pytest.approx(1.0)
    assert (found["limit"], found["limit_use"], found["headroom_seconds"], found["use"]) == (None, None, None, {})


def test_a_point_above_its_roof_is_kept_and_warned_of() -> None:
    results = analysed([L("k(int)", without(TIME, **{TIME: 10_000}))])
    assert rows_of(results)[0]["use"]["hbm"] == pytest.approx(2.0)
    assert len(results.points[0].points) == 3
    warnings = [note.text for note in results.notes if note.warning]
    assert [text.partition(", above it")[0] for text in warnings] == [
        "k is 125% of its instruction peak",
        "k is 200% of its HBM roof",
    ]
    assert not any("leaves traffic out" in text for text in warnings)


# --- selection --------------------------------------------------------------------------------------------------------

FOUR = [
    L("void ns::gemm<4>(T1 *)", without(TIME, **{TIME: 50_000}), id="0"),
    L("void ns::gemm<8>(T1 *)", without(TIME, **{TIME: 100_000}), id="1"),
    L("copy(gemm *)", without(TIME, **{TIME: 200_000}), id="2"),
    L("bool operator==(A, B)", without(TIME, **{TIME: 50_000}), id="3"),
]


def test_longest_first_and_shares_of_all_time() -> None:
    rows = rows_of(analysed(FOUR))
    assert [(r["short_name"], r["time_share"]) for r in rows] == [
        ("copy", pytest.approx(0.5)),
        ("gemm<8>", pytest.approx(0.25)),
        ("operator==", pytest.approx(0.125)),
        ("gemm<4>", pytest.approx(0.125)),
    ]


@pytest.mark.parametrize(
    ("selection", "kernels"),
    [
        ({"kernel": "gemm"}, ["copy", "gemm<8>", "gemm<4>"]),
        ({"kernel": "^copy$"}, ["copy"]),
        ({"kernel": "gemm<8>"}, ["gemm<8>"]),
        ({"kernel": "regex:gemm<8>"}, ["gemm<8>"]),
        ({"kernel": "^gemm<4>$"}, ["gemm<4>"]),
        ({"kernel_base": "gemm"}, ["gemm<8>", "gemm<4>"]),
        ({"kernel_base": "gemm<8>|copy"}, ["copy"]),
        ({"exclude": "operator"}, ["copy", "gemm<8>", "gemm<4>"]),
        ({"kernel": "g", "exclude": "<8>"}, ["copy", "gemm<4>"]),
        ({"kernel_base": "g", "exclude": "<8>"}, ["gemm<8>", "gemm<4>"]),
        ({"kernel": "operator=="}, ["operator=="]),
        ({"top": 2}, ["copy", "gemm<8>"]),
        ({"kernel": "^void ns::gemm", "top": 1}, ["gemm<8>"]),
    ],
)
def test_selection(selection: dict[str, Any], kernels: list[str]) -> None:
    rows = rows_of(analysed(FOUR, **selection))
    assert [r["short_name"] for r in rows] == kernels
    assert rows[0]["time_share"] == pytest.approx(rows[0]["seconds_total"] / 400e-6)


@pytest.mark.parametrize(
    ("selection", "note"),
    [
        ({"kernel": "gemm<"}, "--kernel 'gemm<' takes 2 of 4 kernels, 37.5 % of the time"),
        ({"kernel_base": "copy"}, "--kernel-base 'copy' takes 1 of 4 kernels, 50 % of the time"),
        (
            {"kernel": "gemm", "exclude": "copy"},
            "--kernel 'gemm' --exclude 'copy' takes 2 of 4 kernels, 37.5 % of the time",
        ),
    ],
)
def test_filters_say_what_they_take(selection: dict[str, Any], note: str) -> None:
    assert note in texts(analysed(FOUR, **selection))
    assert note in texts(analysed(FOUR, **selection, top=1))


def test_of_several_captures_the_range_of_shares_is_given() -> None:
    results = analysed(FOUR, [FOUR[0], FOUR[2]], kernel="gemm<4>")
    assert "--kernel 'gemm<4>' takes 1 of 4 kernels, 12.5 to 20 % of the time of their captures" in texts(results)


def test_names_do_not_depend_on_filters() -> None:
    every = {r["kernel"]: r["short_name"] for r in rows_of(analysed(FOUR))}
    for selection in ({"kernel": "<8>"}, {"exclude": "<8>"}, {"top": 2}, {"kernel": "gemm", "top": 1}):
        shown = {r["kernel"]: r["short_name"] for r in rows_of(analysed(FOUR, **selection))}
        assert shown.items() <= every.items()


def test_launches_of_one_kernel_are_numbered_by_grid() -> None:
    shapes = [(512, 64), (64, 128), (2048, 32), (64, 64)]
    launches = [
        L("k(int)", id=str(i), grid=f"({grid}, 1, 1)", block=f"({block}, 1, 1)")
        for i, (grid, block) in enumerate(shapes)
    ]
    rows = rows_of(analysed(launches, [launches[2], L("other(int)", id="7")], group="kernel+grid"))
    named = {(r["source"], r["grid"], r["block"]): r["short_name"] for r in rows}
    assert {key: name for key, name in named.items() if key[0] == "runs/a.csv"} == {
        ("runs/a.csv", "(64, 1, 1)", "(64, 1, 1)"): "k #1",
        ("runs/a.csv", "(64, 1, 1)", "(128, 1, 1)"): "k #2",
        ("runs/a.csv", "(512, 1, 1)", "(64, 1, 1)"): "k #3",
        ("runs/a.csv", "(2048, 1, 1)", "(32, 1, 1)"): "k #4",
    }
    assert named["runs/b.csv", "(2048, 1, 1)", "(32, 1, 1)"] == "k #4"
    assert sorted(r["short_name"] for r in rows_of(analysed(launches, group="launch"))) == [
        "k #1",
        "k #2",
        "k #3",
        "k #4",
    ]


def test_an_empty_selection_lists_the_kernels() -> None:
    with pytest.raises(
        InputError, match="no kernel is left by --kernel 'nope'; the input has: gemm<4>, gemm<8>, copy, operator=="
    ) as caught:
        analysed(FOUR, kernel="nope")
    assert "--kernel-base" in caught.value.hint
    many = [L(f"k{i}(int)", id=str(i)) for i in range(15)]
    with pytest.raises(InputError, match="k11 and 3 more"):
        analysed(many, kernel="nope")


@pytest.mark.parametrize("option", ["kernel", "exclude"])
def test_a_filter_that_is_no_pattern(option: str) -> None:
    with pytest.raises(InputError, match=rf"--{option} 'k\(' is not a regular expression"):
        analysed(FOUR, **{option: "k("})


# --- groups and captures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("group", "launches"), [("kernel", [3]), ("kernel+grid", [2, 1]), ("launch", [1, 1, 1])])
def test_groups(group: Group, launches: list[int]) -> None:
    rows = rows_of(analysed([L("k(int)"), L("k(int)", id="1"), L("k(int)", id="2", grid="(9, 1, 1)")], group=group))
    assert [r["launches"] for r in rows] == launches
    assert sum(r["seconds_total"] for r in rows) == pytest.approx(300e-6)


def test_two_captures_carry_their_source_and_their_own_shares() -> None:
    results = analysed([L("k(int)")], [L("k(int)"), L("j(int)", id="1")])
    assert [(r["short_name"], r["source"], r["time_share"]) for r in rows_of(results)] == [
        ("j", "runs/b.csv", pytest.approx(0.5)),
        ("k", "runs/a.csv", pytest.approx(1.0)),
        ("k", "runs/b.csv", pytest.approx(0.5)),
    ]
    assert [kernel.note for kernel in results.points] == ["b.csv", "a.csv", "b.csv"]


def test_the_note_of_a_joined_capture_names_all_its_files() -> None:
    half, rest = {n: FULL[n] for n in (TIME, THREAD)}, {n: FULL[n] for n in (L2, DRAM_R, DRAM_W)}
    results = analysed([L("k(int)", half)], [L("k(int)", rest)], [L("k(int)", FULL)])
    assert sorted(kernel.note for kernel in results.points) == ["a.csv, b.csv", "c.csv"]


def test_three_kernels_of_one_base_name_stay_apart() -> None:
    rows = rows_of(analysed([L(f"void read<{n}>(float *)", id=str(n)) for n in (1, 8, 32)]))
    assert sorted(r["short_name"] for r in rows) == ["read<1>", "read<32>", "read<8>"]


def test_counts_stay_integers() -> None:
    big = 2**53 + 1
    found = row(
        without(ISSUED, LSU, SHARED_LD, SHARED_ST, L2, **{ISSUED: big, LSU: big, SHARED_LD: 0, SHARED_ST: 0, L2: big})
    )
    assert (found["issued_warp_instructions"], found["l1_transactions"], found["l2_transactions"]) == (big, big, big)
    assert all(isinstance(found[n], int) for n in ("launches", "warp_instructions", "hbm_transactions"))


@pytest.mark.parametrize(
    ("value", "expected"), [(5.0, 5), (5.25, 5.25), (0.1 + 0.2, 0.3), (2.0**53, 2.0**53), (None, None), (7, 7)]
)
def test_rounded_count(value: float | None, expected: float | None) -> None:
    made = rounded_count(value)
    assert made == expected
    assert type(made) is type(expected)


def test_a_summary_gives_means_and_ends() -> None:
    text = ncu_summary(
        [L("k(int)", {**FULL, TIME: ("90.00", "110.00", "100.00"), DRAM_R: ("1.00", "2.00", "1.50")})], 10
    )
    captures = table_of(parts(text), "kernel", "gh100")
    found = rows_of(analyse(captures, Machine(ROOF)))[0]
    assert found["launches"] == 10
    assert (found["seconds_min"], found["seconds_max"]) == (pytest.approx(90e-9), pytest.approx(110e-9))
    assert found["seconds_median"] is None
    assert found["seconds_total"] == pytest.approx(1e-6)
    assert found["hbm_transactions"] == 5_001.5


@pytest.mark.parametrize(
    ("counters", "reason"),
    [
        ({TIME: 0}, "no time: its time is 0, which no launch takes"),
        ({THREAD: 0, ISSUED: 0}, "no point: 0 instructions were counted"),
    ],
)
def test_a_time_or_a_count_of_zero_gives_no_point(counters: dict[str, object], reason: str) -> None:
    found = analysed([L("k(int)", {**FULL, **counters})])
    assert texts(found) == [f"{reason} (k)"]
    assert found.points[0].points == ()
    assert rows_of(found)[0]["limit"] is None


def test_a_launch_without_a_time_in_one_file_is_noted() -> None:
    found = analysed([L("a(int)"), L("b(int)", {**FULL, TIME: "n/a"}, id="1")])
    assert texts(found) == ["no time: no value for this kernel (b)"]


def test_many_kernels_above_a_roof_are_one_sentence() -> None:
    fast = {**FULL, TIME: 1_000, L2: 0, LSU: 0, SHARED_LD: 0, SHARED_ST: 0}
    found = analysed([L(f"k{i}(int)", {**fast, TIME: 1_000 + i}, id=str(i)) for i in range(5)])
    above = [text for text in texts(found) if "above" in text]
    assert len(above) == 1
    assert above[0].startswith("5 kernels are above their HBM roof (k0 2000%, k1 1998%, k2 1996% and 2 more): ")
