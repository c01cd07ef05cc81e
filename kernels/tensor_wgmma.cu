// Measures: matrix operations of a Hopper SM. wgmma exists on sm_90a only.
// An item is one loop turn of a warpgroup, in wgmma of m64n256 with 32 bytes of K (16 halves, 8 tf32, 32 bytes).
// A (64 x 128 bytes a warpgroup) and B (256 x 128 bytes) are staged in shared memory once: 4 slices of K,
// each used twice a turn, so the accumulators hold 2 x iterations x A B^T. Operand rows are contiguous in K.
// _ss reads A from shared memory, _rs from registers. Several warpgroups share B.
#include "roof.cuh"

#define ROW_BYTES 128
#define A_BYTES (64 * ROW_BYTES)
#define B_BYTES (256 * ROW_BYTES)

extern __shared__ u8 dynamic_memory[];

// 128-byte swizzle: the 16-byte column of a row is exclusive-ored with the row's number modulo 8.
static __device__ __forceinline__ u32 swizzled(u32 byte) { return byte ^ ((byte / ROW_BYTES % 8) * 16); }

static __device__ __forceinline__ void stage(u8* to, const u8* from, u32 bytes) {
    for (u32 at = threadIdx.x * 16; at < bytes; at += blockDim.x * 16)
        *(uint4*)(to + swizzled(at)) = *(const uint4*)(from + at);
}

// Matrix descriptor: address / 16, 8 rows are 1024 bytes apart, 128-byte swizzle.
static __device__ __forceinline__ u64 descriptor(const u8* tile) {
    u64 address = (u32)__cvta_generic_to_shared(tile);
    return ((address & 0x3ffff) >> 4) | (1ull << 16) | ((u64)(1024 >> 4) << 32) | (1ull << 62);
}

#define LIST16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)                                                \
    "%" #a ",%" #b ",%" #c ",%" #d ",%" #e ",%" #f ",%" #g ",%" #h ",%" #i ",%" #j ",%" #k ",%" #l ",%" #m ",%" #n \
    ",%" #o ",%" #p
#define ACCUMULATORS                                                                                          \
    "{" LIST16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) ","                                      \
    LIST16(16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31) ","                                \
    LIST16(32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47) ","                                \
    LIST16(48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63) ","                                \
    LIST16(64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79) ","                                \
    LIST16(80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95) ","                                \
    LIST16(96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111) ","                    \
    LIST16(112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127) "}"
#define BOUND4(C, d, i) C(d[i]), C(d[i + 1]), C(d[i + 2]), C(d[i + 3])
#define BOUND16(C, d, i) BOUND4(C, d, i), BOUND4(C, d, i + 4), BOUND4(C, d, i + 8), BOUND4(C, d, i + 12)
#define BOUND128(C, d)                                                                                        \
    BOUND16(C, d, 0), BOUND16(C, d, 16), BOUND16(C, d, 32), BOUND16(C, d, 48), BOUND16(C, d, 64),             \
        BOUND16(C, d, 80), BOUND16(C, d, 96), BOUND16(C, d, 112)

#define TYPE(NAME, SHAPE, KIND, NUMBER, CONSTRAINT, SCALES_SS, SCALES_RS)                                     \
    struct NAME {                                                                                             \
        typedef NUMBER Number;                                                                                \
        static __device__ __forceinline__ void ss(Number* d, u64 a, u64 b) {                                  \
            asm volatile("wgmma.mma_async.sync.aligned." SHAPE "." KIND " " ACCUMULATORS ", %128, %129, 1" SCALES_SS ";" \
                         : BOUND128(CONSTRAINT, d) : "l"(a), "l"(b));                                         \
        }                                                                                                     \
        static __device__ __forceinline__ void rs(Number* d, const u32* a, u64 b) {                           \
            asm volatile("wgmma.mma_async.sync.aligned." SHAPE "." KIND " " ACCUMULATORS                      \
                         ", {%128,%129,%130,%131}, %132, 1" SCALES_RS ";"                                     \
                         : BOUND128(CONSTRAINT, d) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));     \
        }                                                                                                     \
    };
