"""Whether there is a driver, by files."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.core.driver import gpu_names, has_driver


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("proc/driver/nvidia/version", True),
        ("dev/nvidia0", True),
        ("dev/nvidia12", True),
        ("dev/dxg", True),
        ("dev/nvhost-ctrl-gpu", True),
        ("dev/nvidiactl", False),  # left by a program that looked for a driver
        ("dev/nvidia-uvm", False),
        ("dev/null", False),
    ],
)
def test_files_of_a_driver(name: str, expected: bool, tmp_path: Path) -> None:
    assert not has_driver(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).touch()
    assert has_driver(tmp_path) is expected


def test_names_of_gpus(tmp_path: Path) -> None:
    assert gpu_names(tmp_path) == []
    for number, text in enumerate(("Model: \t\t NVIDIA H200\nIRQ: 5\n", "IRQ: 5\n", "Model: NVIDIA A30\n")):
        folder = tmp_path / f"proc/driver/nvidia/gpus/0000:{number}0:00.0"
        folder.mkdir(parents=True)
        (folder / "information").write_text(text, encoding="utf-8")
    assert gpu_names(tmp_path) == ["NVIDIA H200", "NVIDIA A30"]
