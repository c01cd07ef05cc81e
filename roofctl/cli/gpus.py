"""``roofctl gpus``: list, show, check and write GPU profiles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli.common import put, say, show_as, talk_options
from roofctl.core.errors import InputError, RoofctlError
from roofctl.core.units import duration, gtxn, prefixed, rate, significant

if TYPE_CHECKING:
    from roofctl.gpus import Found


@click.group("gpus", short_help="List, show, check and write GPU profiles.")
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

    HBM pin is 2 x memory clock x bus width / 8; HBM sheet is what the data sheet says.

    Example: roofctl gpus list --format json
    """
    from roofctl.gpus.describe import summary
    from roofctl.gpus.store import shelf

    known = shelf()
    for path, _ in known.broken:
        say(f"Left out {path}: it has problems; see roofctl gpus validate {path}")
    rows = [summary(found) for found in sorted(known.found, key=lambda found: found.profile.name)]
    columns = ["name", "CC", ">SMs", ">peak GIPS", ">HBM pin TB/s", ">HBM sheet TB/s", "from", "aliases"]
    show_as(form, columns, [_list_row(row) for row in rows], document=rows)


def _list_row(row: dict[str, Any]) -> list[str]:
    return [
        row["name"],
        row["compute_capability"],
        str(row["sm_count"]),
        significant(row["peak_warp_instructions_per_second"] / 1e9),
        _tera(row["hbm_pin_bytes_per_second"]),
        _tera(row["hbm_datasheet_bytes_per_second"]),
        row["layer"],
        ", ".join(row["aliases"]),
    ]


@gpus.command("show")
@click.argument("name")
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
    from roofctl.gpus import find_measured, find_profile
    from roofctl.gpus.describe import details

    found = find_profile(name)
    _say_which(found)
    if history:
        _show_history(found, form)
        return
    data = details(found, find_measured(found))
    if form == "json":
        show_as("json", document=data)
    else:
        _show_text(data)


def _show_history(found: Found, form: str) -> None:
    """One row per calibration, one column per ceiling."""
    from roofctl.microbench.store import history, history_rows

    rows = history_rows(history(found))
    if form == "json":
        show_as("json", document=rows)
        return
    if not rows:
        put(f"{found.profile.name} has never been measured: roofctl calibrate --profile {found.profile.name}")
        return
    names = list(dict.fromkeys(name for row in rows for name in row["ceilings"]))
    columns = ["measured at", "driver", *(f">{name}" for name in names)]
    show_as("table", columns, [_history_row(row, names) for row in rows])


def _history_row(row: dict[str, Any], names: Sequence[str]) -> list[str]:
    when = row["measured_at"] + (" quick" if row["quick"] else "")
    cells = [rate(n, row["ceilings"][n], row["units"][n]) if n in row["ceilings"] else "" for n in names]
    return [when, row["driver"] or "", *cells]


def _say_which(found: Found) -> None:
    where = "" if found.layer == "path" else f", {found.layer}"
    say(f"GPU profile {found.profile.name} ({found.how}{where})")


def _show_text(data: dict[str, Any]) -> None:
    put(f"{data['name']}: {data['description']}")
    put(f"chip {data['chip']} (die {data['die']}), compute capability {data['compute_capability']}")
    put(f"aliases: {', '.join(data['aliases']) or 'none'}\n")
    facts = data["facts"].items()
    show_as(
        "table",
        ["fact", ">value", "basis", "source"],
        [[key, _fact_value(key, fact["value"]), fact["basis"], _fact_source(fact)] for key, fact in facts],
    )
    for basis in ("theoretical", "measured"):
        put(f"\n{basis} ceilings" + ("" if data[basis] else ": none measured"))
        if data[basis]:
            _print_ceilings(data[basis])
    put("\nFLOP rates (dense, an FMA is 2)")
    show_as(
        "table",
        ["precision", ">computed", ">data sheet"],
        [
            [
                row["precision"],
                *(_flops(row["precision"], row[key]) for key in ("flops_per_second", "datasheet_flops_per_second")),
            ]
            for row in data["flops"]
        ],
    )
    for note in data["notes"]:
        put(f"\nnote: {note}")


