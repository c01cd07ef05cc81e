"""Which tools and which GPU are here, and which profiler is chosen for it."""

from __future__ import annotations

import pytest

from roofctl.core.errors import ToolError, ToolFailed, ToolNotFound, UnfitTool
from roofctl.core.gpu import Gpu
from roofctl.cuda import tools
from roofctl.profilers import ncu
from roofctl.profilers.choose import choose
from roofctl.profilers.gpu import find_gpu
from roofctl.quantities import catalogue

from support.fake_profilers import install, write


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A PATH without profilers."""
    folder = install(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setitem(tools.PLACES, "ncu", ())
    return folder


def test_the_version_is_asked(bare, monkeypatch):
    monkeypatch.setenv("FAKE_VERSION", "2024.1.1")
    install(bare, "ncu")
    tool = ncu.find()
    assert (tool.version, tool.numbers, tool.path) == ("2024.1.1", (2024, 1, 1), str(bare / "ncu"))
    assert ncu.chips(tool.path) == ("ad102", "ga100", "gh100", "tu102", "gv100")


def test_no_ncu(bare, tmp_path, monkeypatch):
    with pytest.raises(ToolNotFound, match="ncu is not on PATH") as caught:
        ncu.find()
    assert "Nsight Compute" in caught.value.hint
    place = tmp_path / "cuda" / "ncu"
    place.parent.mkdir()
    place.write_text("")
    monkeypatch.setitem(tools.PLACES, "ncu", (str(place).removeprefix("/"),))
    with pytest.raises(ToolNotFound) as caught:
        ncu.find()
    assert str(place) in caught.value.hint


def test_a_wrapper_that_does_not_run_is_named(bare):
    write(bare / "ncu", "#!/bin/sh\necho 'Nsight Compute is not installed' >&2\nexit 1\n")
    with pytest.raises(
        ToolFailed, match=rf"{bare}/ncu is on PATH but does not run ncu.*Nsight Compute is not installed"
    ):
        ncu.find()
    write(bare / "ncu", "#!/bin/sh\necho hello\n")
    with pytest.raises(ToolFailed, match="exited 0 and printed: hello"):
        ncu.find()
    write(bare / "ncu", "no program")
    with pytest.raises(ToolFailed, match=r"is on PATH but does not run ncu: .*Exec format error"):
        ncu.find()


def test_a_wrapper_that_hangs_is_a_failed_tool_and_no_timeout(bare, monkeypatch):
    write(bare / "ncu", "#!/bin/sh\nsleep 60\n")
    monkeypatch.setattr(tools, "VERSION_SECONDS", 0.2)
    with pytest.raises(ToolFailed, match=r"does not run ncu: .* did not answer within 0\.2 s") as caught:
        ncu.find()
    assert caught.value.exit_code == 3
    assert "wrapper" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "text", "version"),
    [
        ("ncu", "Version 2025.3.1.0 (build 1)", "2025.3.1"),
        ("ncu", "Version 2022.3.0.0 (build 1)", "2022.3.0"),
        ("nvprof", "Release version 8.0 (21)", "8.0"),
        ("nvcc", "Cuda compilation tools, release 13.0, V13.0.88", "13.0.88"),
        ("ncu", "hello", None),
    ],
)
def test_a_version_is_read(name, text, version):
    assert tools.version_in(name, text) == version


def test_the_newest_of_the_usual_places_is_named(tmp_path):
    for version in ("9.2", "12.4", "11.8"):
        (tmp_path / f"usr/local/cuda-{version}/bin").mkdir(parents=True)
        (tmp_path / f"usr/local/cuda-{version}/bin/ncu").write_text("")
    assert "cuda-12.4/bin/ncu" in tools.elsewhere_hint("ncu", tmp_path)
    assert tools.elsewhere_hint("nvprof", tmp_path) == ""


def test_a_version_that_is_too_old(bare, monkeypatch):
    monkeypatch.setenv("FAKE_VERSION", "2020.1.2")
    install(bare, "ncu")
    with pytest.raises(ToolError, match=r"ncu 2020\.1\.2; roofctl needs 2020\.2 or newer"):
        ncu.find()


H200 = Gpu("NVIDIA H200", "9.0")
V100 = Gpu("Tesla V100", "7.0")
P100 = Gpu("Tesla P100", "6.0")


@pytest.mark.parametrize(
    "case",
    [
        ("ncu nvprof", "2025.3.1", H200, "auto", "ncu", "compute capability 9.0"),
        ("ncu nvprof", "2025.3.1", P100, "auto", "nvprof", "below ncu's 7.0"),
        ("ncu nvprof", "2024.1.1", V100, "auto", "ncu", "compute capability 7.0"),
        ("ncu nvprof", "2025.3.1", V100, "auto", "nvprof", "does not know the chip gv100"),
        ("nvprof", "", V100, "auto", "nvprof", "ncu is not on PATH"),
        ("ncu nvprof", "2025.3.1", None, "auto", "ncu", "not known here"),
        ("nvprof", "", None, "auto", "nvprof", "ncu is not on PATH"),
        ("ncu nvprof", "2025.3.1", H200, "ncu", "ncu", "asked for"),
        ("ncu nvprof", "2024.1.1", V100, "nvprof", "nvprof", "asked for"),
        ("ncu", "2025.3.1", Gpu("Next", "15.0"), "auto", "ncu", "15.0"),
    ],
)
def test_the_profiler_is_chosen_with_a_reason(bare, monkeypatch, case):
    installed, version, gpu, wanted, name, why = case
    monkeypatch.setenv("FAKE_VERSION", version)
    install(bare, *installed.split())
    choice = choose(wanted, gpu)
    assert choice.tool.name == name
    assert why in choice.why


@pytest.mark.parametrize(
    "case",
    [
        ("ncu nvprof", P100, "ncu", UnfitTool, "it begins with Volta"),
        ("ncu nvprof", V100, "ncu", UnfitTool, "does not know the chip gv100"),
        ("ncu nvprof", H200, "nvprof", UnfitTool, "it stops at 7.2"),
        ("", H200, "auto", ToolNotFound, "ncu is not on PATH"),
        ("nvprof", H200, "auto", ToolNotFound, "ncu is not on PATH"),
        ("", P100, "auto", ToolNotFound, "nvprof is not on PATH"),
        ("", None, "auto", ToolNotFound, "neither ncu nor nvprof"),
        ("ncu", V100, "auto", UnfitTool, "does not know the chip"),
    ],
)
def test_what_cannot_count_is_refused(bare, case):
    installed, gpu, wanted, error, message = case
    install(bare, *installed.split())
    with pytest.raises(error, match=message):
        choose(wanted, gpu)


def test_the_gpu_is_asked(bare, monkeypatch):
    assert find_gpu() is None
    install(bare, "nvidia-smi")
    clocks = {"max_sm_clock_hz": 1980e6, "sm_clock_hz": 345e6, "memory_clock_hz": 3201e6}
    assert find_gpu() == Gpu("NVIDIA H200", "9.0", "580.159", **clocks)
    assert catalogue().chip_of(find_gpu().compute_capability) == "gh100"
    monkeypatch.setenv("FAKE_OLD_SMI", "1")
    assert find_gpu() == Gpu("NVIDIA H200", None, "580.159", **clocks)
    assert find_gpu().capability is None
    monkeypatch.setenv("FAKE_GPU", "Orin, [N/A], N/A, [Not Supported], [N/A], [N/A]")
    monkeypatch.delenv("FAKE_OLD_SMI")
    assert find_gpu() == Gpu("Orin")
    monkeypatch.setenv("FAKE_GPU", "")
    assert find_gpu() is None


@pytest.mark.parametrize(
    "case",
    [("", None, ""), ("", 2, "2"), ("3,1", None, "3"), ("3,1", 1, "1"), ("GPU-abc", 0, "GPU-abc"), ("3", 5, "")],
)
def test_visible_devices_are_renumbered(bare, monkeypatch, tmp_path, case):
    visible, device, asked = case
    write(bare / "nvidia-smi", f"#!/bin/sh\necho \"$*\" > {tmp_path}/asked\necho 'A, 9.0, 1, 2, 3, 4'\n")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    wanted = f"-i {asked} --query-gpu" if asked else "--query-gpu"
    assert find_gpu(device).name == "A"
    assert (tmp_path / "asked").read_text().startswith(wanted)
    # What the application alone gets (--env) is what counts.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    find_gpu(device, {"CUDA_VISIBLE_DEVICES": visible})
    assert (tmp_path / "asked").read_text().startswith(wanted)
