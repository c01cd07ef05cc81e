// Measures: FP32 operations, and warp instructions that an SM issues.
// An item is one loop turn of a thread: STEPS multiply-adds of each chain.
#include "fma.cuh"

struct Single {
    enum { COUNT = 8 };
    typedef float Value;
    typedef float Out;
    static __device__ __forceinline__ void keep(Value&) {}
    static __device__ __forceinline__ Value start(u32 lane, int chain) { return (float)lane + (float)chain; }
    static __device__ __forceinline__ void step(Value& a, Value m, Value c) { a = __fmaf_rn(a, m, c); }
    static __device__ __forceinline__ Out result(Value a) { return a; }
};
CHAIN_KERNEL(fp32_s16, Single, 16)
CHAIN_KERNEL(fp32_s32, Single, 32)
CHAIN_KERNEL(fp32_s64, Single, 64)
CHAIN_KERNEL(fp32_s96, Single, 96)
