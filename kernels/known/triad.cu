// Checks: 16-byte coalesced accesses count 16 sectors per warp at L1, at L2 and in DRAM, and an FMA two operations.
//
// a[i] = b[i] + s * c[i] on float4, one element per thread.
#include "known.cuh"

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_triad(float4* a, const float4* b, const float4* c, float s) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const float4 x = b[i], y = c[i];
  a[i] = make_float4(fmaf(s, y.x, x.x), fmaf(s, y.y, x.y), fmaf(s, y.z, x.z), fmaf(s, y.w, x.w));
}

namespace {

known::Shape shape(const known::Sizes& sizes) { return known::row_of(sizes.elements / 4); }

bool run(const known::Sizes& sizes, const known::Shape& at) {
  const auto x = [](std::size_t i) { return static_cast<float>(i % 1021); };
  const auto y = [](std::size_t i) { return static_cast<float>(i % 509); };
  const known::Buffer<float> b(sizes.elements, x), c(sizes.elements, y), a(sizes.elements);
  const auto vector = [](const known::Buffer<float>& buffer) { return reinterpret_cast<float4*>(buffer.get()); };
  known_triad<<<at.grid, at.block>>>(vector(a), vector(b), vector(c), 3.0f);
  known::finish();
  return known::agrees("known_triad", a, [&](std::size_t i) { return x(i) + 3.0f * y(i); });
}

}  // namespace

extern const known::Case triad_case{"known_triad", 0, shape, run};
