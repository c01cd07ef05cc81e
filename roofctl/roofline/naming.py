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
    names = [ways[form](kernel) for kernel in kernels]
    if max(Counter(zip(table.frame["capture"], kernels, strict=True)).values(), default=0) <= 1:
        return names
    keys: list[Any] = (
        table.frame["occurrence"].tolist()
        if "occurrence" in table.frame
        else list(zip(map(_extent, table.frame["grid"]), map(_extent, table.frame["block"]), strict=True))
    )
    known: dict[str, set[Any]] = {}
    for kernel, key in zip(kernels, keys, strict=True):
        known.setdefault(kernel, set()).add(key)
    numbers = {
        kernel: {key: number for number, key in enumerate(sorted(own), 1)}
        for kernel, own in known.items()
        if len(own) > 1
    }
    return [
        f"{name} #{numbers[kernel][key]}" if kernel in numbers else name
        for kernel, name, key in zip(kernels, names, keys, strict=True)
    ]


def _extent(text: Any) -> tuple[int, tuple[int, ...]]:
    """Blocks or threads in all, and per dimension, of ``(256, 1, 1)``; zeros where they are not known."""
    sizes = tuple(int(size) for size in re.findall(r"\d+", text)) if isinstance(text, str) else ()
    total = 1 if sizes else 0
    for size in sizes:
        total *= size
    return total, sizes
