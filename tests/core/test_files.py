"""Atomic writes: a file is complete, or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.core.files import atomic_path


def test_a_file_takes_its_place_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / ("long" * 60 + ".txt")
    path.write_text("before")
    with atomic_path(path) as temporary:
        temporary.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def stopped_halfway(path: Path, stop: type[BaseException]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text("half")
        raise stop


@pytest.mark.parametrize("stop", [OSError, KeyboardInterrupt])
def test_what_stops_halfway_changes_nothing(stop: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(stop):
        stopped_halfway(path, stop)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
