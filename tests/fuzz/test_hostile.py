"""Input that somebody made to do harm, or that came out damaged: one clear sentence, no traceback, no endless work."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from roofctl.cli.main import cli, main
from roofctl.core.errors import InputError
from roofctl.readers import streams, text
from roofctl.readers.read import read_file

from fuzz.mutation import damaged_report, mutated, reports, seeds, survive
from support.shapes import FULL, LSU, L, ncu_details, ncu_raw

SEEDS = seeds()
MANY = ncu_raw([L("k(int)", {**FULL, LSU: 40_000 + i}, id=str(i)) for i in range(300)])


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        read_file(path)
    assert str(path) in caught.value.message
    assert caught.value.hint
    return caught.value


def packed(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(
        gzip.compress(content) if name.endswith("gz") else pa.compress(content, codec="zstd", asbytes=True)
    )
    return path


@settings(max_examples=80, derandomize=True, deadline=None, database=None)
@given(content=st.sampled_from(SEEDS), seed=st.integers(0, 10**9), times=st.integers(1, 6))
def test_damaged_copies_of_every_file_of_ours(
    content: bytes, seed: int, times: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.csv"
    path.write_bytes(mutated(content, random.Random(seed), times))  # noqa: S311
    assert survive(path) in ("read", "refused")


def test_the_harness_damages_reports_behind_their_begin() -> None:
    (content, *_) = reports()
    made = [damaged_report(content, random.Random(seed)) for seed in range(20)]  # noqa: S311
    assert all(each.startswith(b"NVR\0") for each in made)
    assert len({*made, content}) > 18


def test_the_harness_packs_both_ways() -> None:
    made = [mutated(SEEDS[0], random.Random(seed), 1)[:4] for seed in range(400)]  # noqa: S311
    assert {magic for magic in streams.MAGICS if any(each.startswith(magic) for each in made)} == {*streams.MAGICS}


def test_the_harness_sees_a_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(MANY)

    def fault(*_: object, **__: object) -> None:
        raise KeyError

    monkeypatch.setattr("fuzz.mutation.read_file", fault)
    with pytest.raises(KeyError):
        survive(path)


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_packed_files_are_read_directly(suffix: str, tmp_path: Path) -> None:
    (part,) = read_file(packed(tmp_path, f"a.csv.{suffix}", MANY.encode()))
    assert part.frame[LSU].tolist() == [40_000 + i for i in range(300)]


def test_what_is_written_behind_an_unfinished_line_meanwhile_is_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"bb")
    blocks = streams.blocks(path)
    assert next(blocks) == b"bb\n"
    with path.open("ab") as file:
        file.write(b",ccc\n")
    assert list(blocks) == []


def test_a_shape_of_thousands_of_digits_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(ncu_raw([L("k(int)", FULL, grid=f"({'1' * 6000}, 1, 1)")]), encoding="utf-8")
    assert survive(path) == "read"
    assert read_file(path)[0].frame["grid"].isna().all()


def test_several_members_of_one_packed_file_are_one_text(tmp_path: Path) -> None:
    half = len(MANY) // 2
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(MANY[:half].encode()) + gzip.compress(MANY[half:].encode()))
    assert len(read_file(path)[0].frame) == 300


@pytest.mark.parametrize("suffix", ["gz", "zst"])
@pytest.mark.parametrize("lost", [1, 9, 100, 400])
def test_a_cut_packed_file_is_refused(suffix: str, lost: int, tmp_path: Path) -> None:
    path = packed(tmp_path, f"a.csv.{suffix}", MANY.encode())
    path.write_bytes(path.read_bytes()[:-lost])
    assert "is compressed but damaged or cut off" in refusal(path).message


@pytest.mark.parametrize(("suffix", "head"), [("gz", ""), ("zst", ""), ("zst", MANY)])
def test_a_bomb_of_lines_is_refused(suffix: str, head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BOMB_BYTES", 256 << 10)
    bomb = head.encode() + b"0\n" * 600_000
    error = refusal(packed(tmp_path, f"a.csv.{suffix}", bomb))
    assert "unpacks to more than 400 times its size" in error.message


def test_what_packs_well_is_no_bomb_while_it_is_small(tmp_path: Path) -> None:
    rows = ncu_raw([L("k(int)", FULL, id=str(i)) for i in range(3_000)])
    path = packed(tmp_path, "a.csv.zst", rows.encode())
    assert len(rows) > 40 * path.stat().st_size
    assert len(read_file(path)[0].frame) == 3_000


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.zst"])
def test_a_line_of_100_mb_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    content = b'"0",' * 25_000_000
    path.write_bytes(content) if name == "a.csv" else packed(tmp_path, name, content)
    error = refusal(path)
    assert "holds a line of more than 32 MiB" in error.message or "times its size" in error.message


def test_more_lines_than_can_be_meant_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MOST_LINES", 1_000)
    path = tmp_path / "a.log"
    path.write_text("no table\n" * 2_000)
    assert "must be read line by line" in refusal(path).message


def test_a_long_log_takes_no_memory_to_speak_of(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text('step 17 of many, residual 1.0e-9, "ok"\n' * 300_000)
    program = (
        "import resource, sys, pathlib\nfrom roofctl.core.errors import InputError\nfrom roofctl.readers.read import read_file\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10\nbefore = peak()\n"
        "try:\n    read_file(pathlib.Path(sys.argv[1]))\nexcept InputError as error:\n    print(peak() - before)\n"
    )
    child = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert int(child.stdout) < 60


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
@pytest.mark.parametrize("table", [MANY, ncu_details([L("k(int)")])])
def test_text_as_powershell_and_others_write_it(encoding: str, table: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(table.replace("k(int)", "kärnel(int)").replace("\n", "\r\n").encode(encoding))
    (part,) = read_file(path)
    assert set(part.frame["kernel"]) == {"kärnel(int)"}


def test_a_file_of_two_encodings_is_read_as_far_as_it_is_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("caf\xe9 ø\n".encode("latin-1") + MANY.replace("k(int)", "k\u2122(int)").encode())
    assert set(read_file(path)[0].frame["kernel"]) == {"k\u2122(int)"}


def test_utf16_behind_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"hello from the application\n" + MANY.encode("utf-16"))
    assert "is UTF-8 text to which UTF-16 was appended" in refusal(path).message


def test_a_header_that_names_a_counter_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(ncu_raw([L("k(int)", {LSU: 5, "x__y.sum": 7})]).replace("x__y.sum", LSU))
    assert read_file(path)[0].frame[LSU].tolist() == [7]


def test_columns_that_drift_are_reported_by_their_lines(tmp_path: Path) -> None:
    lines = MANY.splitlines()
    lines[100:110] = [line.rpartition(",")[0] for line in lines[100:110]]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    (part,) = read_file(path)
    assert len(part.frame) == 290
    assert any(
        "10 rows do not fit the header of line 1" in note.text and "line 101, 102" in note.text for note in part.notes
    )


HOSTILE = "k\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\x7f(int)"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text(ncu_raw([L(HOSTILE), L("calm(int)", id="1")]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--names", "full"],
        ["--format", "md", "--names", "full"],
        ["--kernel", "nothing"],
        ["-v"],
        ["--times", "--names", "full", "--profile", "h200"],
    ],
)
def test_no_control_character_of_a_name_reaches_a_terminal(
    hostile: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report", str(hostile), *options])
    shown = "".join(capsys.readouterr())
    assert "calm" in shown
    assert not {*shown} & {*"\x1b\x07\x9b\u202e\x7f"}
    assert "\\x1b[2J" in shown


def test_json_keeps_the_full_name_in_its_own_escapes(hostile: Path) -> None:
    result = CliRunner().invoke(cli, ["report", str(hostile), "--format", "json"])
    assert not {*result.stdout} & {*"\x1b\x07\x9b\u202e\x7f"}
    assert HOSTILE in [row["kernel"] for row in json.loads(result.stdout)["kernels"]]


def test_csv_keeps_the_full_name(hostile: Path) -> None:
    result = CliRunner().invoke(cli, ["report", str(hostile), "--format", "csv"])
    assert HOSTILE in result.stdout


def test_the_message_about_a_path_does_not_steer_either(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "\x1bno.csv")]) == 2
    assert "\\x1bno.csv: no such file" in capsys.readouterr().err


def test_a_large_file_takes_no_more_than_its_share_of_memory(tmp_path: Path) -> None:
    """By the block: 60 MB of a raw page must not need 60 MB more than a small one."""
    rows = ncu_raw(
        [L("k(int)", FULL, id=str(i)) for i in range(2)], extra={f"x__{i}.sum": "1,234,567" for i in range(400)}
    )
    header, units, row, *_ = rows.splitlines()
    path = tmp_path / "a.csv"
    with path.open("w") as file:
        file.write(f"{header}\n{units}\n")
        file.writelines(row.replace('"0"', f'"{number}"', 1) + "\n" for number in range(12_000))
    assert path.stat().st_size > 50e6
    program = (
        "import resource, sys, pathlib\nfrom roofctl.readers.read import read_file\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10\nbefore = peak()\n"
        "read_file(pathlib.Path(sys.argv[1]))\nprint(peak() - before)\n"
    )
    child = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert int(child.stdout) < 60


def test_a_nul_near_the_begin_does_not_make_text_binary(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"x\0y from the application\n" + MANY.replace("k(int)", "k\0(int)", 1).encode())
    assert len(read_file(path)[0].frame) == 300


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 30, b"\0" * 5000])
def test_what_is_no_text_stays_binary(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    assert "is a binary file" in refusal(path).message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("table", [MANY, MANY * 2])
def test_utf16_that_ends_within_a_character_is_named_as_cut(encoding: str, table: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(table.encode(encoding)[:-1])
    assert "text that ends within a character: it is cut" in refusal(path).message


@pytest.mark.parametrize("head", ["\ufeff\ufeff", "from the application\n\ufeff"])
@pytest.mark.parametrize("table", [MANY, ncu_details([L("k(int)")])])
def test_a_byte_order_mark_before_the_header(head: str, table: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(head + table, encoding="utf-8")
    assert set(read_file(path)[0].frame["kernel"]) == {"k(int)"}


@pytest.mark.parametrize("suffix", ["gz", "zst"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(MANY.encode()), "is compressed twice"),
        (pa.compress(MANY.encode(), codec="zstd", asbytes=True), "is compressed twice"),
        (b"SQLite format 3\0" + bytes(900), "holds an SQLite database, compressed"),
    ],
)
def test_what_is_packed_and_no_text_is_named(suffix: str, content: bytes, message: str, tmp_path: Path) -> None:
    path = packed(tmp_path, f"a b.{suffix}", content)
    error = refusal(path)
    assert message in error.message
    command = error.hint.partition(": ")[2]
    if shutil.which(command.split()[0]):
        subprocess.run(command, shell=True, check=True, cwd=tmp_path)  # noqa: S602 - what the hint says
        assert (tmp_path / "a b").read_bytes() == content


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_bomb_of_short_lines_is_refused_early(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MOST_LINES", 6_000_000)
    error = refusal(packed(tmp_path, f"a.csv.{suffix}", b"0\n" * 8_000_000))
    assert "unpacks to more than 400 times its size" in error.message


def test_a_table_that_packs_well_is_no_bomb_beyond_the_lower_limit(tmp_path: Path) -> None:
    row = line_of(0)
    content = MANY + row * (streams.FRUITLESS_BYTES // len(row) + 1)
    path = packed(tmp_path, "a.csv.zst", content.encode())
    assert len(content) > streams.BOMB_RATIO * path.stat().st_size
    assert len(read_file(path)[0].frame) > 10_000


def line_of(number: int) -> str:
    return MANY.splitlines()[2 + number] + "\n"


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_disk_that_fails_is_reported_with_the_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(MANY.encode()) if name.endswith("gz") else MANY.encode())

    class Failing(io.FileIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() or size != 4:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size)

        readinto = None

    monkeypatch.setattr(streams, "open_file", Failing)
    assert "cannot be read: [Errno 5] Input/output error" in refusal(path).message


def test_a_name_that_is_too_long_is_reported_with_the_path(tmp_path: Path) -> None:
    assert "cannot be read: File name too long" in refusal(tmp_path / ("x" * 300 + ".csv")).message


def test_a_folder_without_rights_is_reported_with_the_path(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "a.csv").write_text(MANY)
    folder.chmod(0)
    try:
        if os.access(folder, os.X_OK):
            pytest.skip("this user may read everything")
        assert "cannot be read: Permission denied" in refusal(folder / "a.csv").message
    finally:
        folder.chmod(0o755)
