// Checks: the tensor counters show 2 M N K operations, in BF16 and in FP64.
//
// C = A B with M = N = K, A by rows, B by columns, one warp per tile of C, fragments straight from global memory.
// Operands are small integers, so that every sum is exact.
//   bf16   mma m16n8k16, tile 16 x 8; per step of K 4 loads of A and 2 of B, each 8 rows of 16 bytes; at the end 2 stores
//          of 8 rows of 32 bytes
//   fp64   mma m8n8k4, tile 8 x 8; per step of K 1 load of A and 1 of B, each 8 rows of 32 bytes; at the end 1 store of
//          8 rows of 64 bytes
// L2 and DRAM see less than L1: rows are read again and again.
#include <cstdint>

#include <cuda_bf16.h>

#include "known.cuh"

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_tensor_bf16(float* c, const std::uint32_t* a, const std::uint32_t* b, int depth) {
#if __CUDA_ARCH__ >= 800
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / known::kWarp;
  const int row = warp / (known::kMatrix / 8) * 16, column = warp % (known::kMatrix / 8) * 8;
  const int group = threadIdx.x % known::kWarp / 4, member = threadIdx.x % 4;
  const int pairs = depth / 2;  // two BF16 per word
  const std::uint32_t* upper = a + (row + group) * pairs + member;
  const std::uint32_t* lower = upper + 8 * pairs;
  const std::uint32_t* right = b + (column + group) * pairs + member;
  float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
  int left = depth / 16;
#pragma unroll 1
  do {
    const std::uint32_t a0 = upper[0], a1 = lower[0], a2 = upper[4], a3 = lower[4], b0 = right[0], b1 = right[4];
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    upper += 8;
    lower += 8;
    right += 8;
  } while (--left > 0);
  float* out = c + (row + group) * known::kMatrix + column + 2 * member;
  *reinterpret_cast<float2*>(out) = make_float2(c0, c1);
  *reinterpret_cast<float2*>(out + 8 * known::kMatrix) = make_float2(c2, c3);
#endif
}

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_tensor_fp64(double* c, const double* a, const double* b, int depth) {
#if __CUDA_ARCH__ >= 800
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / known::kWarp;
  const int row = warp / (known::kMatrix / 8) * 8, column = warp % (known::kMatrix / 8) * 8;
  const int group = threadIdx.x % known::kWarp / 4, member = threadIdx.x % 4;
  const double* upper = a + (row + group) * depth + member;
  const double* right = b + (column + group) * depth + member;
  double c0 = 0, c1 = 0;
  int left = depth / 4;
#pragma unroll 1
  do {
    const double a0 = upper[0], b0 = right[0];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c0), "+d"(c1)
                 : "d"(a0), "d"(b0));
    upper += 4;
    right += 4;
  } while (--left > 0);
  *reinterpret_cast<double2*>(c + (row + group) * known::kMatrix + column + 2 * member) = make_double2(c0, c1);
#endif
}

namespace {

constexpr int kSize = known::kMatrix;
constexpr int kRowPeriod = 7, kColumnPeriod = 5;

// Entries repeat with periods that no tile size divides, so a misplaced fragment shows.
int left_entry(int row, int k) { return (row % kRowPeriod + 3 * k) % 7; }
int right_entry(int k, int column) { return (2 * k + column % kColumnPeriod) % 5; }

std::vector<int> product() {
  std::vector<int> sums(kRowPeriod * kColumnPeriod, 0);
  for (int row = 0; row < kRowPeriod; ++row)
    for (int column = 0; column < kColumnPeriod; ++column)
      for (int k = 0; k < kSize; ++k)
        sums[static_cast<std::size_t>(row * kColumnPeriod + column)] += left_entry(row, k) * right_entry(k, column);
  return sums;
}

known::Shape shape_bf16(const known::Sizes&) { return known::row_of(std::size_t{kSize} * kSize / 128 * known::kWarp); }
known::Shape shape_fp64(const known::Sizes&) { return known::row_of(std::size_t{kSize} * kSize / 64 * known::kWarp); }

template <typename In, typename Out, typename Word, typename Kernel>
bool run(const char* name, Kernel kernel, const known::Shape& at) {
  constexpr std::size_t count = std::size_t{kSize} * kSize;
  const known::Buffer<In> a(count, [](std::size_t i) { return In(left_entry(static_cast<int>(i / kSize), static_cast<int>(i % kSize))); });
  const known::Buffer<In> b(count, [](std::size_t i) { return In(right_entry(static_cast<int>(i % kSize), static_cast<int>(i / kSize))); });
  const known::Buffer<Out> c(count);
  kernel<<<at.grid, at.block>>>(c.get(), reinterpret_cast<const Word*>(a.get()), reinterpret_cast<const Word*>(b.get()), kSize);
  known::finish();
  const std::vector<int> sums = product();
  return known::agrees(name, c, [&](std::size_t i) {
    return static_cast<Out>(sums[i / kSize % kRowPeriod * kColumnPeriod + i % kSize % kColumnPeriod]);
  });
}

bool run_bf16(const known::Sizes&, const known::Shape& at) {
  return run<__nv_bfloat16, float, std::uint32_t>("known_tensor_bf16", known_tensor_bf16, at);
}
bool run_fp64(const known::Sizes&, const known::Shape& at) {
  return run<double, double, double>("known_tensor_fp64", known_tensor_fp64, at);
}

}  // namespace

extern const known::Case tensor_bf16_case{"known_tensor_bf16", 8, shape_bf16, run_bf16};
extern const known::Case tensor_fp64_case{"known_tensor_fp64", 8, shape_fp64, run_fp64};
