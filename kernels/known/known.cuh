// What the files of this folder share: checked calls, device buffers, comparison with the host, and how a case
// is declared. The counts that each kernel must show are the table in roofctl/verify/known_kernels.py.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call) known::check((call), #call, __FILE__, __LINE__)

namespace known {

// Iterations of every loop in registers. A kernel argument, so that no compiler can unroll or fold the loop away.
constexpr int kIterations = 1000;
// Inner dimension K of the matrix products, their M and their N.
constexpr int kMatrix = 1024;
constexpr int kWarp = 32;
constexpr int kBlock = 256;

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "known: %s:%d: %s: %s\n", file, line, call, cudaGetErrorString(status));
  std::exit(3);
}

// What the user may choose. All sizes are multiples of what a block handles: no kernel has a bounds check.
struct Sizes {
  std::size_t elements = std::size_t{1} << 26;  // of 4 bytes, in the streaming kernels
  int side = 8192;                              // of the square that is transposed
  int blocks = 1056;                            // of the kernels that compute in registers
};

struct Shape {
  dim3 grid;
  dim3 block;
};

// One kernel: its name, the oldest architecture that has its instructions, its launch, a run that checks itself, and
// whether no later architecture has them.
struct Case {
  const char* kernel;
  int compute_capability_major;
  Shape (*shape)(const Sizes&);
  bool (*run)(const Sizes&, const Shape&);
  bool only_this_major = false;

  bool runs_on(int major) const {
    return only_this_major ? major == compute_capability_major : major >= compute_capability_major;
  }
};

inline Shape row_of(std::size_t threads) { return {dim3(static_cast<unsigned>(threads / kBlock)), dim3(kBlock)}; }

// Device memory that is freed with its owner. The error names both sizes when the device has too little.
template <typename T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) {
    std::size_t free_bytes = 0, total_bytes = 0;
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (count * sizeof(T) > free_bytes) {
      std::fprintf(stderr, "known: needs %zu bytes of device memory, %zu are free; choose smaller --elements or --side\n",
                   count * sizeof(T), free_bytes);
      std::exit(3);
    }
    CHECK(cudaMalloc(&data_, count * sizeof(T)));
    CHECK(cudaMemset(data_, 0, count * sizeof(T)));
  }
  template <typename Value>
  Buffer(std::size_t count, Value value) : Buffer(count) {
    std::vector<T> host(count);
    for (std::size_t i = 0; i < count; ++i) host[i] = value(i);
    CHECK(cudaMemcpy(data_, host.data(), count * sizeof(T), cudaMemcpyHostToDevice));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }

  T* get() const { return data_; }
  std::size_t count() const { return count_; }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    CHECK(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  std::size_t count_ = 0;
  T* data_ = nullptr;
};

inline void finish() {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}

// Whether every element is what the host computed, bit for bit: all values are small integers or a chain of
// correctly rounded FMAs. Prints the first ten that are not.
template <typename T, typename Expected>
bool agrees(const char* kernel, const Buffer<T>& result, Expected expected) {
  const std::vector<T> values = result.download();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T wanted = expected(i);
    if (values[i] == wanted) continue;  // a NaN is never equal
    if (++wrong <= 10) {
      std::fprintf(stderr, "known: %s[%zu] is %.17g, expected %.17g\n", kernel, i, static_cast<double>(values[i]),
                   static_cast<double>(wanted));
    }
  }
  return wrong == 0;
}

}  // namespace known
