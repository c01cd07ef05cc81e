"""nvcc behind its seam: found or not, builds once, says what went wrong."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from roofctl.core.errors import DeviceError
from roofctl.core.process import Completed
from roofctl.cuda import toolchain
from roofctl.cuda.toolchain import Toolchain, find_tool

VERSION = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\n"


class Tools:
    """Replaces nvcc and the disassembler; counts builds."""

    def __init__(self, returncode: int = 0, stderr: str = "", sass: str = "") -> None:
        self.calls: list[tuple[str, ...]] = []
        self._returncode, self._stderr, self._sass = returncode, stderr, sass

    def __call__(self, argv: Sequence[str]) -> Completed:
        self.calls.append(tuple(argv))
        if "--version" in argv:
            return Completed(tuple(argv), 0, VERSION)
        if "-o" in argv and self._returncode == 0:
            Path(argv[argv.index("-o") + 1]).write_bytes(b"\x7fELF")
        return Completed(tuple(argv), self._returncode, self._sass, self._stderr)

    @property
    def builds(self) -> int:
        return sum("-o" in call for call in self.calls)


@pytest.fixture
def nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin" / "nvcc"
    path.parent.mkdir()
    for name in ("nvcc", "nvdisasm"):
        tool = path.with_name(name)
        tool.write_text("#!/bin/sh\n")
        tool.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(path.parent))
    return path


def made(tmp_path: Path, tools: Tools, arch: str = "sm_90a") -> Toolchain:
    return Toolchain.find(arch, cache=tmp_path / "cache", run_tool=tools)


def test_tools_are_found_on_path_and_under_cuda_home(nvcc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_tool("nvcc") == nvcc
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(toolchain, "_folders", toolchain._folders)
    monkeypatch.setenv("CUDA_HOME", str(nvcc.parent.parent))
    assert find_tool("nvcc") == nvcc


def test_without_nvcc_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "find_tool", lambda _: None)
    with pytest.raises(DeviceError, match="nvcc was not found") as caught:
        Toolchain.find("sm_90a")
    assert "CUDA_HOME" in caught.value.hint


def test_a_file_is_built_once_per_architecture(nvcc: Path, tmp_path: Path) -> None:
    tools = Tools()
    for arch in ("sm_90a", "sm_90a", "sm_80"):
        assert made(tmp_path, tools, arch).build("l2.cu") == b"\x7fELF"
    assert tools.builds == 2


def test_a_changed_header_builds_anew(nvcc: Path, tmp_path: Path) -> None:
    tools = Tools()
    chain = made(tmp_path, tools)
    chain.folder = tmp_path
    (tmp_path / "k.cu").write_text('#include "h.cuh"\n')
    for header in ("int one;\n", "int one;\n", "int two;\n"):
        (tmp_path / "h.cuh").write_text(header)
        chain.build("k.cu")
    assert tools.builds == 2


def test_background_builds_are_waited_for(nvcc: Path, tmp_path: Path) -> None:
    tools = Tools()
    chain = made(tmp_path, tools)
    chain.start(["l1.cu", "l2.cu"])
    assert chain.image("l1.cu") == chain.image("l2.cu") == b"\x7fELF"
    assert tools.builds == 2


def test_a_cache_that_cannot_be_written_costs_time_only(nvcc: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    assert made(tmp_path, Tools()).build("l2.cu") == b"\x7fELF"


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ("nvcc fatal   : Unsupported gpu architecture 'compute_70'", "nvcc 13.0.88 does not know sm_70"),
        (
            "l2.cu(3): error: expected a ';'\n1 error detected",
            r"kernels/l2\.cu does not build for sm_70 .*\n  l2\.cu\(3\): error",
        ),
        ("nvcc fatal   : Cannot find a host compiler: gcc", "nvcc has no C\\+\\+ compiler"),
    ],
)
def test_build_errors(nvcc: Path, tmp_path: Path, printed: str, message: str) -> None:
    with pytest.raises(DeviceError, match=message) as caught:
        made(tmp_path, Tools(1, printed), "sm_70").build("l2.cu")
    assert caught.value.hint


def test_disassembly_without_a_usable_tool_is_empty(
    nvcc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made(tmp_path, Tools(sass="nothing that is SASS")).disassemble("l2.cu") == {}
    chain = made(tmp_path, Tools())
    monkeypatch.setattr(toolchain, "find_tool", lambda _: None)
    assert chain.disassemble("l2.cu") == {}


def test_disassembly_gives_kernels(nvcc: Path, tmp_path: Path) -> None:
    text = ".text.k:\n        /*0000*/                   FFMA R0, R0, R1, R2 ;\n"
    assert [i.base for i in made(tmp_path, Tools(sass=text)).disassemble("fp32.cu")["k"].instructions] == ["FFMA"]
