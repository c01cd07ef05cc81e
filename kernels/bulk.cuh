// The bulk copy engine of sm_90 and later: barriers, loads, stores, and a ring of stages in shared memory.
#pragma once
#include "roof.cuh"

#define TILE_BYTES 16384
#define TILE_VECTORS (TILE_BYTES / 16)
#define THREADS 128

extern __shared__ __align__(128) u8 stage_memory[];

static __device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

static __device__ __forceinline__ void barrier_init(u64* barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}
static __device__ __forceinline__ void barrier_expect(u64* barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}
static __device__ __forceinline__ void barrier_wait(u64* barrier, u32 phase) {
    u32 done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(shared_address(barrier)), "r"(phase) : "memory");
    } while (!done);
}
static __device__ __forceinline__ void bulk_load(void* to, const void* from, u64* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)), "l"(from), "r"(TILE_BYTES), "r"(shared_address(barrier))
                 : "memory");
}
static __device__ __forceinline__ void bulk_store(void* to, const void* from) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
                 "r"(TILE_BYTES)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int PENDING> static __device__ __forceinline__ void stores_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}
static __device__ __forceinline__ void stores_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
static __device__ __forceinline__ void visible_to_bulk() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#define STAGE(s) ((uint4*)(stage_memory + (s)*TILE_BYTES))

template <int S, int STREAMS> struct Ring {
    u64* full;
    __device__ __forceinline__ Ring() {
        full = (u64*)(stage_memory + S * STREAMS * TILE_BYTES);
        if (threadIdx.x == 0) {
            for (int s = 0; s < S; ++s) barrier_init(full + s);
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            visible_to_bulk();
        }
        __syncthreads();
    }
    __device__ __forceinline__ void load(u32 k, const uint4* b, const uint4* c, u64 at) {
        u32 s = k % S;
        barrier_expect(full + s, STREAMS * TILE_BYTES);
        bulk_load(STAGE(s * STREAMS), b + at, full + s);
        if (STREAMS == 2) bulk_load(STAGE(s * STREAMS + 1), c + at, full + s);
    }
    __device__ __forceinline__ void wait(u32 k) { barrier_wait(full + k % S, (k / S) & 1); }
};
