"""``roofctl calibrate``: measure the ceilings of the GPU in front of us."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli.common import TALK, put, say, show_as, talk_options, terminal_width, use_color
from roofctl.core.errors import RoofctlError
from roofctl.core.units import prefixed, rate

if TYPE_CHECKING:
    from roofctl.gpus import Measured
    from roofctl.microbench.calibrate import Session
    from roofctl.microbench.levels import Ceiling, Outcome
    from roofctl.plots.sweep import SweepPicture

_LEVELS = ("hbm", "l2", "l1", "shared", "issue", "launch", "fp64", "fp32", "fp16", "tensor")
_PICTURE_BY_NAME = "-"
_COLUMNS = ["ceiling", ">measured", ">theoretical", ">factor", ">best", ">spread", ">SM clock", "how"]


@click.command()
@click.option(
    "--profile", "profile", default="auto", show_default=True, metavar="NAME", help="GPU profile to measure for."
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice([*_LEVELS, "all"]),
    help="Level to measure, repeatable; default: all.",
)
@click.option("--arch", metavar="SM", help="Architecture to build for, such as sm_90; default: the GPU's own.")
@click.option(
    "--size-mb",
    type=click.IntRange(min=1),
    metavar="MB",
    help="Working set for hbm; default: 32 GiB (--quick: 8), or what fits.",
)
@click.option(
    "--device", "index", type=click.IntRange(min=0), default=0, show_default=True, help="GPU number, as CUDA counts."
)
@click.option("--quick", is_flag=True, help="A few seconds instead of a minute; figures are marked.")
@click.option("--no-write", is_flag=True, help="Show the results, write no file.")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on stdout.")
@click.option(
    "--plot",
    "picture",
    is_flag=False,
    flag_value=_PICTURE_BY_NAME,
    metavar="[FILE]",
    help="Draw the sweeps; default: NAME-sweep.png.",
)
@talk_options
def calibrate(
    levels: tuple[str, ...], as_json: bool, no_write: bool, picture: str | None, index: int, **options: Any
) -> None:
    """Measure this GPU's ceilings: bandwidths, issue rate, launch time, FLOP rates, matrix rates.

    Each figure is the median of at least 20 samples. What a kernel computes is checked against a
    known answer. Figures are kept with their spread and clocks in NAME.measured.yaml, which plot
    and report then use. Clocks are never changed. A ceiling marked with ! has a note that says why it is doubtful.

    \b
    Example:
      roofctl calibrate
      roofctl calibrate --profile h200 --level hbm --level l2 --plot
    """
    from roofctl.microbench.calibrate import Request, session
    from roofctl.microbench.levels import LEVELS
    from roofctl.microbench.pycuda_device import open_device

    size = options["size_mb"]
    request = Request(
        profile=options["profile"],
        levels=LEVELS if not levels or "all" in levels else tuple(level for level in LEVELS if level in levels),
        arch=options["arch"],
        size_bytes=None if size is None else size * 1_000_000,
        quick=options["quick"],
    )
    if picture not in (None, _PICTURE_BY_NAME):
        _checked_picture(Path(picture))
    with session(request, lambda: open_device(index)) as opened:
        _say_start(opened)
        interrupted = _measure(opened)
    _finish(opened, as_json=as_json, no_write=no_write, picture=picture)
    _raise_failures(opened)
    if interrupted:
        raise click.Abort


def _checked_picture(path: Path) -> None:
    from roofctl.plots.figure import check_suffix

    check_suffix(path)


def _say_start(opened: Session) -> None:
    run = opened.run
    say(
        f"GPU {run.facts.index}: {run.facts.name}, driver {run.facts.driver_version or 'unknown'}, "
        f"CUDA {run.facts.cuda_version}, nvcc {run.nvcc} for {run.arch}; "
        f"GPU profile {run.found.profile.name} ({run.found.how})"
    )
    for doubt in opened.doubts:
        say(f"warning: {doubt}")


def _measure(opened: Session) -> bool:
    """Measure everything, showing each result as it comes; whether the user stopped it."""
    with _progress() as show:
        opened.bench.pulse = show.pulse
        try:
            opened.measure(show.outcome)
        except KeyboardInterrupt:
            say("interrupted: what was measured so far is kept")
            return True
    return False


class _Plain:
    """Progress without a terminal: one line for each result."""

    def pulse(self, text: str) -> None:
        if TALK.verbose:
            say(text)

    def outcome(self, outcome: Outcome) -> None:
        row = _row(outcome)
        if row:
            say("  ".join(filter(None, row)))


@contextmanager
def _progress() -> Iterator[Any]:
    """A table that grows on a terminal, lines elsewhere; nothing with -q."""
    if TALK.quiet or not sys.stderr.isatty() or TALK.verbose:
        yield _Plain()
        return
    from roofctl.output.live import LiveTable

    with LiveTable(_COLUMNS, color=use_color(sys.stderr)) as table:
        yield _Live(table)


class _Live:
    def __init__(self, table: Any) -> None:
        self._table = table

    def pulse(self, text: str) -> None:
        self._table.status(text)

    def outcome(self, outcome: Outcome) -> None:
        row = _row(outcome)
        if row:
            self._table.add(row)


def _row(outcome: Outcome) -> list[str]:
    from roofctl.microbench.levels import Absent, Ceiling

    if isinstance(outcome, Absent):
        return [outcome.name, "", "", "", "", "", "", outcome.reason]
    if not isinstance(outcome, Ceiling):
        return []
    result, limit = outcome.sampled.result, outcome.theoretical
    marked = "!" if outcome.sampled.reservations or outcome.warnings else ""
    factor = marked if outcome.factor is None else f"{outcome.factor:.3f}{marked}"
    clock = "" if outcome.sm_clock_hz is None else f"{outcome.sm_clock_hz / 1e6:.0f} MHz"
    theory = _rate(outcome, limit.value) if limit else "none" if outcome.name == "launch" else "unknown"
    return [
        outcome.name, _rate(outcome, outcome.value), theory, factor, _rate(outcome, result.best),
        f"{result.spread:.1%}", clock, outcome.method,
    ]  # fmt: skip


def _rate(ceiling: Ceiling, value: float) -> str:
    from roofctl.microbench.limits import unit_of

    return rate(ceiling.name, value, unit_of(ceiling.name))


def _finish(opened: Session, *, as_json: bool, no_write: bool, picture: str | None) -> None:
    from roofctl.microbench.results import to_measured

    if not opened.measured_anything:
        return
    measured = to_measured(opened.run)
    _show(opened, as_json=as_json)
    if not no_write:
        measured = _write(opened, measured)
    if as_json:
        show_as("json", document=measured.model_dump(mode="json"))
    if picture:
        _draw(opened, Path(f"{opened.run.found.profile.name}-sweep.png" if picture == _PICTURE_BY_NAME else picture))


def _show(opened: Session, *, as_json: bool) -> None:
    """The table on stdout (on stderr beside JSON), the lines for HBM, every mix and every note."""
    from roofctl.output.table import to_table

    rows = [row for outcome in opened.run.outcomes if (row := _row(outcome))]
    text = to_table(_COLUMNS, rows, width=terminal_width(), color=use_color(sys.stdout) and not as_json)
    lines = [text, *_hbm_lines(opened), *_mix_lines(opened), *_note_lines(opened)]
    if as_json:
        say("\n".join(lines))
    else:
        put("\n".join(lines))


def _hbm_lines(opened: Session) -> Iterator[str]:
    hbm = next((c for c in opened.run.ceilings if c.name == "hbm"), None)
    if hbm is None or hbm.theoretical is None or hbm.factor is None:
        return
    sheet = opened.run.found.profile.memory.datasheet_bytes_per_second.value
    beside = f"; data sheet {prefixed(sheet, 'B/s')}, ratio {hbm.value / sheet:.3f}" if sheet else ""
    yield f"\nMeasured peak: {hbm.value / 1e9:.1f} GB/s ({hbm.chosen})"
    yield f"Theoretical:   {hbm.theoretical.value / 1e9:.1f} GB/s ({hbm.theoretical.origin}{beside})"
    yield f"Calibration:   {hbm.factor:.4f}"


def _mix_lines(opened: Session) -> Iterator[str]:
    for ceiling in opened.run.ceilings:
        if len(ceiling.mixes) > 1:
            mixes = "  ".join(f"{mix} {_rate(ceiling, s.result.median)}" for mix, s in ceiling.mixes.items())
            yield f"{ceiling.name}: {mixes}"


def _note_lines(opened: Session) -> Iterator[str]:
    for ceiling in opened.run.ceilings:
        for mix, sampled in ceiling.mixes.items():
            name = f"{ceiling.name} {mix}" if len(ceiling.mixes) > 1 else ceiling.name
            warnings = ceiling.warnings if mix == ceiling.chosen else ()
            yield from (f"! {name}: {reason}" for reason in (*sampled.reservations, *warnings))


def _write(opened: Session, measured: Measured) -> Measured:
    """Write the result, say where and what is different; the result as it was written."""
    from roofctl.microbench import store

    before = store.earlier(opened.run.found)
    if store.keeps_better(before, measured):
        say("not written: a quick result does not replace a full one (run without --quick)")
        return measured
    together = store.merged(before, measured)
    path = store.target(opened.run.found)
    store.write(path, together)
    say(f"Wrote {path}")
    if before is not None:
        _say_changes(before, together)
    return together


def _say_changes(before: Measured, after: Measured) -> None:
    from roofctl.microbench.store import changes

    say(f"against the result of {before.measured_at}:")
    for change in changes(before, after):
        if change.relative is None:
            say(f"  {change.name}: {'new' if change.before is None else 'no longer measured'}")
        else:
            say(f"  {change.name}: {change.relative:+.2%}")


def _draw(opened: Session, path: Path) -> None:
    from roofctl.plots import figure, sweep

    figure.save(sweep.draw(_picture(opened)), path)
    say(f"Wrote {path}")


def _picture(opened: Session) -> SweepPicture:
    from roofctl.plots.sweep import SweepPicture

    run = opened.run
    series = {found.what: found.series for found in run.sweeps}
    l1 = run.found.profile.l1.bytes_per_sm.value
    capacities = {"L2 size": float(run.facts.l2_bytes)} | ({"all L1s": float(l1 * run.facts.sm_count)} if l1 else {})
    return SweepPicture(
        title=f"{run.facts.name}: measured bandwidth",
        subtitle=f"driver {run.facts.driver_version or 'unknown'}, {run.started:%Y-%m-%d}",
        working_set=series.get("working set", {}),
        block=series.get("block", {}),
        width=series.get("width", {}),
        ceilings={c.name.upper(): c.value for c in run.ceilings if c.name in ("l1", "l2", "hbm")},
        capacities=capacities,
    )


def _raise_failures(opened: Session) -> None:
    """Say every failure; the first decides the exit code."""
    failures: Sequence[tuple[str, RoofctlError]] = opened.failures
    for level, error in failures[1:]:
        say(f"error: {level}: {error.message}")
    if failures:
        level, error = failures[0]
        error.message = f"{level}: {error.message}"
        raise error
