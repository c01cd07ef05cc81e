"""The pure parts: statistics, the host's results, limits, SASS, results and where they are kept."""

from __future__ import annotations

import itertools
import json
import math
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofctl.core.errors import DeviceError, InputError, VerificationError
from roofctl.core.levels import CALIBRATED, unit_of
from roofctl.cuda import sass
from roofctl.cuda.toolchain import arch_of, checked_arch, compile_command, cubin_options
from roofctl.gpus import (
    FoundProfile,
    GpuProfile,
    Measured,
    find_measured,
    find_profile,
    load_measured,
    measured_roofline,
)
from roofctl.gpus.check import file_problems
from roofctl.gpus.limits import Limit
from roofctl.microbench import identify, memory, reference, results, stats, store
from roofctl.microbench.bench import Probe, Sampled
from roofctl.microbench.gate import gate as highest_gate
from roofctl.microbench.levels import LEVELS, _by_block, chosen_levels, sources_for
from roofctl.microbench.outcomes import Absent, Ceiling, Sweep
from roofctl.microbench.table import HELPER_SOURCES, KERNELS, SOURCES

from support.fake_device import H200, facts

PROFILE = find_profile("h200").profile

# --- statistics ---


def test_summary_is_median_best_and_percentiles() -> None:
    found = stats.summarize([float(n) for n in range(1, 22)])
    assert (found.median, found.best, found.p5, found.p95, found.samples) == (11.0, 21.0, 2.0, 20.0, 21)
    assert found.spread == pytest.approx(18 / 11)
    assert stats.summarize([3.0, 1.0, 2.0], least=True).best == 1.0


def test_percentile_interpolates() -> None:
    assert stats.percentile([1.0, 2.0], 0.25) == 1.25
    assert stats.percentile([7.0], 0.95) == 7.0


@given(st.lists(st.floats(1e9, 1e13), min_size=1, max_size=50))
def test_summary_is_ordered(rates: list[float]) -> None:
    found = stats.summarize(rates)
    assert found.p5 <= found.median <= found.p95 <= found.best


@pytest.mark.parametrize(
    ("rates", "sm", "memory_hz", "expected"),
    [
        ([1.0] * 20, [1.98e9] * 20, [3.2e9] * 20, []),
        ([1.0] * 20, [1.98e9] * 19 + [1.95e9], [], ["the SM clock moved 1.5% (1950 to 1980 MHz)"]),
        ([1.0] * 20, [1.98e9] * 19 + [1.961e9], [], []),
        ([1.0] * 20, [], [3.2e9, 2.6e9], ["the memory clock moved"]),
        ([1.0] * 10 + [1.05] * 10, [], [], ["samples spread over 4.9%"]),
        ([1.0] * 8, [], [], ["only 8 samples of 20"]),
    ],
)
def test_reservations(rates: list[float], sm: list[float], memory_hz: list[float], expected: list[str]) -> None:
    found = stats.reservations(stats.summarize(rates), sm, memory_hz, 20)
    assert len(found) == len(expected)
    assert all(text in seen for text, seen in zip(expected, found, strict=True))


# --- the host's results ---


@pytest.mark.parametrize(("width", "count"), [(4, 1000), (2, 65536 * 2), (1, 256 * 5)])
def test_pattern_sums_have_a_closed_form(width: int, count: int) -> None:
    mul, add = reference.PATTERN
    data = reference.pattern_bytes(0, count, width, mul, add)
    letter = {1: "B", 2: "H", 4: "I"}[width]
    assert reference.pattern_sum(count, width, mul, add) == sum(struct.unpack(f"<{count}{letter}", data)) % 2**32


def test_pattern_sum_refuses_part_of_a_cycle() -> None:
    with pytest.raises(ValueError, match="no whole number of cycles"):
        reference.pattern_sum(100, 1, *reference.PATTERN)


def test_strided_sum_is_a_sum_over_runs() -> None:
    mul, add = reference.PATTERN
    words = struct.unpack("<600I", reference.pattern_bytes(0, 600, 4, mul, add))
    assert (
        reference.strided_sum([0, 256, 500], 64, mul, add)
        == sum(sum(words[start : start + 64]) for start in (0, 256, 500)) % 2**32
    )


