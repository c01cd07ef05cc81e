"""What commands with captures as input share: the options, and inputs to an analysis."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from roofctl.captures.manifest import ROOT
from roofctl.cli import complete
from roofctl.cli.common import TALK, say, use_color
from roofctl.core.kernel_filter import NameFilter
from roofctl.core.precisions import CHOOSABLE

if TYPE_CHECKING:
    from roofctl.core.errors import RoofctlError
    from roofctl.study.analyse import Analysis, AnalysisRequest

F = TypeVar("F", bound=Callable[..., Any])


def _clock(_context: click.Context, _option: click.Parameter, value: str | None) -> str | float | None:
    """A clock by name, or MHz as Hz."""
    if value is None or value in ("captured", "boost", "base"):
        return value
    number = value.removesuffix("MHz").strip()
    try:
        hertz = float(number) * 1e6
    except ValueError:
        hertz = 0.0
    slowest, fastest = 50e6, 10e9
    if not slowest <= hertz <= fastest:
        raise click.BadParameter(f"{value!r} is not captured, boost, base, or a clock in MHz such as 1980")
    return hertz


def name_options(command: F) -> F:
    """Filters of kernels by name."""
    options = (
        click.option(
            "--kernel",
            default="",
            metavar="REGEX",
            shell_complete=complete.kernels,
            help="Only kernels whose demangled name matches.",
        ),
        click.option(
            "--kernel-base",
            default="",
            metavar="REGEX",
            shell_complete=complete.kernels,
            help="Only kernels whose base name matches.",
        ),
        click.option(
            "--exclude",
            default="",
            metavar="REGEX",
            shell_complete=complete.kernels,
            help="Leave out kernels by name; beside --kernel-base by that.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _names_option(command: F) -> F:
    return click.option(
        "--names",
        type=click.Choice(["short", "base", "full"]),
        default="short",
        show_default=True,
        help="What kernels are called: by short names, the functions' base names, or full demangled names.",
    )(command)


def _ceiling_options() -> tuple[Callable[[F], F], ...]:
    """The options that choose ceilings."""
    return (
        click.option(
            "--profile",
            metavar="NAME",
            shell_complete=complete.gpu_profiles,
            help="GPU profile, or a file with ceilings only; default: by the capture's own device name.",
        ),
        click.option(
            "--ceilings",
            type=click.Choice(["theoretical", "measured", "both"]),
            help="Which ceilings; default: measured ones where they exist.",
        ),
        click.option(
            "--hbm-mix",
            type=click.Choice(["read", "write", "copy", "triad"]),
            help="Reads and writes whose measured rate is the ceiling of HBM (or DRAM); default: the fastest.",
        ),
        click.option(
            "--ceiling",
            "given",
            multiple=True,
            metavar="NAME=VALUE",
            help="A ceiling of your own, repeatable, before all others: l2=5.5TB/s, issue=489.6GIPS, fp64=33.5TFLOP/s.",
        ),
    )


def _use_quantities(context: click.Context, _option: click.Parameter, values: tuple[Path, ...]) -> None:
    """Take the quantities of these files into the catalogue until the command ends."""
    if values:
        from roofctl.quantities import use

        context.call_on_close(lambda: use(()))
        use(values)


def quantities_option(command: F) -> F:
    """--quantities, of all commands that collect or show quantities."""
    return click.option(
        "--quantities",
        multiple=True,
        expose_value=False,
        is_eager=True,
        callback=_use_quantities,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Quantities of your own from a YAML file, repeatable.",
    )(command)


def input_options(command: F) -> F:
    """INPUTs and the options that control how inputs become kernels and ceilings."""
    inputs = click.argument(
        "inputs", nargs=-1, metavar="[INPUT]...", type=click.Path(path_type=Path), shell_complete=complete.inputs
    )
    return inputs(analysis_options(command))


def analysis_options(command: F, group: str = "kernel") -> F:
    """The options that control how inputs become kernels and ceilings; ``group`` is the default of --group."""
    options = (
        *_ceiling_options(),
        name_options,
        _names_option,
        click.option("--top", type=click.IntRange(min=1), metavar="N", help="Only the N longest by total time."),
        click.option(
            "--group",
            type=click.Choice(["kernel", "kernel+grid", "launch"]),
            default=group,
            show_default=True,
            help="What one row or point is.",
        ),
        click.option(
            "--model",
            type=click.Choice(["instruction", "flop"]),
            default="instruction",
            show_default=True,
            help="Warp instructions per transaction, or floating-point operations per byte.",
        ),
        click.option(
            "--precision",
            "precisions",
            multiple=True,
            type=click.Choice([*CHOOSABLE, "all"]),
            help="Type of operation of the FLOP model, repeatable; default: those that a kernel mainly uses.",
        ),
        click.option(
            "--clock",
            metavar="CLOCK",
            callback=_clock,
            help="SM clock of the ceilings: captured, boost, base, or MHz; default: captured where known.",
        ),
        click.option(
            "--instructions",
            type=click.Choice(["thread", "issued"]),
            default="thread",
            show_default=True,
            help="Count thread instructions / 32, or issued warp instructions.",
        ),
        click.option(
            "--decimal",
            type=click.Choice(["point", "comma"]),
            help="Decimal separator, for files that leave it open.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return quantities_option(command)


def check_read(analysis: Analysis) -> None:
    """At the end of a command: raise PartlyRead when some of many inputs were left out."""
    if analysis.unread:
        raise partly_read(analysis.unread, len(analysis.unread) + len(analysis.sources), "shown")


def partly_read(unread: Sequence[RoofctlError], of: int, done: str) -> RoofctlError:
    """The error for inputs that were left out of what is ``done``."""
    from roofctl.core.errors import PartlyRead

    return PartlyRead(
        f"{len(unread):,} of {of:,} inputs could not be read; what is {done} is without them", hint=unread[0].hint
    )


def request_of(options: dict[str, Any], *, advice: bool = True) -> AnalysisRequest:
    """The request that ``input_options`` describe."""
    from roofctl.core.given import parse_options
    from roofctl.quantities import catalogue
    from roofctl.roofline.select import Selection
    from roofctl.study.analyse import AnalysisRequest

    given = parse_options(options["given"], catalogue().levels)
    precisions = tuple(dict.fromkeys(options["precisions"]))
    if precisions and options["model"] != "flop":
        raise click.UsageError(f"--precision {precisions[0]} belongs to --model flop")
    if options["model"] == "flop" and options["instructions"] == "issued":
        raise click.UsageError("--instructions issued belongs to --model instruction")
    return AnalysisRequest(
        inputs=tuple(options["inputs"]),
        profile=options["profile"],
        ceilings=options["ceilings"],
        group=options["group"],
        instructions=options["instructions"],
        decimal=options["decimal"],
        model=options["model"],
        precisions=precisions,
        clock=options["clock"],
        advice=advice,
        given=given,
        hbm_mix=options["hbm_mix"],
        names=options["names"],
        selection=Selection(options["kernel"], options["kernel_base"], options["exclude"], options["top"]),
    )


def check_time_options(options: dict[str, Any]) -> None:
    """Refuse what has no meaning for times: they count every type of operation, and have no error bars."""
    _refuse(options, "belongs to the rooflines of rates, not to times")


def check_wall_options(options: dict[str, Any]) -> None:
    """Refuse what has no meaning for memory walls, which are of single accesses."""
    _refuse(options, "belongs to rooflines, not to memory walls")


def _refuse(options: dict[str, Any], why: str) -> None:
    given = {
        "--precision": options.get("precisions"),
        "--spread": options.get("spread"),
        "--instructions issued": options.get("instructions") == "issued",
    }
    if wrong := next((name for name, value in given.items() if value), None):
        raise click.UsageError(f"{wrong} {why}")


@contextmanager
def reading() -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr while files are read inside: on a terminal, after the first second.

    Yields a function of the number of inputs read and of all inputs; of a single one the bar shows bytes.
    """
    from roofctl.output.progress import ReadingProgress
    from roofctl.readers.streams import watched

    bar = ReadingProgress(sys.stderr, color=use_color(sys.stderr), silent=TALK.quiet)
    try:
        with watched(bar.bytes):
            yield bar.inputs
    finally:
        bar.clear()


