"""The container of a .ncu-rep: where results lie, and what makes a file not whole."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from roofctl.readers.ncurep import container
from roofctl.readers.ncurep.container import IncompleteReport, small_report

from support.report_files import HEAD, block, text, whole, write


def test_results_lie_where_the_index_says(tmp_path: Path) -> None:
    path = write(tmp_path, block([b"\x08\x01", b"\x08\x02"], 7, ["a", "b"]), block([b"\x08\x03"], 8, ["c"]))
    found = container.index(path)
    data = path.read_bytes()
    assert [(data[r.offset : r.offset + r.size], r.process) for r in found.results] == [
        (b"\x08\x01", "7"),
        (b"\x08\x02", "7"),
        (b"\x08\x03", "8"),
    ]
    assert found.texts == ["a", "b", "c"]
    assert found.head == HEAD


def test_the_version_is_that_of_the_session(tmp_path: Path) -> None:
    session = text(8, text(1, b"Nsight Compute Target") + text(2, b"2025.3.1.0 (build 36398880) (public-release)"))
    assert container.index(write(tmp_path, block([], session=session))).version == "2025.3.1"
    assert container.index(write(tmp_path, block([]))).version == ""


def test_every_cut_is_noticed_but_one_between_blocks(tmp_path: Path) -> None:
    blocks = [block([b"\x08\x01"], texts=["a"]), block([b"\x08\x02", b"\x08\x03"])]
    data = write(tmp_path, *blocks).read_bytes()
    between = {len(HEAD), len(HEAD) + len(blocks[0])}
    for end in range(4, len(data)):
        path = tmp_path / "cut.ncu-rep"
        path.write_bytes(data[:end])
        if end in between:
            container.index(path)
            continue
        with pytest.raises(IncompleteReport, match=r"cut|beyond"):
            container.index(path)


@pytest.mark.parametrize(
    "tail", [b"\xff\xff\xff\xff", struct.pack("<I", 3) + b"\x0b\x00\x00", struct.pack("<I", 2) + b"\x80\x80", b"x"]
)
def test_what_follows_and_is_no_block_is_noticed(tmp_path: Path, tail: bytes) -> None:
    with pytest.raises(IncompleteReport):
        container.index(write(tmp_path, block([b"\x08\x01"]), tail))


def test_a_result_larger_than_its_block_is_noticed(tmp_path: Path) -> None:
    header = whole(2, 1) + whole(5, 6)
    bad = struct.pack("<I", len(header)) + header + struct.pack("<I", 50) + b"\x08\x01"
    with pytest.raises(IncompleteReport, match="a result"):
        container.index(write(tmp_path, bad))


@pytest.mark.parametrize("claimed", [3, 10_000_000, 1 << 62])
def test_more_results_than_a_block_has_room_for_are_noticed(tmp_path: Path, claimed: int) -> None:
    header = whole(2, claimed) + whole(5, 12)
    bad = struct.pack("<I", len(header)) + header + bytes(12)
    with pytest.raises(IncompleteReport, match=f"claims {claimed:,} results in 12 bytes"):
        container.index(write(tmp_path, bad))


def test_an_empty_result_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(IncompleteReport, match="is empty"):
        container.index(write(tmp_path, block([b"\x08\x01\x08\x01\x08\x01", b""])))


def test_a_small_report_is_a_report(tmp_path: Path) -> None:
    path = tmp_path / "small.ncu-rep"
    session = block([], session=b"\x08\x01")[4:]
    path.write_bytes(small_report(HEAD, [session], ["a", "bé"], [b"\x08\x07\x10\x01", b"\x08\x01"]))
    found = container.index(path)
    assert (found.texts, len(found.results), found.sessions) == (["a", "bé"], 2, [session])
    data = path.read_bytes()
    assert data[found.results[0].offset :][: found.results[0].size] == b"\x08\x07\x10\x01"
