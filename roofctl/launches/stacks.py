"""Many captures that are alike, such as those of a thousand ranks: evaluated and aggregated together.

What comes out is what each alone would give; only the thousand small steps are one large one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd

from roofctl.launches.aggregate import Group, Kernels, group_captures, group_stack, stands_alone
from roofctl.launches.evaluate import IDENTITY, Evaluated, Part, evaluate
from roofctl.quantities import catalogue

_FEW: Final = 8
"""Fewer parts than this are not worth a stack."""
_EXACT: Final = 2.0**53
"""Sums below this are exact as floats too, so it does not matter which of the two a column of many captures has."""
_PARTS: Final = 16
"""A quantity is made of fewer counters than this, counted with the weights of compositions."""


def captures_of(parts: Sequence[Part], chip: str | None, group: Group) -> list[Kernels]:
    """Captures among ``parts``, aggregated, in their order.

    Raises InputError as ``evaluate`` and ``group_captures`` do.
    """
    stacks = _stacks(parts)
    stacked = {number for numbers in stacks for number in numbers}
    rest = [number for number in range(len(parts)) if number not in stacked]
    made = [(numbers, _evaluated([parts[number] for number in numbers], chip)) for numbers in stacks]
    evaluated = [evaluate(parts[number], chip) for number in rest]
    if not stacks or not all(stands_alone(part) for part in (*evaluated, *(part for _, part in made))):
        return group_captures([evaluate(part, chip) for part in parts], group)
    found: dict[int, Kernels] = {}
    for numbers, part in made:
        sizes = [len(parts[number].frame) for number in numbers]
        rows = pd.Series([place for place, size in enumerate(sizes) for _ in range(size)])
        sources = [parts[number].source for number in numbers]
        found.update(zip(numbers, group_stack(part, rows, sources, group), strict=True))
    found.update(zip(rest, group_captures(evaluated, group), strict=True))
    return [found[number] for number in sorted(found)]


def _stacks(parts: Sequence[Part]) -> list[list[int]]:
    """Numbers of parts that are alike: the same columns and counters, all values there, sums that stay exact."""
    alike: dict[tuple[object, ...], list[int]] = {}
    if len(parts) >= _FEW:
        for number, part in enumerate(parts):
            shaped = bool(part.frame["grid"].notna().all())
            kind = (tuple(part.frame.columns), part.names, shaped)
            if not part.frame["is_summary"].any() and bool(_counters(part.frame).notna().all(axis=None)):
                alike.setdefault(kind, []).append(number)
    return [numbers for numbers in alike.values() if len(numbers) >= _FEW and _exact([parts[n] for n in numbers])]


def _exact(parts: Sequence[Part]) -> bool:
    """Whether all that is made of the values of one part is below ``_EXACT``."""
    frame = pd.concat([part.frame.assign(part=number) for number, part in enumerate(parts)], ignore_index=True)
    sums = _counters(frame).astype("Float64").groupby("part").sum().max()
    weights = _weights()
    return all(total * weights.get(counter, 1) * _PARTS < _EXACT for counter, total in sums.items())


def _counters(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=[*IDENTITY, "launches", "is_summary"])


def _weights() -> dict[object, int]:
    """The largest weight that a counter has in any recipe."""
    weights: dict[object, int] = {}
    for quantity in catalogue().quantities.values():
        for recipe in quantity.recipes:
            for counter, weight in (*recipe.counters.items(), *recipe.optional.items()):
                weights[counter] = max(weight, weights.get(counter, 1))
    return weights


def _evaluated(parts: Sequence[Part], chip: str | None) -> Evaluated:
    frame = pd.concat([part.frame for part in parts], ignore_index=True)
    return evaluate(Part(frame, parts[0].source, parts[0].names), chip)
