// Measures: shared memory that is read, written and copied.
// An item is one loop turn of a thread: R accesses of W bytes, half of them loads in a copy.
// A warp's lanes touch neighbouring words, so there are no bank conflicts and no lanes share an address.
// Volatile accesses stay in the loop; plain loads of the same address would be merged.
#include "roof.cuh"

#define WORDS 8192  // 32 KiB: 256 words for each of 32 warps

static __device__ __forceinline__ u32 load(u32 address, uint4) {
    uint4 v;
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address));
    return sum4(v);
}
static __device__ __forceinline__ u32 load(u32 address, uint2) {
    uint2 v;
    asm volatile("ld.volatile.shared.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(address));
    return v.x + v.y;
}
static __device__ __forceinline__ u32 load(u32 address, u32) {
    u32 v;
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v) : "r"(address));
    return v;
}
static __device__ __forceinline__ void store(u32 address, uint4 v) {
    asm volatile("st.volatile.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w) : "memory");
}

struct Start {
    u32 address;  // of this lane's first access of width W in its warp's kibibyte
    __device__ __forceinline__ Start(u32* memory, u32 mul, u32 add, int width) {
        for (u32 i = threadIdx.x; i < WORDS; i += blockDim.x) memory[i] = pattern(i, mul, add);
        __syncthreads();
        address = (u32)__cvta_generic_to_shared(memory) + threadIdx.x / 32 * 1024 + threadIdx.x % 32 * width;
    }
};

#define ARGUMENTS u32 iterations, u32 mul, u32 add, u32 mask, u32 needle, u32 *sum, u64 *clocks

template <class T, int LOADS> static __device__ __forceinline__ void read(ARGUMENTS) {
    __shared__ __align__(128) u32 memory[WORDS];
    Start start(memory, mul, add, sizeof(T));
    u32 total = 0;
    watch_start(clocks);
#pragma unroll 1
    for (u32 i = 0; i < iterations; ++i) {
#pragma unroll
        for (int k = 0; k < LOADS; ++k) total += load(start.address + k % (32 / sizeof(T)) * 32 * sizeof(T), T());
    }
    watch_stop(clocks);
    consume(total, mask, needle, sum);
}

#define READ(W, T, LOADS)                                                                                     \
    extern "C" __global__ void __launch_bounds__(1024, 1) shared_read_w##W##_r##LOADS(ARGUMENTS) {            \
        read<T, LOADS>(iterations, mul, add, mask, needle, sum, clocks);                                      \
    }
READ(4, u32, 32)
READ(8, uint2, 32)
READ(16, uint4, 16)
READ(16, uint4, 32)

// Writes the pattern, so that a sum over the memory afterwards shows whether it all arrived.
extern "C" __global__ void __launch_bounds__(1024, 1) shared_write_w16_r32(ARGUMENTS) {
    __shared__ __align__(128) u32 memory[WORDS];
    Start start(memory, 0, 0, 16);
    uint4 value[2];
    for (int k = 0; k < 2; ++k) {
        u32 word = threadIdx.x / 32 * 256 + k * 128 + threadIdx.x % 32 * 4, x = pattern(word, mul, add);
        value[k] = make_uint4(x, x + mul, x + 2 * mul, x + 3 * mul);
    }
    watch_start(clocks);
#pragma unroll 1
    for (u32 i = 0; i < iterations; ++i) {
#pragma unroll
        for (int k = 0; k < 32; ++k) store(start.address + k % 2 * 512, value[k % 2]);
    }
    watch_stop(clocks);
    consume(load(start.address, uint4()) + load(start.address + 512, uint4()), mask, needle, sum);
}

// The second half of each warp's kibibyte becomes the first.
extern "C" __global__ void __launch_bounds__(1024, 1) shared_copy_w16_r16(ARGUMENTS) {
    __shared__ __align__(128) u32 memory[WORDS];
    Start start(memory, mul, add, 16);
    watch_start(clocks);
#pragma unroll 1
    for (u32 i = 0; i < iterations; ++i) {
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            uint4 v;
            asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(start.address + 512));
            store(start.address, v);
        }
    }
    watch_stop(clocks);
    consume(load(start.address, uint4()) + load(start.address + 512, uint4()), mask, needle, sum);
}
