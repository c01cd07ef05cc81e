"""Kernels before and after a change: ratio of times against the spread of the launches, limits, uses, intensities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from roofctl.core.units import duration, percent
from roofctl.roofline.analyse import Explained
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.limit_words import label
from roofctl.roofline.limits import KernelLimit
from roofctl.roofline.match import GivenMatch, How, match_kernels

Verdict = Literal["slower", "faster", "within noise", "new", "gone", "unknown"]

NOISE: Final = 0.02
"""Part of the time up to which a change is noise: twelve kernels captured five times on an H200 differed by 1.3 %."""

NOISE_SECONDS: Final = 2.2e-6
"""The same where the spread is not known: those of the same kernels that are shorter than 40 µs differed by as much."""

_FEWEST: Final = 3
"""Launches that show a spread: two of the same kernel often lie closer to each other than to those of another run."""

_SAME_WORK: Final = 1.02
"""Launches whose instructions differ by more than this did different work: their times are no spread."""


@dataclass(frozen=True)
class LaunchTimes:
    """Time of one launch, and the fastest and the slowest where launches of the same work are known.

    ``median`` says whether ``seconds`` is the median over launches or their mean. ``unknown`` is why there is no
    spread, empty where there is one. ``captures``: of how many captures it is; then the ends are those of all.
    """

    seconds: float
    median: bool = False
    low: float | None = None
    high: float | None = None
    unknown: str = ""
    captures: int = 1

    @property
    def spread(self) -> float | None:
        """Half the distance from the fastest to the slowest launch, as a part of the time."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2 / self.seconds


def launch_times(kernel: Kernel) -> LaunchTimes | None:
    """Time and spread of a kernel's launches, None without a time."""
    mean, median = kernel["seconds"], kernel["seconds_median"]
    if not mean:
        return None
    low, high = kernel["seconds_min"], kernel["seconds_max"]
    if kernel.launches < _FEWEST:
        return LaunchTimes(mean, unknown="one launch" if kernel.launches == 1 else "two launches")
    if not median or not low or not high:
        return LaunchTimes(mean, unknown="a summary does not hold the single launches")
    if not _same_work(kernel):
        return LaunchTimes(mean, unknown="the launches differ in their work")
    return LaunchTimes(median, median=True, low=low, high=high)


def _same_work(kernel: Kernel) -> bool:
    """Whether launches issued about the same number of instructions; where that was not counted it is assumed."""
    for name in ("issued_warp_instructions", "thread_instructions"):
        if spread := kernel.spreads.get(name):
            return spread.high <= spread.low * _SAME_WORK
    return True


@dataclass(frozen=True)
class KernelSample:
    """A kernel of one side with its results, in the FLOP model one per type of operation.

    Where a side has several captures of it, it is that of the capture with the median time.
    """

    results: tuple[Explained, ...]
    times: LaunchTimes | None

    @property
    def kernel(self) -> Kernel:
        return self.results[0].result.kernel


def samples(explained: Sequence[Explained]) -> tuple[KernelSample, ...]:
    """The kernels of one side, each once: times are not averaged over captures, the middle one stands for all."""
    kernels: dict[int, list[Explained]] = {}
    for each in explained:
        kernels.setdefault(id(each.result.kernel), []).append(each)
    alike: dict[tuple[object, ...], list[KernelSample]] = {}
    for results in kernels.values():
        kernel = results[0].result.kernel
        key = (kernel.name, kernel.grid, kernel.block, kernel.occurrence, kernel.rank)
        alike.setdefault(key, []).append(KernelSample(tuple(results), launch_times(kernel)))
    return tuple(_middle(group) for group in alike.values())