def test_chains_follow_the_recurrence() -> None:
    assert reference.chain(1.0, 2.0, 1.0, 3) == 15.0
    assert reference.chains(3, 1.0, 0.5, 4, count=8, packed=False) == sum(3 + k + 2.0 for k in range(8))
    assert reference.chains(3, 1.0, 0.5, 4, count=16, packed=True) == sum(2 * (3 + k + 2.0) + 0.5 for k in range(16))


@pytest.mark.parametrize(
    ("code", "value"), [(0x38, 1.0), (0x7E, 448.0), (0x01, 2**-9), (0x08, 2**-6), (0xB8, -1.0), (0, 0.0)]
)
def test_e4m3_values(code: int, value: float) -> None:
    assert reference.decode_e4m3(code) == value
    assert reference.encode_e4m3(value) == code


def test_e4m3_has_nan_and_never_makes_one() -> None:
    assert math.isnan(reference.decode_e4m3(0x7F))
    assert math.isnan(reference.decode_e4m3(0xFF))
    assert reference.encode_e4m3(1e9) == 0x7E


@pytest.mark.parametrize(("kind", "size", "tolerance"), [
    ("fp16", 2, 2**-10), ("bf16", 2, 2**-7), ("tf32", 4, 2**-10), ("fp8", 1, 2**-3), ("int8", 1, 0), ("fp64", 8, 0),
])  # fmt: skip
def test_operands_as_bytes_and_as_numbers_agree(kind: str, size: int, tolerance: float) -> None:
    data, numbers = reference.operands(kind, 256, 1)
    assert len(data) == 256 * size
    assert len(set(numbers)) > 40
    longer, _ = reference.operands(kind, 512, 1)
    assert longer[: len(data)] == data
    if kind == "bf16":
        again = struct.unpack("<256f", b"".join(b"\0\0" + data[i : i + 2] for i in range(0, 512, 2)))
        assert list(again) == numbers


def test_product_is_a_times_b_transposed() -> None:
    assert reference.product([1, 2, 3, 4], [5, 6, 7, 8], 2, 2, 3) == [51, 69, 117, 159]


def test_nan_is_always_wrong() -> None:
    assert reference.worst([1.0, math.nan, 2.1], [1.0, 1.0, 2.0], 0.01) == (1, 2)
    assert reference.worst([math.inf], [1.0], 0.5) == (0,)
    assert reference.worst([2.01], [2.0], 0.01) == ()


# --- SASS ---

NVDISASM = """
.text.walk:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDG.E.128 R4, [R2.64] ;
.L_x_2:
        /*0020*/                   IADD3 R0, R0, 0x1, RZ ;
        /*0030*/              @!P1 BRA `(.L_x_2) ;
        /*0040*/               @P0 BRA `(.L_x_1) ;
        /*0050*/                   EXIT ;
.L_x_3:
        /*0060*/                   BRA `(.L_x_3);
        /*0070*/                   NOP;
"""
CUOBJDUMP = """
		Function : walk
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   MOV R1, c[0x0][0x28] ;     /* 0x00000a0000017a02 */
                                                              /* 0x000fe40000000f00 */
        /*0010*/                   LDG.E.128 R4, [R2.64] ;
        /*0020*/                   IADD3 R0, R0, 0x1, RZ ;
        /*0030*/              @!P1 BRA 0x20 ;
        /*0040*/               @P0 BRA 0x10 ;
        /*0050*/                   EXIT ;
        /*0060*/                   BRA 0x60;
"""


@pytest.mark.parametrize("text", [NVDISASM, CUOBJDUMP])
def test_innermost_loops_of_either_disassembler(text: str) -> None:
    kernel = sass.functions(text)["walk"]
    assert [[i.base for i in loop] for loop in kernel.loops()] == [["IADD3", "BRA"]]
    assert sass.main_loop(kernel, frozenset({"IADD3"})) == {"IADD3": 1, "BRA": 1}
    assert sass.main_loop(kernel, frozenset({"LDG"})) is None
    assert sass.without_padding(kernel)["LDG"] == 1
    assert sass.without_padding(kernel)["BRA"] == 0


# --- architectures and files ---


