// Checks: a shared-memory atomic counts as many wavefronts as its busiest bank has addresses.
//
// Each thread adds 1 three times: to a counter in a bank of its own (1 wavefront), to one of 32 that lie 4 words apart,
// 4 of them in each of 8 banks (4 wavefronts), and to the first again. No two lanes of a warp share a counter: whether
// such adds are combined depends on the chip. The block then stores its counters; the stores may stay in L2.
#include "known.cuh"

extern "C" __global__ void __launch_bounds__(known::kBlock) known_shared_atomics(unsigned* out, int stride) {
  __shared__ unsigned counters[known::kBlock];
  const unsigned lane = threadIdx.x % known::kWarp;
  counters[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&counters[threadIdx.x], 1u);
  atomicAdd(&counters[lane * stride], 1u);
  atomicAdd(&counters[threadIdx.x], 1u);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = counters[threadIdx.x];
}

namespace {

constexpr int kStride = 4;
constexpr int kWarps = known::kBlock / known::kWarp;

known::Shape shape(const known::Sizes& sizes) { return known::row_of(sizes.elements / 16); }

bool run(const known::Sizes& sizes, const known::Shape& at) {
  const known::Buffer<unsigned> out(sizes.elements / 16);
  known_shared_atomics<<<at.grid, at.block>>>(out.get(), kStride);
  known::finish();
  return known::agrees("known_shared_atomics", out, [](std::size_t i) {
    const std::size_t thread = i % known::kBlock;
    const bool strided = thread % kStride == 0 && thread < kStride * known::kWarp;
    return 2u + (strided ? kWarps : 0u);
  });
}

}  // namespace

extern const known::Case shared_atomics_case{"known_shared_atomics", 0, shape, run};
