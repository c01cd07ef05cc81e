"""Details pages whose lines repeat each other, differ, are lost or doubled: the same as the plain reader gives."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofctl.quantities import catalogue
from roofctl.readers.read import read_file

from fuzz.mutation import compared, mutated
from support.shapes import CLOCK, DRAM_R, L2, LSU, THREAD, TIME, L, ncu_details

IDENTITY = ("Process ID", "Kernel Name", "Block Size", "Grid Size", "CC")
COUNTERS = {TIME: 5_000, THREAD: 1_234_567, LSU: "12.50", DRAM_R: 0, "device__attribute_display_name": "H200"}
BLOCK = 1_500
"""Bytes; a details page is read in three times as much: here some six launches."""


def launches(count: int, **more: str) -> list[L]:
    names = ("k0<int, 0>(float *)", 'k1(char *, "a, b")', "a_longer_name_of_a_kernel<1, 2, 3>(int, int)")
    return [L(names[i % 3], {**COUNTERS, LSU: 400 + i * i}, id=str(i), grid=f"({i % 4}, 1, 1)", **more) for i in range(count)]  # fmt: skip


PAGE = ncu_details(launches(40))


def way(tmp_path: Path, content: str | bytes, block_bytes: int = BLOCK) -> str:
    path = tmp_path / "x.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return compared(path, block_bytes)


def test_blocks_that_end_within_a_launch_are_known(tmp_path: Path) -> None:
    assert way(tmp_path, PAGE) == "same"


def test_counters_differ_from_kernel_to_kernel(tmp_path: Path) -> None:
    some = [L(f"k{i % 2}(int)", dict(list(COUNTERS.items())[: 5 - i % 2]), id=str(i)) for i in range(60)]
    assert way(tmp_path, ncu_details(some)) == "same"


def test_new_counters_from_some_launch_on(tmp_path: Path) -> None:
    more = [L("k(int)", {**COUNTERS, L2: 7, CLOCK: "1,700,000,000.50"}, id=str(i)) for i in range(40, 80)]
    assert way(tmp_path, ncu_details(launches(40) + more)) == "same"


def test_a_shape_that_changes_with_the_same_number_of_lines(tmp_path: Path) -> None:
    other = [L("k(int)", {**dict(list(COUNTERS.items())[:4]), L2: 7}, id=str(i)) for i in range(40, 80)]
    assert way(tmp_path, ncu_details(launches(40) + other)) == "same"


def test_long_names_of_kernels(tmp_path: Path) -> None:
    some = [L("k" * (300 + i % 2) + f"<{i % 3}>(int)", COUNTERS, id=str(i)) for i in range(60)]
    assert way(tmp_path, ncu_details(some), 6_000) == "same"


def test_names_longer_than_is_compared_are_split(tmp_path: Path) -> None:
    some = [L("k" * 5_000 + f"{i % 3}(int)", COUNTERS, id=str(i)) for i in range(20)]
    assert way(tmp_path, ncu_details(some), 60_000) == "same"


def test_what_never_repeats_is_soon_no_longer_compared(tmp_path: Path) -> None:
    draw = random.Random(1)  # noqa: S311 - reproducible, not secret
    some = [L("k(int)", dict(draw.sample(sorted(COUNTERS.items(), key=str), 5)), id=str(i)) for i in range(100)]
    assert way(tmp_path, ncu_details(some)) == "same"


ROW = PAGE.split("\n")[100]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"python', '"pythom'),
        ('"127.0.0.1"', '"127.0.0.2"'),
        ("Command line", "Command lime"),
        ('"100"', '"101"'),
        ('"100"', '"1x0"'),
        ('"app"', '"a""p"'),
        ('"app"', "app"),
        ('"app"', '"ap"p'),
        ('"app"', '"app","app"'),
        ('"9.0"', '"9.0",""'),
        ("gpu__time", "gpu_time"),
        ('"ns"', '"us"'),
        ('"ns"', ""),
        ('"5000"', '"50""00"'),
        ('"5000"', '"5000","7"'),
        ('"5000"', "5000"),
        ('"5000"', '"50"00"'),
        ('"5000"', '"n/a"'),
        ('"5000"', '""'),
        ('"5000"', '" 5000"'),
        ('"5000"', '"5\0"'),
        ('"5000"', '"5,000.5"'),
        ('"5000"', '"five"'),
        ('"5000"', '"5000"\r'),
        ("(float *)", "(double *)"),
    ],
)
def test_one_line_that_differs_is_read_as_it_stands(old: str, new: str, tmp_path: Path) -> None:
    lines = PAGE.split("\n")
    for row in (85, 90, 104):
        damaged = [*lines[:row], lines[row].replace(old, new), *lines[row + 1 :]]
        assert way(tmp_path, "\n".join(damaged)) in ("same", "error")


@pytest.mark.parametrize("times", [1, 2, 7])
@pytest.mark.parametrize("row", [50, 101, 102])
def test_lines_lost_doubled_and_moved(row: int, times: int, tmp_path: Path) -> None:
    lines = PAGE.split("\n")
    for damaged in (
        lines[:row] + lines[row + times :],
        lines[:row] + lines[row + 1 : row + 1 + times] + [lines[row]] + lines[row + 1 + times :],
        [*lines[:row], "==PROF== Disconnected", "hello", *lines[row:]],
    ):
        assert way(tmp_path, "\n".join(damaged)) == "same"
    # Cells that do not count may have decided the mark.
    doubled = "\n".join(lines[:row] + lines[row : row + times] * 2 + lines[row + times :])
    assert way(tmp_path, doubled) in ("same", "error")


@pytest.mark.parametrize(
    ("old", "new"), [('"7","100"', '"007","100"'), ('"7","100"', '"1,007","100"'), ('"7","100"', '"6","100"')]
)
def test_ids_are_texts(old: str, new: str, tmp_path: Path) -> None:
    assert way(tmp_path, PAGE.replace(old, new)) == "same"


@pytest.mark.parametrize("damaged", ['20"2', '20"', '20"x', '20"0"', '0"20'])
def test_an_id_with_quotes_in_it_is_none(damaged: str, tmp_path: Path) -> None:
    some = [L("k(int)", COUNTERS, id=damaged if i == 20 else str(i)) for i in range(40)]
    assert way(tmp_path, ncu_details(some)) == "same"


@pytest.mark.parametrize("odd", [{DRAM_R: "012.345"}, {CLOCK: ".5"}])
def test_cells_that_do_not_count_do_not_decide_the_mark(odd: dict[str, str], tmp_path: Path) -> None:
    some = [L("k(int)", {TIME: "5", THREAD: "7", LSU: "9", **odd}, id=str(i)) for i in range(40)]
    again = ncu_details([L("k(int)", {TIME: "1,5"}, id="3")]).partition("\n")[2]
    assert way(tmp_path, ncu_details(some) + again) == "same"
    rows = ncu_details(some).splitlines()
    for row in range(90, 106):  # also where a block ends between the two
        text = "\n".join([*rows[:row], rows[row].rpartition(",")[0] + ',"1,5"', *rows[row:]])
        assert way(tmp_path, text) in ("same", "error")


def test_a_counter_in_two_sections_counts_once_wherever_blocks_end(tmp_path: Path) -> None:
    rows = ncu_details(launches(40)).splitlines()
    doubled = [rows[0], *(line for start in range(1, 201, 5) for line in (*rows[start : start + 5], rows[start]))]
    for block_bytes in (700, BLOCK, BLOCK + 130):
        assert way(tmp_path, "\n".join(doubled) + "\n", block_bytes) == "same"


def test_a_launch_that_comes_again_keeps_its_first_values(tmp_path: Path) -> None:
    again = [L(each.kernel, {TIME: 9_999, L2: 3}, id=each.id, grid=each.grid) for each in launches(40)]
    text = ncu_details(launches(40)) + ncu_details(again).partition("\n")[2]
    assert way(tmp_path, text) == "same"
    for decimal in ("point", None):
        (part,) = read_file(tmp_path / "x.csv", decimal=decimal)
        assert len(part.frame) == 40
        assert set(part.frame[TIME]) == {5e-6}
        assert set(part.frame[L2]) == {3}


def test_what_gpus_are_called_is_kept_by_launch(tmp_path: Path) -> None:
    names = [L("k(int)", {**COUNTERS, "device__attribute_display_name": f"GPU {i % 2}"}, id=str(i)) for i in range(60)]
    assert way(tmp_path, ncu_details(names)) == "same"
    (part,) = read_file(tmp_path / "x.csv")
    assert part.frame["device"].tolist() == ["GPU 0", "GPU 1"] * 30


def test_processes_without_a_counter_in_common_are_two_captures(tmp_path: Path) -> None:
    two = [L("k(int)", {TIME: 1, LSU: 2, THREAD: 3, DRAM_R: 4}, id=str(i), process="8") for i in range(40)]
    two += [L("k(int)", {TIME: 1, L2: 2}, id=str(i), process="9") for i in range(40)]
    assert way(tmp_path, ncu_details(two)) == "same"
    assert [len(part.frame) for part in read_file(tmp_path / "x.csv")] == [40, 40]


def test_units_that_change_between_launches(tmp_path: Path) -> None:
    page = ncu_details(launches(20), units={TIME: "us"}) + ncu_details(launches(40)).partition("\n")[2]
    lines = page.split("\n")
    page = "\n".join(lines[:101] + lines[201:])
    assert way(tmp_path, page) == "same"
    (part,) = read_file(tmp_path / "x.csv")
    assert part.frame[TIME].tolist() == [5e-3] * 20 + [5e-6] * 20


def test_a_page_in_the_order_of_its_counters(tmp_path: Path) -> None:
    counted = [name for name in sorted(catalogue().counters()) if name.startswith("smsp__")]
    counters = dict.fromkeys(counted[:12], 5)
    assert len(counters) == 12
    header, *rows = ncu_details([L("k(int)", counters, id=str(i)) for i in range(100)]).splitlines()
    for order in (rows, sorted(rows, key=lambda row: row.split('","')[12])):
        path = tmp_path / "x.csv"
        path.write_text("\n".join([header, *order]) + "\n", encoding="utf-8")
        assert compared(path) == "same"
        assert len(read_file(path)[0].frame) == 100


@pytest.mark.parametrize(
    ("column", "outcome"),
    [("Section Name", "same"), ("Metric Unit", "error"), ("CC", "same"), ("Grid Size", "same")],
)
def test_pages_that_lack_a_column(column: str, outcome: str, tmp_path: Path) -> None:
    rows = list(csv.reader(PAGE.splitlines()))
    place = rows[0].index(column)
    text = "".join(
        '"' + '","'.join(c.replace('"', '""') for c in row[:place] + row[place + 1 :]) + '"\n' for row in rows
    )
    assert way(tmp_path, text) == outcome


@settings(max_examples=100, derandomize=True, deadline=None, database=None)
@given(seed=st.integers(0, 2**32), block_bytes=st.integers(400, 3_000))
def test_any_damage_gives_the_same_compared(
    seed: int, block_bytes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    draw = random.Random(seed)  # noqa: S311 - reproducible, not secret
    content = mutated(PAGE.encode(), draw, draw.randint(1, 3))
    assert way(tmp_path_factory.mktemp("damage"), content, block_bytes)
