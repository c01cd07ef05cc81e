"""Ceilings that the user states go before all others, in every output; what a file of them lacks is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from roofctl.cli.main import cli
from roofctl.core.errors import InputError
from roofctl.gpus import find_light, find_measured, find_profile
from roofctl.gpus.check import file_problems
from roofctl.output.captions import subtitle
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs

CAPTURE = Path(__file__).parent.parent / "data" / "captures-h200" / "known"
TWO = "ceilings: {l2: 5.5 TB/s, issue: 489.6 GIPS}\n"


def analysed(profile: str | None = None, **options: object) -> Analysis:
    return analyse_inputs(AnalysisRequest((CAPTURE,), profile, **options))  # type: ignore[arg-type]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def light(folder: Path, text: str = TWO, name: str = "lab.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_given_value_goes_before_the_measured_one() -> None:
    roofline = analysed(given={"l2": 5.5e12}).rooflines[0]
    l2, hbm = roofline.bandwidth("l2"), roofline.bandwidth("hbm")
    assert l2
    assert hbm
    assert (l2.bytes_per_second, l2.basis, l2.origin) == (5.5e12, "given", "given with --ceiling")
    assert hbm.basis == "measured"
    assert roofline.basis == "measured"


def test_a_given_value_follows_no_clock() -> None:
    analysis = analysed(given={"issue": 489.6e9, "l1": 5e12}, clock="base", ceilings="theoretical")
    roofline = analysis.rooflines[0]
    assert roofline.peak
    assert roofline.peak.per_second == 489.6e9
    l1 = roofline.bandwidth("l1")
    assert l1
    assert l1.bytes_per_second == 5e12


def test_with_both_only_the_first_roofline_has_it() -> None:
    first, second = analysed(given={"l2": 5.5e12}, ceilings="both").rooflines
    assert [r.bandwidth("l2").basis for r in (first, second)] == ["given", "theoretical"]  # type: ignore[union-attr]


def test_uses_are_of_the_given_value() -> None:
    plain, given = analysed(ceilings="theoretical"), analysed(ceilings="theoretical", given={"hbm": 1e12})
    hbm = plain.rooflines[0].bandwidth("hbm")
    assert hbm
    uses = [each.results.explained[0].limit.fraction("hbm") for each in (plain, given)]
    assert uses[0]
    assert uses[1]
    assert uses[1] / uses[0] == pytest.approx(hbm.bytes_per_second / 1e12, rel=0.05)


def test_the_flop_model_takes_types() -> None:
    analysis = analysed(given={"fp32": 1e12, "issue": 1e9}, model="flop")
    peak = analysis.rooflines[0].peak_of("fp32")
    assert peak
    assert (peak.per_second, peak.basis) == (1e12, "given")
    assert analysis.rooflines[0].peak_of("issue") is None
    assert analysis.machine
    assert analysis.machine.instruction.peak_of("issue").per_second == 1e9


def test_a_light_file_stands_for_a_profile_and_lacks_the_rest(tmp_path: Path) -> None:
    analysis = analysed(str(light(tmp_path)))
    roofline = analysis.rooflines[0]
    assert (roofline.gpu, roofline.basis) == ("lab", "given")
    assert [b.level for b in roofline.bandwidths] == ["l2"]
    assert roofline.absent == {"l1": "lab.yaml does not give it", "hbm": "lab.yaml does not give it"}
    limit = analysis.results.explained[0].limit
    assert limit.fraction("l2") is not None
    assert limit.fraction("hbm") is None
    assert analysis.unknown_gpu is None
    assert subtitle(analysis, analysis.rooflines).endswith("given ceilings of lab")


def test_without_a_peak_there_are_slopes_only(tmp_path: Path) -> None:
    analysis = analysed(str(light(tmp_path, "ceilings: {dram: 3 TB/s}\n")))
    roofline, result = analysis.rooflines[0], analysis.results.explained[0].result
    assert roofline.peak is None
    assert roofline.absent["issue"] == "lab.yaml does not give it"
    assert roofline.attainable("hbm", 2.0) == 2.0 * 3e12 / 32
    assert analysis.label("hbm") == "DRAM"
    assert getattr(result, "issued_of_peak") is None  # noqa: B009
    target = tmp_path / "slopes.svg"
    done = run("plot", str(CAPTURE), "--kernel", "triad", "--profile", str(tmp_path / "lab.yaml"), "-o", str(target))
    assert done.exit_code == 0, done.output
    assert "peak-given" not in target.read_text()
    assert "ceiling-given-hbm" in target.read_text()


def test_an_option_goes_before_the_file(tmp_path: Path) -> None:
    roofline = analysed(str(light(tmp_path)), given={"l2": 6e12}).rooflines[0]
    l2 = roofline.bandwidth("l2")
    assert l2
    assert (l2.bytes_per_second, l2.origin) == (6e12, "given with --ceiling")
    assert roofline.peak
    assert roofline.peak.origin == "given in lab.yaml"


def test_a_light_file_has_no_other_ceilings(tmp_path: Path) -> None:
    path = light(tmp_path)
    for options in ({"clock": "boost"}, {"ceilings": "measured"}):
        with pytest.raises(InputError, match="holds ceilings as they are"):
            analysed(str(path), **options)


def test_an_unknown_gpu_gets_what_is_given(tmp_path: Path) -> None:
    page = tmp_path / "page.csv"
    header = (
        '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
        '"CC","Section Name","Metric Name","Metric Unit","Metric Value"'
    )
    rows = [
        f'"0","7","app","localhost","copy(float *)","1","7","(256, 1, 1)","(64, 1, 1)","0","77.0","Command line '
        f'profiler metrics","{name}","{unit}","{value}"'
        for name, unit, value in (
            ("gpu__time_duration.sum", "ns", 1000000),
            ("smsp__inst_executed.sum", "inst", 6000000),
            ("dram__sectors_read.sum", "sector", 50000000),
            ("dram__sectors_write.sum", "sector", 50000000),
        )
    ]
    page.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    done = run("report", str(page), "--ceiling", "dram=4TB/s", "--format", "json", "--instructions", "issued")
    document = json.loads(done.stdout)
    assert [entry["basis"] for entry in document["ceilings"] if "bytes_per_second" in entry] == ["given"]
    assert document["kernels"][0]["use"]["hbm"] == pytest.approx(0.8)
    assert "the GPU is not known" in done.stderr
    assert run("plot", str(page), "--ceiling", "dram=4TB/s", "-o", str(tmp_path / "a.svg")).exit_code == 0


def test_the_line_of_ceilings_names_what_is_given() -> None:
    done = run("report", str(CAPTURE), "--ceiling", "l2=5.5TB/s", "--ceiling", "issue=489.6GIPS", "--no-advice")
    assert "given: L2 5.500 TB/s, issue 489.6 GIPS" in done.stderr


def test_commands_take_a_light_file_or_say_that_they_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "profiles").mkdir()
    light(tmp_path / "profiles")
    monkeypatch.chdir(tmp_path)
    assert run("gpus", "validate", "profiles/lab.yaml").stdout.startswith("ok")
    assert "5.500 TB/s" in run("gpus", "show", "lab").stdout
    found = find_light("LAB", cwd=tmp_path)
    assert found
    assert found.ceilings == {"l2": 5.5e12, "issue": 489.6e9}
    with pytest.raises(InputError, match="holds ceilings only, not the facts of a GPU"):
        find_profile("lab")
    assert "lab" not in run("gpus", "list").stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ceilings: {}\n", "expected names with values"),
        ("ceilings: 5 TB/s\n", "expected names with values"),
        ("ceilings: {l2: 5.5}\n", "line 1, ceilings.l2: seen 5.5 for l2; expected a unit"),
        ("ceilings: {l2: null}\n", "seen null for l2"),
        ("ceilings: {l2: [1]}\n", "seen [1] for l2"),
        ("ceilings: {l9: 3 TB/s}\n", "seen the name 'l9'"),
        ("ceilings: {hbm: 3 TB/s, dram: 4 TB/s}\n", "a second value of hbm"),
        ("ceilings: {l2: 3 TB/s, l2: 4 TB/s}\n", "written twice"),
        ("schema: 2\nceilings: {l2: 3 TB/s}\n", "seen 2 (a whole number), expected 1"),
        ("chip: gh100\nceilings: {l2: 3 TB/s}\n", "chip: unknown key"),
        ("ceilings: {" + ", ".join(f"l{n}: 1 TB/s" for n in range(300)) + "}\n", "expected at most 200"),
    ],
)
def test_a_wrong_light_file_gets_a_line_for_each_fault(tmp_path: Path, text: str, words: str) -> None:
    path = light(tmp_path, text)
    assert any(words in problem for problem in file_problems(path))
    with pytest.raises(InputError) as caught:
        find_light(path)
    assert words in caught.value.message


def test_a_measured_file_may_be_written_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "h200.yaml").write_bytes(find_profile("h200").path.read_bytes())
    path = light(folder, TWO, "h200.measured.yaml")
    assert file_problems(path) == ()
    monkeypatch.chdir(tmp_path)
    measured = find_measured(find_profile("h200"))
    assert measured
    assert measured.ceilings["issue"].value == 489.6e9
    assert measured.ceilings["l2"].p5 is None
    analysis = analysed()
    roofline = analysis.rooflines[0]
    assert roofline.basis == "measured"
    assert roofline.bandwidth("hbm") is None
    assert any(note.text == "ceilings measured by hand, in h200.measured.yaml" for note in analysis.notes)
    light(folder, "ceilings: {l2: 5.5 TFLOP/s}\n", "h200.measured.yaml")
    assert any("expected a value such as 5.5 TB/s" in problem for problem in file_problems(path))
