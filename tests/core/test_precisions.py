"""The tables of precisions and levels against those who use them."""

from __future__ import annotations

from roofctl.core.levels import CALIBRATED, LEVEL_LABELS, LEVELS, unit_of
from roofctl.core.precisions import COUNTED, PRECISIONS
from roofctl.microbench.table import KERNELS, TENSOR_TYPES
from roofctl.quantities import catalogue


def test_every_counted_precision_has_a_quantity_of_its_metric_set() -> None:
    known = catalogue()
    assert set(COUNTED.values()) <= set(known.quantities)
    assert {name for name in COUNTED if PRECISIONS[name].metric_set == "flop"} == {"fp64", "fp32", "fp16"}
    assert all(PRECISIONS[name].quantity.startswith("tensor") == PRECISIONS[name].tensor for name in COUNTED)


def test_matrix_types_are_those_without_a_multiply_add_instruction() -> None:
    assert all(precision.tensor == ("_tc" in name) for name, precision in PRECISIONS.items())
    assert {f"{kind}_tc" for kind in TENSOR_TYPES} <= set(PRECISIONS)
    assert not PRECISIONS["fp64_tc"].at_tensor_clock
    assert PRECISIONS["fp8_tc"].at_tensor_clock


def test_multiply_adds_do_what_the_microbenchmarks_count() -> None:
    for name, opcode in (("fp64_s16", "DFMA"), ("fp32_s16", "FFMA"), ("fp16_s16", "HFMA2"), ("bf16_s16", "HFMA2")):
        kernel = KERNELS[name]
        each = PRECISIONS[name.partition("_")[0]].operations_per_fma
        assert kernel.item_operations == each * dict(kernel.opcodes)[opcode]


def test_units_of_ceilings() -> None:
    assert {name: unit_of(name) for name in ("hbm", "issue", "launch", "fp64", "bf16_tc")} == {
        "hbm": "B/s", "issue": "warp_inst/s", "launch": "s", "fp64": "FLOP/s", "bf16_tc": "FLOP/s",
    }  # fmt: skip
    assert set(LEVELS) < set(LEVEL_LABELS) < set(CALIBRATED)