@pytest.mark.parametrize(
    ("capability", "arch"), [((7, 5), "sm_75"), ((9, 0), "sm_90a"), ((10, 0), "sm_100"), ((12, 0), "sm_120")]
)
def test_arch_of(capability: tuple[int, int], arch: str) -> None:
    assert arch_of(capability) == arch


def test_checked_arch() -> None:
    assert checked_arch("sm_90") == checked_arch("90a") == "sm_90a"
    assert checked_arch("86") == "sm_86"
    with pytest.raises(DeviceError, match="'hopper' is not an architecture"):
        checked_arch("hopper")


def test_command_names_the_target_in_full() -> None:
    argv = compile_command("nvcc", [Path("kernels/l2.cu")], Path("l2.cubin"), *cubin_options("sm_90a"))
    assert argv[0] == "nvcc"
    assert "-gencode=arch=compute_90a,code=sm_90a" in argv
    assert argv[-3:] == ("-o", "l2.cubin", "kernels/l2.cu")


def test_options_and_the_registry_have_the_same_levels() -> None:
    assert list(LEVELS) == list(CALIBRATED)
    assert {source for level in LEVELS.values() for source in level.sources} | set(HELPER_SOURCES) == set(SOURCES)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), tuple(CALIBRATED)),
        (("l2", "all"), tuple(CALIBRATED)),
        (("l1", "dram"), ("hbm", "l1")),
        (("hbm",), ("hbm",)),
    ],
)
def test_levels_by_option(names: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert chosen_levels(names) == expected


def test_sources_are_those_that_the_levels_need() -> None:
    assert sources_for(["fp64"], (9, 0)) == ["fill.cu", "clock.cu", "fp64.cu"]
    assert sources_for(["launch"], (7, 5)) == ["fill.cu", "clock.cu", "launch.cu"]
    assert "tensor_wgmma.cu" in sources_for(LEVELS, (9, 0))
    assert "tensor_mma.cu" not in sources_for(LEVELS, (9, 0))
    assert not {"hbm_bulk.cu", "tensor_wgmma.cu"} & set(sources_for(LEVELS, (8, 0)))
    assert sources_for(["tensor"], (10, 0)) == ["fill.cu", "clock.cu"]


def test_every_kernel_has_work_but_the_empty_one() -> None:
    idle = [k.name for k in KERNELS.values() if k.item_bytes == k.item_operations == 0]
    assert idle == ["empty"]
    assert all((k.item_bytes > 0) != (k.item_operations > 0) for k in KERNELS.values() if k.name not in idle)


# --- sizes ---


def test_slab_is_32_gib_or_what_fits() -> None:
    l2 = H200.l2_bytes
    assert memory.slab_bytes(None, 140_000_000_000, l2) == 32 << 30
    assert memory.slab_bytes(None, 10_000_000_000, l2) == 6_000_000_000 // (1 << 22) * (1 << 22)
    assert memory.slab_bytes(2_048_000_000, 140_000_000_000, l2) <= 2_048_000_000


def test_slab_that_does_not_fit_gives_both_numbers() -> None:
    with pytest.raises(DeviceError, match=r"the working set is 8,000 MB, 5,000 MB are free"):
        memory.slab_bytes(8_000_000_000, 5_000_000_000, H200.l2_bytes)


def test_slab_that_would_measure_the_l2_is_refused() -> None:
    with pytest.raises(DeviceError, match="would measure the L2"):
        memory.slab_bytes(300_000_000, 140_000_000_000, H200.l2_bytes)


def test_a_small_slab_that_was_asked_for_is_a_warning() -> None:
    l2_of_b200 = 126_000_000
    assert memory.slab_bytes(2_048_000_000, 180_000_000_000, l2_of_b200) == 2_048_000_000 // (1 << 22) * (1 << 22)
    warning = memory.small_set(2_048_000_000, l2_of_b200)
    assert warning is not None
    assert "2,048 MB is three arrays of 5.4 x the L2" in warning
    assert "3,024 MB avoid it" in warning
    assert memory.small_set(4_000_000_000, l2_of_b200) is None


@pytest.mark.parametrize(("mix", "arrays"), [("read", 1), ("write", 1), ("copy", 2), ("triad", 3)])
def test_slab_is_divided_without_overlap(mix: str, arrays: int) -> None:
    slab = memory.Arrays(1 << 40, 32 << 30)
    size, (a, b, c) = slab.split(mix)
    assert size * arrays <= slab.size
    assert size % (1 << 22) == 0
    used = sorted({a, b, c})
    assert all(later - earlier >= size for earlier, later in itertools.pairwise(used))
    assert used[-1] + size <= slab.address + slab.size


# --- limits ---


def theoretical(profile: GpuProfile, ceiling: str) -> Limit | None:
    return LEVELS.get(ceiling, LEVELS["tensor"]).limit(profile, ceiling)


def gate(profile: GpuProfile, ceiling: str, value: float, clock: float | None) -> str:
    unit = LEVELS.get(ceiling, LEVELS["tensor"]).unit
    return highest_gate(theoretical(profile, ceiling), value, unit, clock, ceiling, profile.name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hbm", 4.814304e12), ("l2", 10.281344e12), ("l1", 33.45408e12), ("shared", 33.45408e12),
        ("issue", 1.04544e12), ("fp32", 66.90816e12), ("bf16_tc", 989.4e12), ("fp64_tc", 66.9e12),
    ],
)  # fmt: skip
def test_theoretical_figures(name: str, value: float) -> None:
    found = theoretical(PROFILE, name)
    assert found is not None
    assert found.value == pytest.approx(value, rel=1e-3)


