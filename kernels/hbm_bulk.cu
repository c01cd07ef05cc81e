// Measures: board memory moved by the bulk copy engine of sm_90 and later, against loads and stores.
// An item is one tile of 16 KiB per array.
// Persistent CTAs of 128 threads, a ring of stages in shared memory, loads several tiles ahead.
// CTA i takes tiles i * first + k * step: (tiles per CTA, 1) is contiguous, (1, CTAs) interleaved.
#include "bulk.cuh"

#define ARGUMENTS                                                                                             \
    uint4 *a, const uint4 *b, const uint4 *c, u32 mul, u32 add, u32 mask, u32 needle, u32 *sum, u32 tiles,    \
        u32 first, u32 step
#define TILE_AT(k) ((u64)(blockIdx.x * first + (k)*step) * TILE_VECTORS)

template <int S> static __device__ __forceinline__ void bulk_read(ARGUMENTS) {
    Ring<S, 1> ring;
    u32 mine = 0;
    if (threadIdx.x == 0)
#pragma unroll 1
        for (u32 k = 0; k < S && k < tiles; ++k) ring.load(k, b, c, TILE_AT(k));
#pragma unroll 1
    for (u32 k = 0; k < tiles; ++k) {
        ring.wait(k);
        const uint4* stage = STAGE(k % S);
#pragma unroll
        for (int v = 0; v < TILE_VECTORS / THREADS; ++v) mine += sum4(stage[v * THREADS + threadIdx.x]);
        __syncthreads();
        if (threadIdx.x == 0 && k + S < tiles) ring.load(k + S, b, c, TILE_AT(k + S));
    }
    consume(mine, mask, needle, sum);
}

template <int S> static __device__ __forceinline__ void bulk_write(ARGUMENTS) {
#pragma unroll 1
    for (u32 k = 0; k < tiles; ++k) {
        if (threadIdx.x == 0) stores_read<S - 1>();
        __syncthreads();
        uint4* stage = STAGE(k % S);
#pragma unroll
        for (int v = 0; v < TILE_VECTORS / THREADS; ++v) {
            u32 at = v * THREADS + threadIdx.x;
            u32 x = pattern((TILE_AT(k) + at) * 4, mul, add);
            stage[at] = make_uint4(x, x + mul, x + 2 * mul, x + 3 * mul);
        }
        visible_to_bulk();
        __syncthreads();
        if (threadIdx.x == 0) bulk_store(a + TILE_AT(k), stage);
    }
    if (threadIdx.x == 0) stores_done();
}

// One thread drives the engine: half of the stages are loading while the other half is being stored.
template <int S> static __device__ __forceinline__ void bulk_copy(ARGUMENTS) {
    Ring<S, 1> ring;
    constexpr int AHEAD = S / 2;
    if (threadIdx.x != 0) return;
#pragma unroll 1
    for (u32 k = 0; k < AHEAD && k < tiles; ++k) ring.load(k, b, c, TILE_AT(k));
#pragma unroll 1
    for (u32 k = 0; k < tiles; ++k) {
        ring.wait(k);
        bulk_store(a + TILE_AT(k), STAGE(k % S));
        stores_read<S - AHEAD>();
        if (k + AHEAD < tiles) ring.load(k + AHEAD, b, c, TILE_AT(k + AHEAD));
    }
    stores_done();
}

template <int S> static __device__ __forceinline__ void bulk_triad(ARGUMENTS) {
    Ring<S, 2> ring;
    constexpr int AHEAD = S / 2;
    if (threadIdx.x == 0)
#pragma unroll 1
    for (u32 k = 0; k < AHEAD && k < tiles; ++k) ring.load(k, b, c, TILE_AT(k));
#pragma unroll 1
    for (u32 k = 0; k < tiles; ++k) {
        ring.wait(k);
        uint4 *x = STAGE(k % S * 2), *y = x + TILE_VECTORS;
#pragma unroll
        for (int v = 0; v < TILE_VECTORS / THREADS; ++v) {
            u32 at = v * THREADS + threadIdx.x;
            uint4 p = x[at], q = y[at];
            x[at] = make_uint4(p.x + mul * q.x, p.y + mul * q.y, p.z + mul * q.z, p.w + mul * q.w);
        }
        visible_to_bulk();
        __syncthreads();
        if (threadIdx.x == 0) {
            bulk_store(a + TILE_AT(k), x);
            stores_read<S - AHEAD>();
            if (k + AHEAD < tiles) ring.load(k + AHEAD, b, c, TILE_AT(k + AHEAD));
        }
    }
    if (threadIdx.x == 0) stores_done();
}

#define KERNEL(OP, S)                                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS) hbm_bulk_##OP##_s##S(ARGUMENTS) {                   \
        bulk_##OP<S>(a, b, c, mul, add, mask, needle, sum, tiles, first, step);                               \
    }
KERNEL(read, 4)
KERNEL(read, 6)
KERNEL(write, 3)
KERNEL(write, 6)
KERNEL(copy, 4)
KERNEL(copy, 6)
KERNEL(copy, 12)
KERNEL(triad, 2)
KERNEL(triad, 3)
KERNEL(triad, 6)
