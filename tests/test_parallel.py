"""Work in processes: in order, bounded, and an end for every way to fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from roofctl import parallel
from roofctl.errors import InputError, ToolFailed
from roofctl.parallel import each


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
