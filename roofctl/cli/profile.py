"""``roofctl profile``: run an application under a profiler."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli import complete
from roofctl.cli.common import TALK, say, say_notes, talk_options, use_color
from roofctl.cli.inputs import name_options, quantities_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roofctl.output.progress import StatusLine
    from roofctl.profilers import Capture, ProfilePlan, ProfileRequest, Progress


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--set",
    "sets",
    multiple=True,
    default=("default",),
    show_default=True,
    metavar="NAME",
    shell_complete=complete.metric_sets,
    help="Metric set to collect, repeatable, or all (roofctl quantities lists them).",
)
@click.option(
    "--profiler",
    type=click.Choice(["auto", "ncu", "nvprof"]),
    default="auto",
    show_default=True,
    help="auto: nvprof below compute capability 7.0 or where ncu can't, else ncu.",
)
@name_options
@click.option("--launch-skip", type=click.IntRange(min=0), metavar="N", help="Pass over the first N of these launches.")
@click.option("--launch-count", type=click.IntRange(min=1), metavar="N", help="Profile at most N launches.")
@click.option("--nvtx", metavar="RANGE", help="Only kernels inside this NVTX range.")
@click.option(
    "--replay",
    type=click.Choice(["kernel", "application", "range", "app-range"]),
    default="kernel",
    show_default=True,
    help="What is repeated for each pass.",
)
@click.option(
    "--clock-control", type=click.Choice(["none", "base", "boost"]), help="GPU clocks during the run; default: none."
)
@click.option("--cache-control", type=click.Choice(["all", "none"]), help="Caches flushed per pass; default: all.")
@click.option("--device", type=click.IntRange(min=0), metavar="N", help="Profile on this GPU only.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Stop a run after this."
)
@click.option("--env", "variables", multiple=True, metavar="K=V", help="Environment of the application, repeatable.")
@click.option("--cwd", type=click.Path(path_type=Path), metavar="FOLDER", help="Folder to run the application in.")
@click.option("--name", metavar="NAME", help="Name of the capture; default: application and time.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder that holds captures; default: roofctl-captures.",
)
@click.option("--dry-run", is_flag=True, help="Print the command lines, one per line, and run nothing.")
@click.option("--keep-going", is_flag=True, help="An application that fails but was profiled is no error.")
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] APP [ARGS]...")
@quantities_option
@talk_options
def profile(argv: tuple[str, ...], dry_run: bool, **options: Any) -> None:
    """Run APP under ncu or nvprof, keep everything in a capture folder, and print what report prints.

    The application's own input and output are untouched; processes that it starts are profiled too. Ctrl-C and
    --timeout stop all of them and keep what was profiled. Options after APP are the application's.

    \b
    Example:
      roofctl profile ./app --size 4096
      roofctl profile --set walls --kernel gemm --launch-count 5 -- python train.py
      roofctl profile --dry-run ./app

    Exit codes: 7 the application failed, 8 no kernel was profiled, 124 --timeout, 130 interrupted.
    """
    from roofctl import profilers

    request = _request(argv, options)
    if not dry_run:
        _check_gpu(request)
    planned = profilers.plan(request, dry=dry_run)
    for remark in planned.remarks:
        say(f"note: {remark}")
    for quantity, reason in planned.selected.left_out:
        if quantity.startswith("peak_") or quantity.endswith("_pipe"):
            continue  # a unit that the chip does not have
        say(f"note: {quantity} is left out: {reason}")
    if dry_run:
        _print_commands(planned)
        return
    # The libraries of the table take a second to load: that happens while the application runs.
    loading = Thread(target=_load_report, daemon=True)
    status: StatusLine | None = None

    def show(progress: Progress) -> None:
        nonlocal status
        if status is None:
            loading.start()
            status = _status_line()
        _show(status, progress)

    try:
        capture = profilers.profile(request, progress=show, planned=planned)
    finally:
        if status:
            status.clear()
    loading.join()
    try:
        _report(capture)
    finally:
        _say_outcome(capture, planned)
    if capture.failure:
        raise capture.failure


def _check_gpu(request: ProfileRequest) -> None:
    """Raise DeviceError where there is neither a driver nor a GPU that nvidia-smi lists: nothing could be profiled."""
    from roofctl.core import driver
    from roofctl.profilers.gpu import find_gpu

    if not driver.has_driver() and find_gpu(request.device, request.env) is None:
        raise driver.no_gpu("profile")


def _load_report() -> None:
    # First: the run waits for this one, so that both threads load in the same order.
    import roofctl.profilers.results  # noqa: I001
    import roofctl.output.table
    import roofctl.study.analyse  # noqa: F401
    from roofctl.core.errors import RoofctlError
    from roofctl.gpus.store import all_profiles

    with suppress(RoofctlError, OSError):  # the report names what it cannot read
        all_profiles(Path.cwd())


def _request(argv: tuple[str, ...], options: dict[str, Any]) -> ProfileRequest:
    from roofctl.profilers import ProfileRequest
    from roofctl.quantities import catalogue
    from roofctl.quantities.own import SET as OWN_SET

    variables = options.pop("variables")
    if catalogue().own:  # they were asked for by their file
        options["sets"] = (*options["sets"], OWN_SET)
    return ProfileRequest(argv=argv, env=_environment(variables), **options)


def _environment(assignments: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in assignments]
    wrong = [text for text, (name, equals, _) in zip(assignments, pairs, strict=True) if not (name and equals)]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} is not NAME=VALUE", param_hint="--env")
    return {name: value for name, _, value in pairs}


def _print_commands(planned: ProfilePlan) -> None:
    """The exact command lines on stdout, with the folder that the capture would get."""
    from datetime import datetime

    from roofctl.profilers.capture import capture_name, commands, output_root

    folder = output_root(planned.request) / capture_name(planned.request, datetime.now().astimezone())
    for command in commands(planned, folder.absolute()):
        click.echo(command.line())
    say(f"note: the folder has to exist: mkdir -p {shlex.quote(str(folder.absolute()))}")


def _status_line() -> StatusLine:
    from roofctl.output.progress import StatusLine

    return StatusLine(sys.stderr, color=use_color(sys.stderr), silent=TALK.quiet)


def _show(status: StatusLine, progress: Progress) -> None:
    """Show progress: the status line on a terminal, and the profiler's warnings at once anywhere."""
    if progress.messages:
        status.clear()
    for line in progress.messages:
        say(line)
    if progress.kernel or progress.kernels:
        status.update(describe(progress))


