// Checks: a conflict-free shared-memory access counts one instruction and one wavefront.
//
// A block loads 256 words to shared memory and each thread adds up 8 of them, one from each of the 8 rows of 32 words,
// its lane reversed. The stores may stay in L2.
#include "known.cuh"

namespace {

constexpr int kReads = 8;

}  // namespace

extern "C" __global__ void __launch_bounds__(known::kBlock) known_shared(int* out, const int* in) {
  __shared__ int words[known::kBlock];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned reversed = known::kWarp - 1 - threadIdx.x % known::kWarp;
  words[threadIdx.x] = in[i];
  __syncthreads();
  int sum = 0;
#pragma unroll
  for (int row = 0; row < kReads; ++row) sum += words[row * known::kWarp + reversed];
  out[i] = sum;
}

namespace {

known::Shape shape(const known::Sizes& sizes) { return known::row_of(sizes.elements / 16); }

bool run(const known::Sizes& sizes, const known::Shape& at) {
  const std::size_t count = sizes.elements / 16;
  const auto word = [](std::size_t i) { return static_cast<int>(i % 1021); };
  const known::Buffer<int> in(count, word), out(count);
  known_shared<<<at.grid, at.block>>>(out.get(), in.get());
  known::finish();
  return known::agrees("known_shared", out, [&](std::size_t i) {
    const std::size_t first = i / known::kBlock * known::kBlock + known::kWarp - 1 - i % known::kWarp;
    int sum = 0;
    for (int row = 0; row < kReads; ++row) sum += word(first + static_cast<std::size_t>(row * known::kWarp));
    return sum;
  });
}

}  // namespace

extern const known::Case shared_case{"known_shared", 0, shape, run};
