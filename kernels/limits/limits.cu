// The program `limits`: kernels that are each limited by one thing, so that a verdict can be checked.
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -o limits kernels/limits/limits.cu
//   ./limits [--list] [--only NAME,NAME]
//
// Sizes follow from the GPU: its multiprocessors and its L2. What each kernel must be limited by stands in
// roofctl/verify/known_limits.py. Exit codes: 0 all ran, 2 bad options, 3 CUDA failed.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define CHECK(call) check((call), #call, __LINE__)
#define LIMIT extern "C" __global__ void

namespace {

void check(cudaError_t status, const char* call, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "limits: limits.cu:%d: %s: %s\n", line, call, cudaGetErrorString(status));
  std::exit(3);
}

constexpr int kThreads = 256;

}  // namespace

// Every loop count and operand is an argument, so that nothing is folded; results are stored where they are never
// equal to a value that the compiler cannot rule out.
#define KEEP(value)                      \
  if ((value) == 0x7fffff01) out[0] = (value)

// Issue: four FP32, two integer and logic pairs and one FP16 instruction in turn, so that each pipe has room.
LIMIT limit_issue(int* out, int n, float s, int k) {
  float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
  int e = threadIdx.x, f = e + 1;
  __half2 half = __float2half2_rn(s);
#pragma unroll 8
  for (int i = 0; i < n; ++i) {
    a = a * s + s; b = b * s + s; c = c * s + s; d = d * s + s;
    e = (e ^ f) + k; half = __hfma2(half, half, half);
  }
  KEEP(e + f + __float_as_int(a + b + c + d + __low2float(half)));
}

LIMIT limit_fma(int* out, int n, float s) {
  float v[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) v[j] = threadIdx.x + j;
#pragma unroll 16
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = fmaf(v[j], s, s);
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) sum += v[j];
  KEEP(__float_as_int(sum));
}

LIMIT limit_fp64(int* out, int n, double s) {
  double v[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) v[j] = threadIdx.x + j;
#pragma unroll 8
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = fma(v[j], s, s);
  double sum = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) sum += v[j];
  KEEP(static_cast<int>(sum));
}

LIMIT limit_alu(int* out, int n, int k) {
  int v[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) v[j] = threadIdx.x + j;
#pragma unroll 8
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = max(v[j] ^ k, v[(j + 1) % 8]);
  int sum = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) sum += v[j];
  KEEP(sum);
}

LIMIT limit_xu(int* out, int n, float s) {
  float a = threadIdx.x * s, b = a + s, c = b + s, d = c + s;
#pragma unroll 8
  for (int i = 0; i < n; ++i) {
    a = __sinf(a); b = __sinf(b); c = __sinf(c); d = __sinf(d);
  }
  KEEP(__float_as_int(a + b + c + d));
}

LIMIT limit_tensor(int* out, int n, unsigned bits) {
#if __CUDA_ARCH__ >= 800
  float c[4][4] = {};
  const unsigned a0 = bits + threadIdx.x, a1 = bits, a2 = bits, a3 = bits, b0 = bits, b1 = bits;
#pragma unroll 4
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
          : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
          : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  KEEP(__float_as_int(c[0][0] + c[1][0] + c[2][0] + c[3][0]));
#endif
}

// LSU: shuffles, which are issued to that pipe and move no data.
LIMIT limit_lsu(int* out, int n, int k) {
  int a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
#pragma unroll 8
  for (int i = 0; i < n; ++i) {
    a = __shfl_xor_sync(~0u, a, k); b = __shfl_xor_sync(~0u, b, k);
    c = __shfl_xor_sync(~0u, c, k); d = __shfl_xor_sync(~0u, d, k);
  }
  KEEP(a + b + c + d);
}

// L1: each block reads 16 KiB of its own again and again.
LIMIT limit_l1(int* out, const int4* data, int n) {
  const int4* own = data + static_cast<size_t>(blockIdx.x) * 1024;
  int sum = 0;
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int4 v = __ldca(own + ((j * kThreads + threadIdx.x + i * 32) & 1023));
      sum += v.x ^ v.y ^ v.z ^ v.w;
    }
  KEEP(sum);
}

LIMIT limit_shared(int* out, int n) {
  __shared__ float4 tile[1024];
  for (int i = threadIdx.x; i < 1024; i += kThreads) tile[i] = make_float4(i, i, i, i);
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float4 v = tile[(j * kThreads + threadIdx.x + i * 32) & 1023];
      sum += v.x * v.y + v.z * v.w;
    }
  KEEP(__float_as_int(sum));
}

LIMIT limit_bank_conflicts(int* out, int n) {
  __shared__ int tile[32 * 256];
  for (int i = threadIdx.x; i < 32 * 256; i += kThreads) tile[i] = i;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += tile[(threadIdx.x * 32 + ((i + (threadIdx.x >> 5)) & 31)) & 8191];
  KEEP(sum);
}