def describe(progress: Progress) -> str:
    """Where a run stands, in one line: ``12 launches done, 3 passes each; gemm 50%``."""
    text = f"{progress.run}: " if progress.run else ""
    text += "1 launch done" if progress.kernels == 1 else f"{progress.kernels} launches done"
    text += f", {progress.passes} passes each" if progress.passes else ""
    if progress.kernel:
        text += f"; {progress.kernel}" + ("" if progress.percent is None else f" {progress.percent}%")
    return text


def _report(capture: Capture) -> None:
    """The table of ``roofctl report``, with its notes."""
    from roofctl.cli.report import print_table
    from roofctl.study.analyse import AnalysisRequest, analyse_inputs

    analysis = analyse_inputs(AnalysisRequest(inputs=(capture.folder,)))
    print_table(analysis)
    say_notes(analysis.notes)
    if analysis.unknown_gpu:
        say(f"note: {analysis.unknown_gpu.message} Fractions and bounds are not known; {analysis.unknown_gpu.hint}")


def _say_outcome(capture: Capture, planned: ProfilePlan) -> None:
    """What it cost, what is missing, and where it is."""
    manifest = capture.manifest
    passes = f" in {manifest.passes} passes each" if manifest.passes else ""
    kernels = "1 launch" if manifest.kernels == 1 else f"{manifest.kernels} launches"
    say(f"{kernels} profiled{passes}, {manifest.seconds:.1f} s under {manifest.profiler}")
    for quantity in sorted(manifest.left_out.keys() - dict(planned.selected.left_out).keys()):
        say(f"warning: {quantity} cannot be made: {manifest.left_out[quantity]}")
    if manifest.incomplete and not capture.failure:
        say(f"warning: {manifest.incomplete}")
    say(f"Wrote {capture.folder}")
