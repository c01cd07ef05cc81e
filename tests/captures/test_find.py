"""Folders and patterns: what they hold, in which order, and which rank a name gives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roofctl.captures.find import inside, is_pattern, matching, ranks
from roofctl.core.errors import InputError

from support.folders import forbid


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def names(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in inside(folder)]


def test_files_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    touch(tmp_path, "rank10.csv", "rank9.csv", "rank2/a.csv", "rank11.ncu-rep", "b.csv.gz")
    assert names(tmp_path) == ["b.csv.gz", "rank2/a.csv", "rank9.csv", "rank10.csv", "rank11.ncu-rep"]


def test_a_capture_is_one_and_its_files_are_not_looked_at(tmp_path: Path) -> None:
    touch(tmp_path, "b/capture.json", "b/capture.csv", "b/deep/c.csv", "a/capture.json", "x.csv")
    assert names(tmp_path) == ["a", "b", "x.csv"]


def test_what_is_hidden_or_something_else_is_passed_over(tmp_path: Path) -> None:
    touch(tmp_path, ".new.partial/capture.json", ".x.csv", "README.md", "ncu.log", "picture.png", "x.csv")
    assert names(tmp_path) == ["x.csv"]


def test_a_log_counts_where_nothing_else_is(tmp_path: Path) -> None:
    assert names(touch(tmp_path, "out.2.log", "out.1.txt", "a.png")) == ["out.1.txt", "out.2.log"]


def test_a_report_beside_its_table_would_count_double(tmp_path: Path) -> None:
    assert names(touch(tmp_path, "a.ncu-rep", "a.csv", "b.ncu-rep", "b.csv.zst", "c.ncu-rep", "a.ncu-rep.gz")) == [
        "a.csv",
        "b.csv.zst",
        "c.ncu-rep",
    ]


def test_tables_and_reports_of_any_name_that_is_read_by_itself(tmp_path: Path) -> None:
    expected = ["a.csv.cycle.0", "a.csv.cycle.1", "b.csv.nsight", "c.nsight-cuprof-report", "d.ncu-repz"]
    touch(tmp_path, *expected, "b.ncu-repz", "e.csv.bak")
    assert names(tmp_path) == expected


def test_names_that_say_nothing_are_looked_into(tmp_path: Path) -> None:
    kinds = {"a.out": "table", "b": "report", "c.csv.bak": "table", "d.md": ""}
    touch(tmp_path, *kinds, "e.log", "b.csv")
    found = inside(tmp_path, kind_of=lambda path: kinds[path.name])
    assert [path.name for path in found] == ["a.out", "b.csv", "c.csv.bak"]


def test_a_folder_without_any_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither captures nor profiler files") as caught:
        inside(touch(tmp_path, "notes.md"))
    assert caught.value.hint


def test_patterns(tmp_path: Path) -> None:
    touch(tmp_path, "r/x10.csv", "r/x9.csv", "r/y.csv", "odd[1].csv")
    assert matching(Path("r/x*.csv"), tmp_path) == [Path("r/x9.csv"), Path("r/x10.csv")]
    assert matching(tmp_path / "**" / "y.csv", Path("/")) == [tmp_path / "r" / "y.csv"]
    assert is_pattern(tmp_path / "r" / "*.csv")
    assert not is_pattern(tmp_path / "odd[1].csv")
    assert not is_pattern(tmp_path / "gone.csv")
    with pytest.raises(InputError, match=r"nothing matches z\*\.csv"):
        matching(Path("z*.csv"), tmp_path)


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank3.csv", 3),
        ("app-rank_003.ncu-rep", 3),
        ("out.RANK=12.csv", 12),
        ("app_r003.csv", None),
        ("v100_r470.csv", None),
        ("rank1/out.0.csv", 1),
        ("rank4/capture", 4),
        ("r4/capture", None),
        ("driver-r535x.csv", None),
        ("frank3.csv", None),
        ("rank1-of-rank2.csv", None),
        ("app.3.csv", None),
        ("h200.csv", None),
        ("ranks.csv", None),
    ],
)
def test_the_rank_that_a_name_gives(name: str, rank: int | None) -> None:
    assert ranks([Path("/data") / name]) == [rank]


def test_plain_numbers_are_ranks_where_none_is_missing() -> None:
    assert ranks([Path(f"out.{n}.csv") for n in (2, 0, 1)]) == [2, 0, 1]
    assert ranks([Path(f"out.{n}.csv") for n in (20858, 20859)]) == [None, None]
    assert ranks([Path(f"out.{n}.csv") for n in (0, 2)]) == [None, None]
    assert ranks([Path(f"v1.{n}.csv") for n in (0, 1)]) == [None, None]
    assert ranks([Path("a.0.csv"), Path("b.0.csv"), Path("b.1.csv")]) == [None, 0, 1]


def test_a_rank_in_words_comes_before_a_number() -> None:
    names = ["rank0/out.0.csv", "rank0/out.1.csv", "rank1/out.0.csv"]
    assert ranks([Path(name) for name in names]) == [0, 0, 1]
    assert ranks([Path(f"rank3.{n}.csv") for n in (0, 1)]) == [3, 3]


def test_short_ranks_where_none_is_missing() -> None:
    assert ranks([Path(f"app_r{n:03}.csv") for n in (2, 0, 1)]) == [2, 0, 1]
    assert ranks([Path(f"app.r{n}.ncu-rep") for n in (0, 1)]) == [0, 1]
    assert ranks([Path("v100_r470.csv"), Path("v100_r535.csv")]) == [None, None]
    assert ranks([Path("a_r0.csv"), Path("b_r1.csv")]) == [None, None]


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    touch(tmp_path, "elsewhere/deep/y.csv", "runs/a/x.csv", "elsewhere/mine/capture.json")
    runs = tmp_path / "runs"
    (runs / "a" / "loop").symlink_to(runs)
    (runs / "again").symlink_to(runs / "a")
    (runs / "outside").symlink_to(tmp_path / "elsewhere")
    (runs / "latest").symlink_to(runs / "outside" / "mine")
    assert names(runs) == ["a/x.csv", "latest", "outside/deep/y.csv"]


def test_a_link_beside_its_file_would_count_double(tmp_path: Path) -> None:
    touch(tmp_path, "run1.csv", "elsewhere.csv", "runs/run2.csv")
    (tmp_path / "runs" / "latest.csv").symlink_to(tmp_path / "runs" / "run2.csv")
    (tmp_path / "runs" / "other.csv").symlink_to(tmp_path / "elsewhere.csv")
    assert names(tmp_path / "runs") == ["other.csv", "run2.csv"]


def test_pipes_in_a_folder_are_passed_over(tmp_path: Path) -> None:
    touch(tmp_path, "x.csv")
    for name in ("p.csv", "p.ncu-rep"):
        os.mkfifo(tmp_path / name)
    assert names(tmp_path) == ["x.csv"]


def test_a_folder_that_cannot_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "a/x.csv", "b/y.csv")
    forbid(monkeypatch, tmp_path / "b")
    errors: list[OSError] = []
    assert inside(tmp_path, errors.append) == [tmp_path / "a" / "x.csv"]
    assert [error.filename for error in errors] == [str(tmp_path / "b")]
    with pytest.raises(InputError, match=f"{tmp_path / 'b'} cannot be read: Permission denied"):
        inside(tmp_path / "b")
