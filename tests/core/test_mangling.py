"""Demangled names of C++, Rust, SYCL and target regions; other text stays as it is."""

from __future__ import annotations

import time

import pytest

from roofctl.core.mangling import demangled, demangled_names

pytest.importorskip("demangle")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_ZN2ns1fEi", "ns::f(int)"),
        ("__ZN2ns1fEi", "ns::f(int)"),
        ("_Z1fi.constprop.0", "f(int) [clone .constprop.0]"),
        ("_ZN4vadd6kernel17h0123456789abcdefE", "vadd::kernel [h0123456789abcdef]"),
        ("_RNvCs1234_4vadd6kernel", "vadd::kernel"),
        ("_ZTSN6kernel5saxpyE", "kernel::saxpy"),
        ("__omp_offloading_10303_4e2ec6__ZN6Solver4stepEv_l120", "Solver::step() [__omp_offloading_10303_4e2ec6_l120]"),
        ("nvkernel__ZN6Solver4stepEv_F1L120_4", "Solver::step() [nvkernel_F1L120_4]"),
        ("_ZN6Solver4stepEv_120_gpu__red", "Solver::step() [gpu_l120__red]"),
        ("__omp_offloading_10303_4e2ec6_main_l21", "__omp_offloading_10303_4e2ec6_main_l21"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("_Zz", "_Zz"),
        ("_ZN2ns", "_ZN2ns"),
        ("_Z1fi(int)", "_Z1fi(int)"),
        ("void f<4>(int)", "void f<4>(int)"),
        ("", ""),
    ],
)
def test_demangled(name: str, text: str) -> None:
    assert demangled(name) == text


def test_names_that_would_become_equal_keep_their_mangled_one() -> None:
    forms = demangled_names(["_Z1fi", "__Z1fi", "_Z1gi", "h(int)"])
    assert forms == {"_Z1fi": "f(int) [_Z1fi]", "__Z1fi": "f(int) [__Z1fi]", "_Z1gi": "g(int)"}


@pytest.mark.parametrize(
    "name",
    ["_Z" + "N1a" * 20_000, "_Z1f" + "S_" * 40_000, "_Z1fI" + "Li1E" * 20_000 + "EEvT_", "_R" + "NvC1a" * 15_000],
)
def test_hostile_names_take_little_time(name: str) -> None:
    begin = time.process_time()
    demangled(name)
    assert time.process_time() - begin < 2
