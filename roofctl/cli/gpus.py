"""``roofctl gpus``: list, show, check and write GPU profiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli import complete
from roofctl.cli.common import SentenceGroup, put, say, show_as, talk_options
from roofctl.core.errors import InputError

if TYPE_CHECKING:
    from roofctl.gpus import FoundProfile, LightFile


@click.group("gpus", cls=SentenceGroup)
def gpus() -> None:
    """List, show, check and write GPU profiles: the facts that ceilings come from.

    A profile is a YAML file. A name is looked up in ./profiles, then in your own folder,
    then among the ones that roofctl ships.

    Example: roofctl gpus show h200
    """


@gpus.command("list")
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Output form."
)
@talk_options
def list_(form: str) -> None:
    """List every GPU profile that a name can reach.

    Pin is 2 x memory clock x bus width / 8: the most that the board's memory can move.

    Example: roofctl gpus list --format json
    """
    from roofctl.gpus.describe import summary
    from roofctl.gpus.store import profile_index
    from roofctl.gpus.tables import LIST_COLUMNS, list_cells

    known = profile_index()
    for path, _ in known.broken:
        say(f"Left out {path}: it has problems; see roofctl gpus validate {path}")
    rows = [summary(found) for found in sorted(known.found, key=lambda found: found.profile.name)]
    show_as(form, LIST_COLUMNS, [list_cells(row) for row in rows], document=rows)


@gpus.command("show")
@click.argument("name", shell_complete=complete.gpu_profiles)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output form."
)
@click.option("--history", is_flag=True, help="Every measured result of this GPU profile, newest first.")
@talk_options
def show(name: str, form: str, history: bool) -> None:
    """Show one GPU profile: every fact with its basis and source, and the ceilings.

    NAME is a profile's name, an alias, or a path to a YAML file. A basis of memory
    means: written from memory of the source, still to be confirmed.

    Example: roofctl gpus show a100-80gb
    """
    from roofctl.gpus import find_light, find_measured, find_profile
    from roofctl.gpus.describe import details

    if light := find_light(name):
        _print_light(light, form)
        return
    found = find_profile(name)
    _say_which(found)
    if history:
        _print_history(found, form)
        return
    data = details(found, find_measured(found))
    if form == "json":
        show_as("json", document=data)
    else:
        _print_details(data)


def _print_light(light: LightFile, form: str) -> None:
    """The ceilings of a file that holds nothing else."""
    from roofctl.core.given import UNITS
    from roofctl.core.units import rate

    document = {"name": light.name, "path": str(light.path), "ceilings": dict(light.ceilings)}
    rows = [[name, rate(name, value, UNITS[name])] for name, value in light.ceilings.items()]
    show_as("json" if form == "json" else "table", ("ceiling", ">given"), rows, document=document)


def _print_history(found: FoundProfile, form: str) -> None:
    from roofctl.microbench.store import history, history_rows
    from roofctl.microbench.summary import history_table

    rows = history_rows(history(found))
    if form == "json":
        show_as("json", document=rows)
    elif rows:
        show_as("table", *history_table(rows, found.profile))
    else:
        put(f"{found.profile.name} has never been measured: roofctl calibrate --profile {found.profile.name}")


def _print_details(data: dict[str, Any]) -> None:
    from roofctl.gpus.tables import heading, sections

    put("\n".join(heading(data)))
    for section in sections(data):
        put(f"\n{section.title}" if section.title else "")
        if section.columns:
            show_as("table", section.columns, section.rows)
    for note in data["notes"]:
        put(f"\nnote: {note}")


def _say_which(found: FoundProfile) -> None:
    where = "" if found.layer == "path" else f", {found.layer}"
    say(f"GPU profile {found.profile.name} ({found.how}{where})")


@gpus.command("validate")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@talk_options
def validate(files: tuple[Path, ...]) -> None:
    """Check GPU profiles and measured results; without FILE, all that a name can reach.

    Every problem is named with its line, its key, what was seen and what is expected.
    The exit status is 2 if any file has one.

    Example: roofctl gpus validate profiles/my-gpu.yaml
    """
    from roofctl.core.profile_files import layers, measured_files, profile_files
    from roofctl.gpus.store import alias_clashes

    folders = [] if files else [folder for _, folder in layers()]
    paths = files or tuple(path for folder in folders for path in (*profile_files(folder), *measured_files(folder)))
    bad = sum([_report(path) for path in paths])
    clashes = [f"{folder}: {clash}" for folder in folders for clash in alias_clashes(profile_files(folder))]
    for clash in clashes:
        put(f"bad  {clash}")
    if bad or clashes:
        shared = f", {len(clashes)} names belong to several files" if clashes else ""
        raise InputError(
            f"{bad} of {len(paths)} files cannot be used as they are{shared}",
            hint="roofctl gpus new NAME writes a file that explains every key",
        )


def _report(path: Path) -> bool:
    """Print one file's result; True when it is bad."""
    from roofctl.gpus.check import file_problems
    from roofctl.gpus.limits import excess_problems

    problems = file_problems(path) or excess_problems(path)
    put(f"{'bad ' if problems else 'ok  '} {path}")
    for problem in problems:
        put(f"     {problem}")
    return bool(problems)


