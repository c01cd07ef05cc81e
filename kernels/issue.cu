// Measures: warp instructions that an SM issues where one FP32 instruction a clock is not possible.
// An item is one loop turn of a thread: STEPS instructions of each kind for each chain.
// Chips with 16 FP32 lanes a scheduler (V100, T4, A100) start an FFMA every second clock: the clocks
// between are filled with byte permutations on the integer unit, each reading one register.
#include "roof.cuh"

#define CHAINS 8

template <int STEPS>
static __device__ __forceinline__ void mixed(float m, float c, u32 iterations, float* out, u64* clocks, u32 selector) {
    float a[CHAINS];
    u32 b[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; ++k) {
        a[k] = (float)(threadIdx.x % 32) + (float)k;
        b[k] = threadIdx.x + k;
    }
    watch_start(clocks);
#pragma unroll 1
    for (u32 i = 0; i < iterations; ++i) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s) {
#pragma unroll
            for (int k = 0; k < CHAINS; ++k) {
                a[k] = __fmaf_rn(a[k], m, c);
                asm volatile("prmt.b32 %0, %0, %0, %1;" : "+r"(b[k]) : "r"(selector));
            }
        }
    }
    watch_stop(clocks);
    // The identity permutation (selector 0x3210) leaves b as it was: then this adds 0.
    float total = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; ++k) total += a[k] + (float)(b[k] - (threadIdx.x + k));
    out[(u64)blockIdx.x * blockDim.x + threadIdx.x] = total;
}

#define KERNEL(STEPS)                                                                                         \
    extern "C" __global__ void __launch_bounds__(1024)                                                        \
        issue_mix_s##STEPS(float m, float c, u32 iterations, float* out, u64* clocks, u32 selector) {         \
        mixed<STEPS>(m, c, iterations, out, clocks, selector);                                                \
    }
KERNEL(16)
KERNEL(32)
