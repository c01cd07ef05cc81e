"""``roofctl quantities``: which counters make what, on a chip."""

from __future__ import annotations

import click

from roofctl.cli import complete
from roofctl.cli.common import put, say, show_as, talk_options
from roofctl.cli.inputs import quantities_option


@click.command()
@click.option(
    "--chip",
    default="gh100",
    show_default=True,
    metavar="CHIP",
    shell_complete=complete.gpu_profiles,
    help="Chip (gh100) or GPU profile (h200).",
)
@click.option("--profiler", type=click.Choice(["ncu", "nvprof"]), default="ncu", show_default=True, help="Profiler.")
@click.option(
    "--set",
    "chosen",
    multiple=True,
    metavar="NAME",
    shell_complete=complete.metric_sets,
    help="Only quantities of this metric set, repeatable; or all.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "counters"]),
    default="table",
    show_default=True,
    help="Output form; counters is a list for ncu --metrics.",
)
@click.option(
    "--script",
    type=click.Choice(["ncu", "nvprof"]),
    help="Print a capture script for nodes without Python instead (shell/ holds both).",
)
@quantities_option
@talk_options
def quantities(chip: str, profiler: str, chosen: tuple[str, ...], form: str, script: str | None) -> None:
    """Print the quantities roofctl knows, the counters that make them on a chip, and what is missing there.

    \b
    Example:
      roofctl quantities --chip gh100 --set instruction
      roofctl quantities --chip v100 --profiler nvprof
      roofctl quantities --script ncu > profile_ncu.sh
    """
    from roofctl.profilers import ncu, nvprof
    from roofctl.profilers.counters import check_sets
    from roofctl.quantities import catalogue
    from roofctl.quantities.listing import listing, passes

    if script:
        from roofctl.profilers.script import script as capture_script

        put(capture_script(script).removesuffix("\n"))
        return
    sets = check_sets(chosen) if chosen else ()
    chip = _chip_name(chip)
    rows = listing(catalogue(), chip, profiler, sets)
    if form == "counters":
        module = ncu if profiler == "ncu" else nvprof
        put(",".join(module.counters(chip, sets or ("all",)).counters))
        return
    headings = ["quantity", "sets", "counters", "~remark"]
    cells = [[row["quantity"], ", ".join(row["sets"]), row["formula"], row["remark"]] for row in rows]
    show_as(form, headings, cells, document=rows)
    if form == "table" and sets and profiler == "ncu":
        say(f"passes on {chip}: {passes(chip, ['all'] if 'all' in chosen else sets)}")


def _chip_name(name: str) -> str:
    """A chip's name, also when a GPU profile is named instead."""
    from roofctl.core.errors import InputError
    from roofctl.gpus import find_profile
    from roofctl.quantities import catalogue

    if name.lower() in catalogue().chips:
        return name.lower()
    try:
        return find_profile(name).profile.chip
    except InputError:
        return catalogue().chip(name).name
