// Checks: asynchronous copies to shared memory (LDGSTS) count as loads at L1 and as wavefronts of their own.
//
// Each thread copies 16 bytes to shared memory past the registers and stores the 16 bytes of the lane that mirrors it.
// 8 lanes fill 128 bytes: 4 wavefronts to write and 4 to read.
#include <cstdint>

#include "known.cuh"

extern "C" __global__ void __launch_bounds__(known::kBlock) known_async_copy(int4* out, const int4* in) {
#if __CUDA_ARCH__ >= 800
  __shared__ int4 words[known::kBlock];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(&words[threadIdx.x]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.wait_all;" ::"r"(to), "l"(in + i) : "memory");
  __syncthreads();
  out[i] = words[threadIdx.x ^ (known::kWarp - 1)];
#endif
}

namespace {

known::Shape shape(const known::Sizes& sizes) { return known::row_of(sizes.elements / 16); }

bool run(const known::Sizes& sizes, const known::Shape& at) {
  const std::size_t count = sizes.elements / 4;  // words of 4 bytes
  const known::Buffer<int> in(count, [](std::size_t i) { return static_cast<int>(i); }), out(count);
  known_async_copy<<<at.grid, at.block>>>(reinterpret_cast<int4*>(out.get()), reinterpret_cast<const int4*>(in.get()));
  known::finish();
  return known::agrees("known_async_copy", out, [](std::size_t i) {
    return static_cast<int>((i / 4 ^ (known::kWarp - 1)) * 4 + i % 4);
  });
}

}  // namespace

extern const known::Case async_copy_case{"known_async_copy", 8, shape, run};
