"""``roofctl captures``: list, show and remove captures."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from roofctl.cli import complete
from roofctl.cli.common import TALK, SentenceGroup, put, say, show_as, talk_options
from roofctl.core.kernel_names import visible


@click.group("captures", cls=SentenceGroup)
def captures() -> None:
    """List, show and remove captures: the folders in roofctl-captures that roofctl profile writes.

    Example: roofctl captures list
    """


@captures.command("list")
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Output form."
)
@click.argument("folder", required=False, metavar="[FOLDER]", type=click.Path(path_type=Path))
@talk_options
def list_(folder: Path | None, form: str) -> None:
    """List the captures in FOLDER (roofctl-captures without it), the newest first.

    Example: roofctl captures list --format json
    """
    from roofctl.captures.listing import LIST_COLUMNS, cells, rows
    from roofctl.captures.manifest import ROOT
    from roofctl.core.errors import InputError

    folder = folder or Path(ROOT)
    if not folder.is_dir() and folder != Path(ROOT):
        raise InputError(f"there is no folder {folder}", hint="name the folder that holds captures")
    found = rows(folder)
    if found or form == "json":
        show_as(form, LIST_COLUMNS, [cells(row) for row in found], document=found)
    else:
        say(f"there is no capture in {folder}: roofctl profile ./app makes one, report and plot also take other files")
    for row in found:
        if row["problem"]:
            say(f"note: {row['name']}: {row['problem']}")


@captures.command("show")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output form."
)
@click.argument("name", required=False, metavar="[NAME]", shell_complete=complete.captures)
@talk_options
def show(name: str | None, form: str) -> None:
    """Show how a capture was made: application, GPU, profiler, sets, command lines (-v). Without NAME the newest.

    Example: roofctl captures show app-20261201-101500
    """
    from roofctl.captures.listing import details, lines
    from roofctl.captures.manifest import ROOT
    from roofctl.captures.read import latest, named, read_manifest

    folder = named(name, Path.cwd()) if name else latest(Path(ROOT))
    row = details(folder, read_manifest(folder))
    if form == "json":
        show_as("json", document=row)
        return
    for heading, text in lines(row):
        put(f"{heading + ':':<13} {text}")
    for command in row["commands"] if TALK.verbose else ():
        put(f"command:      {command}")


@captures.command("rm")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete.captures)
@talk_options
def rm(names: tuple[str, ...], yes: bool) -> None:
    """Remove captures with all their files. It asks first, and removes nothing when one NAME is none.

    Example: roofctl captures rm app-20261201-101500
    """
    from roofctl.captures.listing import remove, size_of, size_text
    from roofctl.captures.read import named

    folders = list(dict.fromkeys(named(name, Path.cwd()) for name in names))
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("rm asks before it removes, and there is no terminal to ask at: give --yes")
        size = size_text(sum(map(size_of, folders)))
        if not click.confirm(visible(f"Remove {', '.join(map(str, folders))} ({size})?"), err=True):
            say("Nothing is removed")
            return
    for folder in folders:
        remove(folder)
        say(f"Removed {folder}")
