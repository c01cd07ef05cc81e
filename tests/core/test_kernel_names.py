"""Kernel names: their parts and base names, in everything that profilers print."""

from __future__ import annotations

import time

import pytest

from roofctl.core.kernel_names import base_name, elide, name_parts

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
        ("main [__omp_offloading_10303_4e2ec6_l21]", "main"),
        ("vadd::kernel [h0123456789abcdef]", "kernel"),
        ("A::operator [](int) const", "operator []"),
        ("float f(T) [with T = int; U = float [3]]", "f"),
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


@pytest.mark.parametrize(
    ("kernel", "scope", "arguments", "parameters"),
    [
        ("void at::native::foo<4, A<int>>(T1 *, int)", "void at::native::", "4, A<int>", "T1 *, int"),
        ("plain", "", "", ""),
        ("ns::S<int>::run(int) const", "ns::S<int>::", "", "int"),
        ("void k<int>", "void ", "int", ""),
    ],
)
def test_parts(kernel: str, scope: str, arguments: str, parameters: str) -> None:
    parts = name_parts(kernel)
    assert (parts.scope, parts.arguments, parts.parameters) == (scope, arguments, parameters)


def test_the_function_that_launches_a_kernel_of_cutlass() -> None:
    parts = name_parts("void cutlass::Kernel2<cutlass_80_simt_sgemm>(T1::Params)")
    assert (parts.base, parts.function) == ("cutlass_80_simt_sgemm", "Kernel2")


HOSTILE = {
    "clones": "f(int)" + " [clone .a]" * 8_000,
    "groups": "x" + "[a]" * 30_000,
    "templates side by side": "a" + "<b>" * 30_000,
    "nested templates": "f<" * 1_000 + "int" + ">" * 1_000 + "(int)",
    "deeply nested templates": "f<" * 30_000 + "int" + ">" * 30_000 + "(int)",
    "qualifiers": "f<int>(a)" + " const" * 15_000,
    "scopes": "a::" * 30_000 + "f(int)",
    "operators": "operator\n" * 10_000,
    "listed types": "[with " * 15_000 + "]" * 15_000,
    "one word": "a" * 90_000,
    "ampersands": "f(int)" + "&" * 90_000,
}


@pytest.mark.parametrize("kernel", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_take_linear_time(kernel: str) -> None:
    begin = time.process_time()
    assert base_name(kernel)
    # A quadratic step needs 10 s and more on names of this length.
    assert time.process_time() - begin < 1.0
