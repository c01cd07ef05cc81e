"""ncu: command lines for every version, what is in its export, which profiler is chosen, and the real tool."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from roofctl.cli.main import main
from roofctl.core.errors import DeviceError, InputError, NothingProfiled, ToolFailed, UnfitTool
from roofctl.cuda import tools
from roofctl.profilers import ProfilePlan, ProfileRequest, Tool, ncu, options, profile
from roofctl.profilers.choose import choose
from roofctl.profilers.counters import check_sets, known_sets
from roofctl.profilers.results import counted, write_page
from roofctl.readers.ncurep import read as ncurep
from roofctl.readers.ncurep.page import _cell
from roofctl.readers.read import read_file

from support.fake_profilers import write

NEW = Tool("ncu", "/opt/ncu", "2025.3.1")
OLD = Tool("ncu", "/opt/ncu", "2020.2.0")
ASKED = ("gpu__time_duration.sum", "smsp__inst_executed.sum")


def words(tool: Tool = NEW, **options) -> list[str]:
    request = ProfileRequest(argv=("./app", "-x"), **options)
    ncu.check(request, tool)
    return list(ncu.build(request, tool, ASKED, Path("/c"))[0].argv)


def value(command: list[str], option: str) -> str:
    return command[command.index(option) + 1]


def test_every_default_is_stated():
    assert words() == [
        *("/opt/ncu", "--config-file", "off", "--target-processes", "all", "--replay-mode", "kernel"),
        *("--clock-control", "none", "--cache-control", "all", "--disable-extra-suffixes"),
        *("--section-folder", "/c"),
        *("--metrics", "gpu__time_duration.sum,smsp__inst_executed.sum", "--log-file", "/c/ncu.log"),
        *("-f", "-o", "/c/report", "./app", "-x"),
    ]


def test_the_export_prints_base_units_in_the_c_locale():
    run, export = ncu.build(ProfileRequest(argv=("./app",), env={"LANG": "de_DE"}), NEW, ASKED, Path("/c"))
    assert export.env == {"LC_ALL": "C"}
    assert export.output == Path("/c/capture.csv")
    assert list(export.argv[:8]) == [
        "/opt/ncu",
        "--import",
        "/c/report.ncu-rep",
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
    ]
    assert export.argv[9].split(",") == [*ASKED, *ncu.DEVICE_COLUMNS]
    # The application keeps the user's locale.
    assert run.env == {"NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT": "1", "LANG": "de_DE"}


def test_filters():
    command = words(kernel="gemm", launch_skip=3, launch_count=5, device=1)
    assert (value(command, "--kernel-name-base"), value(command, "--kernel-name")) == ("demangled", "regex:gemm")
    base = words(kernel_base="gemm")
    assert (value(base, "--kernel-name-base"), value(base, "--kernel-name")) == ("function", "regex:gemm")
    assert (value(command, "--launch-skip"), value(command, "--launch-count"), value(command, "--devices")) == (
        "3",
        "5",
        "1",
    )


@pytest.mark.parametrize(
    ("kernel", "exclude", "kept"),
    [
        ("gemm", "", {"gemm_a", "gemm_b", "my_gemm"}),
        ("", "gemm", {"copy"}),
        ("gemm", "_b$", {"gemm_a", "my_gemm"}),
        ("^gemm|copy", "a", {"gemm_b", "copy"}),
    ],
)
def test_one_expression_keeps_and_excludes(kernel, exclude, kept):
    import re

    expression = ncu.name_filter(kernel, exclude).removeprefix("regex:")
    assert {name for name in ("gemm_a", "gemm_b", "my_gemm", "copy") if re.search(expression, name)} == kept


@pytest.mark.parametrize(("name", "forms"), [("step", ["step", "step/"]), ("dom@step/", ["dom@step/"]), ("a]", ["a]"])])
def test_an_nvtx_range_may_be_of_either_kind(name, forms):
    command = words(nvtx=name)
    assert [command[i + 1] for i, word in enumerate(command) if word == "--nvtx-include"] == forms
    assert "--nvtx" in command


def test_application_replay_goes_on_after_a_failure_when_asked():
    assert value(words(replay="application", keep_going=True), "--check-exit-code") == "no"
    assert "--check-exit-code" not in words(replay="application")
    assert "--check-exit-code" not in words(keep_going=True)


@pytest.mark.parametrize(
    ("version", "has"),
    [
        ("2020.2.0", ()),
        ("2022.3.0", ()),
        ("2023.1.0", ("--config-file",)),
        ("2024.1.1", ("--config-file", "--disable-extra-suffixes")),
    ],
)
def test_guards_are_dropped_where_a_version_lacks_them(version, has):
    command = words(replace(NEW, version=version))
    assert tuple(option for option in ("--config-file", "--disable-extra-suffixes") if option in command) == has


@pytest.mark.parametrize(
    ("version", "options", "message"),
    [
        ("2022.3.0", {"replay": "app-range"}, "ncu 2022.3.0 has no --replay-mode app-range: it came with ncu 2023.1"),
        ("2021.3.0", {"replay": "range"}, "no --replay-mode range: it came with ncu 2022.1"),
        ("2020.2.0", {"kernel": "x"}, "no --kernel-name: it came with ncu 2021.1"),
        ("2020.2.0", {"exclude": "x"}, "no --kernel-name"),
        ("2025.3.1", {"clock_control": "boost"}, "no --clock-control boost: it came with ncu 2026"),
    ],
)
def test_what_a_version_lacks_is_refused_by_name(version, options, message):
    with pytest.raises(InputError, match=message):
        words(replace(NEW, version=version), **options)


def test_the_versions_own_help_beats_the_table():
    text = (
        "Common Profile Options:\n"
        "  --replay-mode arg (=kernel)           Mechanism\n"
        "                                          kernel (default)\n"
        "                                          application\n"
        "  --cache-control arg (=all)            Caches\n"
        "                                          all\n"
        "                                          none\n"
        "  --clock-control arg (=boost)          Control, not in nominal-range\n"
        "                                          base\n"
        "                                          boost\n"
        "                                          none\n"
        "  -k [ --kernel-name ] arg              Filter; range\n\n"
        "Console Output Options:\n  --csv    x\n"
    )
    tool = replace(NEW, help=text)
    assert "--config-file" not in words(tool)
    assert value(words(tool, clock_control="boost"), "--clock-control") == "boost"
    assert options.offers(tool, "--kernel-name")
    assert not options.offers(tool, "--kernel-name-base")
    with pytest.raises(InputError, match="--replay-mode range"):
        words(tool, replay="range")


def test_a_newer_version_has_boost():
    assert value(words(replace(NEW, version="2026.1.0"), clock_control="boost"), "--clock-control") == "boost"


# Counters ----------------------------------------------------------------------------------------------------


def test_counters_of_a_set_are_listed_once_and_timed():
    selected = ncu.counters("gh100", ["instruction"])
    assert len(set(selected.counters)) == len(selected.counters)
    assert selected.counters[:2] == ("gpu__time_duration.sum", "sm__cycles_elapsed.avg.per_second")
    assert {
        "smsp__thread_inst_executed.sum",
        "l1tex__t_sectors_pipe_lsu.sum",
        "lts__t_sectors_srcunit_tex.sum",
        "dram__sectors_read.sum",
    } <= {*selected.counters}
    assert selected.left_out == ()
    assert not [name for name in selected.counters if "__" not in name or name.startswith("device__")]
    assert not {*selected.counters} & {*ncu.DEVICE_COLUMNS}


@pytest.mark.parametrize("name", known_sets())
def test_every_set_has_a_time(name):
    assert "gpu__time_duration.sum" in ncu.counters("gh100", [name]).counters


def test_what_a_chip_lacks_is_left_out_with_the_reason():
    selected = ncu.counters("gb10b", ["instruction"])
    why = "this chip has no DRAM counters"
    assert [entry for entry in selected.left_out if not entry[0].startswith("peak_")] == [
        ("memory_clock_hz", why),
        ("hbm_transactions", why),
    ]
    assert not [name for name in selected.counters if name.startswith("dram__")]
    assert "dram__sectors_op_read.sum" in ncu.counters("gb202", ["instruction"]).counters


def test_sets_are_merged_and_all_means_all():
    both = ncu.counters("gh100", ["walls", "instruction"]).counters
    apart = {*ncu.counters("gh100", ["walls"]).counters, *ncu.counters("gh100", ["instruction"]).counters}
    # The split of L1 makes its sum needless: one pass less on an H200.
    assert apart - {*both} == {"l1tex__t_sectors_pipe_lsu.sum"}
    assert {*both} <= apart
    assert check_sets(["all"]) == known_sets()
    assert check_sets(["walls", "walls"]) == ("walls",)
    with pytest.raises(InputError, match="no metric set called 'x'"):
        check_sets(["x"])


# The export --------------------------------------------------------------------------------------------------

CSV = (
    '==WARNING== something\n"ID","Process ID","Kernel Name","Context","gpu__time_duration.sum","a__y.sum"\n"","","","","ns",""\n'
    '"0","7","k(int, ""b"")","1","1,024,000","n/a"\n"1","7","k2","1","","nan"\n'
)


def test_the_export_is_compared_with_what_was_asked(tmp_path):
    (tmp_path / "capture.csv").write_text(CSV)
    launches, names = counted(tmp_path / "capture.csv")
    assert launches == 2
    # A column that is absent and one without values are the same: nothing was counted.
    assert names & {"gpu__time_duration.sum", "a__y.sum", "a__z.sum"} == {"gpu__time_duration.sum"}


@pytest.mark.parametrize(
    "text", ["==ERROR== Failed to load report file\n", "", '"ID","Process ID","Kernel Name","Context"\n"","","",""\n']
)
def test_an_export_without_launches(tmp_path, text):
    (tmp_path / "capture.csv").write_text(text)
    with pytest.raises(InputError, match=r"capture\.csv"):
        counted(tmp_path / "capture.csv")


def test_a_cell_that_report_refuses_is_refused_at_the_run_too(tmp_path):
    (tmp_path / "capture.csv").write_text(CSV.replace('"1,024,000"', '"<ignored>"'))
    with pytest.raises(InputError, match=r"'<ignored>' under gpu__time_duration\.sum is not a number"):
        counted(tmp_path / "capture.csv")


# The report, read without ncu --------------------------------------------------------------------------------

REPORTED = Path(__file__).parent.parent / "data" / "captures-h200" / "report"


def table(path: Path) -> list[dict[str, str]]:
    """Rows of a raw page by column, its row of units first."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def page(tmp_path):
    """The page written of a report of an H200, with the columns that ncu printed of it."""
    pytest.importorskip("ncu_report")
    names = [name for name in table(REPORTED / "capture.csv")[0] if "__" in name]
    assert write_page(REPORTED / "report.ncu-rep", [*names, "no__such.sum"], tmp_path / "capture.csv")
    return tmp_path / "capture.csv"


