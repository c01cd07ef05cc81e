"""Reading many lines at a time: the same parts, notes and errors as the plain reader gives, line by line."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofctl.core.errors import InputError
from roofctl.readers import find_tables
from roofctl.readers.find_tables import FEW, Scanner
from roofctl.readers.read import read_file

from fuzz.mutation import compared, mutated, seeds
from support.shapes import CLOCK, DRAM_R, FULL, L2, LSU, THREAD, TIME, L, ncu_details, ncu_raw, nvprof_metrics

SEEDS = seeds()
MANY = [L(f'k{i % 3}<int, {i % 3}>(float *, "x")', {**FULL, LSU: 40_000 + i}, id=str(i), grid=f"({i}, 1, 1)") for i in range(60)]  # fmt: skip


def way(tmp_path: Path, content: str | bytes, block_bytes: int = 4000) -> str:
    path = tmp_path / "x.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return compared(path, block_bytes)


@pytest.mark.parametrize("block_bytes", [700, 1 << 20])
@pytest.mark.parametrize(
    "text",
    [
        ncu_raw(MANY),
        ncu_raw(MANY).replace("\n", "\r\n"),
        "\ufeff" + ncu_raw(MANY),
        'app, "says"\n==PROF== Connected\n' + ncu_raw(MANY) + "==PROF== Disconnected\n",
        ncu_details(MANY, 12),
        ncu_details(MANY, 15),
        ncu_details(MANY, 20),
        ncu_details(MANY, nvtx=True, body_item=True),
        ncu_raw(MANY).removesuffix("\n"),
    ],
)
def test_files_that_are_read_by_the_block(text: str, block_bytes: int, tmp_path: Path) -> None:
    assert way(tmp_path, text, block_bytes) == "same"


@pytest.mark.parametrize(
    "text",
    [
        nvprof_metrics({"inst_executed": 1}),
        ncu_raw(MANY) + ncu_raw(MANY),
        ncu_raw(MANY).replace("\n", "\r"),
        ncu_raw(MANY).replace(f'"{LSU}"', f'"{L2}"', 1),
        ncu_raw(MANY).replace(",", ";"),
        # 181,600 is the only evidence: what roofctl does not use must settle it.
        ncu_raw([L("k(int)", {TIME: "181,600"}, id=str(i)) for i in range(9)]),
        # Two processes without a counter in common may be two captures.
        ncu_raw([L("k(int)", {LSU: 5} if i < 5 else {L2: 6}, id=str(i), process="1" if i < 5 else "2") for i in range(9)]),
        "no table\n" * 100,
    ],
)  # fmt: skip
def test_files_of_other_layouts(text: str, tmp_path: Path) -> None:
    assert way(tmp_path, text) in ("same", "error")


def test_blocks_of_a_line_each(tmp_path: Path) -> None:
    assert way(tmp_path, 'app, "says"\n' + ncu_details(MANY[:9], 20), 64) == "same"


def lines_of(text: str, at: int, new: str) -> str:
    lines = text.split("\n")
    return "\n".join([*lines[:at], new, *lines[at:]])


RAW, DETAILS = ncu_raw(MANY), ncu_details(MANY)


@pytest.mark.parametrize("text", [RAW, DETAILS], ids=["raw", "details"])
@pytest.mark.parametrize(
    "line",
    [
        "hello, world",
        '"open quote, 1, 2',
        "==PROF== something",
        "==ERROR== something",
        "",
        "   ",
        '"","","",""',
        '"5","100","too","short"',
        '"5",' * 80 + '"too long"',
        '"x","100"' + ',""' * 30,
        '"a","b","c","',
        '","',
        '"',
        "\x00",
        '\ufeff"5","100"' + ',"1"' * 9,
        'x"y,"a""b"c"d,' + '"1",' * 40,
        '"5"7,1"0"0,"a"b"c",' + "1," * 20,
    ],
)
def test_odd_lines_between_rows_stay_odd(text: str, line: str, tmp_path: Path) -> None:
    assert way(tmp_path, lines_of(text, 30, line)) == "same"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"40,007"', '"x1"'),
        ('"40007"', '"x1"'),
        ('"40007"', '"-5"'),
        ('"40007"', '"9999999999999999999"'),
        ('"40007"', '"9007199254740993"'),
        ('"40007"', '"1.5"'),
        ('"40007"', '"4.0007E+11"'),
        ('"40007"', '"n/a"'),
        ('"40007"', '" 40007 "'),
        ('"40007"', '"65,77"'),
        ('"40007"', '"1,975,052,229.34"'),
        ('"40007"', '""'),
        ('"40007"', '"4""7"'),
        ('"sector"', '"furlong"'),
        ('"sector"', '"Ksector"'),
        ('"ns"', '"usecond"'),
        ('"ns"', '""'),
        ('"100"', '"1,000,000"'),
        ('"100"', '" 100"'),
        ('"9.0"', '" 9.0"'),
        ("k1<", "k\ufffd<"),
        ("k1<", 'k"",""'),
        ("k1<", " "),
        ('k1<int, 1>(float *, ""x"")', ""),
        ("(7, 1, 1)", "7"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("count", [1, -1])
@pytest.mark.parametrize("text", [RAW, DETAILS], ids=["raw", "details"])
def test_odd_cells_give_the_same_numbers_or_the_same_error(
    text: str, old: str, new: str, count: int, tmp_path: Path
) -> None:
    assert way(tmp_path, text.replace(old, new, count)) in ("same", "error")


def test_bytes_that_are_no_utf8_stand_for_one_damaged_character(tmp_path: Path) -> None:
    content = RAW.encode().replace(b"k1<", b"k\xff\xc3<", 3)
    assert way(tmp_path, content) == "same"
    assert "k\ufffd\ufffd<int, 1>" in "".join(read_file(tmp_path / "x.csv")[0].frame["kernel"])


def test_a_nul_is_one_damaged_character(tmp_path: Path) -> None:
    at = RAW.index("k1<", 5000)
    assert way(tmp_path, RAW[:at] + "k\x00" + RAW[at + 2 :]) == "same"


def test_integers_beyond_2_53_are_exact_by_the_block(tmp_path: Path) -> None:
    large = 2**53 + 1
    path = tmp_path / "x.csv"
    path.write_text(ncu_raw([L("k(int)", {**FULL, LSU: f"{large + i:,}"}, id=str(i)) for i in range(40)]))
    (part,) = read_file(path)
    assert part.frame[LSU].tolist() == [large + i for i in range(40)]
    assert part.frame[LSU].dtype == "Int64"


def test_a_mark_that_shows_itself_late_holds_for_what_came_before(tmp_path: Path) -> None:
    launches = [L("k(int)", {TIME: "181.600", LSU: "27"}, id=str(i)) for i in range(50)]
    path = tmp_path / "x.csv"
    path.write_text(ncu_raw([*launches, L("k(int)", {TIME: "181.600", LSU: "27.595.520"}, id="50")]))
    (part,) = read_file(path)
    assert part.frame[TIME].tolist() == [181_600e-9] * 51
    assert compared(path) == "same"


def test_a_counter_that_only_the_last_launch_has_is_among_the_names(tmp_path: Path) -> None:
    launches = [L("k(int)", {**FULL, "sm__unknown.sum": "n/a" if i < 59 else 3}, id=str(i)) for i in range(60)]
    path = tmp_path / "x.csv"
    path.write_text(ncu_raw(launches))
    assert "sm__unknown.sum" in read_file(path)[0].names
    assert compared(path) == "same"


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(seed=st.integers(0, 10**9), times=st.integers(1, 6), block=st.sampled_from([64, 700, 1 << 20]))
def test_damaged_files_read_the_same_compared(
    seed: int, times: int, block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    draw = random.Random(seed)  # noqa: S311
    path = tmp_path_factory.getbasetemp() / "damaged.csv"
    path.write_bytes(mutated(draw.choice([*SEEDS, RAW.encode(), DETAILS.encode()]), draw, times))
    compared(path, block)


def _number(draw: Any) -> str:
    value = draw.choice([0, 7, 1_234, 181_600, 27_595_520, 2**53 + 1, draw.randrange(10**15)])
    return draw.choice(
        [str(value), f"{value:,}", f"{value:,}.{draw.randrange(100):02}", f"{value / 1e3:.3f}", "n/a", ""]
    )


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(seed=st.integers(0, 10**9), european=st.booleans())
def test_made_up_pages_read_the_same_compared(
    seed: int, european: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    draw = random.Random(seed)  # noqa: S311
    counters = draw.sample([TIME, CLOCK, THREAD, LSU, L2, DRAM_R, "sm__other.sum"], draw.randint(1, 7))
    swap = str.maketrans(",.", ".,") if european else {}
    launches = [
        L(
            draw.choice(['a<"x", 1>(int)', "b(float, int)", "c::d<e<f> >()", "g"]),
            {name: _number(draw).translate(swap) for name in counters if draw.random() < 0.9},
            id=str(i if draw.random() < 0.9 else 0),
            process=draw.choice(["1", "1", "22"]),
            grid=draw.choice(["(1, 1, 1)", "(2,2,2)", "64", ""]),
        )
        for i in range(draw.randint(2, 30))
    ]
    path = tmp_path_factory.getbasetemp() / "made.csv"
    path.write_text(draw.choice([ncu_raw, ncu_details])(launches), encoding="utf-8")
    compared(path, draw.choice([64, 700]))


@pytest.mark.parametrize(
    "text", [ncu_raw(MANY * 4), ncu_details(MANY, 20), ncu_raw(MANY * 2) * 2, ncu_raw(MANY * 4).replace(",", ";")]
)
def test_most_lines_are_split_together(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    fed: list[int] = []
    feed = Scanner._feed_line
    monkeypatch.setattr(
        Scanner, "_feed_line", lambda self, number, line: (fed.append(number), feed(self, number, line))
    )
    read_file(path)
    assert len(fed) <= 2 * (FEW + 2)


def test_a_fault_is_told_once_and_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(RAW.replace('"40040"', '"4004O"'))
    with pytest.raises(InputError, match=r"x\.csv line 43: '4004O' under .* is not a number"):
        read_file(path)


@pytest.mark.parametrize("text", [RAW, DETAILS], ids=["raw", "details"])
@pytest.mark.parametrize("block_bytes", [700, 1 << 20])
def test_fields_without_quotes_and_with_quotes_in_odd_places(text: str, block_bytes: int, tmp_path: Path) -> None:
    lines = text.split("\n")
    head, rows = lines[:3], lines[3:]
    bare = [line.replace('"', "") if '""' not in line and "," not in line.replace('","', "") else line for line in rows]
    odd = [line.replace(',"40', ',4"0', 1) if n % 7 == 0 else line for n, line in enumerate(bare)]
    quoted = [line.replace('"9.0"', '"9".0""', 1) if n % 5 == 0 else line for n, line in enumerate(odd)]
    assert way(tmp_path, "\n".join([*head, *bare]), block_bytes) == "same"
    assert way(tmp_path, "\n".join([*head, *quoted]), block_bytes) in ("same", "error")


@pytest.mark.parametrize("text", [RAW, DETAILS], ids=["raw", "details"])
@pytest.mark.parametrize("block_bytes", [64, 700, 1 << 20])
def test_a_quote_that_stays_open_at_the_end_of_a_row(text: str, block_bytes: int, tmp_path: Path) -> None:
    lines = text.rstrip("\n").split("\n")
    for at in (20, len(lines) - 1):
        content = "\n".join([*lines[:at], lines[at].removesuffix('"') + "x", *lines[at + 1 :]]) + "\n"
        assert way(tmp_path, content, block_bytes) in ("same", "error")


def test_a_block_that_begins_with_a_byte_order_mark(tmp_path: Path) -> None:
    lines = RAW.split("\n")
    content = "\n".join([*lines[:10], "\ufeff" + lines[10], *lines[11:]])
    assert way(tmp_path, content, 64) == "same"


def test_rows_that_end_before_the_columns_of_rules_are_read_by_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header, *rows = ncu_details(MANY).rstrip("\n").split("\n")
    more = ',"","Rule Name","Rule Type","Rule Description"'
    rule = '","'.join([*rows[0].split('","')[:-3], "", "", ""]) + '"' + more
    path = tmp_path / "x.csv"
    path.write_text("\n".join([header + more.replace('""', '"More"'), *rows[:30], rule, *rows[30:]]) + "\n")
    fed: list[int] = []
    feed = Scanner._feed_line
    monkeypatch.setattr(
        Scanner, "_feed_line", lambda self, number, line: (fed.append(number), feed(self, number, line))
    )
    monkeypatch.setattr(find_tables, "FEW", 8)
    read_file(path)
    assert len(fed) < 30
    monkeypatch.undo()
    assert compared(path) == "same"


@pytest.mark.parametrize("text", [RAW, DETAILS], ids=["raw", "details"])
@pytest.mark.parametrize("block_bytes", [64, 700, 1 << 20])
@pytest.mark.parametrize("lost", range(1, 9))
def test_a_file_cut_inside_its_last_cell_gives_no_value_of_that_row(
    text: str, block_bytes: int, lost: int, tmp_path: Path
) -> None:
    content = text.rstrip("\n")[: len(text.rstrip("\n")) - lost]
    whole = content.count('"') % 2 == 0
    assert way(tmp_path, content, block_bytes) == "same"
    (part,) = read_file(tmp_path / "x.csv")
    said = [note.text for note in part.notes if note.warning]
    if not whole:
        (only,) = said
        assert "1 rows end within a quoted cell (the file was cut there, or written into)" in only
        assert only.endswith(f"passed over: line {len(text.splitlines())}")


@pytest.mark.parametrize("few", [2, 48])
def test_a_line_of_one_field_is_no_row_of_units(few: int, tmp_path: Path) -> None:
    rows = [f'"TITAN Xp (0)","1","7","step(int)",{number},4000,50.0' for number in range(110, 120)]
    header = '"Device","Context","Stream","Kernel","Correlation_ID","inst_executed","achieved_occupancy"'
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["==9== NVPROF is profiling process 9, command: ./x", header, 'ency"', ",,,,,,%", *rows]))
    assert compared(path, few=few) == "same"
    (part,) = read_file(path)
    assert [note.text for note in part.notes if note.detail] == [
        f"{path}: 1 lines that belong to no table passed over, the first is line 3"
    ]


def test_a_row_cut_in_the_middle_of_a_file_gives_no_value(tmp_path: Path) -> None:
    lines = RAW.splitlines()
    lines[30] = lines[30][:-3]
    assert way(tmp_path, "\n".join(lines)) == "same"
    (part,) = read_file(tmp_path / "x.csv")
    assert len(part.frame) == len(MANY) - 1


@pytest.mark.parametrize("text", [RAW, DETAILS], ids=["raw", "details"])
def test_a_complete_last_row_without_a_line_end_is_fine(text: str, tmp_path: Path) -> None:
    assert way(tmp_path, text.rstrip("\n")) == "same"
    (part,) = read_file(tmp_path / "x.csv")
    assert not [note for note in part.notes if note.warning]
    assert len(part.frame) == len(MANY)
