"""What an agent can ask: report, compare, explain and gpus, as plain data. Nothing is run, and nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from roofctl.core.errors import RoofctlError
from roofctl.gpus import find_measured, find_profile
from roofctl.gpus.describe import details, summary
from roofctl.gpus.store import all_profiles
from roofctl.output import brief as briefs
from roofctl.output import comparison as comparisons
from roofctl.output import report as reports
from roofctl.roofline.model import Model
from roofctl.roofline.select import Selection
from roofctl.study import compare as comparing
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs

_EXPLAINED: Final = 5
_KEYS: Final = (
    *("kernel", "short_name", "launches", "seconds", "seconds_total", "time_share", "grid", "block"),
    *("limit", "limit_use", "headroom_seconds", "all_counted", "use", "verdict", "advice", "incomplete"),
)


def _request(inputs: Sequence[str], profile: str | None, model: Model, kernel: str, top: int | None) -> AnalysisRequest:
    paths = tuple(Path(each).expanduser() for each in inputs)
    return AnalysisRequest(inputs=paths, profile=profile, model=model, selection=Selection(kernel, top=top))


def report(
    inputs: Sequence[str] = (),
    kernel: str = "",
    model: Model = "instruction",
    profile: str | None = None,
    top: int | None = None,
    full: bool = False,  # noqa: FBT001, FBT002 - a tool's arguments come by name
) -> dict[str, Any]:
    """What limits the kernels of a GPU program, and how much time each could save.

    inputs: captures of roofctl profile, ncu reports, CSV of ncu or nvprof, or folders of these; none means the newest
    capture in ./roofctl-captures. kernel: a regular expression for names. model: instruction or flop. profile: the
    GPU profile, where the input does not name its GPU. full: everything that is known instead of at most 4 kB.
    """
    analysis = analyse_inputs(_request(inputs, profile, model, kernel, top))
    document = reports.document(analysis) if full else briefs.brief(analysis)
    return {"inputs": list(analysis.sources), **document}


def explain(kernel: str, inputs: Sequence[str] = (), profile: str | None = None) -> dict[str, Any]:
    """Why the kernels whose name matches a regular expression take their time: verdict, used parts of each resource,
    headroom in seconds, and advice with the numbers it rests on.

    inputs and profile are as in report. The longest five are explained.
    """
    analysis = analyse_inputs(_request(inputs, profile, "instruction", kernel, _EXPLAINED))
    kernels = [{key: row[key] for key in _KEYS if key in row} for row in reports.document(analysis)["kernels"]]
    notes = [note.text for note in analysis.notes if note.warning]
    return {"inputs": list(analysis.sources), "gpu": _gpu(analysis), "kernels": kernels, "warnings": notes}


def _gpu(analysis: Analysis) -> str | None:
    return next(iter(analysis.device.names), None)


def compare(before: str, after: str, kernel: str = "", profile: str | None = None) -> dict[str, Any]:
    """Kernels before and after a change: ratio of times, whether it is noise, changes of limit, new and gone kernels.

    before and after are each a capture, a report, a CSV file or a folder; kernel is a regular expression for names.
    """
    each = _request((), profile, "instruction", "", None)
    request = comparing.CompareRequest(each=each, selection=Selection(kernel))
    found = comparing.compare([Path(before).expanduser(), Path(after).expanduser()], request)
    return dict(comparisons.document(found, []))


def gpus(name: str | None = None) -> dict[str, Any]:
    """GPU profiles: all of them in short, or the facts, sources and ceilings of the one of this name or alias."""
    if name is None:
        return {"gpus": [summary(found) for found in sorted(all_profiles(), key=lambda each: each.profile.name)]}
    found = find_profile(name)
    return details(found, find_measured(found))


TOOLS: Final = (report, explain, compare, gpus)


def error_text(error: RoofctlError) -> str:
    """An error as an agent reads it: what is wrong, and what to do."""
    return f"{error.message}\n{error.hint}" if error.hint else error.message
