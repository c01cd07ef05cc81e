"""Processor time of a short report and of a picture, beside that of the libraries they rest on."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

CAPTURE = Path(__file__).parent / "data" / "captures-h200" / "verify"
RUNS = 4


def processor_seconds(arguments: list[str], environment: dict[str, str]) -> float:
    """User and system time of a Python process, the least of some runs: others on the machine can only add to it."""
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


@pytest.mark.parametrize(
    ("library", "command", "most"),
    [
        ("pandas", ["report", str(CAPTURE)], 2.8),
        # A picture needs pandas, too, to read its input: that alone is 0.6 to 0.8 of matplotlib's time.
        ("matplotlib.pyplot", ["plot", str(CAPTURE), "--force", "-o", "picture.png"], 4.5),
    ],
)
def test_most_of_the_time_is_that_of_importing_a_library(
    library: str, command: list[str], most: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The first of the runs compiles, as an installation does.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    ours = processor_seconds(["-m", "roofctl", *command], environment)
    assert ours < most * processor_seconds(["-c", f"import {library}"], environment)
