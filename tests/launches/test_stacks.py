"""Captures that are alike, together: what each alone would give, to the last digit, in far fewer steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from roofctl.core.errors import InputError
from roofctl.launches import aggregate as grouping
from roofctl.launches import stacks
from roofctl.launches.aggregate import Group, capture_members, group_captures
from roofctl.launches.evaluate import Part, complete, evaluate
from roofctl.launches.stacks import captures_of
from roofctl.readers.read import read_text
from roofctl.roofline.analyse import analyse

from support.shapes import FULL, ISSUED, PATCHED, THREAD, TIME, L, ncu_raw

GROUPS: tuple[Group, ...] = ("kernel", "kernel+grid", "launch")


def rank(number: int, **more: Any) -> Part:
    """Three launches of two kernels, all with values of their own."""
    launches = [
        L("a(int)", {**FULL, TIME: 100_000 + number, THREAD: 3_200_001 + 7 * number}, id="0"),
        L("b<1>(int)", {**FULL, TIME: 70_000 - number, **more}, id="1", grid="(9, 1, 1)"),
        L("a(int)", {**FULL, TIME: 50_000 + 3 * number}, id="2", grid="(32, 1, 1)"),
    ]
    (part,) = read_text(ncu_raw(launches).encode(), f"rank{number}.csv")
    return part


def both(parts: Sequence[Part], group: Group) -> tuple[str, str]:
    """JSON of the rows and notes: stacked, and one by one."""
    ways = captures_of(parts, "gh100", group), group_captures([evaluate(part, "gh100") for part in parts], group)
    made = [analyse(kernels, None) for kernels in ways]
    first, second = (json.dumps([each.rows, [note.text for note in each.notes]]) for each in made)
    return first, second


@pytest.fixture
def stacked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the stacks that were made."""
    sizes: list[int] = []
    real = stacks.group_stack

    def noted(part: Any, capture: Any, sources: Sequence[str], group: Group) -> Any:
        sizes.append(len(sources))
        return real(part, capture, sources, group)

    monkeypatch.setattr(stacks, "group_stack", noted)
    return sizes


@pytest.mark.parametrize("group", GROUPS)
def test_the_same_as_one_by_one(group: Group, stacked: list[int]) -> None:
    one, two = both([rank(number) for number in range(20)], group)
    assert one == two
    assert stacked == [20]


def test_a_few_are_not_stacked(stacked: list[int]) -> None:
    one, two = both([rank(number) for number in range(5)], "kernel")
    assert one == two
    assert stacked == []


def test_other_captures_in_between_keep_their_places(stacked: list[int]) -> None:
    parts = [rank(number, **({"l1tex__x.sum": 5} if number in (3, 11) else {})) for number in range(20)]
    one, two = both(parts, "kernel")
    assert one == two
    assert stacked == [18]


def test_missing_values_are_for_the_long_way(stacked: list[int]) -> None:
    parts = [rank(number, **{ISSUED: "n/a"}) if number % 2 else rank(number) for number in range(20)]
    one, two = both(parts, "kernel")
    assert one == two
    assert stacked == [10]


def test_files_that_complete_each_other_are_for_the_long_way(stacked: list[int]) -> None:
    (timing,) = read_text(ncu_raw([L("a(int)", {TIME: 5})]).encode(), "timing.csv")
    one, two = both([*(rank(number) for number in range(20)), timing], "kernel")
    assert one == two
    assert stacked == []


def test_sums_that_floats_cannot_hold_are_for_the_long_way(stacked: list[int]) -> None:
    parts = [rank(number, **{THREAD: 2**58 + number}) for number in range(10)]
    one, two = both(parts, "kernel")
    assert one == two
    assert stacked == []
    assert str(2**58 + 3) in one


def test_patched_counters_and_their_caveats(stacked: list[int]) -> None:
    one, two = both([rank(number, **{PATCHED: 3}) for number in range(10)], "kernel")
    assert one == two


def test_a_summary_asked_for_launches_is_refused_as_before() -> None:
    parts = [rank(number) for number in range(10)]
    frame = parts[0].frame.assign(is_summary=True)
    parts = [Part(frame, part.source, part.names) for part in parts]
    with pytest.raises(InputError, match="is a summary"):
        captures_of(parts, "gh100", "launch")


def test_a_thousand_files_are_no_million_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    real = grouping._conflict

    def counted(one: Any, two: Any) -> bool:
        nonlocal calls
        calls += 1
        return real(one, two)

    monkeypatch.setattr(grouping, "_conflict", counted)
    evaluated = evaluate(rank(0), "gh100")
    (timing,) = read_text(ncu_raw([L("a(int)", {TIME: 5})]).encode(), "timing.csv")
    members = capture_members([evaluated] * 1000 + [evaluate(timing, "gh100")] * 3)
    assert [len(each) for each in members] == [2, 2, 2, *[1] * 997]
    assert calls <= 9


def test_completing_a_thousand_files_looks_at_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    real = stacks.Part

    def rows(frame: Any) -> Any:
        nonlocal calls
        calls += 1
        return original(frame)

    from roofctl.launches import evaluate as counts

    original = counts._rows
    monkeypatch.setattr(counts, "_rows", rows)
    (work,) = read_text(ncu_raw([L("a(int)", {ISSUED: 5})]).encode(), "work.csv")
    assert len(complete([real(work.frame, f"{n}.csv", work.names) for n in range(500)])) == 500
    assert calls == 500
