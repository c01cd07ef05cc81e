"""Which kernel of one capture is which of another: by name and grid, by name, or by share of time and shape."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from roofctl.core.errors import InputError
from roofctl.core.kernel_names import base_name, some
from roofctl.roofline.flop import OPERATIONS, operations_of
from roofctl.roofline.kernel import Kernel

How = Literal["name and grid", "name", "share and shape", "given"]
"""How two kernels were matched; ``given``: as the user said."""

_LEAST_SHARE: Final = 0.01
"""Part of the time below which kernels of different names are not matched: many short ones are alike by chance."""

_LEAST_LIKE: Final = 0.5
"""Mean likeness from which two kernels of different names are taken for one."""

_CLOSE_SHARES: Final = 0.1
"""A kernel whose part of the time is less than this part of the other's is another one."""


@dataclass(frozen=True)
class Match:
    """Two kernels by their indices, or one that the other side does not have; ``how`` is None for such a one."""

    before: int | None
    after: int | None
    how: How | None = None


@dataclass(frozen=True)
class GivenMatch:
    """Names or regular expressions that the user matched with each other."""

    before: str
    after: str

    @classmethod
    def parse(cls, text: str) -> GivenMatch:
        """``BEFORE=AFTER``. Raises InputError for anything else, and for what is no regular expression."""
        before, equals, after = text.partition("=")
        if not (equals and before.strip() and after.strip()):
            raise InputError(f"--match {text!r} is not BEFORE=AFTER", hint="for example --match naive=padded")
        for pattern in (before, after):
            try:
                re.compile(pattern.strip())
            except re.error as error:
                raise InputError(f"--match {text!r}: {pattern!r} is no regular expression: {error}") from error
        return cls(before.strip(), after.strip())


def match_kernels(
    before: Sequence[Kernel], after: Sequence[Kernel], given: Sequence[GivenMatch] = ()
) -> tuple[Match, ...]:
    """Every kernel of both sides once, in matches or alone. Raises InputError where a given name fits no kernel."""
    left, right = dict(enumerate(before)), dict(enumerate(after))
    matches: list[Match] = []

    def take(pairs: Iterator[tuple[int, int]], how: How) -> None:
        for one, other in pairs:
            matches.append(Match(one, other, how))
            del left[one], right[other]

    for pair in given:
        take(_given(pair, left, right), "given")
    take(_by(_shape_key, left, right), "name and grid")
    take(_by(_grid_key, left, right), "name and grid")
    take(_by(_name_key, left, right), "name")
    take(_alike(left, right), "share and shape")
    matches += [Match(index, None) for index in left]
    matches += [Match(None, index) for index in right]
    return tuple(matches)


def _given(pair: GivenMatch, left: dict[int, Kernel], right: dict[int, Kernel]) -> Iterator[tuple[int, int]]:
    """Kernels that the patterns name: first those of equal grids, then in order of time."""
    chosen = []
    for pattern, side in ((pair.before, left), (pair.after, right)):
        exact = {index: kernel for index, kernel in side.items() if pattern in (kernel.name, kernel.short_name)}
        found = exact or {index: kernel for index, kernel in side.items() if _names(pattern, kernel)}
        if not found:
            names = some([kernel.short_name for kernel in side.values()], 12)
            raise InputError(f"--match: {pattern!r} is no kernel; those left are: {names}")
        chosen.append(found)
    pairs = list(_by(lambda kernel: (kernel.grid, kernel.rank), *chosen))
    taken = {index for index, _ in pairs}, {index for _, index in pairs}
    rest = [
        {index: kernel for index, kernel in side.items() if index not in used}
        for side, used in zip(chosen, taken, strict=True)
    ]
    return iter([*pairs, *_by(lambda kernel: kernel.rank, *rest)])


def _names(pattern: str, kernel: Kernel) -> bool:
    return bool(re.search(pattern, kernel.name) or re.search(pattern, kernel.short_name))


def _shape_key(kernel: Kernel) -> Hashable:
    return kernel.name, kernel.grid, kernel.block, kernel.occurrence, kernel.rank


def _grid_key(kernel: Kernel) -> Hashable:
    return kernel.name, kernel.grid, kernel.occurrence, kernel.rank


def _name_key(kernel: Kernel) -> Hashable:
    return kernel.name, kernel.occurrence, kernel.rank


def _by(
    key: Callable[[Kernel], Hashable], left: dict[int, Kernel], right: dict[int, Kernel]
) -> Iterator[tuple[int, int]]:
    """Pairs of equal keys; of several with one key the longest with the longest."""
    groups: tuple[defaultdict[Hashable, list[int]], ...] = (defaultdict(list), defaultdict(list))
    for group, side in zip(groups, (left, right), strict=True):
        for index in sorted(side, key=lambda index: -_total(side[index])):
            group[key(side[index])].append(index)
    pairs = [pair for each, ones in groups[0].items() for pair in zip(ones, groups[1].get(each, ()), strict=False)]
    return iter(pairs)


def _total(kernel: Kernel) -> float:
    return float(kernel["seconds_total"] or 0.0)


def _alike(left: dict[int, Kernel], right: dict[int, Kernel]) -> Iterator[tuple[int, int]]:
    """Pairs of kernels with different names that are most alike, each kernel once."""
    ones, others = (
        [index for index, kernel in side.items() if (kernel.time_share or 0.0) >= _LEAST_SHARE]
        for side in (left, right)
    )
    scores = sorted(
        ((likeness(left[one], right[other]), one, other) for one in ones for other in others),
        key=lambda score: -score[0],
    )
    pairs: dict[int, int] = {}
    for score, one, other in scores:
        if score >= _LEAST_LIKE and one not in pairs and other not in pairs.values():
            pairs[one] = other
    return iter(pairs.items())


def likeness(before: Kernel, after: Kernel) -> float:
    """How much two kernels are alike, 0 to 1: the mean of the agreement of what is known of both.

    These are the share of the time, the number of launches, the operations (where they were not counted the threads),
    the traffic with device memory, and the base name. 0 where the shares are far apart, or the rank or the number of
    the launch differs.
    """
    shares = _agreement(before.time_share, after.time_share)
    if shares is None or shares < _CLOSE_SHARES:
        return 0.0
    if (before.rank, before.occurrence) != (after.rank, after.occurrence):
        return 0.0
    # Operations are what an algorithm has to do; how many threads do it is up to the kernel.
    work = _operations(before, after)
    parts = [
        shares,
        _agreement(before.launches, after.launches),
        _agreement(_threads(before), _threads(after)) if work is None else work,
        _agreement(before["hbm_transactions"], after["hbm_transactions"]),
        SequenceMatcher(None, base_name(before.name), base_name(after.name)).ratio(),
    ]
    known = [part for part in parts if part is not None]
    return sum(known) / len(known)


def _operations(before: Kernel, after: Kernel) -> float | None:
    """Agreement of the floating-point operations per launch; None where a side did not count any, or both have none."""
    if any(all(kernel[name] is None for name in OPERATIONS.values()) for kernel in (before, after)):
        return None
    one, other = (sum(operations_of(kernel).values()) for kernel in (before, after))
    return min(one, other) / max(one, other) if one or other else None


def _agreement(one: float | None, other: float | None) -> float | None:
    """The smaller over the larger; None where one is not known or 0."""
    return min(one, other) / max(one, other) if one and other else None


def _threads(kernel: Kernel) -> float | None:
    if not kernel.grid or not kernel.block:
        return None
    sizes = [int(size) for size in re.findall(r"\d+", f"{kernel.grid} {kernel.block}")]
    return float(math.prod(sizes)) if sizes else None
