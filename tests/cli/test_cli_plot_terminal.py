"""``roofctl plot --terminal``."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.cli.main import main

LIMITS = str(Path(__file__).parents[1] / "data" / "captures-h200" / "limits")


def test_the_picture_goes_to_stdout_and_no_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plot", LIMITS, "--terminal", "--ascii"]) == 0
    out, err = capsys.readouterr()
    assert out.isascii()
    assert "Instruction roofline" in out
    assert "limit_hbm" in out
    assert "note:" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [["--ascii"], ["--terminal", "-o", "a.png"], ["--terminal", "--mode", "time"], ["--terminal", "--walls", "global"]],
)
def test_options_that_do_not_go_together(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", LIMITS, *wrong]) == 2
    assert "--terminal" in capsys.readouterr().err
