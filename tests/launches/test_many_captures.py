"""Many captures in one table: each gives what it would give alone, to the last digit, and costs the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import pytest

from roofctl.core.errors import InputError
from roofctl.launches import join
from roofctl.launches.aggregate import Group, aggregate
from roofctl.launches.evaluate import launch_table
from roofctl.launches.join import captures_of, complete
from roofctl.launches.table import IDENTITY, Part
from roofctl.output.rows import rows
from roofctl.quantities import catalogue
from roofctl.readers.read import read_text
from roofctl.roofline.analyse import analyse

from support.shapes import DRAM_R, DRAM_W, FULL, ISSUED, PATCHED, THREAD, TIME, L, ncu_raw, parts
from support.tables import kernels

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


def of_each(parts: Sequence[Part], group: Group, *, together: bool) -> list[str]:
    """Rows and notes of each capture as JSON, from one table of all or from a table each."""
    tables = [kernels(parts, group)] if together else [kernels([part], group) for part in parts]
    found: dict[str, list[Any]] = {}
    for table in tables:
        analysis = analyse(table, None)
        for row in rows(analysis):
            found.setdefault(row["source"], []).append({k: v for k, v in row.items() if k != "short_name"})
        for capture in table.captures:
            found[", ".join(capture.sources)].append([note.text for note in capture.notes])
    return [json.dumps(found[source]) for source in sorted(found)]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(
    "more",
    [
        lambda _: {},
        lambda number: {"l1tex__x.sum": 5} if number in (1, 4) else {},
        lambda number: {ISSUED: "n/a"} if number % 2 else {},
        lambda _: {PATCHED: 3},
        lambda number: {THREAD: 2**45 + number},
    ],
    ids=["alike", "a counter more", "missing values", "patched", "large"],
)
def test_each_capture_gives_what_it_gives_alone(group: Group, more: Callable[[int], dict[str, Any]]) -> None:
    parts = [rank(number, **more(number)) for number in range(6)]
    assert of_each(parts, group, together=True) == of_each(parts, group, together=False)


def test_sums_that_floats_cannot_hold_stay_exact() -> None:
    parts = [rank(number, **{THREAD: 2**58 + number}) for number in range(10)]
    found = [kernel["thread_instructions"] for kernel in analyse(kernels(parts), None).kernels if "b<1>" in kernel.name]
    assert sorted(found) == [2**58 + number for number in range(10)]


def test_captures_keep_the_order_of_the_inputs() -> None:
    parts = [rank(number, **({"l1tex__x.sum": 5} if number in (3, 11) else {})) for number in range(6)]
    table = kernels(parts)
    assert [capture.sources for capture in table.captures] == [(f"rank{number}.csv",) for number in range(6)]
    assert table.frame["capture"].is_monotonic_increasing


def test_files_that_complete_each_other_among_others() -> None:
    (timing,) = read_text(ncu_raw([L("a(int)", {TIME: 5})]).encode(), "timing.csv")
    table = kernels([*(rank(number) for number in range(3)), timing])
    assert [capture.sources for capture in table.captures] == [
        ("rank0.csv", "timing.csv"),
        ("rank1.csv",),
        ("rank2.csv",),
    ]
    assert table.frame["capture"].tolist() == [0, 0, 1, 1, 2, 2]
    assert len(table.caveats) == 6


def test_a_summary_asked_for_launches_is_refused() -> None:
    parts = [rank(number) for number in range(10)]
    frame = parts[0].frame.assign(is_summary=True)
    parts = [Part(frame, part.source, part.names) for part in parts]
    with pytest.raises(InputError, match="is a summary"):
        kernels(parts, "launch")


def test_the_columns_of_the_launch_table() -> None:
    parts = [rank(0), rank(1)]
    table = launch_table(parts, "gh100")
    known = [name for name in table.frame.columns if name in catalogue().quantities]
    assert set(table.frame.columns) == {*IDENTITY, "launches", "is_summary", "part", "capture", *known}
    assert known == [name for name in catalogue().quantities if name in known]
    assert table.frame["capture"].tolist() == table.frame["part"].tolist() == [0, 0, 0, 1, 1, 1]
    assert table.captures == ((0,), (1,))
    assert [part.source for part in table.parts] == ["rank0.csv", "rank1.csv"]
    assert {str(table.frame[name].dtype) for name in known} <= {"Int64", "Float64"}


def test_one_capture_as_a_table_of_its_own() -> None:
    (timing,) = read_text(ncu_raw([L("a(int)", {TIME: 5})]).encode(), "timing.csv")
    table = launch_table([rank(0), rank(1), timing], "gh100")
    own = table.of_capture(0)
    assert own.captures == ((0, 1),)
    assert [part.source for part in own.parts] == ["rank0.csv", "timing.csv"]
    assert own.frame["part"].tolist() == [0, 0, 0, 1]
    assert aggregate(own, "kernel").frame["kernel"].tolist() == ["a(int)", "b<1>(int)"]


def test_what_the_launches_of_a_kernel_have_in_common() -> None:
    grids = ["x", "y", "x", None, "z", None, None, "w"]
    names = ["a", "b", "a", "b", "c", "c", "d", "c"]
    part = rank(0)
    frame = pd.concat([part.frame.iloc[[0]]] * len(names), ignore_index=True).assign(kernel=names, grid=grids)
    found = kernels([Part(frame, part.source, part.names)]).frame
    assert found["kernel"].tolist() == ["a", "b", "c", "d"]
    assert found["grid"].dropna().to_dict() == {0: "x", 1: "y"}


def test_more_groups_than_a_byte_counts() -> None:
    launches = [L(f"k{number % 300}(int)", {**FULL, TIME: 1000 + number}, id=str(number)) for number in range(600)]
    (part,) = read_text(ncu_raw(launches).encode(), "a.csv")
    found = kernels([part]).frame
    assert found["kernel"].tolist() == [f"k{number}(int)" for number in range(300)]
    assert found["seconds_total"].tolist() == pytest.approx([(2300 + 2 * number) * 1e-9 for number in range(300)])


def test_a_thousand_files_are_no_million_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    real = join._conflict

    def counted(one: Any, two: Any) -> bool:
        nonlocal calls
        calls += 1
        return real(one, two)

    monkeypatch.setattr(join, "_conflict", counted)
    (timing,) = read_text(ncu_raw([L("a(int)", {TIME: 5})]).encode(), "timing.csv")
    one, two = launch_table([rank(0), timing], "gh100").parts
    assert [len(each) for each in captures_of([one] * 1000 + [two] * 3)] == [2, 2, 2, *[1] * 997]
    assert calls <= 9


def test_completing_many_files_looks_at_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    original = join._launches

    def counted(frame: Any) -> Any:
        nonlocal calls
        calls += 1
        return original(frame)

    monkeypatch.setattr(join, "_launches", counted)
    (work,) = read_text(ncu_raw([L("a(int)", {ISSUED: 5})]).encode(), "work.csv")
    assert len(complete([Part(work.frame, f"{n}.csv", work.names) for n in range(500)])) == 500
    assert calls == 500


def test_launches_without_any_known_counter() -> None:
    part = rank(0)
    frame = part.frame[[*IDENTITY, "launches", "is_summary"]]
    table = kernels([Part(frame, part.source, frozenset())])
    assert table.frame[["kernel", "launches"]].to_numpy().tolist() == [["a(int)", 2], ["b<1>(int)", 1]]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_times_far_apart_are_named_and_do_not_depend_on_the_order(order: tuple[int, int]) -> None:
    one = parts(ncu_raw([L("k(int)", {TIME: 1000, DRAM_R: 5, DRAM_W: 5})]), source="a.csv")
    two = parts(ncu_raw([L("k(int)", {TIME: 1500, ISSUED: 10})]), source="b.csv")
    both = [*one, *two]
    table = aggregate(launch_table([both[i] for i in order], "gh100"), "kernel")
    assert len(table.captures) == 1
    assert table.frame["seconds"].iloc[0] == pytest.approx(1e-6)
    assert any("took 1.5 times as long" in note.text for note in table.captures[0].notes)
