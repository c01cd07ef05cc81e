"""The GPU in the inputs: its name, size, and the clock that ceilings are drawn at."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from roofctl.core.errors import InputError
from roofctl.roofline.model import Clock
from roofctl.study.device import Device, captured_clock, describe_device, one_device

from support.shapes import CLOCK, FULL, TIME, L, ncu_raw, ncu_summary, nvprof_metrics, parts
from support.tables import kernels as table_of

FACTS = {
    "device__attribute_display_name": "NVIDIA Toy",
    "device__attribute_max_gpu_frequency_khz": "2,000,000",
    "launch__sm_count": 132,
}


def test_a_raw_page_holds_all_facts() -> None:
    assert describe_device(parts(ncu_raw([L("k(int)", {**FULL, **FACTS})]))) == Device(
        ("NVIDIA Toy",), ("9.0",), 132, 2e9
    )


def test_files_that_hold_fewer_facts() -> None:
    assert describe_device(parts(nvprof_metrics({"inst_executed": 1}))) == Device(("Tesla V100S-PCIE-32GB",))
    assert describe_device(parts(ncu_summary([L("k(int)")], old=True))) == Device()
    clock_rate = {"device__attribute_clock_rate": "1,500,000", TIME: "1,234,567"}
    assert describe_device(parts(ncu_raw([L("k(int)", clock_rate)]))).max_sm_clock_hz == 1.5e9


def test_several_parts_are_put_together() -> None:
    read = [*parts(ncu_raw([L("k(int)")])), *parts(ncu_raw([L("k(int)", {**FULL, **FACTS})]))]
    assert describe_device(read) == Device(("NVIDIA Toy",), ("9.0",), 132, 2e9)


@pytest.mark.parametrize(
    ("device", "words"),
    [
        (Device(("A", "B")), "different GPUs: A, B"),
        (Device(("A",), ("8.0", "9.0")), "different compute capabilities: 8.0, 9.0"),
    ],
)
def test_two_gpus_are_refused(device: Device, words: str) -> None:
    with pytest.raises(InputError, match=words):
        one_device(device)


def test_one_gpu_or_none_is_fine() -> None:
    one_device(Device(("A",), ("9.0",)))
    one_device(Device())


def clock_of(launches: Sequence[tuple[int, int]], max_hz: float | None = 2e9) -> tuple[Clock | None, str]:
    """The clock of launches given as (nanoseconds, hertz), each of its own kernel."""
    rows = [L(f"k{i}(int)", {**FULL, TIME: ns, CLOCK: hz}, id=str(i)) for i, (ns, hz) in enumerate(launches)]
    kernels = table_of(parts(ncu_raw(rows)), "kernel", "gh100")
    clock, note = captured_clock(kernels.frame, max_hz)
    return clock, note.text if note else ""


@pytest.mark.parametrize(
    ("launches", "max_hz", "clock", "words"),
    [
        # the median over launches of at least 40 µs; shorter ones do not count
        ([(50_000, 1_500_000_000), (60_000, 1_520_000_000), (40_000, 1_510_000_000)], 2e9, (1.51e9, "as captured"), ""),
        ([(50_000, 1_500_000_000), (39_999, 1_900_000_000)], 2e9, (1.5e9, "as captured"), ""),
        # never above what the device can do
        ([(50_000, 2_030_000_000)], 2e9, (2e9, "as captured"), ""),
        ([(50_000, 2_030_000_000)], None, (2.03e9, "as captured"), ""),
        # only short launches: the maximum, with a note
        ([(7_000, 1_760_000_000)], 2e9, (2e9, "device maximum"), "every launch is shorter than 40 µs"),
        ([(7_000, 1_760_000_000)], None, None, ""),
        # clocks that differ get a warning
        ([(50_000, 1_500_000_000), (50_000, 1_600_000_000)], 2e9, (1.55e9, "as captured"), "differ by 7%"),
        ([(50_000, 1_500_000_000), (50_000, 1_570_000_000)], 2e9, (1.535e9, "as captured"), ""),
    ],
)
def test_captured_clock(
    launches: list[tuple[int, int]], max_hz: float | None, clock: tuple[float, str] | None, words: str
) -> None:
    found, note = clock_of(launches, max_hz)
    assert (found and (pytest.approx(found.hz), found.origin)) == clock
    assert found is None or found.domain == "sm"
    assert words in note
    assert bool(note) == bool(words)


def test_the_median_of_a_kernels_launches_counts_not_their_mean() -> None:
    rows = [
        L("k(int)", {**FULL, CLOCK: hz}, id=str(i))
        for i, hz in enumerate((1_500_000_000, 1_500_000_000, 1_900_000_000))
    ]
    kernels = table_of(parts(ncu_raw(rows)), "kernel", "gh100")
    clock, _ = captured_clock(kernels.frame, None)
    assert clock is not None
    assert clock.hz == 1.5e9


def test_a_summary_has_only_its_mean() -> None:
    text = ncu_summary([L("k(int)", {**FULL, CLOCK: "1,400,000,000.00"})], 10)
    kernels = table_of(parts(text), "kernel", "gh100")
    assert captured_clock(kernels.frame, 2e9)[0] == Clock(1.4e9, "sm", "as captured")


def test_no_clock_is_none() -> None:
    kernels = table_of(parts(ncu_raw([L("k(int)", {TIME: 100_000})])), "kernel", "gh100")
    assert captured_clock(kernels.frame, 2e9) == (None, None)
