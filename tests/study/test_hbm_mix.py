"""``--hbm-mix``: the measured rate of one mix of reads and writes as the ceiling of board memory."""

from __future__ import annotations

import pytest

from roofctl.core.errors import InputError
from roofctl.gpus import find_profile
from roofctl.study.ceilings import choose_ceilings
from roofctl.study.clocks import Clocks


def test_the_mix_is_the_ceiling_and_the_note_names_it() -> None:
    found = find_profile("h200")
    rates = {}
    for mix in (None, "read", "write", "copy", "triad"):
        _, (roofline, *_), notes = choose_ceilings(found, None, "instruction", Clocks(), mix)
        rates[mix] = roofline.bandwidth("hbm").bytes_per_second  # type: ignore[union-attr]
        assert (mix is None) == (not any(f"HBM by {mix}" in note.text for note in notes))
    assert rates[None] == max(rates.values()) == rates["write"]
    assert rates["copy"] < rates["triad"] < rates["read"] < rates["write"]


@pytest.mark.parametrize("choice", [None, "theoretical"])
def test_without_measured_ceilings_it_is_an_error(choice: str | None) -> None:
    found = find_profile("v100" if choice is None else "h200")
    with pytest.raises(InputError, match=r"a mix \(triad\) is measured") as caught:
        choose_ceilings(found, choice, "instruction", Clocks(), "triad")  # type: ignore[arg-type]
    assert "--hbm-mix" in str(caught.value.hint)


def test_a_mix_that_was_not_measured_names_those_that_were() -> None:
    with pytest.raises(InputError, match="there: read, write, copy, triad"):
        choose_ceilings(find_profile("h200"), None, "instruction", Clocks(), "scale")