LIMIT limit_shared_atomics(int* out, int n, unsigned k) {
  __shared__ int bins[1024];
  for (int i = threadIdx.x; i < 1024; i += kThreads) bins[i] = 0;
  __syncthreads();
  unsigned x = threadIdx.x * 2654435761u;
  for (int i = 0; i < n; ++i) {
    x = x * 1664525u + k;
    atomicAdd(&bins[(x >> 22) & 1023], 1);
  }
  __syncthreads();
  KEEP(bins[threadIdx.x]);
}

// L2: all blocks read the same half of L2, past L1.
LIMIT limit_l2(int* out, const int4* data, size_t count, int n) {
  const size_t threads = static_cast<size_t>(gridDim.x) * kThreads;
  int sum = 0;
  for (int i = 0; i < n; ++i)
    for (size_t at = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x; at + 3 * threads < count; at += 4 * threads) {
      const int4 a = __ldcg(data + at), b = __ldcg(data + at + threads), c = __ldcg(data + at + 2 * threads),
                 d = __ldcg(data + at + 3 * threads);
      sum += a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w ^ c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
    }
  KEEP(sum);
}

LIMIT limit_hbm(int4* to, const int4* from, size_t count) {
  const size_t threads = static_cast<size_t>(gridDim.x) * kThreads;
  for (size_t at = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x; at < count; at += threads) to[at] = from[at];
}

LIMIT limit_host_memory(int* out, const int4* host, size_t count) {
  const size_t threads = static_cast<size_t>(gridDim.x) * kThreads;
  int sum = 0;
  for (size_t at = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x; at < count; at += threads) {
    const int4 v = host[at];
    sum += v.x ^ v.y ^ v.z ^ v.w;
  }
  KEEP(sum);
}

// Latency by occupancy: one small block per multiprocessor, because of its shared memory.
LIMIT limit_latency_occupancy(int* out, const int* data, size_t count, int n) {
  extern __shared__ int big[];
  big[threadIdx.x] = threadIdx.x;
  __syncthreads();
  size_t at = (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * 32;
  int sum = big[threadIdx.x ^ 1];
  for (int i = 0; i < n; ++i) {
    sum += __ldcg(data + at % count);
    at += static_cast<size_t>(gridDim.x) * blockDim.x * 32 + (sum & 1);
  }
  KEEP(sum);
}

// Latency by dependence: each load needs the value of the one before; one warp per scheduler.
LIMIT limit_latency_dependence(int* out, const int* next, int n) {
  int at = (blockIdx.x * blockDim.x + threadIdx.x) * 32;
  for (int i = 0; i < n; ++i) at = __ldcg(next + at);
  KEEP(at);
}

// Barrier: one warp of eight works, the others wait for it.
LIMIT limit_barrier(int* out, int n, float s) {
  float a = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x / 32 == static_cast<unsigned>(i) % 8)
#pragma unroll 1
      for (int j = 0; j < 32; ++j) a = fmaf(a, s, s);
    __syncthreads();
  }
  KEEP(__float_as_int(a));
}

// Grid and tail: dependent work, in a quarter as many blocks as multiprocessors, and in just above one wave.
LIMIT limit_grid(int* out, int n, float s) {
  float a = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < n; ++i) a = fmaf(a, s, s);
  KEEP(__float_as_int(a));
}

LIMIT limit_tail(int* out, int n, float s) {
  extern __shared__ int big[];
  big[threadIdx.x] = threadIdx.x;
  float a = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < n; ++i) a = fmaf(a, s, s);
  KEEP(__float_as_int(a) + big[threadIdx.x ^ 1]);
}

LIMIT limit_launch(int* out) {
  if (threadIdx.x == 12345) out[0] = 1;
}

LIMIT limit_one_address_atomics(int* out, int n) {
  // Of floats, which no compiler adds up within the warp first.
  for (int i = 0; i < n; ++i) atomicAdd(reinterpret_cast<float*>(out) + 1, static_cast<float>(i + threadIdx.x));
}

// Divergence: one lane of 32 works; issue is full, and 31 lanes of each instruction do nothing.
LIMIT limit_divergence(int* out, int n, float s, int k) {
  float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
  int e = threadIdx.x, f = e + 1;
  __half2 half = __float2half2_rn(s);
  if (threadIdx.x % 32 == 0) {
#pragma unroll 8
    for (int i = 0; i < n; ++i) {
      a = a * s + s; b = b * s + s; c = c * s + s; d = d * s + s;
      e = (e ^ f) + k; half = __hfma2(half, half, half);
    }
  }
  KEEP(e + f + __float_as_int(a + b + c + d + __low2float(half)));
}

LIMIT limit_texture(int* out, cudaTextureObject_t texture, int n) {
  float sum = 0;
  const float x = threadIdx.x % 16, y = threadIdx.x / 16;
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) sum += tex2D<float>(texture, x + j, y + (i & 7));
  KEEP(__float_as_int(sum));
}

