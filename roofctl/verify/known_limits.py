"""What limits each kernel of ``kernels/limits``, and whether the judgement of a capture names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import yaml

from roofctl.roofline.analyse import Explained

HEADINGS: Final = ("kernel", "limited by", "named", ">use", "agrees", "ncu's rules on an H200, estimate")


@dataclass(frozen=True)
class BuiltLimit:
    """A kernel's limits that are right to name, and in one sentence why it has no other."""

    names: tuple[str, ...]
    why: str


KNOWN_LIMITS: Final[Mapping[str, BuiltLimit]] = {
    "limit_issue": BuiltLimit(
        ("issue",), "four FP32, two integer and one FP16 instruction in turn: each pipe has room"
    ),
    "limit_fma": BuiltLimit(("fma",), "eight independent chains of FP32 multiply-adds"),
    "limit_fp64": BuiltLimit(("fp64",), "eight independent chains of FP64 multiply-adds"),
    "limit_alu": BuiltLimit(("alu",), "eight chains of logic and maxima"),
    "limit_xu": BuiltLimit(("xu",), "four chains of sines"),
    "limit_tensor": BuiltLimit(("tensor",), "BF16 matrix instructions on registers"),
    "limit_lsu": BuiltLimit(("lsu",), "four chains of shuffles"),
    "limit_l1": BuiltLimit(("l1",), "16-byte loads of 16 KiB that stay in L1"),
    "limit_shared": BuiltLimit(("shared",), "16-byte loads of shared memory without conflicts"),
    "limit_bank_conflicts": BuiltLimit(("shared",), "32-way bank conflicts"),
    "limit_shared_atomics": BuiltLimit(("shared",), "atomics on random words of shared memory"),
    "limit_l2": BuiltLimit(("l2",), "16-byte loads past L1 of a quarter of L2"),
    "limit_hbm": BuiltLimit(("hbm",), "a copy of 1 GiB"),
    "limit_host_memory": BuiltLimit(("system",), "loads of pinned host memory"),
    "limit_latency_occupancy": BuiltLimit(("latency",), "two warps per multiprocessor, for their shared memory"),
    "limit_latency_dependence": BuiltLimit(("latency",), "each load needs the value of the one before"),
    "limit_barrier": BuiltLimit(("latency",), "one warp of eight works between barriers"),
    "limit_grid": BuiltLimit(("grid",), "a quarter as many blocks as multiprocessors"),
    "limit_tail": BuiltLimit(("tail",), "one wave and a sixteenth of one"),
    "limit_launch": BuiltLimit(("launch",), "an empty kernel"),
    "limit_one_address_atomics": BuiltLimit(("serialised",), "additions to one address"),
    "limit_divergence": BuiltLimit(("issue",), "as limit_issue, in one lane of 32"),
    "limit_texture": BuiltLimit(("tex",), "fetches of a small texture that stays in L1"),
}


@dataclass(frozen=True)
class LimitCheck:
    """One kernel: what it is built to be limited by, and what was named."""

    kernel: str
    expected: BuiltLimit
    named: str | None
    use: float | None
    sentence: str

    @property
    def agrees(self) -> bool:
        """Whether a right limit was named."""
        return self.named in self.expected.names


def check_limits(explained: Sequence[Explained]) -> tuple[LimitCheck, ...]:
    """A row per known kernel of a capture, in the order of ``KNOWN_LIMITS``; other kernels are passed over."""
    by_name = {each.result.kernel.name.partition("(")[0]: each for each in explained}
    return tuple(
        LimitCheck(name, expected, each.limit.name, each.limit.use, each.verdict or "")
        for name, expected in KNOWN_LIMITS.items()
        if (each := by_name.get(name))
    )


def ncu_rules() -> Mapping[str, list[dict[str, Any]]]:
    """What ncu's own rules named for these kernels on an H200, by kernel: rule, estimated speedup in percent, of what.

    For comparison, from one run; a capture of roofctl holds no rules.
    """
    rules: dict[str, list[dict[str, Any]]] = _ncu_run()["rules"]
    return rules


def ncu_rules_measured() -> str:
    """GPU and version of ncu of the run that ``ncu_rules`` are from."""
    return str(_ncu_run()["measured"])


def _ncu_run() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath("ncu_rules.yaml").read_text(encoding="utf-8")
    run: Mapping[str, Any] = yaml.safe_load(text)
    return run


def cells(checks: Sequence[LimitCheck]) -> list[list[str]]:
    """One line per row under ``HEADINGS``."""
    rules = ncu_rules()
    return [
        [
            check.kernel,
            " or ".join(check.expected.names),
            check.named or "unknown",
            "–" if check.use is None else f"{check.use:.1%}",
            "yes" if check.agrees else "NO",
            ", ".join(f"{rule['rule']} {rule['estimate']} %" for rule in rules.get(check.kernel, ())) or "–",
        ]
        for check in checks
    ]


def document(checks: Sequence[LimitCheck]) -> list[dict[str, object]]:
    """The rows as JSON-ready data."""
    rules = ncu_rules()
    return [
        {
            "kernel": check.kernel,
            "expected": list(check.expected.names),
            "why": check.expected.why,
            "named": check.named,
            "use": check.use,
            "sentence": check.sentence,
            "agrees": check.agrees,
            "ncu_rules": rules.get(check.kernel, []),
        }
        for check in checks
    ]
