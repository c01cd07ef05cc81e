"""Kernel names: base names of everything profilers print, and short names that stay apart."""

from __future__ import annotations

import pytest

from roofctl.core.kernel_names import base_name, elide, matches, short_names

LONG = "void fused<" + ", ".join(f"(int){i}" for i in range(350)) + ">(T1 *, int)"


@pytest.mark.parametrize(
    ("kernel", "base"),
    [
        ("triad(float4 *, const float4 *, float, unsigned long)", "triad"),
        ("plain", "plain"),
        (" padded ", "padded"),
        ("void scan<(int)4, (bool)1>(T1 *, const T1 *)", "scan"),
        ("void at::native::reduce<float, at::Op<float>>(T2, int)", "reduce"),
        ("void nested<A<B<int> > >(T1)", "nested"),
        ("void cub::Reduce<cub::Policy<int>::P600, int *>(T2, T3)", "Reduce"),
        ("void (anonymous namespace)::inner<int>(int*)", "inner"),
        ("void at::<unnamed>::inner<float>(T1 *)", "inner"),
        ("unnamed>::axpy(float, const float *, float *)", "axpy"),
        ("bool operator==(A const&, B)", "operator=="),
        ("bool ns::operator==<float>(T1, T1)", "operator=="),
        ("void operator<< <int>(S &, T1)", "operator<<"),
        ("A::operator->() const", "operator->"),
        ("void ns::F::operator()<int>(int) const", "operator()"),
        ("main::{lambda(int)#1}::operator()(int) const", "operator()"),
        ("operator()", "operator()"),
        ("void k<&ns::S::operator==>(int)", "k"),
        ("void apply<ns::X::{lambda(int)#1}>(T1)", "apply"),
        ("void apply<lambda [](int)->float>(T1)", "apply"),
        ("my_operator(int)", "my_operator"),
        ("void ns::my_operator<int>(T1)", "my_operator"),
        ("operator_kernel<int>(T1)", "operator_kernel"),
        ("map(int (*)(float), std::function<void (int)>)", "map"),
        ("ns::S<int>::run(int) const volatile", "run"),
        ("void k<int>(int) [clone .kd]", "k"),
        (
            "copy_tile[v1,cw51c](Array<long long, 1, C, mutable, aligned>, Array<float, 1, C, mutable, aligned>)",
            "copy_tile",
        ),
        ("julia_kernel_123__CuArray_Float32__file_jl_7", "julia_kernel_123__CuArray_Float32__file_jl_7"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1_align8>(T1::Params)", "cutlass_80_tensorop_s1_align8"),
        ('quoted<"a, b">(int)', "quoted"),
        (LONG, "fused"),
        ("", ""),
        ("()", "()"),
        ("<>", "<>"),
        (">>>", ">>>"),
    ],
)
def test_base_name(kernel: str, base: str) -> None:
    assert base_name(kernel) == base


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [("abc", 3, "abc"), ("abcdef", 5, "ab…ef"), ("abcdef", 4, "ab…f"), ("abcdef", 1, "…"), ("abcdef", 2, "a…")],
)
def test_elide_cuts_the_middle(text: str, width: int, short: str) -> None:
    assert elide(text, width) == short


def test_short_names_use_the_shortest_form_that_tells_apart() -> None:
    names = [
        "void read<1>(float *)",
        "void read<8>(float *)",
        "void read<32>(float *)",
        "fill(int)",
        "fill(float)",
        "sum(int)",
    ]
    assert short_names(names) == {
        "void read<1>(float *)": "read<1>",
        "void read<8>(float *)": "read<8>",
        "void read<32>(float *)": "read<32>",
        "fill(int)": "fill(int)",
        "fill(float)": "fill(float)",
        "sum(int)": "sum",
    }


def test_short_names_of_long_names_are_short_and_distinct() -> None:
    stem = "a" * 40
    names = [f"{stem}{x}{stem}" for x in "XYZ"] + [f"{LONG[:-1]}, {x})" for x in ("int", "float")]
    shorts = short_names(names, width=30)
    assert len(LONG) > 2_800
    assert list(shorts) == names
    assert len(set(shorts.values())) == len(names)
    assert max(map(len, shorts.values())) <= 30


def test_a_name_given_twice_is_one_name() -> None:
    assert short_names(["k(int)", "k(int)"]) == {"k(int)": "k"}


def test_template_arguments_that_differ_tell_long_names_apart() -> None:
    rest = "ns::Api, ns::AccGpu<std::integral_constant<unsigned long, 2>, unsigned int>"
    names = [f"void ns::gpuKernel<{kernel}, {rest}>(ns::Vec<unsigned int>, {kernel})" for kernel in ("Mandel", "Julia")]
    assert list(short_names(names).values()) == ["gpuKernel<Mandel>", "gpuKernel<Julia>"]


@pytest.mark.parametrize(
    ("keep", "drop", "kept"), [("cutlass", "", True), ("^Kernel2$", "", True), ("", "Kernel2", False)]
)
def test_a_kernel_of_cutlass_is_found_by_its_name_and_by_its_function(keep: str, drop: str, kept: bool) -> None:
    assert matches("void cutlass::Kernel2<cutlass_80_simt_sgemm>(T1::Params)", keep, drop) == kept
