"""One function on many items in several processes: reading is Python code, which threads would not make faster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import wait
from typing import Any, Final, TypeVar

from roofctl.core.errors import ToolFailed

T = TypeVar("T")
R = TypeVar("R")

_AHEAD: Final = 4
"""Batches that each process may be ahead of whoever takes the results: memory stays bounded by it."""
_BATCH: Final = 8
_MOST: Final = 32
_QUIET: Final = "ignore:resource_tracker:UserWarning"
_OURS: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
"""Signals that this process handles for its workers too: a terminal or a batch system sends them to all."""


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def each(
    function: Callable[[T], R], items: Sequence[T], *, worthwhile: bool, preload: Sequence[str] = ()
) -> Generator[R, None, None]:
    """Results of ``function`` on ``items``, in order; in processes where that is ``worthwhile`` and there are several.

    ``function`` and items must be such that they can be sent to another process; ``preload`` are modules that it
    needs. What it raises is raised here. Raises ToolFailed when a process is killed. Whoever may stop before the end
    closes this: then no process works on.
    """
    count = min(processors(), len(items), _MOST)
    if count <= 1 or not worthwhile:
        yield from map(function, items)
        return
    # Not fork: this process may have threads by now. The server loads the modules once for all.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*preload])
    _start_server()
    with ProcessPoolExecutor(count, mp_context=context, initializer=_end_with_parent) as pool:
        try:
            yield from _ahead(pool, function, items, count * _AHEAD)
        except BrokenProcessPool as error:
            raise ToolFailed(
                "a process that worked on a part of the input was killed, perhaps for want of memory",
                hint="give fewer or smaller files at a time",
            ) from error
        except BaseException:
            # Their results are not needed any more, and may take minutes.
            for process in list((pool._processes or {}).values()):  # noqa: SLF001 - public from 3.14 on
                process.kill()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _signals_later() -> Iterator[None]:
    """Signals that come inside are handled at its end; processes started inside never see them.

    So no process prints a traceback of its own, and none is half started when those that are known are ended.
    """
    noted: list[int] = []
    handlers: dict[int, Any] = {}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
    try:
        # The system may deliver a signal to a library's thread, which blocks nothing.
        if threading.current_thread() is threading.main_thread():
            for number in _OURS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    handlers[number] = signal.signal(number, lambda number, _frame: noted.append(number))
        yield
    finally:
        for caught, handler in handlers.items():
            signal.signal(caught, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for came in noted:
            signal.raise_signal(came)


def _start_server() -> None:
    """Start the server of processes, whose children have the signals blocked that it has blocked."""
    for start in (resource_tracker.ensure_running, forkserver.ensure_running):
        # One by one: the first unblocks signals.
        with _signals_later(), _quiet_tracker():
            start()


@contextmanager
def _quiet_tracker() -> Iterator[None]:
    """Silence the warning of multiprocessing's resource tracker: it removes what an interrupt leaves behind.

    It is started with the warning options of this process.
    """
    sys.warnoptions.append(_QUIET)
    try:
        yield
    finally:
        sys.warnoptions.remove(_QUIET)


def _end_with_parent() -> None:
    """In a worker: end when the process that it works for does, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


def _ahead(pool: ProcessPoolExecutor, function: Callable[[T], R], items: Iterable[T], most: int) -> Iterator[R]:
    rest = iter(items)
    batches: Iterator[list[T]] = iter(lambda: list(islice(rest, _BATCH)), [])
    waiting: deque[Future[list[R]]] = deque()
    for batch in batches:
        with _signals_later():
            waiting.append(pool.submit(_batch, function, batch))
        if len(waiting) >= most:
            yield from waiting.popleft().result()
    while waiting:
        yield from waiting.popleft().result()


def _batch(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    return [function(item) for item in items]
