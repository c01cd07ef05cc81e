"""From inputs before and after a change to their kernels side by side: what ``compare`` and ``history`` share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from roofctl.captures.manifest import Manifest
from roofctl.core.errors import InputError
from roofctl.core.kernel_filter import NameFilter
from roofctl.core.kernel_names import base_name, some
from roofctl.core.notes import Note
from roofctl.core.short_names import Names, short_names
from roofctl.core.units import prefixed
from roofctl.roofline.compare import NOISE, NOISE_SECONDS, KernelChange, compare_kernels
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.match import GivenMatch
from roofctl.roofline.model import Clock
from roofctl.roofline.select import Selection
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_loaded, load_kernels
from roofctl.study.load import Source

_APART: Final = 0.03
"""Clocks further apart than this are not the same clock: readings are good to about 1 %."""


@dataclass(frozen=True)
class Side:
    """One of the inputs that are compared: as the user named it, its analysis, and the manifests of its captures."""

    label: str
    analysis: Analysis
    manifests: tuple[Manifest, ...] = ()

    @property
    def gpu(self) -> str | None:
        """The name of the GPU that it ran on."""
        return next(iter(self.analysis.device.names), None)

    @property
    def clock(self) -> Clock | None:
        """The SM clock that it ran at."""
        return self.analysis.clocks.captured

    @property
    def seconds(self) -> float | None:
        """Time of all kernels; None for several captures, whose sum has no meaning, and where one has no time."""
        kernels = self.analysis.results.kernels
        totals = [kernel["seconds_total"] for kernel in kernels]
        return None if None in totals or len({kernel.sources for kernel in kernels}) > 1 else sum(totals)

    def versions(self) -> list[str]:
        """Profilers, drivers and versions of roofctl that made the captures; empty where no manifest is there."""
        named = {
            "profiler": [f"{each.profiler} {each.profiler_version}".strip() for each in self.manifests],
            "driver": [f"driver {each.gpu.driver}" for each in self.manifests if each.gpu and each.gpu.driver],
            "roofctl": [f"roofctl {each.roofctl_version}" for each in self.manifests if each.roofctl_version],
            "clocks": [f"clock control {each.clock_control}" for each in self.manifests if each.clock_control],
            "caches": [f"cache control {each.cache_control}" for each in self.manifests if each.cache_control],
        }
        return [", ".join(dict.fromkeys(texts)) for texts in named.values() if texts]


@dataclass(frozen=True)
class Comparison:
    """The kernels of two sides, and what to know about their difference.

    ``names`` are what changes are called. ``same_gpu`` and ``same_clock`` are None where not known. ``within``: both
    sides are one input, whose kernels are compared with each other.
    """

    before: Side
    after: Side
    changes: tuple[KernelChange, ...]
    names: dict[KernelChange, str]
    notes: tuple[Note, ...]
    same_gpu: bool | None
    same_clock: bool | None
    within: bool = False

    def name(self, change: KernelChange) -> str:
        return self.names[change]


@dataclass(frozen=True)
class CompareRequest:
    """How to compare. ``each`` is how inputs become kernels; its inputs are not used, and neither is its selection."""

    each: AnalysisRequest
    given: tuple[GivenMatch, ...] = ()
    noise: float = NOISE
    selection: NameFilter = field(default_factory=NameFilter)


def side_of(label: str, request: AnalysisRequest, sources: Sequence[Source] | None = None) -> Side:
    """The inputs of a request, or ``sources``, as one side. Raises InputError as ``report`` does."""
    loaded = load_kernels(replace(request, selection=Selection()), sources)
    manifests = tuple(source.manifest for source in loaded.sources if source.manifest)
    return Side(label, analyse_loaded(loaded, replace(request, selection=Selection())), manifests)


def compare(inputs: Sequence[Path], request: CompareRequest) -> tuple[Comparison, ...]:
    """The first input with each of the others. Raises InputError for fewer than two, and for what cannot be used."""
    if len(inputs) < 2:  # noqa: PLR2004 - a comparison has two sides
        raise InputError("there is nothing to compare with", hint="give two inputs or more: BEFORE AFTER")
    # Each on its own, so that GPUs, clocks and ceilings may differ.
    before, *rest = [side_of(str(path), replace(request.each, inputs=(path,))) for path in inputs]
    return tuple(compare_sides(before, after, request) for after in rest)


def compare_sides(before: Side, after: Side, request: CompareRequest) -> Comparison:
    """The kernels of two sides that the selection keeps. Raises InputError where it keeps none."""
    changes = compare_kernels(
        before.analysis.results.explained, after.analysis.results.explained, given=request.given, noise=request.noise
    )
    names = _names(changes, request.each.names)
    within = bool(request.given) and before.analysis.sources == after.analysis.sources and before.label == after.label
    if within:
        changes = tuple(change for change in changes if change.how == "given")
    kept = _selected(changes, names, request.selection)
    gpus, clocks = (before.gpu, after.gpu), (before.clock, after.clock)
    same_gpu = None if None in gpus else gpus[0] == gpus[1]
    same_clock = None if None in clocks else clocks_are_one(clocks[0], clocks[1])
    notes = [*_apart(before, after, same_gpu=same_gpu, same_clock=same_clock), *_of_matches(kept, names, request.noise)]
    return Comparison(before, after, kept, names, tuple(notes), same_gpu, same_clock, within)


def _selected(
    changes: Sequence[KernelChange], names: dict[KernelChange, str], selection: NameFilter
) -> tuple[KernelChange, ...]:
    selection.check()
    kept = tuple(
        change
        for change in changes
        if any(side and selection.keeps(side.kernel.name, names[change]) for side in change.sides)
    )
    if changes and not kept:
        shown = some([names[change] for change in changes], 12)
        raise InputError(f"no kernel is left by {selection.given()}; the inputs have: {shown}")
    return kept


def clocks_are_one(one: Clock | None, other: Clock | None) -> bool:
    """Whether both are known and as far as readings can say equal."""
    return bool(one and other) and abs(one.hz / other.hz - 1) <= _APART  # type: ignore[union-attr]


def _names(changes: Sequence[KernelChange], form: Names) -> dict[KernelChange, str]:
    """What each change is called: the name, ``old → new`` for renamed kernels; with the grid where names are equal."""
    everyone = [side.kernel.name for change in changes for side in change.sides if side]
    short = short_names(everyone)

    def called(kernel: Kernel) -> str:
        return {"short": short[kernel.name], "base": base_name(kernel.name), "full": kernel.name}[form]

    names: dict[KernelChange, str] = {}
    for change in changes:
        both = dict.fromkeys(called(side.kernel) for side in change.sides if side)
        names[change] = " → ".join(both)
    times = Counter(names.values())
    return {change: name + (_shape(change) if times[name] > 1 else "") for change, name in names.items()}


def _shape(change: KernelChange) -> str:
    """`` [64x2]``: the grid, and which launch it is where launches are compared."""
    kernel = change.sample.kernel
    sizes = [size for size in (kernel.grid or "").strip("()").split(",") if size.strip()]
    while len(sizes) > 1 and sizes[-1].strip() == "1":
        sizes.pop()
    grid = "x".join(size.strip() for size in sizes)
    number = f" #{kernel.occurrence}" if kernel.occurrence else ""
    return (f" [{grid}]" if grid else "") + number + (f" rank {kernel.rank}" if kernel.rank is not None else "")


def _apart(before: Side, after: Side, *, same_gpu: bool | None, same_clock: bool | None) -> Iterator[Note]:
    """Notes on what else than the program differs."""
    if same_gpu is False:
        text = (
            f"the GPUs differ ({before.gpu}, {after.gpu}): times compare GPUs too, uses are of each GPU's own ceilings"
        )
        yield Note(text, warning=True)
    elif same_gpu is None:
        yield Note("an input does not name its GPU: whether both ran on the same one is not known", warning=True)
    if same_clock is False and before.clock and after.clock:
        hertz = ", ".join(prefixed(clock.hz, "Hz") for clock in (before.clock, after.clock))
        text = (
            f"the SM clocks differ ({hertz}): times compare clocks too, uses are of ceilings at each input's own clock"
        )
        yield Note(text, warning=True)
    elif same_clock is None:
        yield Note("an input does not hold its SM clock: whether both ran at the same one is not known")
    ours, theirs = _controls(before), _controls(after)
    for what in ours.keys() & theirs.keys():
        if ours[what] != theirs[what]:
            yield Note(f"the {what} of the captures differs: {ours[what]}, {theirs[what]}", warning=True)


def _controls(side: Side) -> dict[str, str]:
    """How the profiler was told to set clocks and caches, as far as the manifests say."""
    controls = {
        "clock control": [each.clock_control for each in side.manifests],
        "cache control": [each.cache_control for each in side.manifests],
    }
    known = {what: dict.fromkeys(filter(None, values)) for what, values in controls.items()}
    return {what: ", ".join(values) for what, values in known.items() if values}


def _counts_differ(change: KernelChange) -> bool:
    return len({side.kernel.launches for side in change.sides if side}) > 1


def _of_matches(changes: Sequence[KernelChange], names: dict[KernelChange, str], noise: float) -> Iterator[Note]:
    """Notes on kernels that were matched otherwise than by name and grid, and on those without a spread."""
    renamed = [names[change] for change in changes if change.how == "share and shape"]
    if renamed:
        yield Note(
            f"matched by share of time and shape, not by name: {some(renamed, 5)}; --match BEFORE=AFTER sets it",
            asked=True,
        )
    by_name = [names[change] for change in changes if change.how == "name"]
    if by_name:
        yield Note(f"matched by name, their grids differ: {some(by_name, 5)}")
    if differing := [names[change] for change in changes if _counts_differ(change)]:
        yield Note(f"the number of launches differs, changes are those of one launch: {some(differing, 5)}")
    reasons: dict[str, list[str]] = {}
    for change in changes:
        if change.no_spread:
            reasons.setdefault(change.no_spread, []).append(names[change])
    for reason, of in reasons.items():
        least = f"{noise * 100:.3g} % or {NOISE_SECONDS * 1e6:.3g} µs"
        yield Note(f"spread of the time not known ({reason}), up to {least} is taken for noise: {some(of, 3)}")
    if untimed := [names[change] for change in changes if change.verdict == "unknown"]:
        yield Note(f"no time on one side: {some(untimed, 5)}", warning=True)
