// Measures: what the L2 slices deliver to the SMs, and where the cache levels end.
// An item is one loop turn of a thread: U loads of 16 bytes.
// Each warp walks a part of the buffer that no other warp touches, round and round, so no two SMs load one
// line and no requests can be merged; l2_read bypasses the L1 (.cg), cache_read does not (.ca). A warp's U loads
// are base + immediate offsets. With a skew, a CTA's walk starts at a turn of its own; it wraps at the end.
// Work is dealt out in tickets of `turns` turns: SMs do not all get the same share of the crossbar, and with
// equal work the fast ones would wait for the slow ones. Without a counter every warp gets as many tickets.
#include "roof.cuh"

#define LOAD(CACHE, v, p, offset)                                                                             \
    asm volatile("ld.global." CACHE ".v4.u32 {%0,%1,%2,%3}, [%4+%5];"                                         \
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p), "n"(offset))

template <bool L1, int N, int K = 0> struct Loads {
    static __device__ __forceinline__ void run(uint4* v, const u8* p) {
        if (L1)
            LOAD("ca", v[K], p, K * 512);
        else
            LOAD("cg", v[K], p, K * 512);
        Loads<L1, N, K + 1>::run(v, p);
    }
};
template <bool L1, int N> struct Loads<L1, N, N> {
    static __device__ __forceinline__ void run(uint4*, const u8*) {}
};

// Where a CTA, its warps and its turns lie: a CTA's warps read side by side, or each its own contiguous part.
#define ARGUMENTS                                                                                             \
    const u8 *buffer, u32 cta_stride, u32 warp_stride, u32 turn_stride, u32 wrap, u32 skew, u32 turns,        \
        u32 tickets, u32 *counter, u32 mask, u32 needle, u32 *sum, u64 *clocks

// The next ticket, in the warp's first lane.
static __device__ __forceinline__ u32 draw(u32* counter) { return threadIdx.x % 32 == 0 ? atomicAdd(counter, 1) : 0; }

template <bool L1, int U> static __device__ __forceinline__ void walk(ARGUMENTS) {
    watch_start(clocks);
    const u8* mine = buffer + (u64)blockIdx.x * cta_stride + (threadIdx.x / 32) * warp_stride + threadIdx.x % 32 * 16;
    u32 at = (blockIdx.x * skew % (wrap / turn_stride)) * turn_stride;
    u32 warps = gridDim.x * (blockDim.x / 32), total = 0;
    u32 ticket = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (counter) ticket = __shfl_sync(~0u, draw(counter), 0);
#pragma unroll 1
    while (ticket < tickets) {
        // Drawn ahead, used when this one is done: nobody waits for it.
        u32 next = counter ? draw(counter) : ticket + warps;
#pragma unroll 1
        for (u32 i = 0; i < turns; ++i) {
            uint4 v[U];
            Loads<L1, U>::run(v, mine + at);
#pragma unroll
            for (int k = 0; k < U; ++k) total += sum4(v[k]);
            at += turn_stride;
            if (at == wrap) at = 0;
        }
        ticket = __shfl_sync(~0u, next, 0);
    }
    // Every warp draws one ticket too many; the very last of those sets the counter back for the next launch.
    if (counter && threadIdx.x % 32 == 0 && ticket == tickets + warps - 1) *counter = 0;
    consume(total, mask, needle, sum);
    watch_stop(clocks);
}

#define KERNEL(NAME, L1, U, THREADS, CTAS)                                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, CTAS) NAME(ARGUMENTS) {                             \
        walk<L1, U>(buffer, cta_stride, warp_stride, turn_stride, wrap, skew, turns, tickets, counter, mask,  \
                    needle, sum, clocks);                                                                     \
    }
KERNEL(l2_read_u2, false, 2, 1024, 2)
KERNEL(l2_read_u4, false, 4, 1024, 1)
KERNEL(l2_read_u8, false, 8, 1024, 1)
KERNEL(l2_read_u16, false, 16, 512, 1)
KERNEL(cache_read_u4, true, 4, 1024, 1)
