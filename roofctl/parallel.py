"""The same function on many items, in processes: reading is Python, which threads would not make faster."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Final, TypeVar

from roofctl.errors import ToolFailed

T = TypeVar("T")
R = TypeVar("R")

_AHEAD: Final = 4
"""Batches that each process may be ahead of whoever takes the results: memory stays bounded by it."""
_BATCH: Final = 8
_MOST: Final = 32


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def each(
    function: Callable[[T], R], items: Sequence[T], *, worthwhile: bool, preload: Sequence[str] = ()
) -> Iterator[R]:
    """Results of ``function`` on ``items``, in order; in processes where that is ``worthwhile`` and there are several.

    ``function`` and items must be such that they can be sent to another process; ``preload`` are modules that it
    needs. What it raises is raised here. Raises ToolFailed when a process is killed.
    """
    count = min(processors(), len(items), _MOST)
    if count <= 1 or not worthwhile:
        yield from map(function, items)
        return
    # Not fork: this process may have threads by now. The server loads the modules once for all.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*preload])
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        try:
            yield from _ahead(pool, function, items, count * _AHEAD)
        except BrokenProcessPool as error:
            raise ToolFailed(
                "a process that worked on a part of the input was killed, perhaps for want of memory",
                hint="give fewer or smaller files at a time",
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _ahead(pool: ProcessPoolExecutor, function: Callable[[T], R], items: Iterable[T], most: int) -> Iterator[R]:
    rest = iter(items)
    batches: Iterator[list[T]] = iter(lambda: list(islice(rest, _BATCH)), [])
    waiting: deque[Future[list[R]]] = deque()
    for batch in batches:
        waiting.append(pool.submit(_batch, function, batch))
        if len(waiting) >= most:
            yield from waiting.popleft().result()
    while waiting:
        yield from waiting.popleft().result()


def _batch(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    return [function(item) for item in items]