def test_the_page_written_is_the_page_that_ncu_prints(page):
    ours, printed = table(page), table(REPORTED / "capture.csv")
    assert [*ours[0]] == [*printed[0]]
    assert ours[0] == printed[0]  # units
    for mine, theirs in zip(ours[1:], printed[1:], strict=True):
        for name, text in theirs.items():
            assert mine[name] == text or float(mine[name]) == pytest.approx(float(text), rel=1e-9), name


def test_a_report_of_the_page_is_that_of_ncus(page, tmp_path, capfd):
    seen = []
    for path in (page, REPORTED / "capture.csv"):
        shutil.copy(path, tmp_path / "same.csv")
        assert main(["report", str(tmp_path / "same.csv")]) == 0
        seen.append(capfd.readouterr())
    assert seen[0] == seen[1]


def test_numbers_on_the_page_are_exact(page):
    frames = [read_file(path)[0].frame for path in (page, REPORTED / "report.ncu-rep")]
    for name in frames[0].columns:
        if "__" in name and not name.startswith("step:"):
            assert list(frames[0][name]) == list(frames[1][name]), name


def test_cells_of_the_page_have_all_digits_and_never_look_like_thousands():
    cells = {None: "n/a", "x": "x", 3: "3", 0.125: "0.1250", 1e-7: "0.0000001", 2.5e17: "250000000000000000"}
    assert {value: _cell(value) for value in cells} == cells
    assert _cell(3.0) == "3"
    assert _cell(2**63) == "9223372036854775808"