def test_an_unknown_figure_is_none() -> None:
    assert theoretical(find_profile("t4").profile, "l2") is None
    assert gate(find_profile("t4").profile, "l2", 1e15, None) == ""


@pytest.mark.parametrize(
    ("name", "value", "clock", "refused"),
    [
        ("hbm", 4.9e12, 1.98e9, False),
        ("hbm", 4.95e12, 1.98e9, True),
        ("l2", 10.2e12, 1.98e9, False),
        ("l2", 10.3e12, 1.98e9, True),
        ("l1", 33.4e12, 1.98e9, False),
        ("l1", 33.4e12, 1.9e9, True),
        ("shared", 34e12, 1.98e9, True),
        ("bf16_tc", 1060e12, 1.98e9, False),
        ("bf16_tc", 1060e12, 1.83e9, True),
        ("issue", 1.06e12, 1.98e9, True),
    ],
)
def test_no_rate_above_the_hardware_is_reported(name: str, value: float, clock: float, refused: bool) -> None:
    if refused:
        with pytest.raises(VerificationError, match="above the hardware's limit"):
            gate(PROFILE, name, value, clock)
    else:
        assert gate(PROFILE, name, value, clock) == ""


def test_a_launch_has_no_theoretical_time_and_no_gate() -> None:
    assert unit_of("launch") == LEVELS["launch"].unit == "s"
    assert theoretical(PROFILE, "launch") is None
    for seconds in (1e-9, 2e-6, 1.0):
        assert gate(PROFILE, "launch", seconds, 1.98e9) == ""


def test_an_oddly_low_rate_is_warned_about() -> None:
    assert "52% of the theoretical" in gate(PROFILE, "hbm", 2.5e12, 1.98e9)


# --- which GPU ---


def test_auto_recognises_the_gpu() -> None:
    assert identify.choose_profile("auto", H200).profile.name == "h200"


def test_another_gpus_profile_is_refused_with_both_names() -> None:
    with pytest.raises(InputError, match=r"the GPU here is NVIDIA H200, not the one of profile a100-sxm4-80gb"):
        identify.choose_profile("a100-80gb", H200)


def test_an_unknown_gpu_names_those_that_are_near() -> None:
    with pytest.raises(InputError, match=r"NVIDIA H999.*h200") as caught:
        identify.choose_profile("auto", facts(name="NVIDIA H999"))
    assert "roofctl gpus new" in caught.value.hint


def test_a_slice_is_refused() -> None:
    for sliced in (facts(mig=True), facts(name="NVIDIA H200 MIG 1g.18gb")):
        with pytest.raises(DeviceError, match="MIG"):
            identify.refuse_slice(sliced)
    identify.refuse_slice(H200)


# --- results ---


