"""Times that bound a launch: hand-computed, each missing piece, and their sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from roofctl.quantities import catalogue
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.kernel_times import timings
from roofctl.roofline.model import Bandwidth, Peak, Roofline
from roofctl.roofline.time_based import Timing, sums, total

# 1e9 warp instructions per second; a transaction takes 0.1 ns at L1, 0.5 ns at L2, 1 ns at HBM.
BANDWIDTHS = (
    Bandwidth("l1", 32 * 1e10, "measured"),
    Bandwidth("l2", 32 * 2e9, "measured"),
    Bandwidth("hbm", 32 * 1e9, "measured"),
)
ROOF = Roofline("toy", Peak(1e9, "measured"), BANDWIDTHS)
FP32, FP64, BF16 = (
    Peak(rate, "measured", work=work) for rate, work in ((4e12, "fp32"), (2e12, "fp64"), (8e12, "bf16_tc"))
)
FLOPS = Roofline("toy", BF16, BANDWIDTHS, {"hbm": "?"}, "flop", (FP32, FP64))

TRAFFIC = {"l1_transactions": 60_000, "l2_transactions": 30_000, "hbm_transactions": 20_000}
COMPLETE = {"seconds": 50e-6, "issued_warp_instructions": 5_000, "thread_instructions": 128_000, **TRAFFIC}
NO_WORK = dict.fromkeys(("fp64_flops", "fp32_flops", "fp16_flops", "tensor_bf16_ops"), 0)


def kernel(values: Mapping[str, Any], *, launches: int = 1, **more: Any) -> Kernel:
    given: dict[str, Any] = {"caveats": {}, "missing": {}, "sources": ("a.csv",), **more}
    return Kernel(name="k(int)", short_name="k", launches=launches, grid=None, block=None, time_share=None,
                  values=values, spreads={}, **given)  # fmt: skip


def timing(values: Mapping[str, Any], roofline: Roofline = ROOF, launch: float | None = None, **more: Any) -> Timing:
    (found,) = timings([kernel(values, **more)], roofline, launch_seconds=launch)
    return found


def test_a_complete_kernel() -> None:
    found = timing(COMPLETE, launch=2e-6)
    assert found.compute_seconds == pytest.approx(5e-6)  # 5,000 / 1e9
    assert found.level_seconds == pytest.approx({"l1": 6e-6, "l2": 15e-6, "hbm": 20e-6})
    assert found.memory() == ("hbm", pytest.approx(20e-6))
    assert found.memory(("l1", "l2")) == ("l2", pytest.approx(15e-6))
    assert (found.bound_seconds, found.of_bound) == (pytest.approx(20e-6), pytest.approx(0.4))
    assert found.bounds == pytest.approx({"compute": 5e-6, "l1": 6e-6, "l2": 15e-6, "hbm": 20e-6, "launch": 2e-6})
    assert (found.compute_work, dict(found.missing), dict(found.caveats), found.too_fast) == ("issue", {}, {}, False)


@pytest.mark.parametrize(
    ("values", "launch", "seconds"),
    [
        ({"issued_warp_instructions": 25_000}, None, 25e-6),
        ({"l1_transactions": 300_000}, None, 30e-6),
        ({"l2_transactions": 50_000}, None, 25e-6),
        ({}, 2e-6, 20e-6),
        ({}, 21e-6, 21e-6),
    ],
)
def test_the_longest_time_binds(values: Mapping[str, Any], launch: float | None, seconds: float) -> None:
    assert timing({**COMPLETE, **values}, launch=launch).bound_seconds == pytest.approx(seconds)


def test_a_kernel_shorter_than_a_launch_is_launch_bound_and_not_too_fast() -> None:
    found = timing({**COMPLETE, "seconds": 24e-6}, launch=30e-6)
    assert (found.of_bound, found.too_fast) == (pytest.approx(1.25), False)
    assert timing({**COMPLETE, "seconds": 19e-6}, launch=30e-6).too_fast


def test_thread_instructions_are_used_as_a_lower_bound() -> None:
    found = timing({**COMPLETE, "issued_warp_instructions": None})
    assert found.compute_seconds == pytest.approx(4e-6)  # 128,000 / 32 / 1e9
    assert found.caveats["compute"].startswith("lower bound: from thread instructions / 32")


@pytest.mark.parametrize(
    ("gone", "name", "reason"),
    [
        (("issued_warp_instructions", "thread_instructions"), "compute", "no instruction count: not captured"),
        (("l2_transactions",), "l2", "no value for this kernel"),
        (("seconds",), "seconds", "the profiler printed none"),
    ],
)
def test_what_is_missing_stays_missing_with_its_reason(gone: tuple[str, ...], name: str, reason: str) -> None:
    why = {"issued_warp_instructions": "not captured", "seconds": "the profiler printed none"}
    found = timing({**COMPLETE, **dict.fromkeys(gone)}, missing=why)
    assert dict(found.missing) == {name: reason}
    assert {"compute": found.compute_seconds, "seconds": found.seconds, **found.level_seconds}.get(name) is None
    assert found.of_bound == (None if name == "seconds" else pytest.approx(0.4))


def test_a_time_of_0_is_no_time() -> None:
    found = timing({**COMPLETE, "seconds": 0})
    assert (found.seconds, found.of_bound, found.missing["seconds"]) == (None, None, "the time is 0")


def test_a_level_without_a_ceiling_has_no_time() -> None:
    bare = replace(ROOF, bandwidths=BANDWIDTHS[1:], absent={"l1": "L1 was not measured on this GPU"})
    found = timing(COMPLETE, bare)
    assert set(found.level_seconds) == {"l2", "hbm"}
    assert found.missing["l1"] == "no ceiling: L1 was not measured on this GPU"


def test_l1_that_was_passed_by_is_missing() -> None:
    (found,) = timings(
        [kernel({**COMPLETE, "l1_transactions": 10, "l2_transactions": 9_000_000})], ROOF, catalogue().chips["gh100"]
    )
    assert "l1" not in found.level_seconds
    assert found.missing["l1"].startswith("not counted: L2 got more")


def test_no_traffic_is_0_seconds_and_does_not_bind() -> None:
    nothing = dict.fromkeys(TRAFFIC, 0)
    assert timing({**COMPLETE, **nothing}).bound_seconds == pytest.approx(5e-6)
    found = timing({**COMPLETE, **nothing, "issued_warp_instructions": 0})
    assert (found.memory(), found.bound_seconds) == (("l1", 0.0), 0.0)


def test_what_is_not_exact_has_a_caveat() -> None:
    found = timing(COMPLETE, caveats={"l2_transactions": "an upper bound", "seconds": "with patched code"})
    assert dict(found.caveats) == {"l2": "upper bound of the traffic", "seconds": "with patched code"}


# --- the FLOP model -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operations", "seconds", "work"),
    [
        ({"fp32_flops": 40_000_000}, 10e-6, "fp32"),
        ({"fp32_flops": 40_000_000, "fp64_flops": 24_000_000}, 12e-6, "fp64"),  # side by side: not 22 µs
        ({"fp32_flops": 40_000_000, "tensor_bf16_ops": 160_000_000}, 20e-6, "bf16_tc"),
        ({}, 0.0, ""),
    ],
)
def test_the_slowest_type_of_operation(operations: Mapping[str, int], seconds: float, work: str) -> None:
    found = timing({**COMPLETE, **NO_WORK, **operations}, FLOPS)
    assert (found.compute_seconds, found.compute_work) == (pytest.approx(seconds), work)
    assert dict(found.caveats) == {}


def test_a_type_without_a_peak_is_named() -> None:
    found = timing({**COMPLETE, **NO_WORK, "fp32_flops": 40_000_000, "fp16_flops": 1}, FLOPS)
    assert found.compute_seconds == pytest.approx(10e-6)
    assert found.caveats["compute"] == "lower bound: no FP16 peak is known"
    alone = timing({**COMPLETE, **NO_WORK, "fp16_flops": 1}, FLOPS)
    assert (alone.compute_seconds, alone.missing["compute"]) == (None, "no FP16 peak is known")


def test_operations_that_were_not_counted_are_not_none() -> None:
    plain = dict.fromkeys(("fp64_flops", "fp32_flops", "fp16_flops"), 0)
    assert timing({**COMPLETE, **plain}, FLOPS).missing["compute"] == "tensor operations were not counted"
    found = timing({**COMPLETE, **plain, "fp32_flops": 40_000_000}, FLOPS)
    assert found.caveats["compute"] == "lower bound: tensor operations were not counted"
    tensor = timing({**COMPLETE, "tensor_bf16_ops": 8}, FLOPS)
    assert tensor.caveats["compute"] == "lower bound: floating-point operations were not counted"


def test_the_caveat_of_the_type_that_binds_is_kept() -> None:
    found = timing({**COMPLETE, **NO_WORK, "tensor_bf16_ops": 8}, FLOPS, caveats={"tensor_bf16_ops": "an estimate"})
    assert found.caveats["compute"] == "an estimate"


# --- several ---------------------------------------------------------------------------------------------------------------


def test_kernels_of_several_captures_are_told_apart() -> None:
    found = timings([kernel(COMPLETE, sources=("runs/a.csv",)), kernel(COMPLETE, sources=("runs/b.csv",))], ROOF)
    assert [each.note for each in found] == ["a.csv", "b.csv"]
    assert timing(COMPLETE).note == ""


def test_times_add_over_launches() -> None:
    two = timings(
        [kernel(COMPLETE, launches=3), kernel({**COMPLETE, "issued_warp_instructions": 30_000})],
        ROOF,
        launch_seconds=2e-6,
    )
    found = total(two)
    assert (found.kernels, found.launches, dict(found.lacking)) == (2, 4, {})
    assert found.seconds == pytest.approx(200e-6)
    assert found.compute_seconds == pytest.approx(3 * 5e-6 + 30e-6)
    assert found.memory_seconds == pytest.approx(80e-6)
    assert total(two, ("l1",)).memory_seconds == pytest.approx(24e-6)
    assert found.level_seconds == pytest.approx({"l1": 24e-6, "l2": 60e-6, "hbm": 80e-6})
    assert found.launch_seconds == pytest.approx(8e-6)
    assert found.bound_seconds == pytest.approx(3 * 20e-6 + 30e-6)
    assert found.of_bound == pytest.approx(0.45)
    assert sums(two) == (
        "2 kernels, 4 launches: 200.0 µs measured; bounds: 80.00 µs by memory, 45.00 µs by compute, 8.000 µs by launches"
    )


def test_a_sum_that_lacks_kernels_is_noted() -> None:
    two = timings([kernel(COMPLETE), kernel({**COMPLETE, "seconds": None, "l1_transactions": None})], ROOF)
    found = total(two)
    assert dict(found.lacking) == {"seconds": 1, "l1": 1, "launch": 2}
    assert (found.launch_seconds, found.of_bound) == (None, None)
    assert found.seconds == pytest.approx(50e-6)
    assert "50.00 µs measured (without 1 of 2 kernels)" in sums(two)
    assert sums(timings([kernel({})], ROOF)) == "1 kernel, 1 launch: no time measured; bounds: none known"
