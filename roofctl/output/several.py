"""Analyses of captures at several clocks or of several GPUs as groups of one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from roofctl.core.errors import InputError
from roofctl.core.notes import Note
from roofctl.core.units import prefixed
from roofctl.output import captions
from roofctl.output.captions import clock_texts, gpu_texts
from roofctl.plots.select import with_needed_peaks
from roofctl.plots.several import Group
from roofctl.roofline.model import Clock, KernelPoints, Roofline
from roofctl.study.analyse import Analysis
from roofctl.study.clocks import alike

_CAPTURED: Final = " as captured"

Sources = tuple[str, ...]


def groups_of(analyses: Sequence[Analysis], *, per_capture: bool = False) -> list[Group]:
    """The captures by GPU and clock, each with the roofline at its own clock.

    ``per_capture``: those of one GPU and clock by capture.
    """
    several = len(analyses) > 1
    groups = [group for analysis in analyses for group in _of(analysis, with_gpu=several, several=several)]
    if len(groups) == 1 and per_capture:
        groups = _captures(analyses[0], groups[0])
    bases = {group.roofline.basis for group in groups}
    if len(bases) > 1:
        groups = [replace(group, name=f"{group.name}, {group.roofline.basis}") for group in groups]
    return groups


def group_of_longest(analysis: Analysis) -> Analysis:
    """Of captures at different clocks those at the clock of the longest kernel, with the ceilings at that clock."""
    longest = next((each for each in analysis.results.explained if each.result.points.points), None)
    sources = longest.result.kernel.sources if longest else ()
    clock = next((clock for clock, members in alike(analysis.clocks.each) if sources in members), None)
    if clock is None:
        return analysis
    rooflines = tuple(roofline.at_clock(clock) for roofline in analysis.rooflines)
    clocks = replace(analysis.clocks, each={}, sm=clock, captured=clock)
    members = next(members for own, members in alike(analysis.clocks.each) if own is clock)
    explained = tuple(each for each in analysis.results.explained if each.result.kernel.sources in members)
    results = replace(
        analysis.results,
        explained=explained,
        kernels=tuple(kernel for kernel in analysis.results.kernels if kernel.sources in members),
    )
    return replace(analysis, rooflines=rooflines, clocks=clocks, clock=clock, results=results)


def _of(analysis: Analysis, *, with_gpu: bool, several: bool) -> list[Group]:
    """The groups of one GPU."""
    if len(analysis.rooflines) > 1 and (several or analysis.clocks.each):
        raise InputError(
            "two sets of ceilings are of one GPU at one clock, and there are several",
            hint="choose --ceilings measured or theoretical",
        )
    gpu = ", ".join(map(_short, gpu_texts(analysis))) or analysis.rooflines[0].gpu
    kernels = _by_sources(analysis)
    each = analysis.clocks.each
    made: list[Group] = []
    at_clocks: list[tuple[Clock | None, tuple[Sources, ...]]] = [*alike(each)] or [(None, tuple(kernels))]
    for clock, members in at_clocks:
        at = f"SM {prefixed(clock.hz, 'Hz')}" if clock else (clock_texts(analysis) or [""])[0].removesuffix(_CAPTURED)
        name = f"{gpu}, {at.removeprefix('SM ')}" if with_gpu and at else at or gpu
        made += _group(name, analysis, clock, [kernels[sources] for sources in members if sources in kernels])
    others = [own for sources, own in kernels.items() if each and sources not in each]
    return [*made, *_group(f"{gpu}, SM clock not known", analysis, None, others)]


def _short(gpu: str) -> str:
    """A GPU's name without those of the maker and the series."""
    for series in ("NVIDIA ", "GeForce ", "Tesla ", "Quadro "):
        gpu = gpu.removeprefix(series)
    return gpu


def _by_sources(analysis: Analysis) -> Mapping[Sources, list[KernelPoints]]:
    found: dict[Sources, list[KernelPoints]] = {}
    for each in analysis.results.explained:
        found.setdefault(each.result.kernel.sources, []).append(each.result.points)
    return found


def _group(
    name: str, analysis: Analysis, clock: Clock | None, captures: Sequence[Sequence[KernelPoints]]
) -> list[Group]:
    """The group of these captures; none without a kernel. Kernels of a single capture need not name it."""
    if not captures:
        return []
    kernels = [kernel for capture in captures for kernel in capture]
    if len(captures) == 1:
        kernels = [replace(kernel, note="") for kernel in kernels]
    roofline: Roofline = analysis.rooflines[0]
    return [Group(name, roofline.at_clock(clock) if clock else roofline, _longest_first(kernels))]


def _longest_first(kernels: Sequence[KernelPoints]) -> tuple[KernelPoints, ...]:
    return tuple(sorted(kernels, key=lambda kernel: -(kernel.seconds_total or 0.0)))


def _captures(analysis: Analysis, group: Group) -> list[Group]:
    """The captures of a group, each by its name."""
    by_sources = _by_sources(analysis)
    if len(by_sources) == 1:
        return [group]
    return [
        Group(kernels[0].note or sources[0], group.roofline, tuple(replace(k, note="") for k in kernels))
        for sources, kernels in by_sources.items()
    ]


def drawn(groups: Sequence[Group], *, common: bool) -> list[Group]:
    """The groups with the peaks of the work that any of them draws."""
    kernels = [kernel for group in groups for kernel in group.kernels]
    return [replace(group, roofline=with_needed_peaks([group.roofline], kernels, common=common)[0]) for group in groups]


def subtitle(analyses: Sequence[Analysis], groups: Sequence[Group]) -> str:
    """GPU, what the roofs are, and basis of the ceilings, for the line under the title."""
    if len(groups) == 1:
        return captions.subtitle(analyses[0], analyses[0].rooflines)
    gpus = gpu_texts(analyses[0])
    incomplete = ["incomplete capture"] if any(analysis.incomplete for analysis in analyses) else []
    if len(analyses) == 1:
        own = [*clock_texts(analyses[0]), captions.ceilings_text(analyses[0], [groups[0].roofline])]
        return " · ".join([*gpus, *own, *incomplete])
    bases = " and ".join(dict.fromkeys(group.roofline.basis for group in groups))
    return " · ".join([f"{len(analyses)} GPUs, each at its own clock", f"{bases} ceilings", *incomplete])


def notes_of(analyses: Sequence[Analysis]) -> tuple[Note, ...]:
    """The notes of all GPUs, each once."""
    return tuple(dict.fromkeys(note for analysis in analyses for note in analysis.notes))
