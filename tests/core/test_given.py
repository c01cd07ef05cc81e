"""Ceilings as people write them: names, units, and one sentence for each that is none."""

from __future__ import annotations

import pytest

from roofctl.core.errors import InputError
from roofctl.core.given import parse_ceiling, parse_options
from roofctl.core.precisions import PRECISIONS
from roofctl.core.units import parse_rate


@pytest.mark.parametrize(
    ("option", "name", "value"),
    [
        ("l2=5.5TB/s", "l2", 5.5e12),
        ("dram=3.35 TB/s", "hbm", 3.35e12),
        ("HBM=898 GB/s", "hbm", 898e9),
        ("l1=437.5GTXN/s", "l1", 14e12),
        ("hbm=2GiB/s", "hbm", 2 * 2**30),
        ("shared=33.4TB/s", "shared", 33.4e12),
        ("system=64GB/s", "system", 64e9),
        ("issue=489.6GIPS", "issue", 489.6e9),
        ("issue=489.6 Ginst/s", "issue", 489.6e9),
        ("launch=2.5us", "launch", 2.5e-6),
        ("fp64=33.5TFLOP/s", "fp64", 33.5e12),
        ("bf16-tc=989 TFLOPS", "bf16_tc", 989e12),
        ("int8_tc=1.979e3 TOP/s", "int8_tc", 1.979e15),
        ("nvlink=450GB/s", "nvlink", 450e9),
    ],
)
def test_a_ceiling_is_read_in_base_units(option: str, name: str, value: float) -> None:
    assert parse_options([option], ("nvlink",)) == {name: pytest.approx(value, rel=1e-12)}


def test_every_type_of_operation_has_a_ceiling() -> None:
    assert parse_options([f"{name}=1TFLOP/s" for name in PRECISIONS]) == dict.fromkeys(PRECISIONS, 1e12)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("l2", "is not NAME=VALUE"),
        ("l2=", "expected a number with its unit"),
        ("l2=5.5", "expected a unit behind the number"),
        ("l2=1e12", "expected a unit behind the number"),
        ("l2=5,5TB/s", "a decimal point and without separators"),
        ("l2=5 500 GB/s", "a decimal point and without separators"),
        ("l2=5.5TFLOP/s", "expected a value such as 5.5 TB/s"),
        ("l2=5.5TB", "a unit that is known, not 'TB'"),
        ("l2=0TB/s", "a finite number above 0"),
        ("l2=-3TB/s", "a finite number above 0"),
        ("l2=1e400TB/s", "a finite number above 0"),
        ("l2=nanTB/s", "expected a number"),
        ("l4=3TB/s", "seen the name 'l4'; expected one of l1, l2, hbm, shared"),
        ("fp65=3TFLOP/s", "did you mean fp64?"),
        ("issue=5TB/s", "expected a value such as 489.6 GIPS"),
        ("fp64=5TB/s", "expected a value such as 33.5 TFLOP/s"),
    ],
)
def test_what_is_no_ceiling_gets_one_sentence(option: str, words: str) -> None:
    with pytest.raises(InputError, match=r"--ceiling") as caught:
        parse_options([option])
    assert words in caught.value.message
    assert "\n" not in caught.value.message


def test_a_ceiling_is_given_once() -> None:
    with pytest.raises(InputError, match="gives hbm twice"):
        parse_options(["hbm=3TB/s", "dram=4TB/s"])


def test_a_number_of_a_file_needs_its_unit() -> None:
    with pytest.raises(ValueError, match=r"seen 5.5 for l2; expected a unit behind the number"):
        parse_ceiling("l2", 5.5)


def test_binary_prefixes_are_of_bytes_only() -> None:
    assert parse_rate("1 GiB/s") == (2**30, "B/s")
    with pytest.raises(ValueError, match="not 'GiFLOP/s'"):
        parse_rate("1 GiFLOP/s")
