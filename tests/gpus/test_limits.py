"""Measured ceilings above what the facts of a GPU allow are named wherever they are checked or used."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.core.resources import shipped
from roofctl.gpus import Measured, find_measured, find_profile, load_measured
from roofctl.gpus.limits import excess_problems, excesses
from roofctl.study.ceilings import choose_ceilings
from roofctl.study.clocks import Clocks

SHIPPED = shipped("profiles") / "h200.measured.yaml"


@pytest.fixture
def measured() -> Measured:
    found = find_measured(find_profile(shipped("profiles") / "h200.yaml"))
    assert found is not None
    return found


def changed(measured: Measured, name: str, **values: object) -> Measured:
    ceiling = measured.ceilings[name].model_copy(update=values)
    return measured.model_copy(update={"ceilings": {**measured.ceilings, name: ceiling}})


def keys(measured: Measured) -> list[str]:
    return [".".join(map(str, excess.key)) for excess in excesses(find_profile("h200").profile, measured)]


def test_what_is_shipped_is_possible(measured: Measured) -> None:
    assert keys(measured) == []
    assert excess_problems(SHIPPED) == ()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("hbm", 6.9e12, "HBM ceiling, 6.900 TB/s, is above what the hardware allows, 4.814 TB/s (pin rate)"),
        ("l2", 10.4e12, "L2 ceiling, 10.40 TB/s, is above what the hardware allows, 10.28 TB/s"),
        ("l1", 34.2e12, "L1 ceiling, 34.20 TB/s, is above what the hardware allows, 33.45 TB/s"),
        ("shared", 34.2e12, "33.45 TB/s"),
        ("issue", 1.07e12, "1070 GIPS, is above what the hardware allows, 1045 GIPS"),
        ("fp32", 70e12, "66.90 TFLOP/s (at the SM clock while it was measured)"),
        ("int8_tc", 2.1e15, "2.100 POP/s, is above what the hardware allows, 1.873 POP/s"),
    ],
)
def test_a_ceiling_above_its_physical_limit_is_named(measured: Measured, name: str, value: float, words: str) -> None:
    wrong = changed(measured, name, value=value)
    assert keys(wrong) == [f"ceilings.{name}.value"]
    (excess,) = excesses(find_profile("h200").profile, wrong)
    assert words in excess.text


def test_a_mix_is_checked_where_it_has_no_sm_clock_of_its_own(measured: Measured) -> None:
    assert keys(changed(measured, "hbm", mixes={"read": 4.6e12, "copy": 5.0e12})) == ["ceilings.hbm.mixes.copy"]
    # Bursts of tensor work run at a higher clock than sustained work.
    assert keys(changed(measured, "bf16_tc", mixes={"issue": 9.8e14})) == []


def test_a_clock_that_was_not_read_bounds_nothing(measured: Measured) -> None:
    assert keys(changed(measured, "issue", value=1.07e12, sm_clock_hz=None)) == []
    assert keys(changed(measured, "launch", value=1e-9)) == []


def test_validate_names_the_line_and_a_report_warns(tmp_path: Path) -> None:
    folder = shipped("profiles")
    (tmp_path / "h200.yaml").write_bytes((folder / "h200.yaml").read_bytes())
    text = SHIPPED.read_text(encoding="utf-8").replace("value: 4.717504706972379e+12", "value: 6.9e+12")
    path = tmp_path / "h200.measured.yaml"
    path.write_text(text, encoding="utf-8")
    (problem,) = excess_problems(path)
    assert problem == (
        "line 11, ceilings.hbm.value: seen 6.900 TB/s, expected at most 4.814 TB/s (pin rate) by the GPU profile h200"
    )
    assert load_measured(path).ceilings["hbm"].value == 6.9e12, "it can be read: the report warns"
    found = find_profile(tmp_path / "h200.yaml")
    for choice, warned in ((None, 1), ("both", 1), ("theoretical", 0)):
        _, _, notes = choose_ceilings(found, choice, "instruction", Clocks(None, None, None))
        assert len([note for note in notes if note.warning and "6.900 TB/s" in note.text]) == warned
