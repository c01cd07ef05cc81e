"""Work in processes: in order, bounded, and an end for every way to fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from roofctl.core import parallel
from roofctl.core.errors import InputError, ToolFailed
from roofctl.core.parallel import each

from support.shapes import FULL, L, ncu_raw


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def refuse_seven(number: int) -> int:
    if number == 7:
        raise InputError("no seven", hint="take eight")
    return number


def die(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "processors", lambda: 2)


def test_results_come_in_order_and_from_other_processes() -> None:
    results = list(each(square, range(300), worthwhile=True))
    assert [value for value, _ in results] == [n * n for n in range(300)]
    assert os.getpid() not in {process for _, process in results}


def test_what_is_not_worthwhile_stays_here() -> None:
    assert {process for _, process in each(square, range(300), worthwhile=False)} == {os.getpid()}


def test_an_error_is_raised_here_with_its_hint() -> None:
    with pytest.raises(InputError, match="no seven") as caught:
        list(each(refuse_seven, range(100), worthwhile=True))
    assert caught.value.hint == "take eight"


def test_a_process_that_is_killed_is_an_error() -> None:
    with pytest.raises(ToolFailed, match="was killed"):
        list(each(die, range(100), worthwhile=True))


def test_the_work_does_not_run_far_ahead() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(10_000):
            taken.append(number)
            yield number

    class Pool:
        def submit(self, function: object, *arguments: object) -> object:
            class Done:
                def result(self) -> object:
                    return function(*arguments)  # type: ignore[operator]

            return Done()

    results = parallel._ahead(Pool(), square, items(), 4)  # type: ignore[arg-type]
    next(results)
    assert len(taken) == 4 * parallel._BATCH


def slowly(number: int) -> int:
    time.sleep(0.2)
    return number


def test_who_stops_early_waits_for_nothing() -> None:
    results = each(slowly, range(1000), worthwhile=True)
    assert next(results) == 0
    before = time.monotonic()
    results.close()
    assert time.monotonic() - before < 1.0  # a batch takes 1.6 s


EXPORT = """
import sys, time
from roofctl.output import parquet as export
from roofctl.study import load as inputs
from roofctl.core import parallel
from roofctl.cli import main

inputs._WORTH_SECONDS = 0.0
parallel.processors = lambda: 2
sys.argv = ["roofctl", "export", "ranks", "--parquet", "out"]
print("ready", flush=True)
main.entry()
"""


@contextmanager
def exporting(here: Path) -> Iterator[subprocess.Popen[str]]:
    """An export of many files in a process group of its own, which must be empty at the end."""
    (here / "ranks").mkdir()
    text = ncu_raw([L(f"k{n}(int)", FULL, id=str(n)) for n in range(1000)])
    for number in range(300):
        (here / "ranks" / f"rank{number}.csv").write_text(text, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", EXPORT],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            yield child
            until(lambda: not alive(child.pid))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(group: int) -> bool:
    """Whether a process of the group runs; one that has ended and that nobody waits for does not."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                return True
    return False


def written(here: Path) -> bool:
    return any(here.glob(".*.partial/capture=*"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_a_signal_stops_all_and_leaves_nothing(tmp_path: Path, number: int, send: Callable[[int, int], None]) -> None:
    with exporting(tmp_path) as child:
        until(lambda: written(tmp_path))
        send(child.pid, number)
        _, printed = child.communicate(timeout=20)
        assert child.returncode == 130
        assert printed.strip() == "interrupted"
        assert [path.name for path in tmp_path.iterdir()] == ["ranks"]


def test_the_tracker_of_leftovers_is_quiet() -> None:
    program = (
        "import sys; from multiprocessing import resource_tracker as r; from roofctl.core.parallel import _start_server\n"
        "_start_server(); print(open(f'/proc/{r._resource_tracker._pid}/cmdline').read().split(chr(0)), sys.warnoptions)"
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert "-Wignore:resource_tracker:UserWarning" in child.stdout
    assert child.stdout.rstrip().endswith("[]")


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.2, 0.4])
def test_an_early_interrupt_prints_no_traceback(tmp_path: Path, seconds: float) -> None:
    with exporting(tmp_path) as child:
        until(lambda: any(tmp_path.glob(".*.partial")))
        time.sleep(seconds)
        os.killpg(child.pid, signal.SIGINT)
        _, printed = child.communicate(timeout=20)
        assert (child.returncode, printed.strip()) == (130, "interrupted")


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with exporting(tmp_path) as child:
        until(lambda: written(tmp_path))
        child.kill()
