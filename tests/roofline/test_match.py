"""Which kernel of one capture is which of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.core.errors import InputError
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.match import GivenMatch, likeness, match_kernels

from support.before_after import COPY, FAST, SLOW, launches, pair
from support.shapes import L


def kernels(capture: Path, group: str = "kernel+grid") -> list[Kernel]:
    from roofctl.study.analyse import AnalysisRequest, analyse_inputs

    return list(analyse_inputs(AnalysisRequest((capture,), group=group)).results.kernels)  # type: ignore[arg-type]


def matched(
    root: Path, before: list[L], after: list[L], given: tuple[GivenMatch, ...] = ()
) -> set[tuple[str | None, str | None, str | None]]:
    ones, others = (kernels(folder) for folder in pair(root, before, after))
    return {
        (
            None if match.before is None else f"{ones[match.before].name} {ones[match.before].grid}",
            None if match.after is None else f"{others[match.after].name} {others[match.after].grid}",
            match.how,
        )
        for match in match_kernels(ones, others, given)
    }


def test_equal_grids_are_matched_before_equal_names(tmp_path: Path) -> None:
    before = [*launches("k()", 1000, grid="(1, 1, 1)"), *launches("k()", 9000, grid="(2, 1, 1)")]
    after = [*launches("k()", 9000, grid="(1, 1, 1)"), *launches("k()", 1000, grid="(3, 1, 1)")]
    assert matched(tmp_path, before, after) == {
        ("k() (1, 1, 1)", "k() (1, 1, 1)", "name and grid"),
        ("k() (2, 1, 1)", "k() (3, 1, 1)", "name"),
    }


def test_a_renamed_kernel_is_matched_by_share_and_shape(tmp_path: Path) -> None:
    found = matched(tmp_path, launches(SLOW, 90_000), launches(FAST, 70_000))
    assert found == {(f"{SLOW} (64, 1, 1)", f"{FAST} (64, 1, 1)", "share and shape")}


def test_kernels_that_are_not_alike_stay_new_and_gone(tmp_path: Path) -> None:
    before = [*launches("first()", 10_000), *launches("second_thing()", 500_000)]
    few = {"dram__sectors_read.sum": 9_000_000}
    after = [*launches("other<int>()", 900_000, grid="(99999, 1, 1)", **few), *launches("second_thing()", 500_000)]
    assert matched(tmp_path, before, after) == {
        ("first() (64, 1, 1)", None, None),
        (None, "other<int>() (99999, 1, 1)", None),
        ("second_thing() (64, 1, 1)", "second_thing() (64, 1, 1)", "name and grid"),
    }


def test_short_kernels_of_other_names_are_not_matched_by_chance(tmp_path: Path) -> None:
    before = [*launches("a1()", 1_000), *launches(COPY, 1_000_000)]
    after = [*launches("a2()", 1_000), *launches(COPY, 1_000_000)]
    assert {how for *_, how in matched(tmp_path, before, after)} == {None, "name and grid"}


def test_the_user_matches_first(tmp_path: Path) -> None:
    before = [*launches("naive()", 9_000), *launches("padded()", 3_000)]
    found = matched(tmp_path, before, before, (GivenMatch.parse("naive=padded"),))
    assert ("naive() (64, 1, 1)", "padded() (64, 1, 1)", "given") in found


@pytest.mark.parametrize("text", ["naive", "=padded", "naive=", "(=padded"])
def test_what_is_no_match(text: str) -> None:
    with pytest.raises(InputError, match="--match"):
        GivenMatch.parse(text)


def test_a_given_name_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'nothere' is no kernel; those left are: copy_kernel"):
        matched(tmp_path, launches(COPY, 9), launches(COPY, 9), (GivenMatch.parse("nothere=copy"),))


def test_likeness_is_one_for_a_kernel_and_itself(tmp_path: Path) -> None:
    (kernel,) = kernels(pair(tmp_path, launches(COPY, 9_000), launches(COPY, 9_000))[0])
    assert likeness(kernel, kernel) == 1.0
