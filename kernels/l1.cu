// Measures: global loads that hit in the L1.
// An item is one loop turn of a thread: R loads of W bytes.
// A warp reads 4 chunks of 32 W bytes of its own over and over; a CTA's chunks fit in a quarter of the L1.
// ld.relaxed.cta is what ptxas keeps: plain and .ca loads of unchanging addresses leave the loop.
#include "roof.cuh"

static __device__ __forceinline__ u32 load(const u8* p, int offset, uint4) {
    uint4 v;
    asm volatile("ld.relaxed.cta.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p + offset));
    return sum4(v);
}
static __device__ __forceinline__ u32 load(const u8* p, int offset, uint2) {
    uint2 v;
    asm volatile("ld.relaxed.cta.global.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p + offset));
    return v.x + v.y;
}
static __device__ __forceinline__ u32 load(const u8* p, int offset, u32) {
    u32 v;
    asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(v) : "l"(p + offset));
    return v;
}

template <class T, int LOADS>
static __device__ __forceinline__ void walk(const u8* buffer, u32 iterations, u32 mask, u32 needle, u32* sum,
                                            u64* clocks) {
    constexpr int CHUNK = 32 * sizeof(T);
    const u8* mine = buffer + ((u64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * (4 * CHUNK)
                     + (threadIdx.x % 32) * sizeof(T);
    u32 total = 0;
    watch_start(clocks);
#pragma unroll 1
    for (u32 i = 0; i < iterations; ++i) {
#pragma unroll
        for (int k = 0; k < LOADS; ++k) total += load(mine, k % 4 * CHUNK, T());
    }
    watch_stop(clocks);
    consume(total, mask, needle, sum);
}

#define KERNEL(W, T, LOADS)                                                                                   \
    extern "C" __global__ void __launch_bounds__(1024, 1) l1_read_w##W##_r##LOADS(                            \
        const u8* buffer, u32 iterations, u32 mask, u32 needle, u32* sum, u64* clocks) {                      \
        walk<T, LOADS>(buffer, iterations, mask, needle, sum, clocks);                                        \
    }
KERNEL(4, u32, 32)
KERNEL(8, uint2, 32)
KERNEL(16, uint4, 16)
KERNEL(16, uint4, 32)