def sampled(rate: float, *, reservations: tuple[str, ...] = (), **settings: object) -> Sampled:
    result = stats.summarize([rate * f for f in (0.99, 1.0, 1.01)] * 7)
    return Sampled(settings or {"block": 512}, result, 1e10, 0.011, (1.98e9,) * 21, (3.201e9,) * 21, reservations)


def run(
    *outcomes: object, quick: bool = False, when: str = "2026-02-03T04:05:06+00:00", uuid: str = H200.uuid
) -> results.Run:
    started = results.datetime.fromisoformat(when)
    made = results.Run(
        find_profile("h200"), replace(H200, uuid=uuid), "13.0.88", "sm_90a", quick, started, (30.0, 45.0)
    )
    return made.plus(*outcomes)  # type: ignore[arg-type]


def hbm(read: float = 4.65e12, triad: float = 4.4e12) -> Ceiling:
    mixes = {"read": sampled(read), "triad": sampled(triad)}
    return Ceiling("hbm", "read", mixes, theoretical(PROFILE, "hbm"))


def issue(rate: float = 1.04e12) -> Ceiling:
    return Ceiling("issue", "all", {"all": sampled(rate)}, theoretical(PROFILE, "issue"))


def test_a_ceiling_is_the_chosen_mix_and_its_factor() -> None:
    ceiling = hbm()
    assert ceiling.value == 4.65e12
    assert ceiling.factor == pytest.approx(0.9659, abs=1e-4)
    assert ceiling.sm_clock_hz == 1.98e9
    assert ceiling.method == "read: block 512"
    assert issue().method == "block 512"


def test_result_keeps_every_mix_and_where_it_came_from() -> None:
    measured = results.to_measured(run(hbm(), Absent("fp4_tc", "none"), Sweep("block", {"read": ((128, 4.6e12),)})))
    assert measured.ceilings["hbm"].mixes == {"read": 4.65e12, "triad": 4.4e12}
    provenance = measured.provenance
    assert provenance["gpu_uuid_sha256"] != H200.uuid
    assert (provenance["driver"], provenance["nvcc"], provenance["ecc"]) == ("580.1", "13.0.88", True)
    assert provenance["temperature_celsius"] == {"before": 30.0, "after": 45.0}
    level = provenance["levels"]["hbm"]
    assert level["mixes"]["triad"]["settings"] == {"block": 512}
    assert level["mixes"]["read"]["samples"] == 21
    assert level["factor"] == pytest.approx(0.9659, abs=1e-4)
    assert provenance["absent"] == {"fp4_tc": "none"}
    assert provenance["sweeps"] == {"block": {"read": [[128, 4.6e12]]}}


def test_plots_get_the_measured_ceilings() -> None:
    measured = results.to_measured(run(hbm(), issue()))
    roofline = measured_roofline(PROFILE, measured)
    bandwidth = roofline.bandwidth("hbm")
    assert bandwidth is not None
    assert bandwidth.bytes_per_second == 4.65e12
    assert roofline.basis == "measured"


def test_the_file_reads_back_as_it_was(tmp_path: Path) -> None:
    measured = results.to_measured(run(hbm(), issue(), Sweep("working set", {"past the L1": ((2e6, 9e12),)})))
    path = tmp_path / "h200.measured.yaml"
    store.write(path, measured)
    assert file_problems(path) == ()
    assert load_measured(path).model_dump() == measured.model_dump()
    assert path.read_text().startswith("# Measured ceilings, written by roofctl calibrate.")
    assert list(tmp_path.iterdir()) == [path]


# --- keeping results ---


@pytest.fixture
def found(tmp_path: Path) -> FoundProfile:
    profile = find_profile("h200")
    path = tmp_path / "profiles" / "h200.yaml"
    path.parent.mkdir()
    path.write_text(profile.path.read_text())
    return find_profile(path)


def measured_at(when: str, *outcomes: object, **circumstances: object) -> Measured:
    return results.to_measured(run(*outcomes, when=when, **circumstances))  # type: ignore[arg-type]


def test_result_goes_beside_a_profile_that_can_be_written(found: FoundProfile) -> None:
    assert store.target(found) == found.path.parent / "h200.measured.yaml"


