"""The Python interface: analyse captures, look at the results as frames, draw them, check them in tests."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from roofctl.core.errors import InputError
from roofctl.core.kernel_filter import NameFilter
from roofctl.core.notes import Note
from roofctl.core.short_names import Names
from roofctl.gpus import find_profile
from roofctl.launches.evaluate import launch_table
from roofctl.output import brief as briefs
from roofctl.output import comparison as comparisons
from roofctl.output import report as reports
from roofctl.output.rows import COLUMNS, rows
from roofctl.quantities import catalogue
from roofctl.roofline.compare import NOISE
from roofctl.roofline.match import GivenMatch
from roofctl.roofline.model import Model, Roofline
from roofctl.roofline.select import Selection
from roofctl.study import load as sources
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs
from roofctl.study.ceilings import CeilingChoice, choose_ceilings
from roofctl.study.clocks import Clocks
from roofctl.study.compare import CompareRequest
from roofctl.study.compare import compare as compare_inputs
from roofctl.study.device import describe_device

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
Input = str | Path


@dataclass(frozen=True)
class Report:
    """An analysed input: kernels, ceilings and notes, with pictures and documents of them.

    ``model`` is ``instruction`` or ``flop``. A value that is not known is missing (None or NaN), never 0.
    """

    analysis: Analysis

    def __repr__(self) -> str:
        gpu = next(iter(self.analysis.device.names), "GPU not known")
        return f"<Report of {', '.join(self.analysis.sources)}: {len(self.kernels)} rows, {self.model} model, {gpu}>"

    @property
    def model(self) -> Model:
        """The model of rates and intensities."""
        return self.analysis.results.model

    @property
    def kernels(self) -> pd.DataFrame:
        """One row per kernel (in the FLOP model per kernel and type), longest first, as in ``report --format json``.

        Times in seconds, counts per launch, shares and uses as fractions; docs/reference.md lists the columns.
        """
        return pd.DataFrame(rows(self.analysis.results), columns=list(COLUMNS[self.model]))

    @property
    def ceilings(self) -> pd.DataFrame:
        """One row per ceiling: ``level``, ``basis``, rate per second, ``clock_hz``, ``origin``."""
        return pd.DataFrame(reports.head(self.analysis)["ceilings"])

    @property
    def rooflines(self) -> tuple[Roofline, ...]:
        """The rooflines of the kernels' GPU, measured before theoretical; empty where the GPU is not known."""
        return self.analysis.rooflines

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to know beside the numbers; ``note.warning`` and ``note.text``."""
        return self.analysis.notes

    def to_dict(self) -> dict[str, Any]:
        """The document of ``report --format json``: schema, gpu, ceilings, notes, kernels."""
        return reports.document(self.analysis)

    def brief(self) -> dict[str, Any]:
        """The document of ``report --format brief``: at most 4 kB as JSON."""
        return briefs.brief(self.analysis)

    def plot(self, ax: Axes | None = None, *, levels: Sequence[str] = (), title: str | None = None) -> Figure:
        """Draw the roofline of one kernel on all levels, or of many on HBM, or on ``levels`` (``l1``, ``l2``, ``hbm``).

        Into ``ax``, or as a new figure. The result is the figure. Raises InputError where the GPU is not known.
        """
        from roofctl.output.picture import PictureRequest, draw

        return draw(self._known(), PictureRequest(levels=tuple(levels), title=title), ax)

    def html(self) -> str:
        """The page of ``report --html`` in this model and with these ceilings, as text of one file.

        Raises InputError where plotly (extra ``html``) is not installed.
        """
        from roofctl.output.html import page
        from roofctl.study.variants import Variants

        return page([Variants((self.analysis,))])

    def save(self, file: Input, *, levels: Sequence[str] = (), title: str | None = None) -> None:
        """Write the picture of ``plot`` as .png, .svg or .pdf, by the name. Raises InputError and OSError."""
        from roofctl.output.picture import PictureRequest, picture
        from roofctl.plots.page import check_target

        target = check_target(Path(file), force=True)
        picture(self._known(), PictureRequest(levels=tuple(levels), title=title)).save([target])

    def _known(self) -> Analysis:
        if self.analysis.unknown_gpu:
            raise self.analysis.unknown_gpu
        return self.analysis

    def _repr_html_(self) -> str:
        """The kernel table, for notebooks."""
        from roofctl.output.kernel_table import table

        headings, body = table(self.analysis.results)
        head = "".join(f"<th>{html.escape(heading.lstrip('>~'))}</th>" for heading in headings)
        lines = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell.strip())}</td>" for cell in cells) + "</tr>" for cells in body
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def analyse(
    *inputs: Input,
    profile: str | None = None,
    model: Model = "instruction",
    ceilings: CeilingChoice | None = None,
    kernel: str = "",
    kernel_base: str = "",
    exclude: str = "",
    top: int | None = None,
    names: Names = "short",
) -> Report:
    """Read captures, profilers' reports or CSV files and compare their kernels with the ceilings of their GPU.

    No input means the newest capture in the working directory. ``profile`` names a GPU profile or a YAML file where
    the input does not name its GPU; ``ceilings`` is ``theoretical``, ``measured`` or ``both``; ``kernel`` and
    ``exclude`` are regular expressions for any part of the demangled name, ``kernel_base`` is one for the function's
    base name; ``top`` keeps the longest. ``names`` is ``short``, ``base`` or ``full``: what ``short_name`` holds.
    Raises InputError for what cannot be used.
    """
    request = AnalysisRequest(
        inputs=tuple(Path(each) for each in inputs),
        profile=profile,
        ceilings=ceilings,
        model=model,
        names=names,
        selection=Selection(kernel, kernel_base, exclude, top),
    )
    return Report(analyse_inputs(request))


def read(*inputs: Input) -> pd.DataFrame:
    """The launch table: one row per launch (of a summary per kernel), quantities in SI units as means per launch.

    Columns: ``file``, ``rank``, ``kernel``, ``grid``, ``block``, ``device``, ``compute_capability``, ``launches``,
    ``is_summary``, then the quantities of ``roofctl quantities``. Raises InputError for what cannot be read.
    """
    found = sources.locate(tuple(Path(each) for each in inputs))
    reading = sources.read_many(found, None, None)
    if reading.unread:
        raise reading.unread[0]
    device = describe_device(reading.parts)
    chip = catalogue().chip_of(next(iter(device.compute_capabilities), None), next(iter(device.names), ""))
    table = launch_table(reading.parts, chip)
    ranks = {source.label: source.rank for source in found}
    files = [part.source for part in table.parts]
    frame = table.frame
    places = pd.DataFrame(
        {
            "file": [files[part] for part in frame["part"]],
            "rank": pd.array([ranks.get(files[part]) for part in frame["part"]], dtype="Int64"),
        },
        index=frame.index,
    )
    return pd.concat([places, frame.drop(columns=["capture", "part"])], axis=1)


def compare(
    before: Input,
    after: Input,
    *,
    match: Sequence[str] = (),
    noise: float = NOISE,
    model: Model = "instruction",
    profile: str | None = None,
    kernel: str = "",
    exclude: str = "",
) -> pd.DataFrame:
    """Kernels before and after a change by the columns of ``compare --format csv``, the largest changes first.

    Times in seconds, ``ratio`` is after over before, ``verdict`` is ``slower``, ``faster``, ``within noise``, ``new``,
    ``gone`` or ``unknown``. ``match`` are ``BEFORE=AFTER`` names of kernels that are one. The frame's
    ``attrs["notes"]`` are the texts on what else differs, such as GPUs and clocks. Raises InputError for what cannot be
    used.
    """
    request = CompareRequest(
        each=AnalysisRequest((), profile=profile, group="kernel+grid", model=model, advice=False),
        given=tuple(map(GivenMatch.parse, match)),
        noise=noise,
        selection=NameFilter(kernel, exclude=exclude),
    )
    (comparison,) = compare_inputs((Path(before), Path(after)), request)
    frame = pd.DataFrame(comparisons.rows(comparison), columns=list(comparisons.columns()))
    frame.attrs["notes"] = [note.text for note in comparison.notes]
    return frame


def ceilings(gpu: str, *, model: Model = "instruction", measured: bool = False) -> Roofline:
    """The ceilings of a GPU profile, a name such as ``h200`` or a YAML file.

    The result has ``peak``, ``bandwidth(level)`` and ``ridge(level)``. ``measured`` takes the results of
    ``roofctl calibrate``. Raises InputError for an unknown GPU, or where it was not measured.
    """
    choice: CeilingChoice = "measured" if measured else "theoretical"
    return choose_ceilings(find_profile(gpu), choice, model, Clocks())[1][0]


def check(
    *inputs: Input, kernel: str = "", at_least: float | None = None, limit: str | None = None, **options: Any
) -> Report:
    """Assert, in a test, how near its limit a kernel is.

    ``check("capture", kernel="gemm", at_least=0.6, limit="tensor")``. Each kernel that matches the regular expression
    ``kernel`` must use at least ``at_least`` (a fraction) of its limit, and be limited by ``limit``. ``options`` are
    those of ``analyse``. Raises AssertionError with the verdict of each kernel that fails, InputError where no kernel
    matches or the use is not known.
    """
    report = analyse(*inputs, kernel=kernel, **options)
    faults = []
    for each in report.analysis.results.explained:
        name, found = each.result.kernel.short_name, each.limit
        if (at_least is not None and found.use is None) or (limit is not None and found.name is None):
            raise InputError(f"{name}: {each.verdict or found.unknown}", hint="capture it with the default metric sets")
        wrong = limit is not None and found.name != limit
        if wrong or (at_least is not None and (found.use or 0.0) < at_least):
            faults.append(f"{name}: {each.verdict}")
    wanted = [
        f"at least {at_least:.0%} of its limit" if at_least is not None else "",
        f"limited by {limit}" if limit else "",
    ]
    assert not faults, f"expected {' and '.join(filter(None, wanted))}; " + "; ".join(faults)  # noqa: S101
    return report