namespace {

struct Kernel {
  const char* name;
  std::function<void()> run;
};

template <typename T>
T* device(size_t count) {
  T* data = nullptr;
  CHECK(cudaMalloc(&data, count * sizeof(T)));
  CHECK(cudaMemset(data, 0, count * sizeof(T)));
  return data;
}

cudaTextureObject_t small_texture() {
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&array, &format, 64, 64));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how = {};
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

}  // namespace

int main(int argc, char** argv) {
  std::string only;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--list")) list = true;
    else if (!std::strcmp(argv[i], "--only") && i + 1 < argc) only = std::string(",") + argv[++i] + ",";
    else {
      std::fprintf(stderr, "limits: unknown option %s\nusage: limits [--list] [--only NAME,NAME]\n", argv[i]);
      return 2;
    }
  }
  cudaDeviceProp gpu = {};
  int* out = nullptr;
  int sms = 1;
  if (!list) {
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    sms = gpu.multiProcessorCount;
    out = device<int>(1024);
  }
  const int full = sms * 8;  // eight blocks of 256 threads fill a multiprocessor
  const float s = 0.9990234375f;
  const size_t half_l2 = gpu.l2CacheSize / 4 / sizeof(int4);
  const size_t large = size_t{1} << 26;
  const int big_block = static_cast<int>(gpu.sharedMemPerBlockOptin);
  const std::vector<Kernel> kernels = {
      {"limit_issue", [&] { limit_issue<<<full, kThreads>>>(out, 8000, s, 3); }},
      {"limit_fma", [&] { limit_fma<<<full, kThreads>>>(out, 8000, s); }},
      {"limit_fp64", [&] { limit_fp64<<<full, kThreads>>>(out, 4000, s); }},
      {"limit_alu", [&] { limit_alu<<<full, kThreads>>>(out, 4000, 3); }},
      {"limit_xu", [&] { limit_xu<<<full, kThreads>>>(out, 2000, s); }},
      {"limit_tensor", [&] { limit_tensor<<<full, kThreads>>>(out, 4000, 0x3c003c00u); }},
      {"limit_lsu", [&] { limit_lsu<<<full, kThreads>>>(out, 4000, 1); }},
      {"limit_l1", [&] { limit_l1<<<full, kThreads>>>(out, device<int4>(size_t{1024} * full), 500); }},
      {"limit_shared", [&] { limit_shared<<<full, kThreads>>>(out, 1000); }},
      {"limit_bank_conflicts", [&] { limit_bank_conflicts<<<full, kThreads>>>(out, 500); }},
      {"limit_shared_atomics", [&] { limit_shared_atomics<<<full, kThreads>>>(out, 1000, 1013904223u); }},
      {"limit_l2", [&] { limit_l2<<<full, kThreads>>>(out, device<int4>(half_l2), half_l2, 200); }},
      {"limit_hbm", [&] { limit_hbm<<<sms * 32, kThreads>>>(device<int4>(large), device<int4>(large), large); }},
      {"limit_host_memory",
       [&] {
         int4* host = nullptr;
         const size_t count = size_t{1} << 22;
         CHECK(cudaHostAlloc(&host, count * sizeof(int4), cudaHostAllocMapped));
         std::memset(host, 0, count * sizeof(int4));
         limit_host_memory<<<full, kThreads>>>(out, host, count);
       }},
      {"limit_latency_occupancy",
       [&] {
         CHECK(cudaFuncSetAttribute(limit_latency_occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize, big_block));
         limit_latency_occupancy<<<sms * 8, 64, big_block>>>(out, device<int>(large), large, 500);
       }},
      {"limit_latency_dependence",
       [&] { limit_latency_dependence<<<sms, 128>>>(out, device<int>(size_t{32} * 128 * sms), 2000); }},
      {"limit_barrier", [&] { limit_barrier<<<full, kThreads>>>(out, 2000, s); }},
      {"limit_grid", [&] { limit_grid<<<sms / 4, kThreads>>>(out, 100000, s); }},
      {"limit_tail",
       [&] {
         CHECK(cudaFuncSetAttribute(limit_tail, cudaFuncAttributeMaxDynamicSharedMemorySize, big_block));
         limit_tail<<<sms + sms / 16, kThreads, big_block>>>(out, 100000, s);
       }},
      {"limit_launch",
       [&] {
         for (int i = 0; i < 20; ++i) limit_launch<<<1, 32>>>(out);
       }},
      {"limit_one_address_atomics", [&] { limit_one_address_atomics<<<full, kThreads>>>(out, 20); }},
      {"limit_divergence", [&] { limit_divergence<<<full, kThreads>>>(out, 8000, s, 3); }},
      {"limit_texture", [&] { limit_texture<<<full, kThreads>>>(out, small_texture(), 1000); }},
  };
  for (const Kernel& kernel : kernels) {
    if (!only.empty() && only.find(std::string(",") + kernel.name + ",") == std::string::npos) continue;
    if (list) {
      std::printf("%s\n", kernel.name);
      continue;
    }
    kernel.run();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
  return 0;
}
