"""``roofctl verify``: counters against known work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli import complete
from roofctl.cli.common import TALK, say, say_notes, show_as, talk_options

if TYPE_CHECKING:
    from roofctl.verify.compare import Verdict
    from roofctl.verify.known_limits import LimitCheck


@click.command()
@click.option(
    "--profiler",
    type=click.Choice(["auto", "ncu", "nvprof"]),
    default="auto",
    show_default=True,
    help="Profiler to use; auto takes the one that fits the GPU.",
)
@click.option("--arch", default="auto", show_default=True, metavar="ARCH", help="Architecture to build for: sm_90.")
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME",
    shell_complete=complete.metric_sets,
    help="Metric set, repeatable; default: every set.",
)
@click.option("--keep", is_flag=True, help="Keep the capture, in roofctl-captures/.")
@click.option(
    "--from",
    "sources",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER|CSV",
    help="Verify an existing capture instead; needs no GPU. Repeatable, for files of one capture.",
)
@click.option("--counts", is_flag=True, help="Only the table of counts.")
@click.option("--limits", is_flag=True, help="Only the table of limits: kernels that are each limited by one thing.")
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Output form."
)
@talk_options
def verify(sources: tuple[Path, ...], form: str, counts: bool, limits: bool, **options: Any) -> None:
    """Check the profiler's counters on this GPU against kernels whose counts are known from their source.

    Builds the kernels with nvcc, profiles them with every metric set, and prints what the source
    implies, what was counted, and the error. Instructions, sectors, FLOPs and tensor operations must agree within
    0.5 %; DRAM traffic and shared-memory wavefronts have a stated bound. A second table has kernels that are built
    to be limited by one thing each, and what roofctl names. Exit code 6 when one is off.

    Example: roofctl verify --keep

    Example: roofctl verify --from roofctl-captures/known --format json > verified.json
    """
    from roofctl.verify.run import VerifyRequest, limits_here, limits_of, verify_capture, verify_here

    names = [str(path) for path in sources]
    if sources:
        checks = () if counts else limits_of(sources)
        if checks or limits:
            show_limits(checks, form)
            conclude_limits(checks)
            return
        verdict = verify_capture(sources)
        show(verdict, names, form)
        conclude(verdict, complete=False)
        return
    request = VerifyRequest(**options)
    if not limits:
        verdict, folder = verify_here(request, say)
        show(verdict, [str(folder)] if folder else [], form)
        conclude(verdict, complete=True)
    # One document on stdout: as JSON each table is asked for by itself.
    if limits or not (counts or form == "json"):
        checks, _ = limits_here(request, say)
        show_limits(checks, form)
        conclude_limits(checks)


def show_limits(checks: tuple[LimitCheck, ...], form: str) -> None:
    """The table of limits on stdout."""
    from roofctl.verify import known_limits

    measured = known_limits.ncu_rules_measured()
    document = {"schema": 1, "ncu_rules_measured": measured, "limits": known_limits.document(checks)}
    show_as(form, known_limits.HEADINGS, known_limits.cells(checks), document=document)
    say(f"{len(checks)} kernels: {sum(check.agrees for check in checks)} limits agree")


def conclude_limits(checks: tuple[LimitCheck, ...]) -> None:
    """Raise InputError without any kernel of known limit, VerificationError where another limit was named."""
    from roofctl.core.errors import InputError, VerificationError

    if not checks:
        raise InputError(
            "the capture has none of the kernels of kernels/limits", hint="make one: roofctl verify --limits --keep"
        )
    if wrong := [check for check in checks if not check.agrees]:
        named = "; ".join(f"{check.kernel}: {check.sentence}" for check in wrong)
        raise VerificationError(
            f"{len(wrong)} kernels have another limit than they are built for: {named}",
            hint="do not trust these verdicts on this GPU; keep the capture (--keep) and report it with this table",
        )


def show(verdict: Verdict, names: list[str], form: str) -> None:
    """The verdict on stdout, notes on stderr."""
    from roofctl.verify.document import HEADINGS, cells, document, summary

    rows = cells(verdict, zeros=TALK.verbose)
    show_as(form, HEADINGS, rows, document=document(verdict, names))
    if form == "table":
        hidden = len(verdict.rows) - len(rows)
        if hidden:
            say(f"note: {hidden} counts that must be 0 are 0 (-v lists them)")
    for quantity, reason in verdict.not_counted.items():
        say(f"note: {quantity} was not counted: {reason}")
    say_notes(verdict.notes)
    say(f"{verdict.gpu or 'unknown GPU'}, {summary(verdict)}")


def conclude(verdict: Verdict, *, complete: bool) -> None:
    """Raise VerificationError for counts that are off and, in a ``complete`` run, for kernels that are absent."""
    from roofctl.core.errors import VerificationError
    from roofctl.verify.document import complaint

    if verdict.off:
        raise VerificationError(
            f"{len(verdict.off)} counts contradict the source: {complaint(verdict)}",
            hint="do not trust these quantities on this GPU; keep the capture (--keep) and report it with this table",
        )
    if verdict.absent and complete:
        raise VerificationError(
            f"not profiled: {', '.join(verdict.absent)}", hint="see the profiler's messages above; try again with -v"
        )
    if verdict.absent:
        say(f"note: the capture does not have {', '.join(verdict.absent)}")
