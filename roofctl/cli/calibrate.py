"""``roofctl calibrate``: measure the ceilings of the GPU in this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli import complete
from roofctl.cli.common import TALK, put, say, show_as, table_or_json, talk_options, terminal_width, use_color
from roofctl.core.levels import CALIBRATED, LEVEL_ALIASES, LEVELS

if TYPE_CHECKING:
    from roofctl.gpus import Measured
    from roofctl.microbench.calibrate import Session
    from roofctl.microbench.outcomes import Outcome

_PICTURE_BY_NAME = "-"


@click.command()
@click.option(
    "--profile",
    "profile",
    default="auto",
    show_default=True,
    metavar="NAME",
    shell_complete=complete.gpu_profiles,
    help="GPU profile to measure for.",
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice([*CALIBRATED, *LEVEL_ALIASES, "all"]),
    help="Level to measure, repeatable; dram is hbm; default: all.",
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
@click.option("--quick", is_flag=True, help="A few seconds instead of a minute; figures carry a note.")
@click.option("--no-write", is_flag=True, help="Show the results, write no file.")
@table_or_json
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
    known result. Figures are kept with their spread and clocks in NAME.measured.yaml, which plot
    and report then use. Clocks are never changed. A ceiling with ! is doubtful; its note gives the reason.

    \b
    Example:
      roofctl calibrate
      roofctl calibrate --profile h200 --level hbm --level l2 --plot
    """
    from roofctl.microbench.calibrate import CalibrationRequest, session
    from roofctl.microbench.levels import chosen_levels
    from roofctl.microbench.pycuda_device import open_device
    from roofctl.microbench.summary import heading

    size = options["size_mb"]
    request = CalibrationRequest(
        profile=options["profile"],
        levels=chosen_levels(levels),
        arch=options["arch"],
        size_bytes=None if size is None else size * 1_000_000,
        quick=options["quick"],
    )
    if picture not in (None, _PICTURE_BY_NAME):
        from roofctl.plots.figure import check_suffix

        check_suffix(Path(picture))
    with session(request, lambda: open_device(index)) as opened:
        say(heading(opened.run))
        for doubt in opened.doubts:
            say(f"warning: {doubt}")
        interrupted = _measure(opened)
    if opened.measured_anything:
        _finish(opened, as_json=as_json, no_write=no_write, picture=picture)
    _raise_failures(opened)
    if interrupted:
        raise click.Abort


def _measure(opened: Session) -> bool:
    """Measure everything, showing each result as it comes; whether the user stopped it."""
    from roofctl.microbench.summary import cells

    with _progress() as (step, add):
        opened.bench.pulse = step

        def show(outcome: Outcome) -> None:
            if row := cells(outcome, opened.run.found.profile):
                add(row)

        try:
            opened.measure(show)
        except KeyboardInterrupt:
            say("interrupted: what was measured so far is kept")
            return True
    return False


@contextmanager
def _progress() -> Iterator[tuple[Callable[[str], None], Callable[[Sequence[str]], None]]]:
    """What to call with the step that runs and with each row: a growing table on a terminal, else lines."""
    if TALK.quiet or not sys.stderr.isatty() or TALK.verbose:
        yield (say if TALK.verbose else lambda _step: None), lambda row: say("  ".join(filter(None, row)))
        return
    from roofctl.microbench.summary import COLUMNS
    from roofctl.output.live import LiveTable

    with LiveTable(COLUMNS, color=use_color(sys.stderr)) as table:
        yield table.status, table.add


def _finish(opened: Session, *, as_json: bool, no_write: bool, picture: str | None) -> None:
    """The table on stdout (on stderr beside JSON), the file, the picture."""
    from roofctl.microbench.results import to_measured
    from roofctl.microbench.summary import COLUMNS, lines, rows
    from roofctl.output.table import to_table

    run = opened.run
    table = to_table(COLUMNS, rows(run), width=terminal_width(), color=use_color(sys.stdout) and not as_json)
    (say if as_json else put)("\n".join([table.text, *lines(run)]))
    measured = to_measured(run)
    if not no_write:
        measured = _write(opened, measured)
    if as_json:
        show_as("json", document=measured.model_dump(mode="json"))
    if picture:
        _draw(opened, Path(f"{run.found.profile.name}-sweep.png" if picture == _PICTURE_BY_NAME else picture))


def _write(opened: Session, measured: Measured) -> Measured:
    """Write the result, print where and what is different; the result as it was written."""
    from roofctl.microbench.store import changes, keep
    from roofctl.microbench.summary import change_lines

    kept = keep(opened.run.found, measured)
    if kept.path is None:
        say("not written: a quick result does not replace a full one (run without --quick)")
        return measured
    say(f"Wrote {kept.path}")
    if kept.before is not None:
        say(f"against the result of {kept.before.measured_at or 'a file written by hand'}:")
        for line in change_lines(changes(kept.before, kept.measured), opened.run.found.profile):
            say(line)
    return kept.measured


def _draw(opened: Session, path: Path) -> None:
    from roofctl.microbench.summary import label
    from roofctl.plots import figure, sweep

    run = opened.run
    series, l1 = {each.what: each.series for each in run.sweeps}, run.found.profile.l1.bytes_per_sm.value
    picture = sweep.SweepPicture(
        title=f"{run.facts.name}: measured bandwidth",
        subtitle=f"driver {run.facts.driver_version or 'unknown'}, {run.started:%Y-%m-%d}",
        working_set=series.get("working set", {}),
        block=series.get("block", {}),
        width=series.get("width", {}),
        size=series.get("size", {}),
        ceilings={label(run.found.profile, c.name).upper(): c.value for c in run.ceilings if c.name in LEVELS},
        capacities={"L2 size": float(run.facts.l2_bytes)} | ({"all L1s": float(l1 * run.facts.sm_count)} if l1 else {}),
    )
    figure.save(sweep.draw(picture), path)
    say(f"Wrote {path}")


def _raise_failures(opened: Session) -> None:
    """Print every failure but the first, and raise that one: it decides the exit code."""
    for level, error in opened.failures[1:]:
        say(f"error: {level}: {error.message}")
    if opened.failures:
        level, error = opened.failures[0]
        error.message = f"{level}: {error.message}"
        raise error
