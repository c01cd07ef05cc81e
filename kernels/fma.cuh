// Chains of multiply-adds, a = a * m + c: F::COUNT independent chains a thread, STEPS of each per loop turn.
// Multiplier and addend are the same for all threads, so an instruction reads at most two registers.
// Each thread writes the sum of its chains, which follows from the recurrence.
#pragma once
#include "roof.cuh"

template <class F, int STEPS>
static __device__ __forceinline__ void chains(typename F::Value m, typename F::Value c, u32 iterations,
                                              typename F::Out* out, u64* clocks) {
    typename F::Value a[F::COUNT];
    F::keep(m);
    F::keep(c);
#pragma unroll
    for (int k = 0; k < F::COUNT; ++k) a[k] = F::start(threadIdx.x % 32, k);
    watch_start(clocks);
#pragma unroll 1
    for (u32 i = 0; i < iterations; ++i) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s) {
#pragma unroll
            for (int k = 0; k < F::COUNT; ++k) F::step(a[k], m, c);
        }
    }
    watch_stop(clocks);
    typename F::Out total = 0;
#pragma unroll
    for (int k = 0; k < F::COUNT; ++k) total += F::result(a[k]);
    out[(u64)blockIdx.x * blockDim.x + threadIdx.x] = total;
}

#define CHAIN_KERNEL(NAME, F, STEPS)                                                                          \
    extern "C" __global__ void __launch_bounds__(1024) NAME(F::Value m, F::Value c, u32 iterations, F::Out* out, \
                                                            u64* clocks) {                                    \
        chains<F, STEPS>(m, c, iterations, out, clocks);                                                      \
    }
