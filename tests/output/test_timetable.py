"""The table of times in every form: stable names, unknown as null with a reason, sums that say what they lack."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from roofctl.cli.main import main
from roofctl.core.errors import InputError
from roofctl.output.rows import rows as rows_of
from roofctl.output.timetable import COLUMNS, document, rows, table
from roofctl.study.analyse import MEASURE_LAUNCH, AnalysisRequest, analyse_inputs, timings_of

from support.shapes import DRAM_R, FULL, ISSUED, TIME, L, ncu_raw, write

H200 = {"device__attribute_display_name": "NVIDIA H200", "launch__sm_count": 132}
DATA = Path(__file__).parent.parent / "data" / "captures-h200"
# What follows from the shape FULL at the theoretical ceilings of an H200 at the captured 1.5 GHz.
COMPUTE = 110_000 / (132 * 4 * 1.5e9)
HBM = 20_000 * 32 / 4.814304e12

STABLE = (
    *("kernel", "short_name", "launches", "seconds", "seconds_total", "time_share", "compute_seconds", "compute_work"),
    *("l1_seconds", "l2_seconds", "hbm_seconds", "launch_seconds", "limit", "limit_use", "bound_seconds", "of_bound"),
    *("missing", "caveats", "source", "incomplete"),
)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    launches = (
        L("triad(int)", {**FULL, **H200}),
        L("triad(int)", {**FULL, **H200}, id="1"),
        L("copy(int)", {**FULL, **H200, TIME: 1_000, DRAM_R: "n/a"}, id="2"),
    )
    return write(tmp_path, capture=ncu_raw(launches))[0]


def measured(config: Path, **ceilings: tuple[str, str]) -> None:
    """Results of the user's own, as ``calibrate`` would leave them; they go before the shipped ones."""
    folder = config / "roofctl" / "profiles"
    folder.mkdir(parents=True)
    lines = "".join(
        f"  {name}: {{value: {value}, unit: {unit}, best: {value}, p5: {value}, p95: {value}, samples: 5, "
        "sm_clock_hz: 1.98e+9, method: by hand, mixes: {}}\n"
        for name, (value, unit) in ceilings.items()
    )
    head = "schema: 1\nprofile: h200\ngpu_name: NVIDIA H200\nmeasured_at: '2026-01-01T00:00:00+00:00'\n"
    text = f"{head}roofctl_version: 0.1.0\nceilings:\n{lines}"
    (folder / "h200.measured.yaml").write_text(text, encoding="utf-8")


@pytest.fixture
def launch(own_config: Path) -> float:
    """A launch that takes 3 µs."""
    measured(own_config, launch=("3.0e-06", "s"), hbm=("4.0e+12", "B/s"))
    return 3e-6


@pytest.fixture
def no_launch(own_config: Path) -> None:
    """A GPU on which the launch was never measured."""
    measured(own_config, hbm=("4.0e+12", "B/s"))


def test_names_of_a_row_are_stable() -> None:
    assert COLUMNS == STABLE


@pytest.mark.usefixtures("no_launch")
def test_the_rows(capture: Path) -> None:
    analysis = analyse_inputs(AnalysisRequest(inputs=(capture,), ceilings="theoretical"))
    timings, notes = timings_of(analysis)
    triad, copy = rows(timings)
    assert tuple(triad) == STABLE
    assert (triad["launches"], triad["seconds"], triad["seconds_total"]) == (
        2,
        pytest.approx(100e-6),
        pytest.approx(200e-6),
    )
    assert triad["compute_seconds"] == pytest.approx(COMPUTE)
    assert triad["hbm_seconds"] == pytest.approx(HBM)
    assert (triad["limit"], triad["of_bound"]) == ("grid", pytest.approx(COMPUTE / 100e-6))
    assert (copy["hbm_seconds"], "hbm" in copy["missing"]) == (None, True)
    assert triad["launch_seconds"] is None
    assert [note.text for note in notes] == [
        f"no bound by launches: the time of a launch was not measured on this GPU; {MEASURE_LAUNCH}"
    ]
    sums = document(analysis, timings, ["a note"])["total"]
    assert sums["seconds_total"] == pytest.approx(201e-6)
    assert sums["hbm_seconds"] == pytest.approx(2 * HBM)
    assert sums["lacking"] == {"hbm": 1, "launch": 2}


def test_a_measured_launch_is_taken_from_the_result_of_this_gpu(capture: Path, launch: float) -> None:
    timings, notes = timings_of(analyse_inputs(AnalysisRequest(inputs=(capture,), ceilings="theoretical")))
    assert [each.launch_seconds for each in timings] == [launch, launch]
    assert [(each.short_name, each.limit) for each in timings] == [("triad", "grid"), ("copy", "launch")]
    assert timings[1].of_bound == pytest.approx(3.0)
    assert notes == []


def test_of_two_sets_of_ceilings_times_use_the_measured(capture: Path, launch: float) -> None:
    timings, notes = timings_of(analyse_inputs(AnalysisRequest(inputs=(capture,), ceilings="both")))
    assert timings[0].level_seconds["hbm"] == pytest.approx(20_000 * 32 / 4.0e12)
    assert [note.text for note in notes] == ["times are by the measured ceilings"]


