// Checks: reads of pinned host memory count as sectors of system memory and not of device memory.
//
// Every thread copies 4 bytes from host memory that is mapped into the device's address space.
#include "known.cuh"

extern "C" __global__ void __launch_bounds__(known::kBlock) known_host_memory(int* out, const int* in) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  out[i] = in[i];
}

namespace {

int word(std::size_t i) { return static_cast<int>(i * 3 + 1); }

known::Shape shape(const known::Sizes& sizes) { return known::row_of(sizes.elements / 16); }

bool run(const known::Sizes& sizes, const known::Shape& at) {
  const std::size_t count = sizes.elements / 16;
  const known::Buffer<int> out(count);
  int *in = nullptr, *mapped = nullptr;
  CHECK(cudaHostAlloc(&in, count * sizeof(int), cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&mapped, in, 0));
  for (std::size_t i = 0; i < count; ++i) in[i] = word(i);
  known_host_memory<<<at.grid, at.block>>>(out.get(), mapped);
  known::finish();
  CHECK(cudaFreeHost(in));
  return known::agrees("known_host_memory", out, word);
}

}  // namespace

extern const known::Case host_memory_case{"known_host_memory", 0, shape, run};
