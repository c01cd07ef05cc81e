// Measures: FP64 matrix operations of an SM of sm_80 or sm_90.
// An item is one loop turn of a warp, in mma instructions of m16n8k16 (sm_90) or m8n8k4 (sm_80).
// A (M x K) and B (32 columns x K, contiguous in K) stay in registers; 4 accumulators, each used 8 times a
// turn, hold 8 x iterations x A B^T. ptxas may split an instruction evenly.
#include "roof.cuh"

struct Large {
    static constexpr int M = 16, K = 16, A = 8, B = 4, C = 4;
    static __device__ __forceinline__ void mma(double* d, const double* a, const double* b) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11},"
                     " {%12,%13,%14,%15}, {%0,%1,%2,%3};"
                     : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                       "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
    }
};
struct Small {
    static constexpr int M = 8, K = 4, A = 1, B = 1, C = 2;
    static __device__ __forceinline__ void mma(double* d, const double* a, const double* b) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(d[0]), "+d"(d[1]) : "d"(a[0]), "d"(b[0]));
    }
};

template <class T>
static __device__ __forceinline__ void products(const double* a, const double* b, u32 iterations, double* out,
                                                u64* clocks) {
    u32 lane = threadIdx.x % 32, row = lane / 4, word = lane % 4;
    constexpr int HALVES = T::M / 8;  // rows r, and r + 8 where there are 16
    double fragment[T::A], column[4][T::B], d[4][T::C];
#pragma unroll
    for (int i = 0; i < T::A; ++i) fragment[i] = a[(row + i % HALVES * 8) * T::K + word + i / HALVES * 4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        for (int i = 0; i < T::B; ++i) column[j][i] = b[(j * 8 + row) * T::K + word + i * 4];
        for (int i = 0; i < T::C; ++i) d[j][i] = 0;
    }
    watch_start(clocks);
#pragma unroll 1
    for (u32 i = 0; i < iterations; ++i) {
#pragma unroll
        for (int k = 0; k < 32; ++k) T::mma(d[k % 4], fragment, column[k % 4]);
    }
    watch_stop(clocks);
    double* mine = out + ((u64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * (T::M * 32);
#pragma unroll
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < T::C; ++i) mine[(row + i / 2 * 8) * 32 + j * 8 + word * 2 + i % 2] = d[j][i];
}

#define KERNEL(NAME, T)                                                                                       \
    extern "C" __global__ void __launch_bounds__(256)                                                         \
        NAME(const double* a, const double* b, u32 iterations, double* out, u64* clocks) {                    \
        products<T>(a, b, iterations, out, clocks);                                                           \
    }
KERNEL(mma_fp64_m8n8k4, Small)
#if __CUDA_ARCH__ >= 900
KERNEL(mma_fp64_m16n8k16, Large)
#endif