def _print_ceilings(data: dict[str, Any]) -> None:
    peak = data["peak"]
    gips = f"{significant(peak['warp_instructions_per_second'] / 1e9)} GIPS"
    rows = [["peak", gips, "", "", _clock(peak["clock"]), peak["basis"], peak["origin"]]]
    for row in data["bandwidths"]:
        rate = row["bytes_per_second"]
        cells = [prefixed(rate, "B/s"), significant(gtxn(rate)), significant(row["ridge"])]
        rows.append([row["level"], *cells, _clock(row["clock"]), row["basis"], row["origin"]])
    launch = data.get("ceilings", {}).get("launch")
    if launch:
        rows.append(["launch", duration(launch["value"]), "", "", "", "measured", launch["method"]])
    rows += [[level, "unknown", "", "", "", "", reason] for level, reason in data["absent"].items()]
    show_as("table", ["ceiling", ">rate", ">GTXN/s", ">ridge inst/txn", "clock", "basis", "origin"], rows)


def _clock(clock: dict[str, Any] | None) -> str:
    return f"{clock['domain']} {prefixed(clock['hz'], 'Hz')}" if clock else ""


def _fact_value(key: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, list | tuple):
        return ", ".join(value)
    if key.startswith("datasheet_flops_per_second."):
        return _flops(key.removeprefix("datasheet_flops_per_second."), value)
    if key.endswith("_hz"):
        return prefixed(value, "Hz")
    if key.endswith("bytes_per_second"):
        return prefixed(value, "B/s")
    return f"{value:,}" if isinstance(value, int) else str(value)


def _fact_source(fact: dict[str, Any]) -> str:
    return "; ".join(text for text in (fact["source"], fact["note"]) if text)


def _flops(precision: str, value: float | None) -> str:
    return "" if value is None else rate(precision, value, "FLOP/s")


def _tera(value: float | None) -> str:
    return "" if value is None else significant(value / 1e12)


@gpus.command("validate")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@talk_options
def validate(files: tuple[Path, ...]) -> None:
    """Check GPU profiles and measured results; without FILE, all that a name can reach.

    Every problem is named with its line, its key, what was seen and what is expected.
    The exit status is 2 if any file has one.

    Example: roofctl gpus validate profiles/my-gpu.yaml
    """
    from roofctl.gpus.store import alias_clashes, layers, measured_files, profile_files

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

    problems = file_problems(path)
    put(f"{'bad ' if problems else 'ok  '} {path}")
    for problem in problems:
        put(f"     {problem}")
    return bool(problems)


@gpus.command("new")
@click.argument("name")
@click.option(
    "--from", "existing", metavar="EXISTING", help="Copy the facts of this GPU profile (name, alias or path)."
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@talk_options
def new(name: str, existing: str | None, force: bool) -> None:
    """Write ./profiles/NAME.yaml, a GPU profile to fill in, with every key explained.

    What has to be known (chip, compute capability, SMs, boost clock) is null and fails
    validation until it is filled in; everything else may stay unknown.

    Example: roofctl gpus new my-h200 --from h200
    """
    from roofctl.gpus import find_profile
    from roofctl.gpus.store import checked_name, is_packaged
    from roofctl.gpus.writer import copy_as, skeleton

    name = checked_name(name)
    if existing is None:
        text = skeleton(name)
    else:
        found = find_profile(existing)
        _say_which(found)
        text = copy_as(name, found.profile)
    path = Path("profiles") / f"{name}.yaml"
    _write(path, text, force=force)
    if is_packaged(name):
        say(f"In this folder {name} now means {path}, no longer the profile that roofctl ships")
    say(f"Wrote {path}. Fill it in, then: roofctl gpus validate {path}")


def _write(path: Path, text: str, *, force: bool) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InputError(f"{path} exists", hint="choose another name, or replace it with --force") from error
    except OSError as error:
        raise RoofctlError(f"{path} cannot be written: {error.strerror or error}") from error
