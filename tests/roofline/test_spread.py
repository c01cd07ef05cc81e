"""The range over launches: only where every launch did the same work."""

from __future__ import annotations

from typing import Any

import pytest

from roofctl.roofline.analyse import analyse
from roofctl.roofline.model import KernelPoints, Spread

from support.shapes import FULL, ISSUED, L2, THREAD, TIME, L, ncu_raw, ncu_summary, parts
from support.tables import kernels as table_of


def points(*changes: dict[str, Any], summary: str = "") -> KernelPoints:
    launches = [L("k(int)", {**FULL, **change}, id=str(i)) for i, change in enumerate(changes)]
    text = summary or ncu_raw(launches)
    return analyse(table_of(parts(text), "kernel", "gh100"), None).points[0]


def test_the_slowest_and_the_fastest_launch() -> None:
    found = points({TIME: 50_000}, {TIME: 100_000}, {TIME: 200_000})
    work = 3_200_000 / 32
    assert found.rates == Spread(pytest.approx(work / 200e-6), pytest.approx(work / 50e-6))
    assert found.no_spread == ""


def test_launches_of_different_work_have_no_range() -> None:
    found = points({TIME: 50_000}, {TIME: 100_000, THREAD: 6_400_000, ISSUED: 220_000})
    assert found.rates is None
    assert found.no_spread == "the launches differ in their work; --group kernel+grid tells sizes apart"


def test_one_launch_has_no_range() -> None:
    assert points({}).no_spread == "one launch"
    assert points({}).rates is None


def test_intensities_spread_where_traffic_does() -> None:
    found = points({L2: 20_000}, {L2: 40_000})
    l2 = found.point("l2")
    assert l2 is not None
    assert l2.intensities == Spread(pytest.approx(100_000 / 40_000), pytest.approx(100_000 / 20_000))
    hbm = found.point("hbm")
    assert hbm is not None
    assert hbm.intensities == Spread(pytest.approx(5.0), pytest.approx(5.0))


def test_a_summary_without_ends_has_no_range() -> None:
    # The smallest time lies above the mean: the columns of this summary do not fit each other.
    text = ncu_summary([L("k(int)", {**FULL, TIME: ("100.00", "110.00", "90.00")})], 10)
    found = points(summary=text)
    assert found.rates is None
    assert found.no_spread == "no smallest and largest time"
