"""The command line's door: the group, and the only place that turns errors into exit codes."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

import click

from roofctl import __version__
from roofctl.cli.common import TALK
from roofctl.cli.demo import demo
from roofctl.cli.gpus import gpus
from roofctl.cli.plot import plot
from roofctl.cli.quantities import quantities
from roofctl.cli.report import report
from roofctl.errors import RoofctlError

_INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="roofctl")
def cli() -> None:
    """Draw rooflines that are true, from what NVIDIA's profilers printed.

    \b
    Example:
      roofctl report capture.csv
      roofctl plot capture.csv --kernel gemm --mode hierarchical -o gemm.png

    Exit codes: 2 bad input, 3 a tool failed, 4 counters not permitted, 5 no device, 6 verification failed.
    """


for command in (report, plot, demo, gpus, quantities):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. Only here are errors caught and printed."""
    try:
        cli.main(args=arguments, prog_name="roofctl", standalone_mode=False)
    except RoofctlError as error:
        if TALK.debug:
            traceback.print_exc()
        click.echo(f"error: {error.message}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has left (head, less): nothing is wrong.
        sys.stderr.close()
        return 0
    return 0


def entry() -> None:
    """Console script."""
    sys.exit(main())
