// Checks: 4-byte coalesced accesses count 4 sectors per warp at L1, at L2 and in DRAM.
//
// a[i] = b[i] on 4-byte words, one element per thread; no arithmetic on data.
#include "known.cuh"

extern "C" __global__ void __launch_bounds__(known::kBlock) known_copy(int* a, const int* b) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  a[i] = b[i];
}

namespace {

known::Shape shape(const known::Sizes& sizes) { return known::row_of(sizes.elements); }

bool run(const known::Sizes& sizes, const known::Shape& at) {
  const auto x = [](std::size_t i) { return static_cast<int>(i ^ (i >> 7)); };
  const known::Buffer<int> b(sizes.elements, x), a(sizes.elements);
  known_copy<<<at.grid, at.block>>>(a.get(), b.get());
  known::finish();
  return known::agrees("known_copy", a, x);
}

}  // namespace

extern const known::Case copy_case{"known_copy", 0, shape, run};
