"""What a page holds as data: the same documents as JSON output, by columns, and what pictures need beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from roofctl import __version__
from roofctl.core.levels import LEVELS
from roofctl.core.precisions import PRECISIONS
from roofctl.core.units import SECTOR_BYTES, WAVEFRONT_BYTES, prefixed
from roofctl.output.html_compare import analysis_like, compared
from roofctl.output.html_verdict import verdict
from roofctl.output.report import document
from roofctl.output.rows import COLUMNS
from roofctl.readers.ncurep import container
from roofctl.roofline.analyse import Explained
from roofctl.roofline.limit_words import label, resource_label
from roofctl.roofline.model import GLOBAL_WALLS, SHARED_WALLS, WORK_LABELS
from roofctl.roofline.walls import wall_points
from roofctl.study.analyse import Analysis
from roofctl.study.load import Source
from roofctl.study.variants import Variants, basis_of

_SPACES: Final = ("global", "shared")


@dataclass(frozen=True)
class PageOptions:
    """What a page shows at first: levels (empty: by the number of kernels), memory walls, and a title."""

    levels: tuple[str, ...] = ()
    walls: tuple[str, ...] = ()
    title: str = ""


@dataclass
class _Pool:
    """Columns that are stored once, however many views have them."""

    columns: list[list[Any]] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, column: list[Any]) -> int:
        """The number of a column."""
        text = json.dumps(column)
        if text not in self.numbers:
            self.numbers[text] = len(self.columns)
            self.columns.append(column)
        return self.numbers[text]


def page_data(
    captures: Sequence[Variants], options: PageOptions | None = None, before: Variants | None = None
) -> dict[str, Any]:
    """The data of a page: a list of captures, each in several views, and the columns that views refer to.

    ``before``: what they are compared with.
    """
    pool = _Pool()
    options = options or PageOptions()
    return {
        "roofctl": __version__,
        "title": options.title,
        "levels": list(options.levels),
        "chart": "walls" if options.walls else "roofline",
        "spaces": list(options.walls or _SPACES[:1]),
        "works": WORK_LABELS,
        "work_units": {name: precision.unit for name, precision in PRECISIONS.items()},
        "captures": [_capture(variants, pool, before) for variants in captures],
        "pool": pool.columns,
    }


def _capture(variants: Variants, pool: _Pool, before: Variants | None) -> dict[str, Any]:
    """One set of inputs: its views, its accesses against memory walls, and where everything comes from."""
    first = variants.first
    return {
        "label": ", ".join(Path(source).name for source in first.sources),
        "absent": dict(variants.absent),
        "provenance": _provenance(variants),
        "views": [_view(each, pool, analysis_like(before, each) if before else None) for each in variants.analyses],
        "walls": _walls(first),
    }


# --- views ------------------------------------------------------------------------------------------------------------


def _view(analysis: Analysis, pool: _Pool, before: Analysis | None) -> dict[str, Any]:
    """The document of an analysis with its kernels by columns, and what the page shows beside it."""
    whole = document(analysis)
    rows = whole.pop("kernels")
    names = COLUMNS[analysis.results.model]
    columns = {name: [row[name] for row in rows] for name in names}
    extra = [_extra(each) for each in analysis.results.explained]
    was, whole_change = compared(before, analysis) if before else ([None] * len(extra), None)
    extra = [{**each, "before": one} for each, one in zip(extra, was, strict=True)]
    return {
        "model": analysis.results.model,
        "basis": basis_of(analysis),
        "document": whole,
        "compared": whole_change,
        "verdict": verdict(analysis.results),
        "levels": {level: analysis.label(level) for level in LEVELS},
        "resources": _resource_labels(analysis),
        "shared_bytes_per_second": _shared(analysis),
        "warnings": list(dict.fromkeys(note.text for note in analysis.notes if note.warning and not note.detail)),
        "columns": {name: pool.add(column) for name, column in columns.items()},
        "extra": {name: pool.add([row[name] for row in extra]) for name in (extra[0] if extra else ())},
    }


def _extra(explained: Explained) -> dict[str, Any]:
    """What the page shows of a row beside its columns; ``number`` is that of the kernel."""
    points = explained.result.points
    return {
        "number": points.number,
        "limit_label": label(explained.limit, explained.result.kernel),
        "missing": dict(points.missing) or None,
        "caveats": {point.level: point.caveat for point in points.points if point.caveat} or None,
        "drawn": [point.level for point in points.points],
    }


def _resource_labels(analysis: Analysis) -> dict[str, str]:
    """Labels of the resources that some kernel uses."""
    labels: dict[str, str] = {}
    for each in analysis.results.explained:
        labels.update(
            {name: resource_label(name, each.result.kernel) for name in each.limit.uses if name not in labels}
        )
    return labels


def _shared(analysis: Analysis) -> float | None:
    shared = analysis.rooflines[0].shared if analysis.rooflines else None
    return shared.bytes_per_second if shared else None


def _walls(analysis: Analysis) -> dict[str, Any]:
    """Accesses of each kernel (a list in the order of kernels), and the walls of each address space."""
    kernels, notes = wall_points(analysis.results.kernels, _SPACES)
    spaces = (("global", "l1", SECTOR_BYTES, GLOBAL_WALLS), ("shared", "shared", WAVEFRONT_BYTES, SHARED_WALLS))
    return {
        "spaces": {
            space: {
                "level": level,
                "transaction_bytes": size,
                "walls": [{"intensity": w.intensity, "name": w.name, "main": w.main} for w in walls],
            }
            for space, level, size, walls in spaces
        },
        "points": [
            [[point.work, point.level, point.intensity, point.per_second, point.caveat] for point in kernel.points]
            for kernel in kernels
        ],
        "notes": [note.text for note in notes if not note.detail],
    }


# --- provenance -------------------------------------------------------------------------------------------------------


def _provenance(variants: Variants) -> list[list[str]]:
    """Pairs of term and text: capture, profiler, GPU, clocks, versions; ceilings stand in the documents."""
    first = variants.first
    pairs = [entry for source in variants.sources for entry in _of_source(source)]
    pairs += _of_gpu(first)
    return [*pairs, ["roofctl", __version__]]


def _of_source(source: Source) -> list[list[str]]:
    manifest = source.manifest
    pairs = [["capture", source.label]]
    if manifest is None:
        made = [version for path in source.files if (version := _report_version(path))]
        return [*pairs, *([["profiler", f"ncu {', '.join(dict.fromkeys(made))}"]] if made else [])]
    pairs.append(["profiler", f"{manifest.profiler} {manifest.profiler_version}".strip()])
    pairs.append(["captured", _period(manifest.started, manifest.ended)])
    if manifest.metric_sets:
        pairs.append(["metric sets", ", ".join(manifest.metric_sets)])
    controls = {"clock control": manifest.clock_control, "cache control": manifest.cache_control}
    pairs += [[name, value] for name, value in controls.items() if value]
    return [*pairs, *([["captured by", f"roofctl {manifest.roofctl_version}"]] if manifest.roofctl_version else [])]


def _period(started: str, ended: str) -> str:
    """Two times of ISO 8601 to the second, the date once where it is the same; as they are where they are not that."""
    try:
        first, last = (datetime.fromisoformat(text).astimezone(timezone.utc) for text in (started, ended))
    except ValueError:
        return f"{started} to {ended}"
    end = f"{last:%H:%M:%S}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M:%S}"
    return f"{first:%Y-%m-%d %H:%M:%S} to {end} UTC"


def _report_version(path: Path) -> str:
    """Version of the ncu that wrote a report; empty for other files."""
    if not container.is_report(path):
        return ""
    return container.index(path).version


def _of_gpu(analysis: Analysis) -> list[list[str]]:
    profile, clocks = analysis.profile, analysis.clocks
    pairs = [["GPU", ", ".join(analysis.device.names) or "not named in the capture"]]
    if profile:
        pairs.append(
            ["GPU profile", f"{profile.name} ({profile.chip}, compute capability {profile.compute_capability})"]
        )
    if analysis.unknown_gpu:
        pairs.append(["GPU profile", f"none: {analysis.unknown_gpu.message} {analysis.unknown_gpu.hint}".strip()])
    if analysis.clock:
        pairs.append(["SM clock of the ceilings", f"{prefixed(analysis.clock.hz, 'Hz')}, {analysis.clock.origin}"])
    if clocks.captured and clocks.captured != analysis.clock:
        pairs.append(["SM clock of the capture", f"{prefixed(clocks.captured.hz, 'Hz')}, {clocks.captured.origin}"])
    return pairs
