"""Fixtures that several test files share."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from roofctl.cli.common import TALK, Talk


def pytest_configure() -> None:
    """Let Ctrl-C act again: a shell starts commands in the background with it ignored, and children inherit that."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture
def data() -> Path:
    """The folder of captured and hand-written profiler output."""
    return Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def _clean_surroundings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the user's own GPU profiles, colors, or the options of an earlier command."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    vars(TALK).update(vars(Talk()))


@pytest.fixture
def own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder of GPU profiles that this test may write into."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"
