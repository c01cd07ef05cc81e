// What the microbenchmarks share: short type names, a stop watch, and the pattern that memory is filled with.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// Element i of a filled array is mul * i + add in the element's own width: every sum has a closed form.
static __device__ __forceinline__ u32 pattern(u64 i, u32 mul, u32 add) { return mul * (u32)i + add; }

// One thread of the grid writes SM cycles and nanoseconds: their quotient is the clock the kernel ran at.
static __device__ __forceinline__ u64 nanoseconds() {
    u64 ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}
// Both counters of one moment. Where other warps keep the scheduler busy, a warp can be held up between two
// instructions for long: of a few readings the one that took the least time counts.
static __device__ __forceinline__ void now(u64& cycles, u64& ns) {
    u64 least = ~0ull;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        u64 before, timer, after;
        asm volatile("mov.u64 %0, %%clock64; mov.u64 %1, %%globaltimer; mov.u64 %2, %%clock64;"
                     : "=l"(before), "=l"(timer), "=l"(after)::"memory");
        if (after - before < least) {
            least = after - before;
            cycles = before;
            ns = timer;
        }
    }
}
// The start is kept in memory so that no register is held through the loop.
static __device__ __forceinline__ void watch_start(u64* clocks) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        u64 cycles = 0, ns = 0;
        now(cycles, ns);
        clocks[0] = cycles;
        clocks[1] = ns;
    }
}
static __device__ __forceinline__ void watch_stop(u64* clocks) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        u64 cycles = 0, ns = 0;
        now(cycles, ns);
        clocks[0] = cycles - clocks[0];
        clocks[1] = ns - clocks[1];
    }
}

// Loads are consumed by a sum. mask 0 and needle 0 add every thread's sum to *total (the verify launch);
// mask ~0 and a needle write next to nothing (the timed launch). One kernel serves both, so what is
// verified is what is timed.
static __device__ __forceinline__ void consume(u32 sum, u32 mask, u32 needle, u32* total) {
    if ((sum & mask) == needle) atomicAdd(total, sum);
}
static __device__ __forceinline__ u32 sum4(uint4 v) { return v.x + v.y + v.z + v.w; }