def test_times_need_a_gpu(tmp_path: Path) -> None:
    (silent,) = write(tmp_path, a=ncu_raw([L("k(int)", {TIME: 1000, ISSUED: 5})]))
    with pytest.raises(InputError, match="which ceilings"):
        timings_of(analyse_inputs(AnalysisRequest(inputs=(silent,))))


def test_the_table_ends_in_the_total(capture: Path, launch: float) -> None:
    headings, body = table(timings_of(analyse_inputs(AnalysisRequest(inputs=(capture,), ceilings="theoretical")))[0])
    assert headings == [
        ">#",
        "kernel",
        ">launches",
        ">time µs",
        ">compute µs",
        ">L1 µs",
        ">L2 µs",
        ">HBM µs",
        ">launch µs",
        "limit",
        ">use %",
        ">bound/time %",
    ]
    assert {len(row) for row in body} == {len(headings)}
    assert [cell.strip() for cell in body[0][:4]] == ["1", "triad", "2", "100.0"]
    assert (body[0][8].strip(), body[0][9], body[0][-1].strip()) == ("3.000", "grid", "3.0")
    assert (body[1][7].strip(), body[1][-1]) == ("–", "300.0")
    assert [cell.strip() for cell in body[2][1:4]] == ["total, all launches", "3", "201.0"]
    assert body[2][7].startswith(">")
    assert body[2][8].strip() == "9.000"


# --- the command line -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_launch")
def test_json_csv_and_markdown_agree(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Any] = {}
    for form in ("json", "csv", "md", "table"):
        assert main(["report", str(capture), "--times", "--format", form, "-q"]) == 0
        found[form] = capsys.readouterr().out
    complete = json.loads(found["json"])
    assert list(complete) == [
        "schema",
        "model",
        "source",
        "incomplete",
        "gpu",
        "ceilings_gpu",
        "ceilings",
        "notes",
        "kernels",
        "total",
    ]
    assert any("calibrate --level launch" in note for note in complete["notes"])
    cells = list(csv.DictReader(io.StringIO(found["csv"])))
    assert [float(row["compute_seconds"]) for row in cells] == [row["compute_seconds"] for row in complete["kernels"]]
    assert cells[1]["hbm_seconds"] == ""
    assert "hbm: " in cells[1]["missing"]
    assert len(found["md"].splitlines()) == 2 + 2 + 1 + 2  # the line on the ceilings
    assert "total, all launches" in found["table"].splitlines()[-1]


def test_the_sums_are_printed(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(capture), "--times", "--names", "full", "--ceilings", "theoretical"]) == 0
    out, err = capsys.readouterr()
    assert "2 kernels, 3 launches: 201.0 µs measured; bounds: " in err
    assert out.splitlines()[-2:] == ["1  triad(int)", "2  copy(int)"]


@pytest.mark.parametrize("command", [["report", "--times"], ["plot", "--mode", "time"]])
def test_what_has_no_meaning_for_times_is_refused(
    command: list[str], capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*command, str(capture), "--model", "flop", "--precision", "fp32"]
    assert main(given) == 2
    assert "--precision belongs to the rooflines of rates" in capsys.readouterr().err


def test_error_bars_are_refused(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(capture), "--mode", "time", "--spread"]) == 2
    assert "--spread belongs to the rooflines of rates" in capsys.readouterr().err


def test_the_picture_has_a_name_of_its_own(
    capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plot", str(capture), "--mode", "time"]) == 0
    assert (tmp_path / "capture-time-roofline.png").stat().st_size > 10_000
    assert "Wrote capture-time-roofline.png" in capsys.readouterr().err


# --- our own captures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "model", "limit"),
    [
        ("known_triad", "instruction", "hbm"),
        ("known_transpose_conflicted", "instruction", "shared"),
        ("known_fma_fp32", "instruction", "issue"),
        ("known_copy", "flop", None),
    ],
)
def test_known_kernels_on_the_h200(kernel: str, model: Any, limit: str | None) -> None:
    """The times show the judgement that the table shows, and its use."""
    analysis = analyse_inputs(AnalysisRequest(inputs=(DATA / "verify",), model=model, ceilings="measured"))
    (found,) = [each for each in timings_of(analysis)[0] if each.short_name == kernel]
    (row,) = [row for row in rows_of(analysis.results) if row["short_name"] == kernel]
    assert (found.limit, found.limit_use) == (limit, row["limit_use"])
    assert row["limit"] == limit


def test_a_kernel_without_operations_takes_no_compute_time() -> None:
    analysis = analyse_inputs(AnalysisRequest(inputs=(DATA / "verify",), model="flop"))
    timings, _ = timings_of(analysis)
    seconds = {each.short_name: each.compute_seconds for each in timings}
    peak = analysis.rooflines[0].peak_of("fp32")
    assert peak is not None
    assert len(timings) == 15
    assert seconds["known_copy"] == 0.0
    assert seconds["known_triad"] == pytest.approx(2 * 2**26 / peak.per_second)  # a multiply and an add per element


@pytest.mark.parametrize("model", ["instruction", "flop"])
def test_our_capture_as_a_picture(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "time.svg"
    assert main(["plot", str(DATA / "verify"), "--mode", "time", "--model", model, "-o", str(out)]) == 0
    drawn = out.read_text(encoding="utf-8")
    assert drawn.count('id="bounds') == 15
    assert ("no operations" in drawn) == (model == "flop")
