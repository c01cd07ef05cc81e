"""Short names: the shortest that distinguishes a kernel among the others, the same in every order and under any filter."""

from __future__ import annotations

import random
import time

import pytest

from roofctl.core.short_names import short_names

LONG = "void fused<" + ", ".join(f"(int){i}" for i in range(350)) + ">(T1 *, int)"
ADD = "at::native::CUDAFunctor_add<c10::BFloat16>"
STRIDED = f"void at::native::elementwise_kernel<128, 4, void at::native::gpu_kernel_impl_nocast<{ADD}>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)"


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
    names = [f"void ns::runKernel<{kernel}, {rest}>(ns::Vec<unsigned int>, {kernel})" for kernel in ("Mandel", "Julia")]
    assert list(short_names(names).values()) == ["runKernel<Mandel>", "runKernel<Julia>"]


@pytest.mark.parametrize(
    ("kernels", "shorts"),
    [
        (["a::run(int)", "b::run(int)"], ["a::run", "b::run"]),
        (["void f<1>(int)", "void f<2>(int)", "void f<2>(float)"], ["f<1>", "f<2>(int)", "f<2>(float)"]),
        (["void f<float, 4>(T1 *)", "void f<double, 4>(T1 *)"], ["f<float>", "f<double>"]),
        (
            ["main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#2}::operator()(int) const"],
            ["main lambda 1", "main lambda 2"],
        ),
        (["ns::Functor::operator()(int) const"], ["Functor::operator()"]),
        (
            [f"void f<ns::Policy<ns::Tile<128, {n}>, ns::Layout<ns::Row>, ns::Schedule>>(T1)" for n in (32, 64)],
            ["f<Tile<128, 32>>", "f<Tile<128, 64>>"],
        ),
        (
            ["triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_3"],
            ["triton poi add_mul 0", "triton poi add_mul 3"],
        ),
        (
            [f"nvjet_sm90_tst_128x8_64x{stages}_4x1_v_bz_TNT" for stages in (12, 16)],
            ["nvjet bf16 128x8x64 TNT stage12", "nvjet bf16 128x8x64 TNT stage16"],
        ),
        ([STRIDED], ["elementwise<add, bf16> strided"]),
    ],
)
def test_what_distinguishes_kernels(kernels: list[str], shorts: list[str]) -> None:
    assert list(short_names(kernels).values()) == shorts


def test_a_kernel_has_one_name_in_any_order() -> None:
    kernels = [f"void f<{i}, {j}>(int)" for i in range(4) for j in range(4)] + [STRIDED, "g(int)", "g(float)"]
    expected = short_names(kernels)
    random.seed(1)
    for _ in range(5):
        random.shuffle(kernels)
        assert short_names(kernels) == expected


def test_another_kernel_changes_only_the_names_that_it_shares() -> None:
    kernels = [STRIDED, "void f<1>(int)", "void f<2>(int)", "g(int)"]
    before = short_names(kernels)
    after = short_names([*kernels, "h(int)", "void f<3>(int)"])
    assert before.items() <= after.items()


def test_the_spelling_of_a_demangler_does_not_change_the_name() -> None:
    spellings = [
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>, std::array<char *, (unsigned long)3>>(int, T2, T3)",
        "void native::vectorized_elementwise_kernel<4, native::CUDAFunctor_add<float>, std::array<char *, 3>>(int, T2, T3)",
    ]
    assert {name for kernel in spellings for name in short_names([kernel]).values()} == {"elementwise<add, f32>"}


@pytest.mark.parametrize("count", [20_000])
def test_many_names_take_linear_time(count: int) -> None:
    kernels = [f"void ns::f<float, {i}>(const T1 *, int)" for i in range(count // 2)]
    kernels += [f"void ns::g_{i}<{ADD}>(T1 *)" for i in range(count // 2)]
    begin = time.process_time()
    shorts = short_names(kernels)
    assert time.process_time() - begin < 20
    assert len(set(shorts.values())) == count


FILLS = (
    "a::",
    "lambda(",
    "<",
    "direct_copy_kernel_cuda(",
    "x_kernel(Tensor",
    "BinaryFunctor<a, ",
    "(",
    "_",
    "1x1_",
    " [clone .a]",
)
FUNCTIONS = (
    "vectorized_elementwise_kernel",
    "reduce_kernel",
    "device_kernel",
    "_kernel_agent",
    "DeviceReduceKernel",
    "nvjet_tst",
    "triton_poi_fused",
    "cutlass_80_tensorop_s16816gemm_bf16",
    "sm90_xmma_gemm_f16f16",
    "ampere_sgemm",
)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_hostile_names_of_10_000_characters(function: str) -> None:
    kernels = [f"void at::{function}<{fill * (10_000 // len(fill))}>(int)" for fill in FILLS]
    kernels += [f"{function}_{fill * (10_000 // len(fill))}" for fill in FILLS]
    begin = time.process_time()
    shorts = short_names(kernels)
    assert time.process_time() - begin < 5
    assert max(map(len, shorts.values())) <= 48
    assert len(set(shorts.values())) == len(kernels)
