"""Quantities of the user's own: the file, formulas, values over launches, and levels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roofctl.core.errors import InputError
from roofctl.quantities import catalogue, use
from roofctl.quantities.formula import parse_formula
from roofctl.study.analyse import AnalysisRequest, analyse_inputs

from support.shapes import FULL, L, ncu_raw, write

GOOD = """
quantities:
  atoms: {unit: count, ncu: lts__a.sum + lts__b.sum, meaning: atomics at L2}
  part_a: {unit: "%", ncu: 100 * lts__a.sum / (lts__a.sum + lts__b.sum)}
  fabric: {unit: B, ncu: lts__f.sum * 32, level: L2 fabric}
"""


def own(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def none_afterwards() -> Iterator[None]:
    yield
    use(())


def test_they_are_in_the_catalogue_until_others_are_used(tmp_path: Path) -> None:
    use([own(tmp_path, GOOD)])
    assert [quantity.name for quantity in catalogue().own] == ["atoms", "part_a", "fabric"]
    assert catalogue().levels == {"fabric": "L2 fabric"}
    assert "atomics at L2" in catalogue().quantities["atoms"].meaning
    use(())
    assert catalogue().own == ()
    assert catalogue().levels == {}


def test_values_are_sums_over_launches_and_ratios_of_sums(tmp_path: Path) -> None:
    use([own(tmp_path, GOOD)])
    launches = [
        L("k(int)", {**FULL, "lts__a.sum": 10, "lts__b.sum": 30, "lts__f.sum": 4}),
        L("k(int)", {**FULL, "lts__a.sum": 90, "lts__b.sum": 10, "lts__f.sum": 8}, id="1"),
    ]
    analysis = analyse_inputs(AnalysisRequest(tuple(write(tmp_path, a=ncu_raw(launches))), profile="h200"))
    (kernel,) = analysis.results.kernels
    assert kernel["atoms"] == 70  # mean per launch
    assert kernel["part_a"] == pytest.approx(100 * 100 / 140)  # not the mean of 25 % and 90 %
    assert kernel["fabric"] == 192
    (points,) = analysis.results.points
    assert points.point("fabric").intensity == pytest.approx(
        points.points[0].per_second / (192 / 32) * kernel["seconds"]
    )


def test_a_launch_without_a_counter_has_no_value(tmp_path: Path) -> None:
    use([own(tmp_path, GOOD)])
    launches = [L("k(int)", {**FULL, "lts__a.sum": 10, "lts__b.sum": "n/a", "lts__f.sum": 4})]
    analysis = analyse_inputs(AnalysisRequest(tuple(write(tmp_path, a=ncu_raw(launches))), profile="h200"))
    (kernel,) = analysis.results.kernels
    assert kernel["atoms"] is None
    assert kernel["part_a"] is None
    assert kernel["fabric"] == 128


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("quantities: {}", "seen none"),
        ("a: 1", "unknown key"),
        ("quantities: {hbm: {unit: B, ncu: a}}", "the name is taken"),
        ("quantities: {kernel: {unit: B, ncu: a}}", "the name is taken"),
        ("quantities: {Big: {unit: B, ncu: a}}", "no name of a quantity"),
        ("quantities: {x_total: {unit: B, ncu: a}}", "end in none of"),
        ("quantities: {x: {ncu: a}}", "x.unit: missing"),
        ("quantities: {x: {unit: B}}", "seen no formula"),
        ("quantities: {x: {unit: B, ncu: 3}}", "no counter"),
        ("quantities: {x: {unit: B, ncu: a +}}", "the formula ends"),
        ("quantities: {x: {unit: B, ncu: (a}}", "not closed"),
        ("quantities: {x: {unit: B, ncu: a b}}", "operation is expected"),
        ("quantities: {x: {unit: B, ncu: 'a ; b'}}", "expected a counter"),
        ("quantities: {x: {unit: count, ncu: a, level: L}}", "expected B"),
        ("quantities: {x: {unit: B, ncu: a}, x: {unit: B, ncu: b}}", "written twice"),
        ("quantities: {x: &a {unit: B, ncu: a}}", "references"),
        ("a: [", "not valid YAML"),
        ("[" * 40, "nested more than"),
    ],
)
def test_a_fault_is_one_sentence_that_names_the_file(text: str, words: str, tmp_path: Path) -> None:
    path = own(tmp_path, text)
    with pytest.raises(InputError) as caught:
        use([path])
    assert str(path) in caught.value.message
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert catalogue().own == ()


def test_hostile_files_are_bounded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="larger than 256 KiB"):
        use([own(tmp_path, "#" * 300_000)])
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not a text file"):
        use([tmp_path / "b.yaml"])
    with pytest.raises(InputError, match="cannot be read"):
        use([tmp_path / "none.yaml"])
    with pytest.raises(InputError, match="at most 64"):
        use([own(tmp_path, f"quantities: {{x: {{unit: B, ncu: {' + '.join(f'c{i}' for i in range(70))}}}}}")])
    with pytest.raises(InputError, match="20 deep"):
        use([own(tmp_path, f"quantities: {{x: {{unit: B, ncu: {'(' * 30}a{')' * 30}}}}}")])


@pytest.mark.parametrize("text", ["a - (b - c)", "a / (b / c)", "(a + b) * 2", "a - b - c", "a::x.sum * 32"])
def test_a_formula_is_written_with_the_parentheses_that_it_needs(text: str) -> None:
    assert str(parse_formula(text)) == text
    assert parse_formula(str(parse_formula(text))) == parse_formula(text)
