// Checks: what scattered stores cost, and what bank conflicts of 32 ways cost in shared-memory wavefronts.
//
// out = transpose of in, side x side words of 4 bytes, tiles of 32 x 32, blocks of 32 x 8 threads, 4 elements per thread.
//   naive        each lane stores to a sector of its own; partly written lines are filled and evicted in DRAM
//   conflicted   through shared memory; a shared load reads a column of 32 words in one bank
//   padded       rows of 33 words: no bank conflict
#include "known.cuh"

namespace {

constexpr int kTile = 32;
constexpr int kRows = 8;

template <int Padding>
__device__ void through_shared(int* out, const int* in, int side) {
  __shared__ int tile[kTile][kTile + Padding];
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
#pragma unroll
  for (int j = 0; j < kTile; j += kRows)
    tile[threadIdx.y + j][threadIdx.x] = in[static_cast<std::size_t>(y + j) * side + x];
  __syncthreads();
  const int u = blockIdx.y * kTile + threadIdx.x, v = blockIdx.x * kTile + threadIdx.y;
#pragma unroll
  for (int j = 0; j < kTile; j += kRows)
    out[static_cast<std::size_t>(v + j) * side + u] = tile[threadIdx.x][threadIdx.y + j];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(known::kBlock) known_transpose_naive(int* out, const int* in, int side) {
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
#pragma unroll
  for (int j = 0; j < kTile; j += kRows)
    out[static_cast<std::size_t>(x) * side + y + j] = in[static_cast<std::size_t>(y + j) * side + x];
}

extern "C" __global__ void __launch_bounds__(known::kBlock) known_transpose_conflicted(int* out, const int* in, int side) {
  through_shared<0>(out, in, side);
}

extern "C" __global__ void __launch_bounds__(known::kBlock) known_transpose_padded(int* out, const int* in, int side) {
  through_shared<1>(out, in, side);
}

namespace {

using Kernel = void (*)(int*, const int*, int);

known::Shape shape(const known::Sizes& sizes) {
  const unsigned tiles = static_cast<unsigned>(sizes.side / kTile);
  return {dim3(tiles, tiles), dim3(kTile, kRows)};
}

bool run(const char* name, Kernel kernel, const known::Sizes& sizes, const known::Shape& at) {
  const std::size_t side = static_cast<std::size_t>(sizes.side);
  const known::Buffer<int> in(side * side, [](std::size_t i) { return static_cast<int>(i); }), out(side * side);
  kernel<<<at.grid, at.block>>>(out.get(), in.get(), sizes.side);
  known::finish();
  return known::agrees(name, out, [&](std::size_t i) { return static_cast<int>(i % side * side + i / side); });
}

bool run_naive(const known::Sizes& sizes, const known::Shape& at) {
  return run("known_transpose_naive", known_transpose_naive, sizes, at);
}
bool run_conflicted(const known::Sizes& sizes, const known::Shape& at) {
  return run("known_transpose_conflicted", known_transpose_conflicted, sizes, at);
}
bool run_padded(const known::Sizes& sizes, const known::Shape& at) {
  return run("known_transpose_padded", known_transpose_padded, sizes, at);
}

}  // namespace

extern const known::Case transpose_naive_case{"known_transpose_naive", 0, shape, run_naive};
extern const known::Case transpose_conflicted_case{"known_transpose_conflicted", 0, shape, run_conflicted};
extern const known::Case transpose_padded_case{"known_transpose_padded", 0, shape, run_padded};