@pytest.fixture
def nsight(tmp_path, monkeypatch):
    """An ncu on PATH with a folder for a Python module of its own, and no ncu_report installed."""
    installed = pytest.importorskip("ncu_report").__file__
    monkeypatch.setattr(ncurep, "find_spec", lambda name: None)
    folder = tmp_path / "nsight-compute-2025.3.1"
    (folder / "extras" / "python").mkdir(parents=True)
    write(folder / "ncu", "#!/bin/sh\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ncu").symlink_to(folder / "ncu")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    load = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("ncu_report", {installed!r}, submodule_search_locations=[{str(Path(installed).parent)!r}])
sys.modules["ncu_report"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
"""
    return folder / "extras" / "python" / "ncu_report.py", load


def test_the_module_in_ncus_own_folder_reads_reports(nsight, tmp_path):
    path, load = nsight
    assert not write_page(REPORTED / "report.ncu-rep", ASKED, tmp_path / "capture.csv")
    path.write_text(load)
    assert write_page(REPORTED / "report.ncu-rep", ASKED, tmp_path / "capture.csv")
    assert counted(tmp_path / "capture.csv") == (12, {*ASKED})
    # A toolkit's ncu is a script beside the folder of the real one.
    toolkit = tmp_path / "cuda" / "bin"
    toolkit.mkdir(parents=True)
    (tmp_path / "nsight-compute-2025.3.1").rename(tmp_path / "cuda" / "nsight-compute-2025.3.1")
    (tmp_path / "bin" / "ncu").unlink()
    write(toolkit / "ncu", "#!/bin/sh\n")
    (tmp_path / "bin" / "ncu").symlink_to(toolkit / "ncu")
    assert tools.report_module() == tmp_path / "cuda" / "nsight-compute-2025.3.1" / "extras" / "python"


def test_where_the_package_fails_the_module_of_a_newer_ncu_reads(nsight, tmp_path, monkeypatch):
    path, load = nsight
    read = ncurep._ask

    def too_old(report, index, counters, module):
        if module is None:
            raise InputError("made by a newer ncu")
        return read(report, index, counters, module)

    monkeypatch.setattr(ncurep, "find_spec", lambda name: object())
    monkeypatch.setattr(ncurep, "_ask", too_old)
    with pytest.raises(InputError, match="made by a newer ncu"):
        write_page(REPORTED / "report.ncu-rep", ASKED, tmp_path / "capture.csv")
    path.write_text(load)
    assert write_page(REPORTED / "report.ncu-rep", ASKED, tmp_path / "capture.csv")


@pytest.mark.parametrize("fault", ["raise ImportError('built for Python 3.7')", "import os; os.abort()", "x = 1"])
def test_a_module_that_does_not_work_here_leaves_the_report_to_ncu(nsight, tmp_path, fault):
    nsight[0].write_text(fault)
    assert not write_page(REPORTED / "report.ncu-rep", ASKED, tmp_path / "capture.csv")


def test_a_report_that_is_cut_is_an_error(tmp_path):
    (tmp_path / "report.ncu-rep").write_bytes((REPORTED / "report.ncu-rep").read_bytes()[:20000])
    with pytest.raises(InputError, match=r"cut"):
        write_page(tmp_path / "report.ncu-rep", ASKED, tmp_path / "capture.csv")
    assert not (tmp_path / "capture.csv").exists()


# The real ncu, of whichever version is installed; no GPU needed ----------------------------------------------


class TestReal:
    """Options, exit codes and messages as NVIDIA's own tool has them."""

    pytestmark = [  # noqa: RUF012 - pytest wants a list
        pytest.mark.ncu,
        pytest.mark.skipif(shutil.which("ncu") is None, reason="ncu is not on PATH"),
    ]

    def test_it_is_found_and_told_apart(self):
        tool = ncu.find()
        assert tool.numbers >= (2020, 2)
        assert "--target-processes" in tool.help
        assert "ga100" in ncu.chips(tool.path)

    def test_its_help_and_the_table_agree(self):
        tool = ncu.find()
        by_table = replace(tool, help="")
        for option in ("--config-file", "--kernel-name", "--kernel-name-base", "--check-exit-code", "--nvtx-include"):
            assert options.offers(tool, option) == options.offers(by_table, option), option
        for option, values in (
            ("--replay-mode", ("kernel", "application", "range", "app-range")),
            ("--clock-control", ("none", "base", "boost")),
            ("--cache-control", ("all", "none")),
        ):
            for name in values:
                assert options.offers(tool, option, name) == options.offers(by_table, option, name), name

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"kernel": "a|b", "exclude": "c"},
            {"nvtx": "x", "launch_skip": 1, "launch_count": 2},
            {"replay": "application", "keep_going": True},
            {"clock_control": "base", "cache_control": "none", "device": 0},
        ],
    )
    def test_it_takes_every_option_that_we_pass(self, tmp_path, options):
        """A refused option would end it before the program runs."""
        request = ProfileRequest(argv=("sh", "-c", "echo ran"), **options)
        tool = ncu.find()
        ncu.check(request, tool)
        command = ncu.build(request, tool, ncu.counters(None, ["all"]).counters, tmp_path)[0]
        done = subprocess.run(
            command.argv, env={**os.environ, **command.env}, capture_output=True, text=True, check=False
        )
        assert "ran" in done.stdout
        assert done.returncode == 0

    def test_a_program_without_cuda(self, tmp_path, capfd):
        with pytest.raises(
            NothingProfiled, match=r"neither true nor a process it started called CUDA|true ended before"
        ) as caught:
            profile(ProfileRequest(argv=("true",), output=tmp_path))
        (log,) = tmp_path.glob("*.log")
        assert "No kernels were profiled" in log.read_text()
        assert str(log) in caught.value.hint

    @pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -SEGV $$", 11)])
    def test_a_program_that_fails(self, tmp_path, script, code):
        with pytest.raises(Exception, match=f"failed with code {code}") as caught:
            profile(ProfileRequest(argv=("sh", "-c", script), output=tmp_path))
        assert (caught.value.exit_code, caught.value.code) == (7, code)

    def test_a_missing_program_by_its_own_message(self, tmp_path):
        tool = ncu.find()
        request = ProfileRequest(argv=("./nosuch",))
        command = ncu.build(request, tool, ASKED, tmp_path)[0]
        done = subprocess.run(command.argv, capture_output=True, text=True, check=False)
        assert done.returncode in (1, 255)
        assert "does not exist or is not an executable" in done.stdout + (tmp_path / "ncu.log").read_text()

    def test_a_filter_that_is_no_expression_for_it(self, tmp_path):
        # Python takes a possessive group name that Boost does not.
        with pytest.raises(InputError, match="does not take the kernel filter"):
            profile(ProfileRequest(argv=("true",), kernel="(?P<x>a)", output=tmp_path))

    def test_an_option_that_it_does_not_know(self, tmp_path):
        request = ProfileRequest(argv=("true",), replay="nosuch")  # type: ignore[arg-type]
        result = ncu.run(ProfilePlan(request, ncu.find(), ncu.counters(None, ["walls"])), tmp_path)
        assert result.kernels == 0
        assert isinstance(result.error, ToolFailed)
        assert "replay-mode" in result.error.message

    def test_a_timeout(self, tmp_path):
        with pytest.raises(Exception, match=r"ran past 1 s under ncu and was stopped; nothing was profiled") as caught:
            profile(ProfileRequest(argv=("sleep", "60"), timeout=1, output=tmp_path))
        assert caught.value.exit_code == 124

    def test_a_report_is_exported_with_our_columns_only(self, tmp_path):
        """ROOFCTL_REPORTS names a folder with .ncu-rep files that this ncu can read."""
        folder = os.environ.get("ROOFCTL_REPORTS")
        if not folder:
            pytest.skip("ROOFCTL_REPORTS is not set")
        tool, read = ncu.find(), 0
        for report in sorted(Path(folder).glob("*.ncu-rep")):
            shutil.copy(report, tmp_path / ncu.REPORT)
            export = ncu.build(ProfileRequest(argv=("x",)), tool, ASKED, tmp_path)[1]
            done = subprocess.run(
                export.argv, env={**os.environ, **export.env}, capture_output=True, text=True, check=False
            )
            if done.returncode:
                assert "Failed to load report file" in done.stdout + done.stderr
                continue
            (tmp_path / ncu.CSV).write_text(done.stdout)
            launches, names = counted(tmp_path / ncu.CSV)
            assert launches > 0
            assert "device__attribute_display_name" in names
            assert len(names) < 25
            read += 1
        assert read

    @pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="a GPU may be here")
    def test_auto_without_a_gpu(self):
        assert choose("auto", None).tool.name == "ncu"


def test_device_errors_have_their_own_code():
    assert {DeviceError.exit_code, UnfitTool.exit_code, NothingProfiled.exit_code} == {5, 3, 8}


@pytest.mark.parametrize("name", ["report.ncu-rep", "report.ncu-repz", "report.ncu-rep2", "report", "other"])
def test_a_report_is_there_whatever_ncu_calls_it(tmp_path, name):
    write(tmp_path / ncu.LOG, "")
    write(tmp_path / ncu.CSV, "")
    assert ncu.report_in(tmp_path) is None
    write(tmp_path / name, "")
    assert ncu.report_in(tmp_path) == tmp_path / name


def test_a_report_elsewhere_is_where_the_log_says(tmp_path):
    write(tmp_path / "x.ncu-rep", "")
    (tmp_path / "folder").mkdir()
    lines = ["==PROF== Connected to process 1 (/a)", f"==PROF== Report: {tmp_path / 'x.ncu-rep'}"]
    assert ncu.report_in(tmp_path / "folder", lines) == tmp_path / "x.ncu-rep"
