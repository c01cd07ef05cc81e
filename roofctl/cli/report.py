"""``roofctl report``: the table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli import page
from roofctl.cli.common import put, say, say_notes, show_as, talk_options, terminal_width
from roofctl.cli.inputs import analysis_of, check_read, check_time_options, input_options, request_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roofctl.study.analyse import Analysis


@click.command()
@input_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv", "md", "brief"]),
    default="table",
    show_default=True,
    help="Output form; brief is JSON of at most 4 kB on what to do next.",
)
@click.option(
    "--advice/--no-advice",
    default=True,
    show_default=True,
    help="After a table or Markdown: verdict and advice for the five longest kernels.",
)
@click.option("--wide", is_flag=True, help="All columns of the table, however wide the terminal.")
@click.option(
    "--columns",
    "columns",
    multiple=True,
    metavar="NAME",
    help="Columns of the table or of Markdown, repeatable or with commas: kernel, time, limit, hbm-bandwidth ...",
)
@click.option("--times", is_flag=True, help="The times that bound a launch: compute, each level, the launch itself.")
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Instead: a page to explore, one .html file that needs no network (extra html).",
)
@click.option("--force", is_flag=True, help="Replace the file of --html if it exists.")
@talk_options
def report(
    form: str,
    advice: bool,
    times: bool,
    wide: bool,
    columns: tuple[str, ...],
    html: Path | None,
    force: bool,
    **options: Any,
) -> None:
    """List kernels with time, rate, intensity per level, fraction of each roof, and what bounds them.

    INPUT is a capture (roofctl profile), an ncu report (.ncu-rep), or what a profiler printed: ncu --csv (raw or
    details page, summary) or nvprof --csv; a folder of these; or a pattern in quotes. Without INPUT the newest
    capture is taken.
    Files that complete each other (nvprof's metrics, events and timing) are joined by kernel.
    Intensity is warp instructions per 32-byte transaction. Data goes to stdout, all else to stderr.
    With --times the table is that of plot --mode time; a last row adds all launches (in CSV there is none).
    With --names full a table or Markdown is followed by the full name behind each number.

    \b
    Example:
      roofctl report
      roofctl report metrics.csv timing.csv events.csv --profile v100s
      roofctl report capture.csv --top 20 --format json > report.json
      roofctl report capture.csv --times --model flop
      roofctl report capture.csv --html report.html
    """
    if html:
        given = {"--times": times, "--wide": wide, "--columns": columns}
        given[f"--format {form}"] = form != "table"
        page.refuse(given, "is for text on stdout: --html writes a page instead")
        page.write(html, options, force=force, option="--html")
        return
    shown = [name.strip().lower() for text in columns for name in text.split(",")]
    _check_options(form, times=times, columns=bool(shown))
    if times:
        check_time_options(options)
    full = form in ("table", "md") and options["names"] == "full"
    analysis = analysis_of(request_of({**options, "names": "short"} if full else options))
    if times:
        _print_times(analysis, form, full=full, wide=wide)
        return
    _print_kernels(analysis, form, shown, wide=wide)
    if form in ("table", "md"):
        _print_after(analysis, form, advice=advice, full=full)
    say_notes(analysis.notes)
    if analysis.unknown_gpu:
        say(f"note: {analysis.unknown_gpu.message} Fractions and bounds are not known; {analysis.unknown_gpu.hint}")
    check_read(analysis)


def _check_options(form: str, *, times: bool, columns: bool) -> None:
    if columns and (times or form not in ("table", "md")):
        raise click.UsageError("--columns is for the kernel table: JSON, CSV and --times have columns of their own")
    if times and form == "brief":
        raise click.UsageError("--format brief is of the kernel table, not of --times")


def _print_kernels(analysis: Analysis, form: str, shown: Sequence[str], *, wide: bool) -> None:
    """The kernels on stdout in the form asked for."""
    from roofctl.output import brief, kernel_table
    from roofctl.output import report as reports

    results = analysis.results
    if form == "table":
        print_table(analysis, shown, wide=wide)
    elif form == "json":
        show_as("json", document=reports.document(analysis))
    elif form == "brief":
        put(brief.to_line(brief.brief(analysis)))
    else:
        show_as(form, *(reports.csv_table(results) if form == "csv" else kernel_table.markdown_table(results, shown)))


def _print_after(analysis: Analysis, form: str, *, advice: bool, full: bool) -> None:
    """What follows a table or Markdown: verdict and advice, and the full names."""
    from roofctl.output import report as reports

    results = analysis.results
    if form == "md":
        print_incomplete(analysis)
    if form == "md" and analysis.rooflines:
        put(f"\n{reports.ceilings_markdown(analysis)}")
    if advice:
        text = reports.advice_markdown(results) if form == "md" else reports.advice_text(results, terminal_width())
        put(f"\n{text}" if text else "", newline=False)
    if full:
        put("\n" + reports.full_names([each.result.kernel.name for each in results.explained]), newline=False)


def _print_times(analysis: Analysis, form: str, *, full: bool, wide: bool) -> None:
    """The times on stdout in the form asked for; raises InputError when the GPU is not known."""
    from roofctl.output import timetable
    from roofctl.output.captions import describe_ceilings, describe_inputs
    from roofctl.output.report import ceilings_markdown, full_names
    from roofctl.roofline.time_based import sums
    from roofctl.study.analyse import timings_of

    timings, notes = timings_of(analysis)
    views = {"table": timetable.table, "csv": timetable.csv_table, "md": timetable.markdown_table}
    if form == "json":
        show_as("json", document=timetable.document(analysis, timings, [note.text for note in notes]))
    else:
        show_as(form, *views[form](timings), wide=wide)
    if form in ("table", "md"):
        print_incomplete(analysis)
    if form == "md":
        put(f"\n{ceilings_markdown(analysis)}")
    if form == "table":
        say(f"{describe_inputs(analysis)}; {describe_ceilings(analysis)}")
        say(sums(timings))
    if full:
        put("\n" + full_names([timing.kernel for timing in timings]), newline=False)
    say_notes([*analysis.capture_notes, *notes])


def print_incomplete(analysis: Analysis) -> None:
    """Under a table, on stdout: each capture whose run did not end as it should."""
    from roofctl.output.captions import incomplete_lines

    lines = incomplete_lines(analysis)
    put("\n" + "\n\n".join(lines) if lines else "", newline=bool(lines))


def print_table(analysis: Analysis, names: Sequence[str] = (), *, wide: bool = False) -> None:
    """The kernel table on stdout, and on stderr the ceilings it compares with."""
    from roofctl.output.captions import describe_ceilings, describe_inputs
    from roofctl.output.kernel_table import table

    show_as("table", *table(analysis.results, names), wide=wide)
    print_incomplete(analysis)
    if analysis.rooflines:
        say(f"{describe_inputs(analysis)}; {describe_ceilings(analysis)}")
