// Checks: thread instructions are those of active lanes only, while a warp instruction counts once.
//
// Lanes 0 to 7 of every warp run a chain of k FMAs, the other 24 skip it. Thread instructions per issued instruction are
// 8 in the loop and 32 outside: between 8 and 9 as long as the loop is nearly all of the kernel.
#include <cmath>

#include "known.cuh"

namespace {

constexpr int kActive = 8;
constexpr float kScale = 0.9990234375f, kOffset = 0.5f;

}  // namespace

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_divergent(float* out, float scale, float offset, int iterations) {
  const int lane = threadIdx.x % known::kWarp;
  float a = lane;
  if (lane < kActive) {
    int left = iterations;
#pragma unroll 1
    do {
      a = fmaf(a, scale, offset);
    } while (--left > 0);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

namespace {

known::Shape shape(const known::Sizes& sizes) { return {dim3(sizes.blocks), dim3(known::kBlock)}; }

bool run(const known::Sizes&, const known::Shape& at) {
  const known::Buffer<float> out(static_cast<std::size_t>(at.grid.x) * at.block.x);
  known_divergent<<<at.grid, at.block>>>(out.get(), kScale, kOffset, known::kIterations);
  known::finish();
  std::vector<float> ends(known::kWarp);
  for (int lane = 0; lane < known::kWarp; ++lane) {
    float value = static_cast<float>(lane);
    for (int i = 0; lane < kActive && i < known::kIterations; ++i) value = std::fma(value, kScale, kOffset);
    ends[static_cast<std::size_t>(lane)] = value;
  }
  return known::agrees("known_divergent", out, [&](std::size_t i) { return ends[i % ends.size()]; });
}

}  // namespace

extern const known::Case divergent_case{"known_divergent", 0, shape, run};
