"""``roofctl report``: the table."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from roofctl.cli.common import (
    answer_of,
    input_options,
    request_of,
    say,
    say_notes,
    talk_options,
    terminal_width,
    use_color,
)


@click.command()
@input_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv", "md"]),
    default="table",
    show_default=True,
    help="Output form.",
)
@click.option("--names", is_flag=True, help="After a table or Markdown: the full name behind each number.")
@talk_options
def report(form: str, names: bool, **options: Any) -> None:
    """List kernels with time, rate, intensity per level, fraction of each roof, and what bounds them.

    INPUT is a capture (roofctl profile), or what a profiler printed: ncu --csv (raw or details page,
    summary) or nvprof --csv. Without INPUT the newest capture is taken.
    Files that complete each other (nvprof's metrics, events and timing) are joined by kernel.
    Intensity is warp instructions per 32-byte transaction. Data goes to stdout, all else to stderr.

    \b
    Example:
      roofctl report
      roofctl report metrics.csv timing.csv events.csv --profile v100s
      roofctl report capture.csv --top 20 --format json > report.json
    """
    from roofctl import report as reports
    from roofctl.names import json_safe, visible

    answer = answer_of(request_of(options))
    rows = answer.analysis.rows
    if form == "json":
        click.echo(json_safe(json.dumps(reports.document(answer), indent=2, ensure_ascii=False, allow_nan=False)))
    elif form == "csv":
        text = reports.to_csv(rows)
        # CSV has no escapes: a file gets names as they are (click would strip them), a terminal does not.
        click.echo(visible(text, keep="\n") if sys.stdout.isatty() else text, nl=False, color=True)
    elif form == "md":
        click.echo(visible(reports.to_markdown(rows), keep="\n"), nl=False)
    else:
        print_table(answer)
    if names and form in ("table", "md"):
        click.echo("\n" + visible(reports.full_names(rows), keep="\n"), nl=False)
    say_notes(answer.notes)
    if answer.question:
        say(f"note: {answer.question.message} Fractions and bounds are not known; {answer.question.hint}")


def print_table(answer: Any) -> None:
    """The kernel table on stdout, and on stderr which ceilings it judges by."""
    from roofctl import report as reports
    from roofctl.plots.terminal import table

    headings, rows = reports.table(answer.analysis.rows)
    click.echo(table(headings, rows, width=terminal_width(), color=use_color(sys.stdout)))
    if answer.rooflines:
        say(describe_ceilings(answer))


def describe_ceilings(answer: Any) -> str:
    """One line: GPU, basis and clock of the ceilings."""
    from roofctl.units import prefixed

    roofline = answer.rooflines[0]
    clock = roofline.peak.clock
    at = f", SM clock {prefixed(clock.hz, 'Hz')} ({clock.origin})" if clock else ""
    return f"ceilings: {roofline.gpu}, {roofline.basis}{at}"
