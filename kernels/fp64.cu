// Measures: FP64 operations on an SM's ordinary units.
// An item is one loop turn of a thread: STEPS multiply-adds of each chain.
#include "fma.cuh"

struct Double {
    enum { COUNT = 8 };
    typedef double Value;
    typedef double Out;
    static __device__ __forceinline__ void keep(Value&) {}
    static __device__ __forceinline__ Value start(u32 lane, int chain) { return (double)lane + (double)chain; }
    static __device__ __forceinline__ void step(Value& a, Value m, Value c) { a = __fma_rn(a, m, c); }
    static __device__ __forceinline__ Out result(Value a) { return a; }
};
CHAIN_KERNEL(fp64_s16, Double, 16)
CHAIN_KERNEL(fp64_s32, Double, 32)
