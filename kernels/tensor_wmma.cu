// Measures: matrix operations of the tensor cores of 7.x. Built where the toolkit still knows the chip.
// An item is one loop turn of a warp, in wmma instructions of m16n16k16.
// A (16 x 16) and B (64 columns x 16, contiguous in K) stay in registers; 4 accumulators, each used 4 times
// a turn, hold 4 x iterations x A B^T. The compiler makes the same number of HMMA or IMMA of each wmma.
#include "roof.cuh"

struct Fp16 {
    typedef float Number;
    typedef u16 Operand;
    static constexpr int REGISTERS = 8;
    static __device__ __forceinline__ void load_a(u32* r, const u16* p) {
        asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], 16;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                     : "l"(p));
    }
    static __device__ __forceinline__ void load_b(u32* r, const u16* p) {
        asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], 16;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                     : "l"(p));
    }
    static __device__ __forceinline__ void mma(float* d, const u32* a, const u32* b) {
        asm volatile(
            "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7},"
            " {%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19,%20,%21,%22,%23}, {%0,%1,%2,%3,%4,%5,%6,%7};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]),
              "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    }
    static __device__ __forceinline__ void store(float* p, const float* d) {
        asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8}, 64;" ::"l"(p),
                     "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]), "f"(d[4]), "f"(d[5]), "f"(d[6]), "f"(d[7])
                     : "memory");
    }
};
#if __CUDA_ARCH__ >= 720
struct Int8 {
    typedef int Number;
    typedef u8 Operand;
    static constexpr int REGISTERS = 2;
    static __device__ __forceinline__ void load_a(u32* r, const u8* p) {
        asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%0,%1}, [%2], 16;"
                     : "=r"(r[0]), "=r"(r[1]) : "l"(p));
    }
    static __device__ __forceinline__ void load_b(u32* r, const u8* p) {
        asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.global.s8 {%0,%1}, [%2], 16;"
                     : "=r"(r[0]), "=r"(r[1]) : "l"(p));
    }
    static __device__ __forceinline__ void mma(int* d, const u32* a, const u32* b) {
        asm volatile(
            "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11},"
            " {%0,%1,%2,%3,%4,%5,%6,%7};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7])
            : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
    }
    static __device__ __forceinline__ void store(int* p, const int* d) {
        asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8}, 64;" ::"l"(p),
                     "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3]), "r"(d[4]), "r"(d[5]), "r"(d[6]), "r"(d[7])
                     : "memory");
    }
};
#endif

template <class T>
static __device__ __forceinline__ void products(const typename T::Operand* a, const typename T::Operand* b,
                                                u32 iterations, typename T::Number* out, u64* clocks) {
    u32 fragment[T::REGISTERS], column[4][T::REGISTERS];
    typename T::Number d[4][8];
    T::load_a(fragment, a);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        T::load_b(column[j], b + j * 16 * 16);
        for (int i = 0; i < 8; ++i) d[j][i] = 0;
    }
    watch_start(clocks);
#pragma unroll 1
    for (u32 i = 0; i < iterations; ++i) {
#pragma unroll
        for (int k = 0; k < 16; ++k) T::mma(d[k % 4], fragment, column[k % 4]);
    }
    watch_stop(clocks);
    typename T::Number* mine = out + ((u64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * (16 * 64);
#pragma unroll
    for (int j = 0; j < 4; ++j) T::store(mine + j * 16, d[j]);
}

#define KERNEL(NAME, T)                                                                                       \
    extern "C" __global__ void __launch_bounds__(256)                                                         \
        wmma_##NAME(const T::Operand* a, const T::Operand* b, u32 iterations, T::Number* out, u64* clocks) {  \
        products<T>(a, b, iterations, out, clocks);                                                           \
    }
KERNEL(fp16, Fp16)
#if __CUDA_ARCH__ >= 720
KERNEL(int8, Int8)
#endif