#define FLOATS "+f"
#define INTEGERS "+r"
TYPE(Fp16, "m64n256k16", "f32.f16.f16", float, FLOATS, ", 1, 1, 0, 0", ", 1, 1, 0")
TYPE(Bf16, "m64n256k16", "f32.bf16.bf16", float, FLOATS, ", 1, 1, 0, 0", ", 1, 1, 0")
TYPE(Tf32, "m64n256k8", "f32.tf32.tf32", float, FLOATS, ", 1, 1", ", 1, 1")
TYPE(Fp8, "m64n256k32", "f32.e4m3.e4m3", float, FLOATS, ", 1, 1", ", 1, 1")
TYPE(Int8, "m64n256k32", "s32.s8.s8", int, INTEGERS, "", "")

static __device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING> static __device__ __forceinline__ void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

template <class T, bool A_IN_REGISTERS>
static __device__ __forceinline__ void products(const u8* a, const u8* b, u32 iterations, typename T::Number* out,
                                                u64* clocks) {
    u8* tiles = dynamic_memory + (1024 - (u32)__cvta_generic_to_shared(dynamic_memory) % 1024) % 1024;
    // The shuffle tells the compiler that all threads of a warp agree, so descriptors stay in uniform registers.
    u32 groups = blockDim.x / 128, group = __shfl_sync(~0u, threadIdx.x / 128, 0), lane = threadIdx.x % 32;
    stage(tiles, b, B_BYTES);
    stage(tiles + B_BYTES, a, groups * A_BYTES);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    u64 b_tile = descriptor(tiles), a_tile = descriptor(tiles + B_BYTES + group * A_BYTES);
    u32 row = group * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4;
    u32 fragment[16];
    if (A_IN_REGISTERS)
        for (int i = 0; i < 16; ++i)  // slice i / 4: rows r and r + 8, words t and t + 4
            fragment[i] = *(const u32*)(a + (row + i % 2 * 8) * ROW_BYTES + i / 4 * 32 + (lane % 4 + i / 2 % 2 * 4) * 4);
    typename T::Number d[128];
#pragma unroll
    for (int i = 0; i < 128; ++i) d[i] = 0;
    watch_start(clocks);
    fence();
#pragma unroll 1
    for (u32 i = 0; i < iterations; ++i) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            // A slice further along K is 32 bytes further inside the swizzled row.
            if (A_IN_REGISTERS)
                T::rs(d, fragment + k % 4 * 4, b_tile + k % 4 * 2);
            else
                T::ss(d, a_tile + k % 4 * 2, b_tile + k % 4 * 2);
        }
        commit();
        wait<1>();
    }
    wait<0>();
    watch_stop(clocks);
    typename T::Number* mine = out + ((u64)blockIdx.x * groups * 64 + row) * 256 + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < 32; ++j) {
        mine[j * 8] = d[j * 4];
        mine[j * 8 + 1] = d[j * 4 + 1];
        mine[8 * 256 + j * 8] = d[j * 4 + 2];
        mine[8 * 256 + j * 8 + 1] = d[j * 4 + 3];
    }
}

// A in registers needs more of them than three warpgroups can have.
#define KERNEL(NAME, T, FORM, IN_REGISTERS, THREADS)                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                  \
        wgmma_##NAME##_##FORM(const u8* a, const u8* b, u32 iterations, T::Number* out, u64* clocks) {        \
        products<T, IN_REGISTERS>(a, b, iterations, out, clocks);                                             \
    }
#define BOTH(NAME, T) KERNEL(NAME, T, ss, false, 384) KERNEL(NAME, T, rs, true, 256)
BOTH(fp16, Fp16)
BOTH(bf16, Bf16)
BOTH(tf32, Tf32)
BOTH(fp8, Fp8)
BOTH(int8, Int8)