def analysis_of(request: AnalysisRequest) -> Analysis:
    """The analysis of a request, with a progress bar where it takes a while."""
    from dataclasses import replace

    from roofctl.study.analyse import analyse_inputs

    with reading() as watch, naming_application(request.inputs):
        analysis = analyse_inputs(replace(request, watch=watch))
    say_newest(request.inputs, analysis.sources)
    return analysis


def analyses_of(request: AnalysisRequest) -> tuple[Analysis, ...]:
    """The analyses of a request, one for each GPU, with a progress bar where it takes a while."""
    from dataclasses import replace

    from roofctl.study.analyse import analyse_each_gpu

    with reading() as watch, naming_application(request.inputs):
        analyses = analyse_each_gpu(replace(request, watch=watch))
    say_newest(request.inputs, analyses[0].sources)
    return analyses


@contextmanager
def naming_application(inputs: Sequence[Path]) -> Iterator[None]:
    """The hint of an InputError inside names the application of the capture instead of ``./app``, and its filters."""
    from roofctl.captures.read import read_manifest, resolve
    from roofctl.core.errors import InputError

    try:
        yield
    except InputError as error:
        if "./app" in error.hint:
            with suppress(InputError, OSError):
                manifest = read_manifest(resolve(inputs[0] if inputs else None, Path.cwd()))
                filters = NameFilter(manifest.kernel, manifest.kernel_base, manifest.exclude).given()
                words = " ".join(filter(None, (filters, "--", shlex.join(manifest.argv))))
                error.hint = error.hint.replace("./app", words)
        raise


def say_newest(inputs: Sequence[Path], sources: Sequence[str]) -> None:
    """Name the capture that was taken because no input was given."""
    if not inputs and sources:
        say(f"capture: {sources[0]}, the newest in {ROOT}")