def _middle(group: list[KernelSample]) -> KernelSample:
    timed = sorted((each for each in group if each.times), key=lambda each: each.times.seconds if each.times else 0.0)
    if len(timed) < 2:  # noqa: PLR2004 - one has no middle
        return (timed or group)[0]
    chosen = timed[(len(timed) - 1) // 2]
    known = [each.times for each in timed if each.times]
    low, high = min(each.low or each.seconds for each in known), max(each.high or each.seconds for each in known)
    seconds = chosen.times.seconds if chosen.times else 0.0
    times = LaunchTimes(seconds, median=True, captures=len(timed), unknown=_no_spread(known))
    return KernelSample(chosen.results, times if times.unknown else replace(times, low=low, high=high))


def _no_spread(captures: Sequence[LaunchTimes]) -> str:
    """Why captures together show no spread; empty where they do."""
    few = ("one launch", "two launches")
    if other := next((each.unknown for each in captures if each.unknown and each.unknown not in few), ""):
        return other
    if len(captures) < _FEWEST and all(each.unknown for each in captures):
        return f"{len(captures)} captures of {captures[0].unknown}"
    return ""


@dataclass(frozen=True, eq=False)
class KernelChange:
    """A kernel before and after; None on the side that does not have it.

    ``ratio`` is the time of a launch after over before, None where not known. ``spread`` is the larger of both sides',
    ``no_spread`` why it is not known.
    """

    before: KernelSample | None
    after: KernelSample | None
    how: How | None
    verdict: Verdict
    ratio: float | None = None
    spread: float | None = None
    no_spread: str = ""

    @property
    def sample(self) -> KernelSample:
        """The kernel after, of a gone one before."""
        sample = self.after or self.before
        assert sample  # noqa: S101 - a match has a side
        return sample

    @property
    def sides(self) -> tuple[KernelSample | None, KernelSample | None]:
        return self.before, self.after

    @property
    def share(self) -> float | None:
        """The larger part of the time of its capture."""
        shares = [side.kernel.time_share for side in self.sides if side and side.kernel.time_share is not None]
        return max(shares, default=None)

    @property
    def seconds_saved(self) -> float | None:
        """Time of all launches before less that after; a kernel that is not there takes none."""
        totals = [side.kernel["seconds_total"] if side else 0.0 for side in self.sides]
        return None if None in totals else totals[0] - totals[1]

    @property
    def limit_changed(self) -> bool:
        """Whether both limits are known and are not the same."""
        names = [side.results[0].limit.name for side in self.sides if side]
        return len(names) == len(self.sides) and None not in names and names[0] != names[1]


def compare_kernels(
    before: Sequence[Explained], after: Sequence[Explained], *, given: Sequence[GivenMatch] = (), noise: float = NOISE
) -> tuple[KernelChange, ...]:
    """Every kernel of two captures, those first whose launches gained or lost most time in all."""
    ones, others = samples(before), samples(after)
    matches = match_kernels([each.kernel for each in ones], [each.kernel for each in others], given)
    changes = [
        change_of(
            None if match.before is None else ones[match.before],
            None if match.after is None else others[match.after],
            match.how,
            noise,
        )
        for match in matches
    ]
    return tuple(sorted(changes, key=_rank))


def _rank(change: KernelChange) -> tuple[bool, float, str]:
    saved = 0.0 if change.verdict == "within noise" else abs(change.seconds_saved or 0.0)
    total = float(change.sample.kernel["seconds_total"] or 0.0)
    quiet = change.verdict == "within noise"
    return quiet, -total if quiet else -saved, change.sample.kernel.name


def change_of(
    before: KernelSample | None, after: KernelSample | None, how: How | None = None, noise: float = NOISE
) -> KernelChange:
    """What became of one kernel."""
    if before is None or after is None:
        return KernelChange(before, after, how, "new" if before is None else "gone")
    one, other = before.times, after.times
    if one is None or other is None:
        return KernelChange(before, after, how, "unknown")
    if one.median != other.median:  # a median is compared with a median only
        one, other = _mean(before, one), _mean(after, other)
    ratio = other.seconds / one.seconds
    spreads = [one.spread, other.spread]
    reasons = dict.fromkeys(each.unknown for each in (one, other) if each.unknown)
    known = [spread for spread in spreads if spread is not None]
    quiet = within_noise(one, other, noise)
    verdict: Verdict = "within noise" if quiet else "slower" if ratio > 1 else "faster"
    spread = None if reasons else max(known, default=None)
    return KernelChange(before, after, how, verdict, ratio, spread, "; ".join(reasons))


def _mean(sample: KernelSample, times: LaunchTimes) -> LaunchTimes:
    if times.captures > 1 or not times.median:
        return times
    return LaunchTimes(sample.kernel["seconds"], low=times.low, high=times.high)


def within_noise(before: LaunchTimes, after: LaunchTimes, noise: float) -> bool:
    """Whether a change of the time is no more than noise.

    With a spread on both sides: unless half of the launches of one are slower than every launch of the other. Without:
    up to ``NOISE_SECONDS``. In both cases up to ``noise``, a part of the time before.
    """
    change = abs(after.seconds - before.seconds)
    if change <= noise * before.seconds:
        return True
    if before.unknown or after.unknown:
        return change <= NOISE_SECONDS
    return _inside(after.seconds, before) and _inside(before.seconds, after)


def _inside(seconds: float, times: LaunchTimes) -> bool:
    return times.low is not None and times.high is not None and times.low <= seconds <= times.high


@dataclass(frozen=True)
class Gate:
    """What must not be: a kernel slower by more than ``slower``, less than ``below`` of its limit, or new.

    Fractions, None for what is not checked. Kernels with less than ``share`` of the time on both sides are not checked.
    """

    slower: float | None = None
    below: float | None = None
    new: bool = False
    share: float = 0.01

    @property
    def given(self) -> bool:
        return self.slower is not None or self.below is not None or self.new


def checked(change: KernelChange, gate: Gate) -> bool:
    """Whether a kernel takes enough of the time to be checked; where its share is not known it is."""
    return change.share is None or change.share >= gate.share


def faults(changes: Sequence[KernelChange], gate: Gate, names: Mapping[KernelChange, str]) -> list[str]:
    """A sentence for each thing that the gate does not let pass; ``names`` are what changes are called."""
    found = []
    for change in changes:
        if checked(change, gate):
            found += [f"{names[change]}: {text}" for text in _faults(change, gate)]
    return found


def _faults(change: KernelChange, gate: Gate) -> list[str]:
    texts = []
    if gate.new and change.verdict == "new":
        texts.append("new")
    if gate.slower is not None and change.verdict == "slower" and (change.ratio or 0.0) > 1 + gate.slower:
        times = [duration(side.times.seconds) for side in change.sides if side and side.times]
        spread = f"; spread not known: {change.no_spread}" if change.no_spread else ""
        texts.append(f"{(change.ratio or 1.0) - 1:.1%} slower ({' → '.join(times)}{spread})")
    if gate.below is not None and change.after:
        limit, kernel = change.after.results[0].limit, change.after.kernel
        if limit.name and limit.use is not None and limit.use < gate.below:
            texts.append(f"{percent(limit.use)} of {_limit_words(limit, kernel)}, below {percent(gate.below)}")
    return texts


def _limit_words(limit: KernelLimit, kernel: Kernel) -> str:
    """``HBM``; of a limit that is no resource the use is that of the busiest one."""
    resource = limit.name in limit.uses
    return label(limit, kernel) if resource else f"the busiest resource, limited by {label(limit, kernel)}"


def unassessed(changes: Sequence[KernelChange], gate: Gate) -> list[KernelChange]:
    """Kernels that ``gate.below`` cannot assess, because their limit is not known."""
    if gate.below is None:
        return []
    found = [each for each in changes if each.after and checked(each, gate)]
    return [each for each in found if each.after and each.after.results[0].limit.name is None]
