"""Facts that captures give beside those of profiles: our captures confirm every one that both have."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.core.errors import InputError
from roofctl.study.derivation import derivation, profile_from

from support.own import ATTRIBUTES, L2_CLOCK, PEAKS, capture

CORPUS = Path(__file__).parent.parent.parent.parent.parent / "shared" / "corpus"


def test_a_capture_of_an_h200_gives_what_the_profile_states(data: Path) -> None:
    rows = derivation((data / "captures-h200" / "limits",))
    stated = {row.fact: row for row in rows if row.stated is not None}
    assert {
        "SMs",
        "SM clock",
        "L1 B/clk/SM",
        "L2 B/clk",
        "DRAM B/s",
        "FP32 per clk/SM",
        "BF16 tensor per clk/SM",
    } <= set(stated)
    assert {name: row.difference for name, row in stated.items() if abs(row.difference or 0) > 0.02} == {}
    assert {row.source for row in rows} == {"report", "driver"}


def test_a_gpu_without_a_profile_is_listed_alone(tmp_path: Path) -> None:
    rows = {row.fact: row for row in derivation((capture(tmp_path, ATTRIBUTES, PEAKS, L2_CLOCK),))}
    assert (rows["L2 B/clk"].value, rows["L2 B/clk"].profile, rows["L2 B/clk"].difference) == (2048, None, None)
    assert "INT32 per clk/SM" not in rows  # by the compute capability, not by the capture


def test_a_profile_from_a_capture(tmp_path: Path) -> None:
    profile = profile_from((capture(tmp_path, ATTRIBUTES, PEAKS, L2_CLOCK),), "toy")
    assert profile.nvml_names.value == ("NVIDIA Toy",)
    bases = {name: (fact.basis, fact.source) for name, fact in profile.facts() if fact.value is not None}
    assert bases["sm_count"] == ("driver", "attributes")
    assert bases["l2.bytes_per_clock"] == ("derived", "report")
    assert bases["flops_per_clock_per_sm.int32"] == ("vendor", "capability")


def test_a_capture_that_says_too_little_gives_no_profile(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it lacks the number of multiprocessors"):
        profile_from((capture(tmp_path),), "toy")
