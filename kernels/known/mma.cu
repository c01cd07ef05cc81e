// Checks: the tensor counters show 2 M N K operations for FP16 with either accumulation, INT8 and 2:4-sparse BF16.
//
// C = A B with M = N = K, A by rows, B by columns, one warp per tile of 16 x 8 of C, fragments straight from global
// memory. Entries are -1, 0 and 1, so that every sum is exact, in FP16 too.
//   fp16, fp16_fp16acc   mma m16n8k16, per step of K 4 loads of A and 2 of B, each 8 rows of 16 bytes
//   int8                 mma m16n8k32, the same loads: an entry has half the bytes, a step twice the depth
//   bf16_sparse          mma.sp m16n8k32, per step 4 loads of A, which holds 2 of each 4 entries of a row, and 4 of B
// At the end 2 stores of 8 rows of 32 bytes, 16 bytes where C is FP16. The sparse product counts as the dense one that
// it stands for. L2 and DRAM see less than L1: rows are read again and again.
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "known.cuh"

namespace {

using Word = std::uint32_t;

constexpr int kSize = known::kMatrix;
constexpr int kTileRows = 16, kTileColumns = 8, kFragmentRows = 8;
constexpr int kStepWords = 8;  // 32 bytes of a row per step

// Older architectures lack the instructions; they build the kernels, and `known` does not run them there.
#if __CUDA_ARCH__ >= 800
#define MMA(...) asm volatile(__VA_ARGS__)
#else
#define MMA(...)
#endif
#define ACCUMULATORS "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"

struct Fp16 {
  using Sum = float;
  static constexpr int kRightWords = 2;
  static __device__ void multiply(Sum (&c)[4], const Word (&a)[4], const Word (&b)[2]) {
    MMA("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " ACCUMULATORS
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

struct Int8 {
  using Sum = int;
  static constexpr int kRightWords = 2;
  static __device__ void multiply(Sum (&c)[4], const Word (&a)[4], const Word (&b)[2]) {
    MMA("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " ACCUMULATORS
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

// Two FP16 sums per word: 2 words instead of 4.
struct Fp16Sums {
  using Sum = Word;
  static constexpr int kRightWords = 2;
  static __device__ void multiply(Sum (&c)[2], const Word (&a)[4], const Word (&b)[2]) {
    MMA("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(c[0]), "+r"(c[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

// PTX 8.5 (CUDA 12.5) names the order that the metadata has anyway, and warns without.
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1205
#define SPARSE "mma.sp::ordered_metadata.sync"
#else
#define SPARSE "mma.sp.sync"
#endif

// Of each 4 entries of a row the second and the fourth are kept: indices 1 and 3, two bits each, are 0b1101.
int logical(int kept) { return kept / 2 * 4 + 1 + kept % 2 * 2; }

struct SparseBf16 {
  using Sum = float;
  static constexpr int kRightWords = 4;
  static __device__ void multiply(Sum (&c)[4], const Word (&a)[4], const Word (&b)[4]) {
    MMA(SPARSE ".aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(0xddddddddu));
  }
};

__device__ void store(float* to, const float (&c)[4]) {
  *reinterpret_cast<float2*>(to) = make_float2(c[0], c[1]);
  *reinterpret_cast<float2*>(to + kFragmentRows * kSize) = make_float2(c[2], c[3]);
}
__device__ void store(int* to, const int (&c)[4]) {
  *reinterpret_cast<int2*>(to) = make_int2(c[0], c[1]);
  *reinterpret_cast<int2*>(to + kFragmentRows * kSize) = make_int2(c[2], c[3]);
}
__device__ void store(__half* to, const Word (&c)[2]) {
  *reinterpret_cast<Word*>(to) = c[0];
  *reinterpret_cast<Word*>(to + kFragmentRows * kSize) = c[1];
}

// One tile of C. A row of A has `words` words, a row of B half as many words per fragment word of its own.
template <typename Mma, int kSums, typename Out>
__device__ __forceinline__ void tile(Out* c, const Word* a, const Word* b, int words) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / known::kWarp;
  const int row = warp / (kSize / kTileColumns) * kTileRows, column = warp % (kSize / kTileColumns) * kTileColumns;
  const int group = threadIdx.x % known::kWarp / 4, member = threadIdx.x % 4;
  const Word* upper = a + (row + group) * words + member;
  const Word* lower = upper + kFragmentRows * words;
  const Word* right = b + (column + group) * (words / 2 * Mma::kRightWords) + member;
  typename Mma::Sum sums[kSums] = {};
  int left = words / kStepWords;
#pragma unroll 1
  do {
    const Word from_a[4] = {upper[0], lower[0], upper[4], lower[4]};
    Word from_b[Mma::kRightWords];
#pragma unroll
    for (int i = 0; i < Mma::kRightWords; ++i) from_b[i] = right[4 * i];
    Mma::multiply(sums, from_a, from_b);
    upper += kStepWords;
    lower += kStepWords;
    right += 4 * Mma::kRightWords;
  } while (--left > 0);
  store(c + (row + group) * kSize + column + 2 * member, sums);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_tensor_fp16(float* c, const std::uint32_t* a, const std::uint32_t* b, int words) {
  tile<Fp16, 4>(c, a, b, words);
}

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_tensor_fp16_fp16acc(__half* c, const std::uint32_t* a, const std::uint32_t* b, int words) {
  tile<Fp16Sums, 2>(c, a, b, words);
}

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_tensor_int8(int* c, const std::uint32_t* a, const std::uint32_t* b, int words) {
  tile<Int8, 4>(c, a, b, words);
}

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_tensor_bf16_sparse(float* c, const std::uint32_t* a, const std::uint32_t* b, int words) {
  tile<SparseBf16, 4>(c, a, b, words);
}

namespace {

constexpr int kRowPeriod = 7, kColumnPeriod = 5;

// Entries repeat with periods that no tile size divides, so a misplaced fragment shows.
int left_entry(int row, int k) { return (row % kRowPeriod + 3 * k) % 7 % 3 - 1; }
int right_entry(int k, int column) { return (2 * k + column % kColumnPeriod) % 5 % 3 - 1; }

// Sums over the `depth` entries of a row that are stored; entry i is that of column `at(i)` of A.
template <typename At>
std::vector<int> product(int depth, At at) {
  std::vector<int> sums(kRowPeriod * kColumnPeriod, 0);
  for (int row = 0; row < kRowPeriod; ++row)
    for (int column = 0; column < kColumnPeriod; ++column)
      for (int i = 0; i < depth; ++i)
        sums[static_cast<std::size_t>(row * kColumnPeriod + column)] += left_entry(row, at(i)) * right_entry(at(i), column);
  return sums;
}

known::Shape shape(const known::Sizes&) {
  return known::row_of(std::size_t{kSize} * kSize / (kTileRows * kTileColumns) * known::kWarp);
}

template <typename In, typename Out, typename Kernel, typename At>
bool run(const char* name, Kernel kernel, const known::Shape& at, int depth, At column_of) {
  const std::size_t stored = static_cast<std::size_t>(depth), size = kSize;
  const known::Buffer<In> a(size * stored, [&](std::size_t i) {
    return In(static_cast<float>(left_entry(static_cast<int>(i / stored), column_of(static_cast<int>(i % stored)))));
  });
  const known::Buffer<In> b(size * size, [&](std::size_t i) {
    return In(static_cast<float>(right_entry(static_cast<int>(i % size), static_cast<int>(i / size))));
  });
  const known::Buffer<Out> c(size * size);
  kernel<<<at.grid, at.block>>>(c.get(), reinterpret_cast<const Word*>(a.get()), reinterpret_cast<const Word*>(b.get()),
                                static_cast<int>(stored * sizeof(In) / sizeof(Word)));
  known::finish();
  const std::vector<int> sums = product(depth, column_of);
  return known::agrees(name, c, [&](std::size_t i) {
    return Out(static_cast<float>(sums[i / size % kRowPeriod * kColumnPeriod + i % size % kColumnPeriod]));
  });
}

int same(int i) { return i; }

bool run_fp16(const known::Sizes&, const known::Shape& at) {
  return run<__half, float>("known_tensor_fp16", known_tensor_fp16, at, kSize, same);
}
bool run_fp16_fp16acc(const known::Sizes&, const known::Shape& at) {
  return run<__half, __half>("known_tensor_fp16_fp16acc", known_tensor_fp16_fp16acc, at, kSize, same);
}
bool run_int8(const known::Sizes&, const known::Shape& at) {
  return run<signed char, int>("known_tensor_int8", known_tensor_int8, at, kSize, same);
}
bool run_bf16_sparse(const known::Sizes&, const known::Shape& at) {
  return run<__nv_bfloat16, float>("known_tensor_bf16_sparse", known_tensor_bf16_sparse, at, kSize / 2, logical);
}

}  // namespace

extern const known::Case tensor_fp16_case{"known_tensor_fp16", 8, shape, run_fp16};
extern const known::Case tensor_fp16_fp16acc_case{"known_tensor_fp16_fp16acc", 8, shape, run_fp16_fp16acc};
extern const known::Case tensor_int8_case{"known_tensor_int8", 8, shape, run_int8};
extern const known::Case tensor_bf16_sparse_case{"known_tensor_bf16_sparse", 8, shape, run_bf16_sparse};
