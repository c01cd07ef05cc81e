"""How the rows of a kernel table are called in tables and pictures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from roofctl.core.kernel_names import base_name
from roofctl.core.short_names import Names
from roofctl.launches.aggregate import KernelTable


def row_names(table: KernelTable, shorts: Mapping[str, str], form: Names) -> list[str]:
    """A name per row of the table: short, base or full.

    Rows of one kernel in one capture are numbered: single launches in their order, else by grid, then block. Numbers
    count the shapes of all captures, so that equal shapes have equal ones.
    """
    kernels = table.frame["kernel"].tolist()
    ways: dict[Names, Callable[[str], str]] = {"short": shorts.__getitem__, "base": base_name, "full": str}
    names = ways[form]
    captures = table.frame["capture"].tolist()
    if max(Counter(zip(captures, kernels, strict=True)).values(), default=0) <= 1:
        return [names(kernel) for kernel in kernels]
    if "occurrence" in table.frame:
        launches = table.frame["occurrence"].tolist()
        return [f"{names(kernel)} #{launch + 1}" for kernel, launch in zip(kernels, launches, strict=True)]
    keys = _shapes(captures, kernels, table.frame["grid"].tolist(), table.frame["block"].tolist())
    shapes: dict[str, set[Any]] = {}
    for kernel, key in zip(kernels, keys, strict=True):
        shapes.setdefault(kernel, set()).add(key)
    numbers = {
        kernel: {key: number for number, key in enumerate(sorted(known), 1)}
        for kernel, known in shapes.items()
        if len(known) > 1
    }
    return [
        names(kernel) + (f" #{numbers[kernel][key]}" if kernel in numbers else "")
        for kernel, key in zip(kernels, keys, strict=True)
    ]


def _shapes(captures: list[Any], kernels: list[str], grids: list[Any], blocks: list[Any]) -> list[tuple[Any, ...]]:
    """Per row what it is ordered by among those of its kernel: grid, block, and which of equal launches it is."""
    seen: Counter[tuple[Any, ...]] = Counter()
    keys = []
    for capture, kernel, grid, block in zip(captures, kernels, grids, blocks, strict=True):
        shape = (*_extent(grid), *_extent(block))
        keys.append((*shape, seen[capture, kernel, shape]))
        seen[capture, kernel, shape] += 1
    return keys


def _extent(text: Any) -> tuple[int, tuple[int, ...]]:
    """Blocks or threads in all, and per dimension, of ``(256, 1, 1)``; zeros where they are not known."""
    sizes = tuple(int(size) for size in re.findall(r"\d+", text)) if isinstance(text, str) else ()
    total = 1 if sizes else 0
    for size in sizes:
        total *= size
    return total, sizes
