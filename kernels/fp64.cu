// Question: how many FP64 operations does an SM do on its ordinary units?
// Item: one loop turn of a thread: 8 chains x STEPS multiply-adds. bytes per item: 0. operations per item: 16 STEPS.
// Expected opcodes per turn: 8 STEPS DFMA and about 3 more for the loop, no memory access.
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
