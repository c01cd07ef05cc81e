"""The table of thresholds: complete and explained, else refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import roofctl.advice
from roofctl.advice.thresholds import parse, thresholds
from roofctl.core.errors import InputError

TEXT = (Path(roofctl.advice.__file__).parent / "thresholds.yaml").read_text(encoding="utf-8")


def test_the_shipped_table_is_complete() -> None:
    limits = thresholds()
    assert limits == parse(TEXT)
    assert (limits.near_roof, limits.active_lanes, limits.unit_stride_sectors) == (0.6, 0.75, 4)
    fractions = ("near_roof", "tail_part", "finding_share", "atomics_share", "active_lanes", "constant_moves_share")
    assert all(0 < getattr(limits, name) < 1 for name in fractions)


@pytest.mark.parametrize("name", yaml.safe_load(TEXT)["thresholds"])
def test_every_threshold_is_read_and_needed(name: str) -> None:
    tree = yaml.safe_load(TEXT)
    tree["thresholds"][name]["value"] = 123.0
    assert getattr(parse(yaml.safe_dump(tree)), name) == 123.0
    del tree["thresholds"][name]
    with pytest.raises(InputError, match=f"{name}; expected each known threshold once"):
        parse(yaml.safe_dump(tree))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": 2}, "schema; expected schema 1"),
        ({"thresholds": []}, "thresholds; expected a mapping"),
        ({"more": 1}, "more; expected schema, thresholds and matrix_names only"),
        ({"matrix_names": {"value": "(", "meaning": "m", "reason": "r"}}, "matrix_names; expected a regular"),
        ({"matrix_names": {"value": 5, "meaning": "m", "reason": "r"}}, "matrix_names; expected a regular"),
        ({"matrix_names": None}, "matrix_names; expected value, meaning and reason"),
    ],
)
def test_a_fault_in_the_table_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match="thresholds") as caught:
        parse(yaml.safe_dump({**yaml.safe_load(TEXT), **change}))
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"value": "0.6"}, "a number above 0"),
        ({"value": True}, "a number above 0"),
        ({"value": -1}, "a number above 0"),
        ({"value": float("nan")}, "a number above 0"),
        ({"reason": " "}, "a meaning and a reason in words"),
        ({"unit": "x"}, "value, meaning and reason"),
    ],
)
def test_a_fault_in_an_entry_is_named(entry: dict[str, Any], words: str) -> None:
    tree = yaml.safe_load(TEXT)
    tree["thresholds"]["near_roof"].update(entry)
    with pytest.raises(InputError, match="near_roof; expected ") as caught:
        parse(yaml.safe_dump(tree))
    assert words in caught.value.message


def test_text_that_is_no_yaml_is_refused() -> None:
    with pytest.raises(InputError, match="not YAML"):
        parse("a: [")
