// Checks: what a reduction to one address counts.
//
// Every thread reads an index (always 0, which the compiler cannot know: it would else add up a warp first) and adds 1
// at that index without using the old value, a RED. Each lane of it is a sector of its own; the counter stays in L2.
#include "known.cuh"

extern "C" __global__ void __launch_bounds__(known::kBlock) known_atomics(unsigned* counters, const int* index) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  atomicAdd(&counters[index[i]], 1u);
}

namespace {

// All adds go to one place, one after the other: fewer elements than the streaming kernels.
known::Shape shape(const known::Sizes& sizes) { return known::row_of(sizes.elements / 16); }

bool run(const known::Sizes& sizes, const known::Shape& at) {
  const std::size_t count = sizes.elements / 16;
  const known::Buffer<int> index(count);
  const known::Buffer<unsigned> counters(1);
  known_atomics<<<at.grid, at.block>>>(counters.get(), index.get());
  known::finish();
  return known::agrees("known_atomics", counters, [&](std::size_t) { return static_cast<unsigned>(count); });
}

}  // namespace

extern const known::Case atomics_case{"known_atomics", 0, shape, run};
