"""The one judgement: which resource, or which lack of work, limits a kernel, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from roofctl.roofline.kernel import Kernel
from roofctl.roofline.limit_words import sentence
from roofctl.roofline.limits import KernelLimit, limit_of
from roofctl.roofline.machine import Machine
from roofctl.roofline.model import Bandwidth, Clock, Peak, Roofline
from roofctl.roofline.traffic import Traffic

SECONDS = 1e-4
SM = Clock(1e9, "sm")
ROOF = Roofline(
    "toy",
    Peak(400e9, "theoretical", SM),
    (
        Bandwidth("l1", 32e12, "theoretical", SM),
        Bandwidth("l2", 8e12, "theoretical"),
        Bandwidth("hbm", 4e12, "theoretical"),
    ),
)
MACHINE = Machine(ROOF, launch_seconds=1e-6, sm_count=100, links={"system": 5e10, "peer": 4e11})
PIPES = ("alu_pipe", "fma_pipe", "fp64_pipe", "xu_pipe", "lsu_pipe", "tensor_pipe")
IDLE: Mapping[str, float] = {
    "seconds": SECONDS,
    "counted_seconds": SECONDS,
    "seconds_total": 4 * SECONDS,
    "sm_clock_hz": 1e9,
    "issued_warp_instructions": 1e6,
    "issue_active": 0.05,
    "l1_data_stage": 0.05,
    "l1_data_wavefronts": 1e5,
    "shared_wavefronts": 0.0,
    "l1_transactions": 1e6,
    "l2_transactions": 1e6,
    "hbm_transactions": 1e6,
    "waves_per_sm": 4.0,
    **dict.fromkeys(PIPES, 0.05),
}
"""A kernel of which everything was counted and nothing is busy."""


def kernel_of(values: Mapping[str, Any], *, grid: str = "(400, 1, 1)") -> Kernel:
    return Kernel(
        name="k",
        short_name="k",
        launches=4,
        grid=grid,
        block="(128, 1, 1)",
        sources=("a.csv",),
        time_share=1.0,
        values={**IDLE, **values},
        caveats={},
        missing={},
        spreads={},
    )


def limit(values: Mapping[str, Any], *, grid: str = "(400, 1, 1)", machine: Machine | None = MACHINE) -> KernelLimit:
    kernel = kernel_of(values, grid=grid)
    traffic = {level: Traffic(level, kernel[f"{level}_transactions"]) for level in ("l1", "l2", "hbm")}
    return limit_of(kernel, traffic, machine)


@pytest.mark.parametrize(
    ("values", "name", "use"),
    [
        ({"hbm_transactions": 0.8 * 4e12 * SECONDS / 32}, "hbm", 0.8),
        ({"l2_transactions": 0.7 * 8e12 * SECONDS / 32}, "l2", 0.7),
        ({"l1_data_stage": 0.9}, "l1", 0.9),
        ({"l1_data_stage": 0.9, "shared_wavefronts": 0.9e5}, "shared", 0.81),
        ({"l1_data_stage": 0.9, "shared_atomic_wavefronts": 1e5}, "shared", 0.9),
        ({"issue_active": 0.92}, "issue", 0.92),
        ({"fp64_pipe": 0.99, "issue_active": 0.5}, "fp64", 0.99),
        # A full pipe keeps the issue slots nearly as busy: the pipe says more.
        ({"alu_pipe": 0.97, "issue_active": 0.99}, "alu", 0.97),
        ({"fma_pipe": 0.4, "fmaheavy_pipe": 0.8}, "fma", 0.8),
        ({"tensor_pipe": 0.65}, "tensor", 0.65),
        ({"xu_pipe": 0.7}, "xu", 0.7),
        # Shuffles keep the data stage busy without traffic.
        ({"lsu_pipe": 0.95, "l1_data_stage": 0.95, "l1_transactions": 1e3}, "lsu", 0.95),
        ({"system_sectors": 0.9 * 5e10 * SECONDS / 32}, "system", 0.9),
        ({"peer_sectors": 0.9 * 4e11 * SECONDS / 32}, "peer", 0.9),
        ({"atomic_unit": 0.8, "atomic_units": 0.7}, "atomics", 0.8),
        ({"atomic_unit": 0.8, "atomic_units": 0.01}, "serialised", 0.8),
        ({"atomic_unit": 0.33}, "serialised", 0.33),
        ({"waves_per_sm": 1.1, "sm_active": 0.6}, "tail", 0.08),
        ({}, "latency", 0.08),
    ],
)
def test_each_limit(values: Mapping[str, Any], name: str, use: float) -> None:
    found = limit(values)
    assert (found.name, found.use) == (name, pytest.approx(use))
    assert found.counted
    assert found.headroom_seconds == pytest.approx(4 * SECONDS * (1 - (found.largest or 0)))


def test_too_few_blocks() -> None:
    assert limit({"waves_per_sm": 0.2}, grid="(50, 1, 1)").name == "grid"
    assert limit({"waves_per_sm": 0.2}, grid="(95, 1, 1)").name == "latency"  # 5 % of the multiprocessors are idle


def test_a_launch_that_takes_little_longer_than_launching() -> None:
    short = dict.fromkeys(("seconds", "counted_seconds", "seconds_total"), 2e-06)
    found = limit({**short, "hbm_transactions": 10.0, "l2_transactions": 10.0})
    assert found.name == "launch"
    assert found.fraction("launch") == 0.5
    assert found.factor == 2  # launching alone takes half of the time


def test_uses_are_at_the_clock_of_the_launches() -> None:
    """An L1 of bytes per clock delivers half at half the clock; DRAM does not depend on it."""
    values = {"sm_clock_hz": 0.5e9, "l1_data_stage": None, "l1_data_wavefronts": 16e12 * SECONDS / 128}
    found = limit(values)
    assert found.fraction("l1") == pytest.approx(1.0)
    assert found.fraction("hbm") == pytest.approx(1e6 * 32 / SECONDS / 4e12)


def test_without_pipes_latency_and_issue_are_not_known() -> None:
    unknown = limit(dict.fromkeys(PIPES))
    assert (unknown.name, unknown.counted, unknown.factor) == (None, False, None)
    assert unknown.unknown == "a pipe could bind"
    assert limit({**dict.fromkeys(PIPES), "issue_active": 0.7}).name is None
    assert limit({**dict.fromkeys(PIPES), "issue_active": 0.9}).name == "issue"
    assert limit({**dict.fromkeys(PIPES), "hbm_transactions": 0.8 * 4e12 * SECONDS / 32}).name == "hbm"


def test_a_level_that_was_not_counted_is_named() -> None:
    found = limit({"l2_transactions": None})
    assert (found.name, found.unknown) == (None, "L2 could bind")
    no_ceiling = Machine(Roofline("toy", ROOF.peak, (ROOF.bandwidths[0], ROOF.bandwidths[2])), sm_count=100)
    assert limit({}, machine=no_ceiling).unknown == "L2 (its ceiling is not known) could bind"


def test_traffic_that_passed_l1_s_counters_by_does_not_lack_a_ceiling() -> None:
    kernel = kernel_of(dict.fromkeys(("l1_data_stage", "l1_data_wavefronts", "shared_wavefronts")))
    traffic = {level: Traffic(level, kernel[f"{level}_transactions"]) for level in ("l2", "hbm")}
    found = limit_of(kernel, {**traffic, "l1": Traffic("l1", None)}, MACHINE)
    assert found.unknown == "L1 could bind"


def test_nothing_is_known_without_a_time() -> None:
    found = limit({"seconds": None, "counted_seconds": None, "seconds_total": None})
    assert (found.name, found.use, dict(found.uses), found.headroom_seconds) == (None, None, {}, None)
    assert found.unknown == "no time was captured"


def test_above_a_ceiling_what_is_left_is_not_known() -> None:
    found = limit({"hbm_transactions": 1.5 * 4e12 * SECONDS / 32})
    assert (found.name, found.use, found.headroom_seconds) == ("hbm", pytest.approx(1.5), None)
    assert "above it" in sentence(found, kernel_of({}))


def test_the_factor_stops_at_ten() -> None:
    assert sentence(limit({"fp64_pipe": 0.65}), kernel_of({})).endswith(
        "at most 1.54 times faster, 140.0 µs of the run"
    )
    assert sentence(limit({}), kernel_of({})) == "latency: far from every limit, the busiest resource is HBM at 8%"
    assert sentence(limit({"fp64_pipe": 0.2}), kernel_of({})) == "latency: the busiest resource is FP64 pipe at 20%"


def test_stalls_are_shares_of_what_was_waited_for() -> None:
    found = limit({"stall_long_scoreboard": 3.0, "stall_wait": 1.0, "stall_selected": 9.0})
    assert dict(found.stalls) == {"long_scoreboard": 0.75, "wait": 0.25}
    assert "75% of the stalls wait for global, local or texture memory" in sentence(found, kernel_of({}))


def test_a_full_queue_of_a_unit_names_it_below_its_ceiling() -> None:
    texture = limit({"stall_tex_throttle": 3.0, "stall_wait": 1.0, "tex_pipe": 0.15})
    assert texture.name == "tex"
    half = limit({"stall_math_pipe_throttle": 3.0, "stall_wait": 1.0, "fma_pipe": 0.5})
    assert half.name == "fma"
