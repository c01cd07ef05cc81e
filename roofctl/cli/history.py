"""``roofctl history``: one kernel over captures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli.common import put, say, say_notes, show_as, talk_options
from roofctl.cli.compare import percentage
from roofctl.cli.inputs import input_options, partly_read, request_of

if TYPE_CHECKING:
    from roofctl.study.history import History


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
@percentage("--noise", "Changes of the time up to this are noise.", default="2%", show_default=True)
@click.option("--wide", is_flag=True, help="All columns of the table, however wide the terminal.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw time and use over the captures: a .png, .svg or .pdf file.",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@talk_options
def history(form: str, *, wide: bool, output: Path | None, force: bool, **options: Any) -> None:
    """List one kernel over the captures in a folder, oldest first.

    INPUT is what report takes; without it the captures in roofctl-captures. --kernel names the kernel: one in each
    capture. Each capture is compared with the ceilings of its own GPU at its own clock, its time with that before.

    \b
    Example:
      roofctl history runs --kernel gemm
      roofctl history runs --kernel gemm -o gemm-history.png
    """
    from roofctl.captures.manifest import ROOT
    from roofctl.plots.page import check_target
    from roofctl.study.history import history as over_captures

    if not (options["kernel"] or options["kernel_base"]):
        raise click.UsageError("history is of one kernel: name it with --kernel")
    if options["top"]:
        raise click.UsageError("--top has no meaning for one kernel")
    if output:
        check_target(output, force=force)
    request = request_of(options, advice=False)
    inputs = options["inputs"] or (Path(ROOT),)
    result = over_captures(inputs, request, request.selection, options["noise"])
    _print(result, form, wide=wide)
    say_notes(result.notes)
    if output:
        from roofctl.output.history import save_picture

        save_picture(result, output)
        say(f"Wrote {output}")
    if result.unread:
        raise partly_read(result.unread, len(result.unread) + len(result.entries), "shown")


def _print(result: History, form: str, *, wide: bool) -> None:
    from roofctl.output import history as views

    if form == "json":
        show_as("json", document=views.document(result))
        return
    if form in ("table", "md"):
        put(f"{result.name}\n")
    tables = {"table": views.table, "csv": views.csv_table, "md": views.markdown_table}
    show_as(form, *tables[form](result), wide=wide)
