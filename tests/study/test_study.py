"""From files to rows compared with ceilings, by way of the GPU profile; with our own captures of kernels of known work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from roofctl.core.errors import InputError
from roofctl.core.profile_files import user_profiles
from roofctl.core.resources import demo_capture
from roofctl.output.rows import rows as rows_of
from roofctl.roofline.analyse import Selection
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs

from support.shapes import CLOCK, FULL, L2_ALL, TIME, L, ncu_details, ncu_raw, write

H200 = {
    "device__attribute_display_name": "NVIDIA H200",
    "device__attribute_max_gpu_frequency_khz": 1_980_000,
    "launch__sm_count": 132,
}

MEASURED = """\
schema: 1
profile: h200
gpu_name: NVIDIA H200
measured_at: "2026-01-31T12:00:00+00:00"
roofctl_version: "0.1.0"
ceilings:
  hbm: {value: 4.394e+12, unit: B/s, best: 4.4e+12, p5: 4.38e+12, p95: 4.4e+12, samples: 20, sm_clock_hz: 1.98e+9,
        method: triad}
"""


def asked(*paths: Path, **options: Any) -> Analysis:
    return analyse_inputs(AnalysisRequest(inputs=paths, **options))


def texts(analysis: Analysis) -> list[str]:
    return [note.text for note in analysis.notes]


def raw(folder: Path, name: str = "a", cc: str = "9.0", **facts: object) -> Path:
    (path,) = write(folder, **{name: ncu_raw([L("k(int)", {**FULL, **H200, **facts}, cc=cc)])})
    return path


# --- which ceilings ---------------------------------------------------------------------------------------------------


def test_the_captures_own_name_chooses_the_profile(tmp_path: Path) -> None:
    analysis = asked(raw(tmp_path), ceilings="theoretical")
    assert analysis.profile is not None
    assert analysis.profile.name == "h200"
    assert analysis.unknown_gpu is None
    assert texts(analysis) == []
    (roofline,) = analysis.rooflines
    assert roofline.basis == "theoretical"
    # the capture ran at 1.5 GHz: ceilings of the SM clock follow, the others stay
    assert roofline.peak.per_second == 132 * 4 * 1.5e9
    assert roofline.peak.clock is not None
    assert roofline.peak.clock.origin == "as captured"
    bandwidths = {b.level: b.bytes_per_second for b in roofline.bandwidths}
    assert bandwidths == {
        "l1": 132 * 128 * 1.5e9,
        "l2": pytest.approx(6016 * 1.709e9),
        "hbm": pytest.approx(4.814304e12),
    }


def test_the_boost_clock_is_used_for_an_unknown_one(tmp_path: Path) -> None:
    analysis = asked(raw(tmp_path, **{CLOCK: ""}), ceilings="theoretical")
    assert analysis.clock is None
    assert analysis.rooflines[0].peak.per_second == 132 * 4 * 1.98e9


@pytest.mark.parametrize(
    ("name", "cc", "message", "hint"),
    [
        (
            "",
            "9.0",
            "does not name its GPU (compute capability 9.0): which ceilings?",
            "--profile gh200-144gb | gh200-96gb",
        ),
        (
            "NVIDIA Toy",
            "9.0",
            "names the GPU 'NVIDIA Toy', which no GPU profile has (compute capability 9.0)",
            "| h200",
        ),
        (
            "NVIDIA Toy",
            "3.5",
            "names the GPU 'NVIDIA Toy', which no GPU profile has (compute capability 3.5)",
            "roofctl gpus new NAME",
        ),
        ("", "", "does not name its GPU: which ceilings?", "say which GPU it was: --profile NAME"),
    ],
)
def test_an_unknown_gpu_is_an_error_beside_the_table(
    name: str, cc: str, message: str, hint: str, tmp_path: Path
) -> None:
    facts = {"device__attribute_display_name": name, "launch__sm_count": ""}
    analysis = asked(raw(tmp_path, cc=cc, **facts))
    assert analysis.unknown_gpu is not None
    assert message in analysis.unknown_gpu.message
    assert hint in analysis.unknown_gpu.hint
    assert analysis.rooflines == ()
    assert rows_of(analysis.results)[0]["gips"] == pytest.approx(1.0)
    assert rows_of(analysis.results)[0]["limit"] is None
    with pytest.raises(InputError, match="which ceilings"):
        asked(raw(tmp_path, cc=cc, **facts), ceilings="theoretical")


def test_a_named_profile_is_used_and_an_alias_is_noted(tmp_path: Path) -> None:
    path = raw(tmp_path, device__attribute_display_name="")
    assert texts(asked(path, profile="h200", ceilings="theoretical")) == []
    assert texts(asked(path, profile="H200_SXM", ceilings="theoretical")) == [
        "GPU profile h200 (alias h200-sxm -> h200)"
    ]
    with pytest.raises(InputError, match="no GPU profile named 'h2000'"):
        asked(path, profile="h2000")


@pytest.mark.parametrize(
    ("profile", "facts", "cc", "words"),
    [
        ("a30", {}, "9.0", "from compute capability 9.0, the GPU profile a30 is of 8.0"),
        ("h100-sxm", {}, "9.0", "from NVIDIA H200, not from the GPU of profile h100-sxm"),
        ("h200", {"launch__sm_count": 16}, "9.0", "ran on 16 SMs, the GPU profile h200 has 132 (a MIG slice?)"),
        (
            "h200",
            {"launch__sm_count": 160},
            "9.0",
            "ran on 160 SMs, the GPU profile h200 has 132: ceilings are those of",
        ),
    ],
)
def test_facts_that_contradict_the_profile_are_warned_of(
    profile: str, facts: Mapping[str, object], cc: str, words: str, tmp_path: Path
) -> None:
    analysis = asked(raw(tmp_path, cc=cc, **facts), profile=profile)
    warnings = [note.text for note in analysis.notes if note.warning]
    assert [words in text for text in warnings][:1] == [True]


@pytest.mark.parametrize(
    ("facts", "levels", "words"),
    [
        ({"launch__sm_count": 16}, ["l1"], "are those of 16, those of L2 and HBM are not known"),
        (
            {"launch__sm_count": "n/a", "device__attribute_multiprocessor_count": 16},
            ["l1"],
            "those of L2 and HBM are not known",
        ),
        ({"launch__sm_count": 16, "device__attribute_multiprocessor_count": 16}, ["l1"], "(a MIG slice?)"),
        (
            {"launch__sm_count": 16, "device__attribute_multiprocessor_count": 132},
            ["l1", "l2", "hbm"],
            "(a part of the SMs): ceilings of the SMs are those of 16",
        ),
    ],
)
@pytest.mark.parametrize("name", ["NVIDIA H200", "NVIDIA H200 MIG 1g.18gb"])
def test_a_slice_has_the_ceilings_of_its_own_sms(
    facts: Mapping[str, object], levels: list[str], words: str, name: str, tmp_path: Path
) -> None:
    path = raw(tmp_path, device__attribute_display_name=name, **facts)
    full = asked(raw(tmp_path, "full"), ceilings="theoretical").rooflines[0]
    analysis = asked(path, ceilings="theoretical")
    (roofline,) = analysis.rooflines
    assert roofline.peak.per_second == pytest.approx(full.peak.per_second * 16 / 132)
    assert [bandwidth.level for bandwidth in roofline.bandwidths] == levels
    l1, whole = roofline.bandwidth("l1"), full.bandwidth("l1")
    assert l1 is not None
    assert whole is not None
    assert l1.bytes_per_second == pytest.approx(whole.bytes_per_second * 16 / 132)
    assert analysis.machine is not None
    assert analysis.machine.sm_count == 16
    (warning,) = [note.text for note in analysis.notes if note.warning]
    assert words in warning


def test_a_slice_of_unknown_size_is_compared_with_the_gpu_and_warned_of(tmp_path: Path) -> None:
    facts = {"device__attribute_display_name": "NVIDIA H200 MIG 1g.18gb", "launch__sm_count": "n/a"}
    analysis = asked(raw(tmp_path, **facts), ceilings="theoretical")
    assert [note.text for note in analysis.notes if note.warning] == [
        "the capture is from a slice (NVIDIA H200 MIG 1g.18gb): ceilings are those of all of h200"
    ]


@pytest.fixture
def measured() -> None:
    folder = user_profiles()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "h200.measured.yaml").write_text(MEASURED, encoding="utf-8")


@pytest.mark.usefixtures("own_config", "measured")
@pytest.mark.parametrize(
    ("choice", "bases"),
    [
        (None, ["measured"]),
        ("measured", ["measured"]),
        ("theoretical", ["theoretical"]),
        ("both", ["measured", "theoretical"]),
    ],
)
def test_measured_ceilings_are_used_where_they_exist(choice: Any, bases: list[str], tmp_path: Path) -> None:
    analysis = asked(raw(tmp_path), ceilings=choice)
    hbm = [roofline.bandwidth("hbm") for roofline in analysis.rooflines]
    assert [b and b.basis for b in hbm] == bases
    assert (texts(analysis)[:1] == ["ceilings measured on NVIDIA H200, 2026-01-31T12:00:00+00:00"]) == (
        bases[0] == "measured"
    )
    assert rows_of(analysis.results)[0]["use"]["hbm"] == pytest.approx(20_000 * 32 / 1e-4 / hbm[0].bytes_per_second)  # type: ignore[union-attr]


@pytest.mark.parametrize("choice", ["measured", "both"])
def test_measured_ceilings_that_do_not_exist_are_refused(choice: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no measured ceilings for h100-sxm") as caught:
        asked(raw(tmp_path), profile="h100-sxm", ceilings=choice)
    assert "roofctl calibrate" in caught.value.hint


# --- inputs -----------------------------------------------------------------------------------------------------------


def test_a_copied_profile_without_driver_names_contradicts_nothing(tmp_path: Path) -> None:
    from roofctl.gpus import find_profile
    from roofctl.gpus.writer import copy_as

    copied = tmp_path / "mine.yaml"
    copied.write_text(copy_as("mine", find_profile("h200").profile), encoding="utf-8")
    assert texts(asked(raw(tmp_path), profile=str(copied))) == []


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    path = raw(tmp_path)
    with pytest.raises(InputError, match="is given twice"):
        asked(path, tmp_path / "." / path.name)


def test_two_gpus_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="different GPUs: NVIDIA H200, NVIDIA A30"):
        asked(raw(tmp_path), raw(tmp_path, "b", "8.0", device__attribute_display_name="NVIDIA A30"))


def test_the_decimal_separator_can_be_stated(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a=ncu_details([L("k(int)", {TIME: "117.344"})]))
    with pytest.raises(InputError, match="may hold a thousands separator"):
        asked(path)
    assert rows_of(asked(path, decimal="comma").results)[0]["seconds"] == pytest.approx(117.344e-6)


def test_notes_of_reading_come_along(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a=ncu_details([L("k(int)")], 20))
    assert f"{path}: 1 rule rows passed over" in texts(asked(path))


def test_three_nvprof_files(data: Path) -> None:
    folder = data / "nvprof-11.8-v100s"
    analysis = asked(*(folder / f"{name}.csv" for name in ("metrics", "timing", "events")))
    (row,) = rows_of(analysis.results)
    assert analysis.profile is not None
    assert analysis.profile.name == "v100s"
    assert (row["launches"], row["warp_instructions"], row["issued_warp_instructions"]) == (50, 281_250, 300_000)
    assert (row["l1_transactions"], row["l2_transactions"], row["hbm_transactions"]) == (186_000, 150_010, 120_020)
    assert row["gips"] == pytest.approx(11.25)


def test_nvprof_trace_and_its_metrics(data: Path) -> None:
    folder = data / "nvprof-11.8-titanxp"
    rows = rows_of(asked(folder / "gpu-trace.csv", folder / "trace-metrics.csv", group="launch").results)
    assert [(r["short_name"], r["issued_warp_instructions"], r["hbm_transactions"]) for r in rows] == [
        ("step #2", 4_200, 1_200),
        ("step #1", 4_000, 1_000),
        ("norm", 640, 32),
    ]
    assert [r["gips"] for r in rows] == [pytest.approx(g) for g in (0.14, 0.2, 640 / 7.5e-6 / 1e9)]


def test_sections_of_a_details_page(data: Path) -> None:
    analysis = asked(data / "ncu-2024.1-rtx3090" / "sections.csv", profile="rtx3090")
    (row,) = rows_of(analysis.results)
    assert row["kernel"] == "void relax<float, 4>(T1 *, const T1 *, int)"
    assert (row["launches"], row["issued_warp_instructions"]) == (2, 81_920)
    assert row["seconds"] == pytest.approx(50e-6)
    assert analysis.clock is not None
    assert analysis.clock.hz == pytest.approx(1.4e9)
    assert row["hbm_transactions"] is None
    assert "the time is printed with few digits (relax)" in texts(analysis)


# --- our own captures of an H200 --------------------------------------------------------------------------------------

WARPS = {"triad": 524_288, "copy1": 2_097_152, "read": 65_536, "transpose": 524_288, "fma": 8_448, "atomics": 2_097_152}

# Known work of twelve kernels: warps, warp instructions per warp, and 32-byte sectors at L1 and L2 by arithmetic.
KNOWN: dict[str, tuple[int, int, int, int]] = {
    "triad": (WARPS["triad"], 31, 25_165_824, 25_165_824),
    "copy1": (WARPS["copy1"], 22, 16_777_216, 16_777_216),
    "strided_read<1>": (WARPS["read"], 17, 262_144, 262_144),
    "strided_read<8>": (WARPS["read"], 17, 2_097_152, 2_097_152),
    "strided_read<32>": (WARPS["read"], 17, 2_097_152, 2_097_152),
    "transpose_naive": (WARPS["transpose"], 31, 75_497_472, 75_497_472),
    "transpose_smem<0>": (WARPS["transpose"], 52, 16_777_216, 16_777_216),
    "transpose_smem<1>": (WARPS["transpose"], 52, 16_777_216, 16_777_216),
    "fma64": (WARPS["fma"], 4_471, 67_584, 67_584),
    "fma32": (WARPS["fma"], 4_288, 33_792, 33_792),
    "divergent": (WARPS["fma"], 1_225, 33_792, 33_792),
    "atomics": (WARPS["atomics"], 23, 75_497_472, 75_497_472),
}


@pytest.fixture(scope="module")
def h200() -> Analysis:
    folder = Path(__file__).parent.parent / "data" / "ncu-2025.3-h200"
    return asked(folder / "known_counts-all-logfile.csv", folder / "known_counts-l2-sources.csv")


def kernel(analysis: Analysis, name: str) -> Mapping[str, Any]:
    return next(row for row in rows_of(analysis.results) if row["short_name"] == name)


def test_the_capture_holds_the_twelve_kernels(h200: Analysis) -> None:
    assert {row["short_name"] for row in rows_of(h200.results)} == set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_known_work_is_counted_exactly(name: str, h200: Analysis) -> None:
    warps, per_warp, l1, l2 = KNOWN[name]
    row = kernel(h200, name)
    assert row["issued_warp_instructions"] == warps * per_warp
    assert row["l1_global_sectors"] == l1
    assert row["l1_local_sectors"] == 0
    assert row["l2_transactions"] == l2
    assert row["l1_transactions"] == l1 + 4 * row["shared_wavefronts"]
    if name != "divergent":
        assert row["warp_instructions"] == warps * per_warp


def test_a_quarter_of_the_lanes_shows_in_thread_instructions(h200: Analysis) -> None:
    row = kernel(h200, "divergent")
    assert row["thread_instructions"] / row["issued_warp_instructions"] == pytest.approx(8.327, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("transpose_smem<0>", 67_108_864 + 2_097_152),
        ("transpose_smem<1>", 2 * 2_097_152),
        ("triad", 0),
        ("copy1", 0),
    ],
)
def test_shared_wavefronts_are_within_what_the_counter_is_good_for(name: str, expected: int, h200: Analysis) -> None:
    assert expected <= kernel(h200, name)["shared_wavefronts"] <= expected * 1.08


@pytest.mark.parametrize(
    ("name", "read_and_write"), [("triad", 16_777_496 + 7_849_568), ("transpose_naive", 10_102_120 + 9_481_328)]
)
def test_hbm_is_what_dram_counted(name: str, read_and_write: int, h200: Analysis) -> None:
    assert kernel(h200, name)["hbm_transactions"] == read_and_write


def test_l2_is_not_the_counter_of_all_sources(h200: Analysis, data: Path) -> None:
    alone = asked(data / "ncu-2025.3-h200" / "known_counts-all-logfile.csv")
    assert kernel(alone, "triad")["l2_transactions"] == 37_753_640
    assert any("upper bound" in text for text in texts(alone))
    assert kernel(h200, "triad")["l2_transactions"] == 25_165_824
    assert not any("upper bound" in text for text in texts(h200))


@pytest.mark.parametrize(
    ("name", "limit"),
    [("triad", "hbm"), ("transpose_smem<0>", "shared"), ("fma32", "issue"), ("transpose_naive", None)],
)
def test_what_limits_the_known_kernels(name: str, limit: str | None, h200: Analysis) -> None:
    assert kernel(h200, name)["limit"] == limit


def test_no_known_kernel_uses_more_than_there_is(h200: Analysis) -> None:
    uses = {(row["short_name"], n): use for row in rows_of(h200.results) for n, use in row["use"].items()}
    assert {key: use for key, use in uses.items() if use > 1.0 and key[1] != "launch"} == {}
    # Without traffic nothing of a level is used, however near its point is to the roof.
    assert kernel(h200, "fma32")["use"]["hbm"] < 0.01


def test_the_time_of_the_unpatched_run_is_taken(h200: Analysis) -> None:
    notes = [text for text in texts(h200) if text.startswith("times are those of")]
    assert len(notes) == 1
    assert "known_counts-l2-sources.csv, without patched instructions" in notes[0]


def test_details_and_raw_give_the_same_rows(data: Path) -> None:
    folder = data / "ncu-2025.3-h200"
    one = asked(folder / "known_counts-all-logfile.csv", profile="h200")
    two = asked(folder / "known_counts-details.csv", profile="h200")
    for name in KNOWN:
        same = [
            (kernel(a, name)[n])
            for n in ("warp_instructions", "issued_warp_instructions", "l1_global_sectors")
            for a in (one, two)
        ]
        assert same[::2] == same[1::2]


def test_a_kernel_that_copies_in_bulk_has_no_l1_point(data: Path) -> None:
    analysis = asked(data / "ncu-2025.3-h200" / "torch-gemm-all-logfile.csv", selection=Selection(kernel="nvjet"))
    (row,) = rows_of(analysis.results)
    assert row["issued_warp_instructions"] == 2_365_260
    assert row["l1_transactions"] is None
    assert row["l2_transactions"] == 3_438_797
    (points,) = analysis.results.points
    assert points.point("l1") is None
    assert points.missing["l1"].startswith("not counted")


@pytest.mark.parametrize(
    ("name", "issued", "microseconds"), [("f64f64", 54_884_352, 295.168), ("Kernel2", 301_505_536, 342.560)]
)
def test_library_kernels(name: str, issued: int, microseconds: float, data: Path) -> None:
    analysis = asked(data / "ncu-2025.3-h200" / "torch-gemm-all-logfile.csv", selection=Selection(kernel=name))
    (row,) = rows_of(analysis.results)
    assert row["issued_warp_instructions"] == issued
    assert row["seconds"] == pytest.approx(microseconds * 1e-6)


def test_the_demo_is_the_known_capture() -> None:
    analysis = asked(demo_capture())
    assert kernel(analysis, "triad")["l2_transactions"] == 25_165_824


def test_upper_bound_goes_away_with_the_better_file(tmp_path: Path) -> None:
    worse = {**{k: v for k, v in FULL.items() if "srcunit" not in k}, L2_ALL: 46_000}
    (path,) = write(tmp_path, a=ncu_raw([L("k(int)", {**worse, **H200})]))
    assert any("upper bound" in text for text in texts(asked(path)))


def test_rows_of_a_job_know_their_rank(tmp_path: Path) -> None:
    texts = {f"rank{n}": ncu_raw([L("k(int)", {**FULL, **H200})]) for n in range(3)}
    paths = write(tmp_path, **texts)
    analysis = analyse_inputs(AnalysisRequest(inputs=tuple(paths)))
    assert [(Path(row["source"]).name, row["rank"]) for row in rows_of(analysis.results)] == [
        (f"rank{n}.csv", n) for n in range(3)
    ]
    assert rows_of(analyse_inputs(AnalysisRequest(inputs=(raw(tmp_path, "plain"),))).results)[0]["rank"] is None


def test_of_many_kernels_only_those_that_are_shown_become_records(tmp_path: Path) -> None:
    launches = [L(f"k{n}(int)", {**FULL, **H200, TIME: 1000 + n}, id=str(n)) for n in range(300)]
    (path,) = write(tmp_path, many=ncu_raw(launches))
    rows = rows_of(analyse_inputs(AnalysisRequest(inputs=(path,), selection=Selection(top=3))).results)
    assert [row["kernel"] for row in rows] == ["k299(int)", "k298(int)", "k297(int)"]
    assert sum(row["time_share"] for row in rows) < 0.02
