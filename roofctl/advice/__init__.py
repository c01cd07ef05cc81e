"""Verdict and advice on a kernel, as sentences, from its numbers."""

from __future__ import annotations

from roofctl.advice.finding import Finding
from roofctl.advice.rules import advise, moves_constants

__all__ = ["Finding", "advise", "moves_constants"]
