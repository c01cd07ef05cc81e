"""One set of inputs in each model and with each kind of ceilings: what an interactive page switches between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from roofctl.core.errors import InputError
from roofctl.roofline.model import Basis, Model
from roofctl.study.analyse import Analysis, AnalysisRequest, Loaded, analyse_loaded, load_kernels
from roofctl.study.ceilings import CeilingChoice
from roofctl.study.load import Source

_MODELS: Final[tuple[Model, ...]] = ("instruction", "flop")
_BASES: Final[tuple[CeilingChoice, ...]] = ("measured", "theoretical")


@dataclass(frozen=True)
class Variants:
    """Analyses of one set of inputs, the requested one first; ``absent`` is why others, by name, are not there."""

    analyses: tuple[Analysis, ...]
    sources: tuple[Source, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> Analysis:
        """The analysis that was requested."""
        return self.analyses[0]


def basis_of(analysis: Analysis) -> Basis | None:
    """Which kind of ceilings fractions are of; None where the GPU is not known."""
    return analysis.rooflines[0].basis if analysis.rooflines else None


def analyse_variants(request: AnalysisRequest) -> Variants:
    """Read the inputs once, and analyse them in both models and with both kinds of ceilings, as far as known.

    Raises what ``analyse_inputs`` raises for the requested model and ceilings.
    """
    if request.ceilings == "both":
        request = replace(request, ceilings="measured")
    loaded = load_kernels(request)
    first = analyse_loaded(loaded, request)
    analyses, absent = {(request.model, basis_of(first)): first}, dict[str, str]()
    several = first.unknown_gpu is None and basis_of(first) != "given"
    for other in _others(request, _BASES if several else (None,)):
        _add(loaded, other, analyses, absent)
    return Variants(tuple(analyses.values()), loaded.sources, absent)


def _others(request: AnalysisRequest, bases: Sequence[CeilingChoice | None]) -> Iterator[AnalysisRequest]:
    """The request in each model and with each kind of ceilings."""
    for model in _MODELS:
        in_model = request
        if model != request.model:
            in_model = replace(request, model=model, precisions=(), instructions="thread")
        for basis in bases:
            yield replace(in_model, ceilings=basis)


def _add(
    loaded: Loaded,
    request: AnalysisRequest,
    analyses: dict[tuple[Model, Basis | None], Analysis],
    absent: dict[str, str],
) -> None:
    """Add the analysis of a request unless it is there; where it cannot be, why."""
    if (request.model, request.ceilings) in analyses:
        return
    try:
        analysis = analyse_loaded(loaded, request)
    except InputError as error:
        absent[" ".join(filter(None, (request.model, request.ceilings)))] = error.message
        return
    analyses.setdefault((request.model, basis_of(analysis)), analysis)
