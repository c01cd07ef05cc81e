// Checks: every instruction of the transcendental pipe (XU) is counted.
//
// Each thread runs a chain of reciprocals and a chain of logarithm and exponential for k iterations, then one more
// reciprocal, and stores both ends. The chains stay on zeros and infinities, the only values whose results the
// instructions document exactly: 1 / 0 = inf, 1 / inf = 0, log2(0) = -inf, 2^-inf = 0. The stores may stay in L2.
#include "known.cuh"

extern "C" __global__ void __launch_bounds__(known::kBlock) known_mufu(uint2* out, int iterations) {
  const unsigned lane = threadIdx.x % known::kWarp;
  float a = __uint_as_float((lane & 1) << 31 | (lane & 2 ? 0x7f800000u : 0u));
  float b = __uint_as_float(lane & 4 ? 0x7f800000u : 0u);
  int left = iterations;
#pragma unroll 1
  do {
    asm volatile("rcp.approx.ftz.f32 %0, %0;" : "+f"(a));
    asm volatile("lg2.approx.ftz.f32 %0, %0;" : "+f"(b));
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(b));
  } while (--left > 0);
  asm volatile("rcp.approx.ftz.f32 %0, %0;" : "+f"(a));
  out[blockIdx.x * blockDim.x + threadIdx.x] = make_uint2(__float_as_uint(a), __float_as_uint(b));
}

namespace {

static_assert(known::kIterations % 2 == 0, "the reciprocals of the loop cancel");

known::Shape shape(const known::Sizes& sizes) { return {dim3(sizes.blocks), dim3(known::kBlock)}; }

bool run(const known::Sizes&, const known::Shape& at) {
  const known::Buffer<unsigned> out(static_cast<std::size_t>(at.grid.x) * at.block.x * 2);
  known_mufu<<<at.grid, at.block>>>(reinterpret_cast<uint2*>(out.get()), known::kIterations);
  known::finish();
  return known::agrees("known_mufu", out, [](std::size_t i) {
    const unsigned lane = i / 2 % known::kWarp, infinity = 0x7f800000u;
    if (i % 2) return lane & 4 ? infinity : 0u;
    return (lane & 1) << 31 | (lane & 2 ? 0u : infinity);
  });
}

}  // namespace

extern const known::Case mufu_case{"known_mufu", 0, shape, run};
