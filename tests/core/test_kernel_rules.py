"""Names by rule: what engineers call the kernels of libraries, and faults of the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.core.errors import InputError
from roofctl.core.kernel_names import name_parts
from roofctl.core.kernel_rules import names_by_rule, parse_rules, rule_of, shipped_rules
from roofctl.core.mangling import demangled
from roofctl.core.short_names import short_names

pytest.importorskip("demangle")

LINES = Path(__file__).with_name("kernel_names.tsv").read_text(encoding="utf-8").splitlines()
KNOWN = [line.split("\t") for line in LINES if not line.startswith("#")]


@pytest.mark.parametrize(("short", "name"), KNOWN, ids=[f"{number}-{short}" for number, (short, _) in enumerate(KNOWN)])
def test_the_name_of_a_kernel(short: str, name: str) -> None:
    full = demangled(name)
    assert short_names([full]) == {full: short}


def test_each_rule_names_a_known_kernel() -> None:
    used = {rule.title for _, name in KNOWN if (rule := rule_of(demangled(name)))}
    assert [rule.title for rule in shipped_rules().rules if rule.title not in used] == []


def test_names_of_one_capture_are_distinct() -> None:
    names = {demangled(name) for _, name in KNOWN}
    shorts = short_names(names)
    assert len(set(shorts.values())) == len(names)
    assert not [short for short in shorts.values() if "~" in short]


@pytest.mark.parametrize(
    "name", ["at::native::mine(int)", "my_gemm_kernel(float *)", "transform_kernel(int)", "_kernel_agent"]
)
def test_kernels_of_users_have_their_own_names(name: str) -> None:
    assert names_by_rule(name) == ()
    assert short_names([name])[name] == name_parts(name).base


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{for: x, function: f}", "kernel rule x: its keys are not"),
        ("{for: x, function: f, name: a, nme: b}", "kernel rule x: its keys are not"),
        ("{for: x, function: '(', name: a}", "kernel rule x: '\\(' is not a regular expression"),
        ("{for: x, function: f, name: '{a|nosuch}'}", "kernel rule x: {a|nosuch} is in no table"),
    ],
)
def test_faulty_rules_are_named(rule: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("{", "\\{").replace("|", "\\|")):
        parse_rules(f"tables: {{}}\nrules: [{rule}]")
