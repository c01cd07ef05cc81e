// Checks: every FMA is counted, in double, single and half precision, and nothing else.
//
// Each thread runs independent chains v = v * scale + offset for k iterations, 2 in double, 4 in single precision or 4
// of packed pairs in half precision, and stores the chains' ends as one 16-byte vector. scale, offset and k are
// arguments, so the loop stays. Nothing is read; the stores may stay in L2.
#include <cmath>

#include <cuda_fp16.h>

#include "known.cuh"

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_fma_fp64(double2* out, double scale, double offset, int iterations) {
  const int lane = threadIdx.x % known::kWarp;
  double a = lane, b = lane + 32;
  int left = iterations;
#pragma unroll 1
  do {
    a = fma(a, scale, offset);
    b = fma(b, scale, offset);
  } while (--left > 0);
  out[blockIdx.x * blockDim.x + threadIdx.x] = make_double2(a, b);
}

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_fma_fp32(float4* out, float scale, float offset, int iterations) {
  const int lane = threadIdx.x % known::kWarp;
  float a = lane, b = lane + 32, c = lane + 64, d = lane + 96;
  int left = iterations;
#pragma unroll 1
  do {
    a = fmaf(a, scale, offset);
    b = fmaf(b, scale, offset);
    c = fmaf(c, scale, offset);
    d = fmaf(d, scale, offset);
  } while (--left > 0);
  out[blockIdx.x * blockDim.x + threadIdx.x] = make_float4(a, b, c, d);
}

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_fma_fp16(uint4* out, __half2 scale, __half2 offset, int iterations) {
  const int lane = threadIdx.x % known::kWarp;
  __half2 v[4];
#pragma unroll
  for (int chain = 0; chain < 4; ++chain) {
    v[chain] = __floats2half2_rn(static_cast<float>(lane + 64 * chain), static_cast<float>(lane + 64 * chain + 32));
  }
  int left = iterations;
#pragma unroll 1
  do {
#pragma unroll
    for (int chain = 0; chain < 4; ++chain) v[chain] = __hfma2(v[chain], scale, offset);
  } while (--left > 0);
  const auto* ends = reinterpret_cast<const unsigned*>(v);
  out[blockIdx.x * blockDim.x + threadIdx.x] = make_uint4(ends[0], ends[1], ends[2], ends[3]);
}

namespace {

constexpr double kScale = 0.9990234375, kOffset = 0.5;  // exact in both precisions; chains stay finite and normal

known::Shape shape(const known::Sizes& sizes) { return {dim3(sizes.blocks), dim3(known::kBlock)}; }

// Chain ends of a warp: element of chain c and lane l at [l * chains + c], as the vectors lie in memory.
template <typename T>
std::vector<T> chain_ends(int chains) {
  std::vector<T> ends(static_cast<std::size_t>(known::kWarp * chains));
  for (int lane = 0; lane < known::kWarp; ++lane)
    for (int chain = 0; chain < chains; ++chain) {
      T value = static_cast<T>(lane + 32 * chain);
      for (int i = 0; i < known::kIterations; ++i) value = std::fma(value, static_cast<T>(kScale), static_cast<T>(kOffset));
      ends[static_cast<std::size_t>(lane * chains + chain)] = value;
    }
  return ends;
}

template <typename T, typename Vector, typename Kernel>
bool run(const char* name, Kernel kernel, const known::Shape& at) {
  constexpr int chains = sizeof(Vector) / sizeof(T);
  const known::Buffer<T> out(static_cast<std::size_t>(at.grid.x) * at.block.x * chains);
  kernel<<<at.grid, at.block>>>(reinterpret_cast<Vector*>(out.get()), static_cast<T>(kScale), static_cast<T>(kOffset),
                                known::kIterations);
  known::finish();
  const std::vector<T> ends = chain_ends<T>(chains);
  return known::agrees(name, out, [&](std::size_t i) { return ends[i % ends.size()]; });
}

bool run_fp64(const known::Sizes&, const known::Shape& at) {
  return run<double, double2>("known_fma_fp64", known_fma_fp64, at);
}
bool run_fp32(const known::Sizes&, const known::Shape& at) {
  return run<float, float4>("known_fma_fp32", known_fma_fp32, at);
}

// Adds 1 in each iteration: all sums are integers below 2048, which half precision holds exactly.
bool run_fp16(const known::Sizes&, const known::Shape& at) {
  const known::Buffer<__half> out(static_cast<std::size_t>(at.grid.x) * at.block.x * 8);
  const __half2 one = __float2half2_rn(1);
  known_fma_fp16<<<at.grid, at.block>>>(reinterpret_cast<uint4*>(out.get()), one, one, known::kIterations);
  known::finish();
  return known::agrees("known_fma_fp16", out, [](std::size_t i) {
    return __half(static_cast<float>(i / 8 % known::kWarp + i % 8 * 32 + known::kIterations));
  });
}

}  // namespace

extern const known::Case fma_fp64_case{"known_fma_fp64", 0, shape, run_fp64};
extern const known::Case fma_fp32_case{"known_fma_fp32", 0, shape, run_fp32};
extern const known::Case fma_fp16_case{"known_fma_fp16", 0, shape, run_fp16};
