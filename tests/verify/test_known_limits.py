"""Kernels that are each limited by one thing: the judgement names it in all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roofctl.study.analyse import AnalysisRequest, analyse_inputs
from roofctl.verify.known_limits import KNOWN_LIMITS, cells, check_limits, document, ncu_rules, ncu_rules_measured

CAPTURE = Path(__file__).parent.parent / "data" / "captures-h200" / "limits"
SOURCE = Path(__file__).parent.parent.parent / "kernels" / "limits" / "limits.cu"


@pytest.fixture(scope="module")
def checks():
    return check_limits(analyse_inputs(AnalysisRequest(inputs=(CAPTURE,))).results.explained)


def test_the_table_has_every_kernel_of_the_program():
    assert {*re.findall(r"^LIMIT (\w+)\(", SOURCE.read_text(encoding="utf-8"), re.MULTILINE)} == KNOWN_LIMITS.keys()


@pytest.mark.parametrize("name", KNOWN_LIMITS)
def test_the_limit_of_each_kernel_is_named_on_an_h200(name, checks):
    (check,) = [each for each in checks if each.kernel == name]
    assert check.agrees, check.sentence


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("limit_latency_occupancy", "occupancy 3% of 3% possible, held down by shared memory"),
        ("limit_latency_dependence", "of the stalls wait for global, local or texture memory"),
        ("limit_barrier", "of the stalls wait for other warps at a barrier"),
        ("limit_host_memory", "limited by the link to host memory: 80% of its ceiling"),
        ("limit_grid", "33 blocks for 132 multiprocessors"),
        ("limit_tail", "tail: 1.06 waves, multiprocessors idle"),
        ("limit_launch", "where launching alone takes"),
        ("limit_texture", "the texture pipe: its queue is full"),
        ("limit_one_address_atomics", "atomics on few addresses wait for each other"),
        ("limit_fp64", "at its ceiling, only less of this work is faster"),
    ],
)
def test_the_sentence_says_what_the_counters_show(name, words, checks):
    (check,) = [each for each in checks if each.kernel == name]
    assert words in check.sentence


def test_rows_and_document(checks):
    assert len(cells(checks)) == len(document(checks)) == len(KNOWN_LIMITS)
    assert {row[4] for row in cells(checks)} == {"yes"}
    assert document(checks)[0]["kernel"] == "limit_issue"


def test_ncus_rules_stand_beside_every_kernel(checks):
    assert ncu_rules().keys() == KNOWN_LIMITS.keys()
    assert ncu_rules_measured() == "NVIDIA H200, ncu 2025.3.1"
    by_name = {row[0]: row[-1] for row in cells(checks)}
    assert by_name["limit_divergence"] == "ThreadDivergence 87 %, AchievedOccupancy 30 %"
    assert by_name["limit_alu"] == "–"
