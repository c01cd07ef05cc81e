"""``roofctl doctor``: whether this machine can profile."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from roofctl.cli.common import put, say, show_as, table_or_json, talk_options, use_color

if TYPE_CHECKING:
    from roofctl.doctor import Check

_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command()
@table_or_json
@talk_options
def doctor(as_json: bool) -> None:
    """Check whether this machine can profile: GPU, driver, profilers, counter permission, clocks, folders.

    One line per fact: ok, warn or fail, with what to do. It asks every time and changes nothing.
    Without a GPU it fails with code 5; reading captures, report and plot need none.

    Exit codes: 0 nothing fails; 5 no usable GPU or driver; 4 counters denied; 3 a profiler is missing or
    broken. The lowest cause wins, in that order.

    Example: roofctl doctor --format json > node17.json
    """
    from roofctl.doctor import Host, all_checks, document, look, problem

    machine = look(Host())
    checks = all_checks(machine)
    if as_json:
        show_as("json", document=document(machine, checks))
    else:
        for check in checks:
            put(line(check, color=use_color(sys.stdout)), styled=True)
    trouble = problem(checks)
    if trouble:
        raise trouble
    say(f"{machine.host} can profile")


def line(check: Check, *, color: bool = False) -> str:
    """One check as text."""
    status = f"{check.status:<4}"
    status = click.style(status, fg=_COLORS[check.status]) if color else status
    return f"{status}  {check.what}: {check.value}" + (f" — {check.fix}" if check.fix else "")
