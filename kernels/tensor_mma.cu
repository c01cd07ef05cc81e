// Measures: matrix operations of the tensor cores of sm_80 to sm_89 and sm_120, whose own instruction is mma.sync.
// An item is one loop turn of a warp, in mma instructions of m16n8 with 32 bytes of K (16 halves, 8 tf32, 32 bytes).
// A (16 x 32 bytes) and B (64 x 32 bytes) stay in registers; 8 accumulators, each used 4 times a turn,
// hold 4 x iterations x A B^T. Operand rows are contiguous in K. fp8 exists on sm_89 and sm_120.
#include "roof.cuh"

#define TYPE(NAME, SHAPE, KIND, NUMBER, CONSTRAINT)                                                           \
    struct NAME {                                                                                             \
        typedef NUMBER Number;                                                                                \
        static __device__ __forceinline__ void mma(Number* d, const u32* a, const u32* b) {                   \
            asm volatile("mma.sync.aligned." SHAPE ".row.col." KIND                                           \
                         " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                             \
                         : CONSTRAINT(d[0]), CONSTRAINT(d[1]), CONSTRAINT(d[2]), CONSTRAINT(d[3])             \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                 \
        }                                                                                                     \
    };
#define FLOATS "+f"
#define INTEGERS "+r"
TYPE(Fp16, "m16n8k16", "f32.f16.f16.f32", float, FLOATS)
TYPE(Bf16, "m16n8k16", "f32.bf16.bf16.f32", float, FLOATS)
TYPE(Tf32, "m16n8k8", "f32.tf32.tf32.f32", float, FLOATS)
TYPE(Int8, "m16n8k32", "s32.s8.s8.s32", int, INTEGERS)
#if __CUDA_ARCH__ >= 890
TYPE(Fp8, "m16n8k32", "f32.e4m3.e4m3.f32", float, FLOATS)
#endif

template <class T>
static __device__ __forceinline__ void products(const u8* a, const u8* b, u32 iterations, typename T::Number* out,
                                                u64* clocks) {
    u32 lane = threadIdx.x % 32, row = lane / 4, word = lane % 4;
    u32 fragment[4], column[8][2];
    for (int i = 0; i < 4; ++i) fragment[i] = ((const u32*)a)[(row + i % 2 * 8) * 8 + word + i / 2 * 4];
#pragma unroll
    for (int j = 0; j < 8; ++j)
        for (int i = 0; i < 2; ++i) column[j][i] = ((const u32*)b)[(j * 8 + row) * 8 + word + i * 4];
    typename T::Number d[8][4];
#pragma unroll
    for (int j = 0; j < 8; ++j)
        for (int i = 0; i < 4; ++i) d[j][i] = 0;
    watch_start(clocks);
#pragma unroll 1
    for (u32 i = 0; i < iterations; ++i) {
#pragma unroll
        for (int k = 0; k < 32; ++k) T::mma(d[k % 8], fragment, column[k % 8]);
    }
    watch_stop(clocks);
    typename T::Number* mine = out + ((u64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * (16 * 64);
#pragma unroll
    for (int j = 0; j < 8; ++j)
        for (int i = 0; i < 4; ++i) mine[(row + i / 2 * 8) * 64 + j * 8 + word * 2 + i % 2] = d[j][i];
}

#define KERNEL(NAME, T)                                                                                       \
    extern "C" __global__ void __launch_bounds__(256)                                                         \
        mma_##NAME(const u8* a, const u8* b, u32 iterations, T::Number* out, u64* clocks) {                   \
        products<T>(a, b, iterations, out, clocks);                                                           \
    }
KERNEL(fp16, Fp16)
KERNEL(bf16, Bf16)
KERNEL(tf32, Tf32)
KERNEL(int8, Int8)
#if __CUDA_ARCH__ >= 890
KERNEL(fp8, Fp8)
#endif
