"""``roofctl quantities``: which counters make what, on a chip."""

from __future__ import annotations

import json
import sys

import click

from roofctl.cli.common import talk_options, terminal_width, use_color


@click.command()
@click.option("--chip", default="gh100", show_default=True, metavar="CHIP", help="Chip (gh100) or GPU profile (h200).")
@click.option("--profiler", type=click.Choice(["ncu", "nvprof"]), default="ncu", show_default=True, help="Profiler.")
@click.option("--set", "metric_set", metavar="NAME", help="Only quantities of one metric set, such as instruction.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "counters"]),
    default="table",
    show_default=True,
    help="Output form; counters is a list for ncu --metrics.",
)
@talk_options
def quantities(chip: str, profiler: str, metric_set: str | None, form: str) -> None:
    """Print the quantities roofctl knows, the counters that make them on a chip, and what is missing there.

    \b
    Example:
      roofctl quantities --chip ga10b
      roofctl quantities --chip v100 --profiler nvprof
    """
    from roofctl.errors import InputError
    from roofctl.plots.terminal import table
    from roofctl.quantities import catalogue
    from roofctl.quantities.listing import listing

    known = catalogue()
    sets = sorted({name for quantity in known.quantities.values() for name in quantity.sets})
    if metric_set and metric_set not in sets:
        raise InputError(f"no metric set called {metric_set!r}", hint=f"known sets: {', '.join(sets)}")
    rows = listing(known, _chip_name(chip), profiler, metric_set)
    if form == "json":
        click.echo(json.dumps(rows, indent=2))
        return
    if form == "counters":
        click.echo(",".join(dict.fromkeys(counter for row in rows for counter in row["counters"])))
        return
    columns = ["quantity", "sets", "counters", "remark"]
    lines = [[row["quantity"], ", ".join(row["sets"]), row["formula"], row["remark"]] for row in rows]
    click.echo(table(columns, lines, width=terminal_width(), color=use_color(sys.stdout)))


def _chip_name(name: str) -> str:
    """A chip's name, also when a GPU profile is named instead."""
    from roofctl.errors import InputError
    from roofctl.gpus import find_profile
    from roofctl.quantities import catalogue

    if name.lower() in catalogue().chips:
        return name.lower()
    try:
        return find_profile(name).profile.chip
    except InputError:
        return catalogue().chip(name).name
