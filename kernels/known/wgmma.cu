// Checks: warpgroup matrix instructions (wgmma) show their operations, in BF16 and FP8, and their operand reads from
// shared memory as wavefronts of their own. Compute capability 9.0 only, built for sm_90a.
//
// A block of 128 threads stages A (64 rows of 128 bytes) and B (128 rows of 128 bytes) in shared memory, both contiguous
// in K, and adds C += A B^T for k iterations: 4 wgmma of 64 x 128 and 32 bytes of K each. A wgmma reads 2 KiB of A and
// 4 KiB of B, 48 wavefronts of 128 bytes. C ends in 32 stores of 8 rows of 32 bytes per warp. Entries are -1, 0 and 1
// and iterations few, so that FP8, whose sums keep fewer bits, is exact too. All blocks do the same.
#include <cstdint>

#include "known.cuh"

namespace {

constexpr int kWgmmaIterations = 64;
constexpr int kRows = 64, kColumns = 128, kRowBytes = 128, kSliceBytes = 32, kThreads = 128;
constexpr int kVectorBytes = 16;
constexpr int kLeftBytes = kRows * kRowBytes, kRightBytes = kColumns * kRowBytes;
static_assert(kLeftBytes % (kThreads * kVectorBytes) == 0 && kRightBytes % (kThreads * kVectorBytes) == 0);
static_assert(kRowBytes % kSliceBytes == 0);

#define LIST16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)                                                     \
  "%" #a ",%" #b ",%" #c ",%" #d ",%" #e ",%" #f ",%" #g ",%" #h ",%" #i ",%" #j ",%" #k ",%" #l ",%" #m ",%" #n   \
  ",%" #o ",%" #p
#define ACCUMULATORS                                                                                               \
  "{" LIST16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) ","                                             \
  LIST16(16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31) ","                                       \
  LIST16(32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47) ","                                       \
  LIST16(48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63) "}"
#define BOUND4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define BOUND16(d, i) BOUND4(d, i), BOUND4(d, i + 4), BOUND4(d, i + 8), BOUND4(d, i + 12)

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

struct Bf16 {
  static __device__ __forceinline__ void multiply(float (&d)[64], std::uint64_t a, std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " ACCUMULATORS ", %64, %65, 1, 1, 1, 0, 0;"
                 : BOUND16(d, 0), BOUND16(d, 16), BOUND16(d, 32), BOUND16(d, 48)
                 : "l"(a), "l"(b));
  }
};

struct Fp8 {
  static __device__ __forceinline__ void multiply(float (&d)[64], std::uint64_t a, std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 " ACCUMULATORS ", %64, %65, 1, 1, 1;"
                 : BOUND16(d, 0), BOUND16(d, 16), BOUND16(d, 32), BOUND16(d, 48)
                 : "l"(a), "l"(b));
  }
};

// 128-byte swizzle: the 16-byte column of a row is exclusive-ored with the row's number modulo 8.
__device__ __forceinline__ int swizzled(int byte) { return byte ^ byte / kRowBytes % 8 * kVectorBytes; }

template <int kBytes>
__device__ __forceinline__ void stage(char* to, const char* from) {
#pragma unroll
  for (int i = 0; i < kBytes / (kThreads * kVectorBytes); ++i) {
    const int at = (i * kThreads + threadIdx.x) * kVectorBytes;
    *reinterpret_cast<int4*>(to + swizzled(at)) = *reinterpret_cast<const int4*>(from + at);
  }
}

// Matrix descriptor: address / 16, 8 rows are 1024 bytes apart, 128-byte swizzle.
__device__ __forceinline__ std::uint64_t descriptor(const char* tile) {
  const std::uint64_t address = __cvta_generic_to_shared(tile);
  return (address & 0x3ffff) >> 4 | 1ull << 16 | std::uint64_t{1024 >> 4} << 32 | 1ull << 62;
}