def test_result_goes_to_the_users_folder_where_the_profile_is_read_only(
    found: FoundProfile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(store.os, "access", lambda *_: False)
    assert store.target(found) == tmp_path / "config" / "roofctl" / "profiles" / "h200.measured.yaml"


def test_users_own_result_is_replaced_where_lookups_find_it_first(
    found: FoundProfile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config" / "roofctl" / "profiles" / "h200.measured.yaml"
    store.write(own, measured_at("2026-01-01T00:00:00+00:00", hbm()))
    assert store.target(replace(found, layer="packaged")) == own


def test_earlier_results_are_kept_and_listed_newest_first(found: FoundProfile) -> None:
    path = store.target(found)
    for day in (1, 2, 3):
        store.write(path, measured_at(f"2026-01-0{day}T00:00:00+00:00", hbm(4.6e12 + day * 1e10)))
    current = find_measured(found)
    assert current is not None
    assert current.measured_at.startswith("2026-01-03")
    rows = store.history_rows(store.history(found))
    assert [row["measured_at"][:10] for row in rows] == ["2026-01-03", "2026-01-02", "2026-01-01"]
    assert rows[2]["ceilings"]["hbm"] == pytest.approx(4.61e12)
    json.dumps(rows)


def test_results_of_one_second_are_all_kept_the_newest_first(found: FoundProfile) -> None:
    path = store.target(found)
    for rate in (4.61e12, 4.62e12, 4.63e12):
        store.write(path, measured_at("2026-01-01T00:00:00+00:00", hbm(rate)))
    rows = store.history_rows(store.history(found))
    assert [row["ceilings"]["hbm"] for row in rows] == [4.63e12, 4.62e12, 4.61e12]


def test_the_datasheet_file_is_never_touched(found: FoundProfile) -> None:
    before = found.path.read_bytes()
    store.write(store.target(found), measured_at("2026-01-01T00:00:00+00:00", hbm()))
    assert found.path.read_bytes() == before


def test_a_failed_write_leaves_the_old_result(found: FoundProfile, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.target(found)
    store.write(path, measured_at("2026-01-01T00:00:00+00:00", hbm()))
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(Exception, match="No space left"):
        store.write(path, measured_at("2026-01-02T00:00:00+00:00", hbm()))
    assert path.read_bytes() == before


def test_changes_against_the_earlier_result() -> None:
    before = measured_at("2026-01-01T00:00:00+00:00", hbm(4.6e12))
    after = measured_at("2026-01-02T00:00:00+00:00", hbm(4.65e12), issue())
    by_name = {change.name: change for change in store.changes(before, after)}
    assert by_name["hbm"].relative == pytest.approx(0.01087, abs=1e-5)
    assert by_name["issue"].before is None
    assert by_name["issue"].relative is None


def test_levels_not_measured_again_are_kept_for_the_same_gpu_only() -> None:
    before = measured_at("2026-01-01T00:00:00+00:00", hbm(), issue(1.03e12))
    after = measured_at("2026-01-02T00:00:00+00:00", issue())
    together = store.merged(before, after)
    assert list(together.ceilings) == ["hbm", "issue"]
    assert together.ceilings["issue"].value == 1.04e12
    assert together.provenance["levels"]["hbm"]["measured_at"].startswith("2026-01-01")
    other = measured_at("2026-01-02T00:00:00+00:00", issue(), uuid="GPU-another")
    assert list(store.merged(before, other).ceilings) == ["issue"]


def test_a_quick_result_does_not_replace_a_full_one() -> None:
    full = measured_at("2026-01-01T00:00:00+00:00", hbm())
    quick = measured_at("2026-01-02T00:00:00+00:00", hbm(), quick=True)
    assert store.keeps_better(full, quick)
    assert not store.keeps_better(quick, full)
    assert not store.keeps_better(None, quick)
    assert not store.keeps_better(quick, quick)


def test_blocks_keep_the_best_rate() -> None:
    probes = [
        Probe({"block": 128, "vectors": 1}, 3.0),
        Probe({"block": 128, "vectors": 2}, 4.0),
        Probe({"stages": 4}, 9.0),
    ]
    assert _by_block(probes) == ((128, 4.0),)
