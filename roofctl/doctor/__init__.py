"""Whether this machine can profile: ``look`` probes it, ``all_checks`` evaluates it, ``document`` is its JSON."""

from roofctl.doctor.checks import all_checks
from roofctl.doctor.outcome import Check, exit_code
from roofctl.doctor.probe import Host, look
from roofctl.doctor.verdict import document, problem

__all__ = ["Check", "Host", "all_checks", "document", "exit_code", "look", "problem"]