template <typename Mma>
__device__ __forceinline__ void product(float* c, const char* a, const char* b, int iterations) {
  __shared__ alignas(1024) char tiles[kLeftBytes + kRightBytes];
  stage<kLeftBytes>(tiles, a);
  stage<kRightBytes>(tiles + kLeftBytes, b);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const std::uint64_t left = descriptor(tiles), right = descriptor(tiles + kLeftBytes);
  float d[64] = {};
  int remaining = iterations;
#pragma unroll 1
  do {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    // A slice further along K lies 32 bytes further inside the swizzled row.
#pragma unroll
    for (int slice = 0; slice < kRowBytes / kSliceBytes; ++slice) {
      Mma::multiply(d, left + slice * (kSliceBytes >> 4), right + slice * (kSliceBytes >> 4));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  } while (--remaining > 0);
  const int lane = threadIdx.x % known::kWarp;
  const int row = threadIdx.x / known::kWarp * 16 + lane / 4;
  float* out = c + (blockIdx.x * kRows + row) * kColumns + lane % 4 * 2;
#pragma unroll
  for (int j = 0; j < kColumns / 8; ++j) {
    *reinterpret_cast<float2*>(out + j * 8) = make_float2(d[4 * j], d[4 * j + 1]);
    *reinterpret_cast<float2*>(out + 8 * kColumns + j * 8) = make_float2(d[4 * j + 2], d[4 * j + 3]);
  }
}

#endif

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    known_wgmma_bf16(float* c, const char* a, const char* b, int iterations) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  product<Bf16>(c, a, b, iterations);
#endif
}

extern "C" __global__ void __launch_bounds__(kThreads)
    known_wgmma_fp8(float* c, const char* a, const char* b, int iterations) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  product<Fp8>(c, a, b, iterations);
#endif
}

namespace {

int left_entry(int row, int k) { return (row % 7 + 3 * k) % 7 % 3 - 1; }
int right_entry(int column, int k) { return (column % 5 + 2 * k) % 5 % 3 - 1; }

// -1, 0 and 1 in each type, as bits.
template <typename Bits>
Bits encoded(int entry, Bits one, Bits sign) {
  return static_cast<Bits>(entry ? one | (entry < 0 ? sign : 0) : 0);
}

known::Shape shape(const known::Sizes& sizes) { return {dim3(sizes.blocks), dim3(kThreads)}; }

template <typename Bits, typename Kernel>
bool run(const char* name, Kernel kernel, const known::Shape& at, Bits one, Bits sign) {
  constexpr int depth = kRowBytes / sizeof(Bits);
  const known::Buffer<Bits> a(kRows * depth, [&](std::size_t i) {
    return encoded(left_entry(static_cast<int>(i / depth), static_cast<int>(i % depth)), one, sign);
  });
  const known::Buffer<Bits> b(kColumns * depth, [&](std::size_t i) {
    return encoded(right_entry(static_cast<int>(i / depth), static_cast<int>(i % depth)), one, sign);
  });
  const known::Buffer<float> c(static_cast<std::size_t>(at.grid.x) * kRows * kColumns);
  kernel<<<at.grid, at.block>>>(c.get(), reinterpret_cast<const char*>(a.get()), reinterpret_cast<const char*>(b.get()),
                                kWgmmaIterations);
  known::finish();
  std::vector<float> sums(kRows * kColumns);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    int sum = 0;
    for (int k = 0; k < depth; ++k) {
      sum += left_entry(static_cast<int>(i / kColumns), k) * right_entry(static_cast<int>(i % kColumns), k);
    }
    sums[i] = static_cast<float>(kWgmmaIterations * sum);
  }
  return known::agrees(name, c, [&](std::size_t i) { return sums[i % sums.size()]; });
}

bool run_bf16(const known::Sizes&, const known::Shape& at) {
  return run<std::uint16_t>("known_wgmma_bf16", known_wgmma_bf16, at, 0x3f80, 0x8000);
}
bool run_fp8(const known::Sizes&, const known::Shape& at) {
  return run<std::uint8_t>("known_wgmma_fp8", known_wgmma_fp8, at, 0x38, 0x80);
}

}  // namespace

extern const known::Case wgmma_bf16_case{"known_wgmma_bf16", 9, shape, run_bf16, true};
extern const known::Case wgmma_fp8_case{"known_wgmma_fp8", 9, shape, run_fp8, true};
