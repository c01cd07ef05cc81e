"""The model: ceilings, ridges, bounds, and results where something is not known."""

from __future__ import annotations

import pytest

from roofctl.roofline.model import Bandwidth, Clock, KernelPoints, Peak, Point, Roofline, assess

SM = Clock(1e9, "sm")
ROOF = Roofline(
    "toy",
    Peak(400e9, "theoretical", SM),
    (
        Bandwidth("l1", 32 * 400e9, "theoretical", SM),
        Bandwidth("l2", 32 * 200e9, "theoretical", Clock(0.9e9, "l2")),
        Bandwidth("hbm", 32 * 50e9, "theoretical", Clock(3e9, "memory")),
    ),
)


def kernel(**intensities: float) -> KernelPoints:
    return KernelPoints("k", "k", tuple(Point(level, 1, x, 10e9) for level, x in intensities.items()))


@pytest.mark.parametrize(("level", "ridge"), [("l1", 1.0), ("l2", 2.0), ("hbm", 8.0)])
def test_ridge_is_peak_over_bandwidth(level: str, ridge: float) -> None:
    assert ROOF.ridge(level) == ridge


@pytest.mark.parametrize(("intensity", "attainable"), [(0.1, 5e9), (8.0, 400e9), (100.0, 400e9)])
def test_attainable_is_the_lower_of_peak_and_slope(intensity: float, attainable: float) -> None:
    assert ROOF.attainable("hbm", intensity) == pytest.approx(attainable)


def test_an_unknown_level_is_none_not_zero() -> None:
    assert ROOF.bandwidth("sysmem") is None
    assert ROOF.ridge("sysmem") is None
    assert ROOF.attainable("sysmem", 1.0) is None
    assert assess(Point("sysmem", 1, 1.0, 1.0), ROOF) is None


def test_another_sm_clock_scales_only_what_follows_it() -> None:
    half = ROOF.at_clock(Clock(0.5e9, "sm", "as captured"))
    assert half.peak.per_second == 200e9
    assert [b.bytes_per_second for b in half.bandwidths] == [32 * 200e9, 32 * 200e9, 32 * 50e9]
    assert half.peak.clock == Clock(0.5e9, "sm", "as captured")


def test_a_ceiling_without_a_clock_is_not_scaled() -> None:
    peak = Peak(1e9, "measured")
    assert peak.at_clock(SM) is peak


@pytest.mark.parametrize(
    ("intensity", "rate", "bound", "fraction", "words"),
    [
        (1.0, 25e9, "memory", 0.5, "50% of the HBM roof; 2x headroom"),
        (8.0, 400e9, "compute", 1.0, "100% of the instruction peak; 1x headroom"),
        (16.0, 100e9, "compute", 0.25, "25% of the instruction peak; 4x headroom"),
        (1.0, 51e9, "memory", 1.02, "102% of the HBM roof; 0.98x headroom"),
        (1.0, 0.0, "memory", 0.0, "0 % of the HBM roof"),
    ],
)
def test_assess(intensity: float, rate: float, bound: str, fraction: float, words: str) -> None:
    assessment = assess(Point("hbm", 1, intensity, rate), ROOF)
    assert assessment is not None
    assert (assessment.bound, assessment.verdict) == (bound, words)
    assert assessment.fraction == pytest.approx(fraction)
    assert not assessment.above_roof


def test_a_point_above_the_roof_says_so() -> None:
    assessment = assess(Point("hbm", 1, 1.0, 60e9), ROOF)
    assert assessment is not None
    assert assessment.above_roof
    assert "120% of the HBM roof: above it" in assessment.verdict


def test_point_by_level() -> None:
    found = kernel(l2=3.0).point("l2")
    assert found is not None
    assert found.intensity == 3.0
    assert kernel(l2=3.0).point("hbm") is None


def test_transactions_are_sectors() -> None:
    assert Bandwidth("hbm", 320.0, "measured").transactions_per_second == 10.0
