// Checks: what a warp costs whose lanes read S words apart, for S = 1, 8 and 32.
//
// Thread i reads b[S * i] (4 bytes) and compares it with what must be there. A store follows only where a value is wrong,
// so a correct run stores nothing. S = 1 shares sectors among 8 lanes; for S = 8 and 32 each lane has its own. For S = 32
// DRAM may read up to twice the sectors, since memory hands out 64 bytes at a time.
#include "known.cuh"

namespace {

__host__ __device__ int word(unsigned j) { return static_cast<int>(j * 2654435761u); }

template <int S>
__device__ void read(int* wrong, const int* b) {
  const unsigned j = (blockIdx.x * blockDim.x + threadIdx.x) * S;
  const int value = b[j];
  if (value != word(j)) wrong[0] = 1;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(known::kBlock) known_strided_1(int* wrong, const int* b) { read<1>(wrong, b); }
extern "C" __global__ void __launch_bounds__(known::kBlock) known_strided_8(int* wrong, const int* b) { read<8>(wrong, b); }
extern "C" __global__ void __launch_bounds__(known::kBlock) known_strided_32(int* wrong, const int* b) { read<32>(wrong, b); }

namespace {

using Kernel = void (*)(int*, const int*);

known::Shape shape(const known::Sizes& sizes) { return known::row_of(sizes.elements / 32); }

template <int S>
bool run(const char* name, Kernel kernel, const known::Sizes& sizes, const known::Shape& at) {
  const known::Buffer<int> b(sizes.elements / 32 * S, [](std::size_t j) { return word(static_cast<unsigned>(j)); });
  const known::Buffer<int> wrong(1);
  kernel<<<at.grid, at.block>>>(wrong.get(), b.get());
  known::finish();
  return known::agrees(name, wrong, [](std::size_t) { return 0; });
}

bool run_1(const known::Sizes& sizes, const known::Shape& at) { return run<1>("known_strided_1", known_strided_1, sizes, at); }
bool run_8(const known::Sizes& sizes, const known::Shape& at) { return run<8>("known_strided_8", known_strided_8, sizes, at); }
bool run_32(const known::Sizes& sizes, const known::Shape& at) { return run<32>("known_strided_32", known_strided_32, sizes, at); }

}  // namespace

extern const known::Case strided_1_case{"known_strided_1", 0, shape, run_1};
extern const known::Case strided_8_case{"known_strided_8", 0, shape, run_8};
extern const known::Case strided_32_case{"known_strided_32", 0, shape, run_32};
