"""Filters of kernels by the demangled name, the short one or the function's base name."""

from __future__ import annotations

import pytest

from roofctl.core.errors import InputError
from roofctl.core.kernel_filter import NameFilter, pattern_of

GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16_64x64_32x6_tn_align8>(T1::Params)"


@pytest.mark.parametrize(
    ("chosen", "kept"),
    [
        (NameFilter(), True),
        (NameFilter(kernel="s16816gemm"), True),
        (NameFilter(kernel="Kernel2<.*align8"), True),
        (NameFilter(kernel="regex:Kernel2<.*align8"), True),
        (NameFilter(kernel="gemm bf16 64x64"), True),
        (NameFilter(kernel="sdpa"), False),
        (NameFilter(kernel_base="^Kernel2$"), True),
        (NameFilter(kernel_base="^cutlass_80"), True),
        (NameFilter(kernel_base="Params"), False),
        (NameFilter(exclude="Params"), False),
        (NameFilter(kernel_base="gemm", exclude="Params"), True),
        (NameFilter(kernel_base="gemm", exclude="Kernel2"), False),
    ],
)
def test_what_a_filter_keeps(chosen: NameFilter, kept: bool) -> None:
    assert chosen.keeps(GEMM, "gemm bf16 64x64 tn align8") is kept


def test_a_mangled_name_is_taken_as_it_is_demangled() -> None:
    assert pattern_of("_ZN2ns1fEPi") == r"ns::f\(int\*\)"
    assert NameFilter(kernel="_ZN2ns1fEPi").keeps("ns::f(int*)")


@pytest.mark.parametrize("option", ["kernel", "kernel_base", "exclude"])
def test_what_is_no_regular_expression(option: str) -> None:
    with pytest.raises(InputError, match=r"'regex:\(' is not a regular expression"):
        NameFilter(**{option: "regex:("}).check()