@gpus.command("new")
@click.argument("name")
@click.option(
    "--from",
    "existing",
    metavar="EXISTING",
    shell_complete=complete.gpu_profiles,
    help="Copy the facts of this GPU profile (name, alias or path), or take those of a capture's GPU.",
)
@click.option(
    "--from-report",
    "report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take what this report or capture says about its GPU.",
)
@click.option("--from-device", "device", is_flag=True, help="Take what the driver says about the GPU here.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@talk_options
def new(name: str, existing: str | None, report: Path | None, device: bool, force: bool) -> None:
    """Write ./profiles/NAME.yaml, a GPU profile: to fill in, or from a capture, a report or the GPU here.

    Without a source what has to be known (chip, compute capability, SMs, boost clock) is null and fails
    validation until it is filled in; everything else may stay unknown. Facts from a report state whether
    counters or the driver gave them, or the compute capability.

    \b
    Example: roofctl gpus new my-h200 --from h200
             roofctl gpus new my-gpu --from-report report.ncu-rep
    """
    from roofctl.gpus.store import checked_name, is_packaged, write_profile
    from roofctl.gpus.writer import skeleton

    if sum(map(bool, (existing, report, device))) > 1:
        raise click.UsageError("--from, --from-report and --from-device exclude each other")
    name = checked_name(name)
    text = _given(name, existing, report, device=device) or skeleton(name)
    path = Path("profiles") / f"{name}.yaml"
    write_profile(path, text, force=force)
    if is_packaged(name):
        say(f"In this folder {name} now means {path}, no longer the profile that roofctl ships")
    what = "Check it" if report or device else "Fill it in"
    say(f"Wrote {path}. {what}, then: roofctl gpus {'show' if report or device else 'validate'} {path}")


def _given(name: str, existing: str | None, report: Path | None, *, device: bool) -> str | None:
    """The text of a profile from a profile, a capture or the driver; None without any of them."""
    from roofctl.gpus import find_profile
    from roofctl.gpus.writer import copy_as, written

    if device:
        from roofctl.doctor.own_gpu import profile_of_device

        return written(profile_of_device(name))
    if existing is not None:
        try:
            found = find_profile(existing)
        except InputError:
            report = _capture(existing)
            if report is None:
                raise
        else:
            _say_which(found)
            return copy_as(name, found.profile)
    if report is None:
        return None
    from roofctl.study.derivation import profile_from

    return written(profile_from((report,), name))


def _capture(name: str) -> Path | None:
    """The capture of this name, or a file or folder that may be one; None where there is neither."""
    from roofctl.captures.manifest import ROOT

    path = Path(name)
    there = (path.exists() and path.suffix not in (".yaml", ".yml")) or (Path(ROOT) / path).is_dir()
    return path if there else None


@gpus.command("derive")
@click.argument("files", nargs=-1, required=True, metavar="INPUT...", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv", "md"]),
    default="table",
    show_default=True,
    help="Output form.",
)
@talk_options
def derive(files: tuple[Path, ...], form: str) -> None:
    """Show what captures and reports give of their GPU, beside the GPU profile of that GPU.

    A line per fact: the derived value, whether counters (report) or attributes (driver) give it, the value of the
    profile with its basis, and by how much they differ. An INPUT is one that report takes.

    Example: roofctl gpus derive roofctl-captures/* --format md
    """
    from roofctl.study.derivation import derivation, derived_cells, derived_row

    rows = []
    for path in files:
        try:
            rows += derivation((path,))
        except InputError as error:
            say(f"left out: {error.message}")
    if not rows:
        raise InputError("no input says anything about its GPU", hint="take reports of ncu, or captures of roofctl")
    cells = [derived_cells(row) for row in rows]
    show_as(form, DERIVED_COLUMNS, cells, document=[derived_row(row) for row in rows])


DERIVED_COLUMNS = ("GPU", "fact", ">derived", "source", "profile", ">stated", "basis", ">difference")
