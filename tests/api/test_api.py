"""The Python interface as a user has it: frames, pictures in axes of their own, checks, the brief document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import nbclient
import nbformat
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import roofctl
from roofctl.cli.main import main
from roofctl.core.errors import InputError
from roofctl.output.brief import MOST_BYTES, brief, to_line

from support.shapes import FULL, TIME, L, ncu_raw, write

ROOT = Path(__file__).parents[2]
LIMITS = ROOT / "tests" / "data" / "captures-h200" / "limits"
SCHEMAS = ROOT / "docs" / "schema"


def schema(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")))


def test_there_are_at_most_twelve_names_and_all_exist() -> None:
    assert len(roofctl.__all__) <= 12
    assert all(getattr(roofctl, name) for name in roofctl.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = roofctl.nonsense  # type: ignore[attr-defined]


def test_importing_roofctl_loads_nothing_heavy() -> None:
    code = "import sys, roofctl; print([m for m in ('pandas', 'matplotlib', 'yaml', 'numpy') if m in sys.modules])"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[]"


def test_kernels_and_ceilings_are_frames() -> None:
    report = roofctl.analyse(LIMITS)
    kernels = report.kernels.set_index("short_name")
    assert kernels.loc["limit_hbm", "limit"] == "hbm"
    assert 0.6 < kernels.loc["limit_hbm", "limit_use"] <= 1
    assert kernels["seconds_total"].is_monotonic_decreasing
    assert list(report.ceilings["level"]) == ["issue", "l1", "l2", "hbm"]
    assert report.rooflines[0].gpu == "h200"
    assert report.notes
    assert report.to_dict()["kernels"][0]["kernel"] == report.kernels["kernel"][0]


def test_launches_are_a_frame_in_si_units(tmp_path: Path) -> None:
    paths = write(tmp_path, a=ncu_raw([L("k(int)", FULL), L("k(int)", {**FULL, TIME: "n/a"}, id="1")]))
    frame = roofctl.read(*paths)
    assert list(frame["file"]) == [str(paths[0])] * 2
    assert frame["seconds"][0] == pytest.approx(100e-6)
    assert pd.isna(frame["seconds"][1])
    assert frame["rank"].isna().all()
    with pytest.raises(InputError):
        roofctl.read(tmp_path / "nothing.csv")


def test_ceilings_of_a_profile() -> None:
    theoretical, measured = roofctl.ceilings("h200"), roofctl.ceilings("h200", measured=True)
    assert (theoretical.basis, measured.basis) == ("theoretical", "measured")
    hbm = theoretical.bandwidth("hbm")
    assert hbm is not None
    assert hbm.bytes_per_second == pytest.approx(4.8e12, rel=0.01)
    with pytest.raises(InputError, match="no-such-gpu"):
        roofctl.ceilings("no-such-gpu")


@pytest.mark.parametrize("kernel", ["limit_hbm", ""])
def test_a_roofline_in_axes_of_the_user(kernel: str) -> None:
    figure = Figure(figsize=(8, 4))
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    place = right.get_position().bounds
    assert roofctl.analyse(LIMITS, kernel=kernel).plot(right, title="mine") is figure
    assert figure.get_size_inches().tolist() == [8, 4]
    assert right.get_position().bounds == place
    assert right.get_title(loc="left").startswith("mine")
    assert not left.lines
    assert right.lines
    figure.canvas.draw()


def test_a_roofline_as_a_figure_and_a_file(tmp_path: Path) -> None:
    report = roofctl.analyse(LIMITS, kernel="limit_hbm")
    assert report.plot(levels=["hbm"]).axes
    report.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_without_a_gpu_there_are_counts_but_no_picture(tmp_path: Path) -> None:
    report = roofctl.analyse(*write(tmp_path, a=ncu_raw([L("k(int)", FULL)])))
    assert report.kernels["l1_transactions"][0] == 44_000
    assert report.rooflines == ()
    with pytest.raises(InputError):
        report.plot()


def test_notebooks_show_a_table_whatever_names_hold(tmp_path: Path) -> None:
    page = roofctl.analyse(*write(tmp_path, a=ncu_raw([L("k<&'\"</td><script>alert(1)</script>>(int)", FULL)])))
    text = page._repr_html_()
    assert text.startswith("<table>")
    assert "<script>" not in text
    assert text.count("<tr>") == 2


def test_checks() -> None:
    report = roofctl.check(LIMITS, kernel="limit_hbm", at_least=0.6, limit="hbm")
    assert len(report.kernels) == 1
    with pytest.raises(AssertionError, match=r"expected at least 99% of its limit.*limit_hbm: limited by HBM"):
        roofctl.check(LIMITS, kernel="limit_hbm", at_least=0.99)
    with pytest.raises(AssertionError, match="limited by l2"):
        roofctl.check(LIMITS, kernel="limit_hbm", limit="l2")
    with pytest.raises(InputError):
        roofctl.check(LIMITS, kernel="no_such_kernel", at_least=0.1)


def test_a_check_of_what_is_not_known_is_no_success(tmp_path: Path) -> None:
    paths = write(tmp_path, a=ncu_raw([L("k(int)", FULL)]))
    with pytest.raises(InputError, match="k: "):
        roofctl.check(*paths, limit="hbm")


def test_the_fixture_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        f"def test_good(roofline):\n    roofline.check({str(LIMITS)!r}, 'limit_hbm', at_least=0.6, limit='hbm')\n\n"
        f"def test_bad(roofline):\n    roofline.check({str(LIMITS)!r}, 'limit_hbm', limit='issue')\n",
        encoding="utf-8",
    )
    child = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "roofctl.pytest_plugin", "-p", "no:cacheprovider", str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert "1 failed, 1 passed" in child.stdout, child.stdout
    assert "limited by issue" in child.stdout


@pytest.mark.parametrize("model", ["instruction", "flop"])
def test_the_documents_are_as_their_schemas_state(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    for source in (LIMITS, ROOT / "tests" / "data" / "captures-h200" / "verify"):
        for form, name in (("json", "report"), ("brief", "brief")):
            assert main(["report", str(source), "--model", model, "--format", form]) == 0
            schema(name).validate(json.loads(capsys.readouterr().out))
    pair = [str(LIMITS.parent / name) for name in ("gpt2-50257", "gpt2-50304")]
    assert main(["compare", *pair, str(LIMITS), "--model", model, "--format", "json"]) == 0
    schema("compare").validate(json.loads(capsys.readouterr().out))


def test_the_brief_document_fits_and_says_whether_more_can_be_gained(tmp_path: Path) -> None:
    text = to_line(roofctl.analyse(LIMITS).brief())
    found = json.loads(text)
    assert len(text.encode()) <= MOST_BYTES
    assert found["done"] is False
    assert found["kernel_count"] == 23
    saved = [kernel["headroom_ms"] for kernel in found["kernels"]]
    assert saved == sorted(saved, reverse=True)
    assert json.loads(to_line(roofctl.analyse(LIMITS, kernel="limit_tensor").brief()))["done"] is True
    long = [L("核" * 900 + f"{n}(int)", FULL, id=str(n)) for n in range(20)]
    unknown = roofctl.analyse(*write(tmp_path, a=ncu_raw(long)))
    assert len(to_line(brief(unknown.analysis)).encode()) <= MOST_BYTES
    assert unknown.brief()["done"] is None


def test_the_notebook_runs(tmp_path: Path) -> None:
    book = nbformat.read(ROOT / "docs" / "notebook.ipynb", as_version=4)
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(ROOT)}}).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert any("<table" in output.get("data", {}).get("text/html", "") for output in outputs)


def test_compare_is_a_frame_with_notes() -> None:
    pairs = LIMITS.parent / "pairs"
    frame = roofctl.compare(pairs, pairs, match=["transpose_naive=transpose_padded"])
    assert list(frame["kernel"]) == ["transpose_naive → transpose_padded"]
    assert frame["ratio"][0] == pytest.approx(0.139, abs=0.001)
    assert list(frame["verdict"]) == ["faster"]
    assert any("one launch" in note for note in frame.attrs["notes"])


def test_the_page_and_the_short_form() -> None:
    report = roofctl.analyse(LIMITS)
    text = report.html()
    assert text.startswith("<!DOCTYPE html>")
    assert all(name in text for name in report.kernels["short_name"])
    assert (
        repr(report) == f"<Report of {Path(LIMITS).name}: {len(report.kernels)} rows, instruction model, NVIDIA H200>"
    )
