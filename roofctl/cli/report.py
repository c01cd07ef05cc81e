"""``roofctl report``: the table."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from roofctl.cli.common import say, say_notes, show_as, talk_options, terminal_width
from roofctl.cli.inputs import check_read, check_time_options, input_options, request_of, study_of


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
@click.option(
    "--advice/--no-advice",
    default=True,
    show_default=True,
    help="After a table or Markdown: verdict and advice for the five longest kernels.",
)
@click.option("--names", is_flag=True, help="After a table or Markdown: the full name behind each number.")
@click.option("--times", is_flag=True, help="The times that bound a launch: compute, each level, the launch itself.")
@talk_options
def report(form: str, names: bool, advice: bool, times: bool, **options: Any) -> None:
    """List kernels with time, rate, intensity per level, fraction of each roof, and what bounds them.

    INPUT is a capture (roofctl profile), an ncu report (.ncu-rep), or what a profiler printed: ncu --csv (raw or
    details page, summary) or nvprof --csv; a folder of these; or a pattern in quotes. Without INPUT the newest
    capture is taken.
    Files that complete each other (nvprof's metrics, events and timing) are joined by kernel.
    Intensity is warp instructions per 32-byte transaction. Data goes to stdout, all else to stderr.
    With --times the table is that of plot --mode time; a last row adds all launches (in CSV there is none).

    \b
    Example:
      roofctl report
      roofctl report metrics.csv timing.csv events.csv --profile v100s
      roofctl report capture.csv --top 20 --format json > report.json
      roofctl report capture.csv --times --model flop
    """
    from roofctl.output import report as reports

    if times:
        check_time_options(options)
    answer = study_of(request_of(options))
    if times:
        _print_times(answer, form, names=names)
        return
    rows = answer.analysis.rows
    if form == "json":
        _json(reports.document(answer))
    elif form == "csv":
        _csv(reports.to_csv(answer.analysis))
    elif form == "md":
        _text(reports.to_markdown(answer.analysis))
    else:
        print_table(answer)
    if advice and form in ("table", "md"):
        analysis = answer.analysis
        told = reports.advice_markdown(analysis) if form == "md" else reports.advice_text(analysis, terminal_width())
        _text(f"\n{told}" if told else "")
    if names and form in ("table", "md"):
        _text("\n" + reports.full_names(rows))
    say_notes(answer.notes)
    if answer.question:
        say(f"note: {answer.question.message} Fractions and bounds are not known; {answer.question.hint}")
    check_read(answer)


def _print_times(answer: Any, form: str, *, names: bool) -> None:
    """The times on stdout in the form asked for; raises InputError when the GPU is not known."""
    from roofctl.output import report as reports
    from roofctl.output import timetable
    from roofctl.roofline.time_based import sums
    from roofctl.study.study import timings_of

    timings, notes = timings_of(answer)
    if form == "json":
        _json(timetable.document(answer, timings, [note.text for note in notes]))
    elif form == "csv":
        _csv(timetable.to_csv(timings))
    elif form == "md":
        _text(reports.markdown(*timetable.table(timings)))
    else:
        show_as("table", *timetable.table(timings))
        say(describe_ceilings(answer))
        say(sums(timings))
    if names and form in ("table", "md"):
        _text("\n" + reports.full_names(timetable.rows(timings)))
    say_notes([*answer.general, *notes])


def _json(document: dict[str, Any]) -> None:
    """JSON on stdout; characters that steer a terminal in JSON's own escapes."""
    from roofctl.core.kernel_names import json_safe

    click.echo(json_safe(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)))


def _csv(text: str) -> None:
    """CSV on stdout. It has no escapes: a file gets names as they are (click would strip them), a terminal does not."""
    from roofctl.core.kernel_names import visible

    click.echo(visible(text, keep="\n") if sys.stdout.isatty() else text, nl=False, color=True)


def _text(text: str) -> None:
    """Text for people on stdout, without characters that steer a terminal."""
    from roofctl.core.kernel_names import visible

    click.echo(visible(text, keep="\n"), nl=False)


def print_table(answer: Any) -> None:
    """The kernel table on stdout, and on stderr which ceilings it judges by."""
    from roofctl.output import report as reports

    show_as("table", *reports.table(answer.analysis))
    if answer.rooflines:
        say(describe_ceilings(answer))


def describe_ceilings(answer: Any) -> str:
    """One line: GPU, basis and clock of the ceilings."""
    from roofctl.output.captions import clock_texts

    roofline = answer.rooflines[0]
    return ", ".join([f"ceilings: {roofline.gpu}", roofline.basis, *clock_texts(answer)])
