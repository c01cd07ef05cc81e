// Measures: board memory that is read, written, copied, and read from two arrays while a third is written.
// An item is one access of W bytes per array.
// No loop: a thread moves V vectors, a CTA one contiguous tile of blockDim * V, the grid covers the arrays.
// W is 1, 2, 4, 8 or 16; the policy is plain, cs (evict first), na (L1::no_allocate), or pf, which is na with
// loads that let the L2 fetch 256 bytes at a time (from sm_80 on).
#include "roof.cuh"

#define ACCESS(POLICY, LOAD, STORE)                                                                           \
    static __device__ __forceinline__ void load_##POLICY(uint4& v, const uint4* p) {                          \
        asm volatile("ld.global" LOAD ".v4.u32 {%0,%1,%2,%3}, [%4];"                                          \
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));                                  \
    }                                                                                                         \
    static __device__ __forceinline__ void load_##POLICY(uint2& v, const uint2* p) {                          \
        asm volatile("ld.global" LOAD ".v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));              \
    }                                                                                                         \
    static __device__ __forceinline__ void load_##POLICY(u32& v, const u32* p) {                              \
        asm volatile("ld.global" LOAD ".u32 %0, [%1];" : "=r"(v) : "l"(p));                                   \
    }                                                                                                         \
    static __device__ __forceinline__ void load_##POLICY(u16& v, const u16* p) {                              \
        asm volatile("ld.global" LOAD ".u16 %0, [%1];" : "=h"(v) : "l"(p));                                   \
    }                                                                                                         \
    static __device__ __forceinline__ void load_##POLICY(u8& v, const u8* p) {                                \
        u32 wide;                                                                                             \
        asm volatile("ld.global" LOAD ".u8 %0, [%1];" : "=r"(wide) : "l"(p));                                 \
        v = (u8)wide;                                                                                         \
    }                                                                                                         \
    static __device__ __forceinline__ void store_##POLICY(uint4* p, uint4 v) {                                \
        asm volatile("st.global" STORE ".v4.u32 [%0], {%1,%2,%3,%4};"                                         \
                     ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");                            \
    }                                                                                                         \
    static __device__ __forceinline__ void store_##POLICY(uint2* p, uint2 v) {                                \
        asm volatile("st.global" STORE ".v2.u32 [%0], {%1,%2};" ::"l"(p), "r"(v.x), "r"(v.y) : "memory");     \
    }                                                                                                         \
    static __device__ __forceinline__ void store_##POLICY(u32* p, u32 v) {                                    \
        asm volatile("st.global" STORE ".u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");                         \
    }                                                                                                         \
    static __device__ __forceinline__ void store_##POLICY(u16* p, u16 v) {                                    \
        asm volatile("st.global" STORE ".u16 [%0], %1;" ::"l"(p), "h"(v) : "memory");                         \
    }                                                                                                         \
    static __device__ __forceinline__ void store_##POLICY(u8* p, u8 v) {                                      \
        asm volatile("st.global" STORE ".u8 [%0], %1;" ::"l"(p), "r"((u32)v) : "memory");                     \
    }
ACCESS(plain, "", "")
ACCESS(cs, ".cs", ".cs")
ACCESS(na, ".L1::no_allocate", ".L1::no_allocate")
#if __CUDA_ARCH__ >= 800
ACCESS(pf, ".L1::no_allocate.L2::256B", ".L1::no_allocate")
#endif

static __device__ __forceinline__ u32 total(uint4 v) { return sum4(v); }
static __device__ __forceinline__ u32 total(uint2 v) { return v.x + v.y; }
static __device__ __forceinline__ u32 total(u32 v) { return v; }

// Elements are 4 bytes wide, or as wide as the access when that is narrower; i counts elements.
static __device__ __forceinline__ void make(uint4& v, u64 i, u32 mul, u32 add) {
    v.x = pattern(i * 4, mul, add);
    v.y = v.x + mul;
    v.z = v.y + mul;
    v.w = v.z + mul;
}
static __device__ __forceinline__ void make(uint2& v, u64 i, u32 mul, u32 add) {
    v.x = pattern(i * 2, mul, add);
    v.y = v.x + mul;
}
template <class T> static __device__ __forceinline__ void make(T& v, u64 i, u32 mul, u32 add) {
    v = (T)pattern(i, mul, add);
}
static __device__ __forceinline__ uint4 axpy(uint4 b, uint4 c, u32 s) {
    return make_uint4(b.x + s * c.x, b.y + s * c.y, b.z + s * c.z, b.w + s * c.w);
}
static __device__ __forceinline__ uint2 axpy(uint2 b, uint2 c, u32 s) {
    return make_uint2(b.x + s * c.x, b.y + s * c.y);
}
template <class T> static __device__ __forceinline__ T axpy(T b, T c, u32 s) { return (T)(b + s * c); }

#define EACH _Pragma("unroll") for (int k = 0; k < V; ++k)
#define TILE u64 first = (u64)blockIdx.x * (blockDim.x * V) + threadIdx.x
#define AT(k) (first + (k)*blockDim.x)
#define ARGUMENTS(T) T *a, const T *b, const T *c, u32 mul, u32 add, u32 mask, u32 needle, u32 *sum

#define KERNELS(W, T, N, POLICY)                                                                              \
    extern "C" __global__ void __launch_bounds__(1024) hbm_read_w##W##_v##N##_##POLICY(ARGUMENTS(T)) {        \
        constexpr int V = N;                                                                                  \
        TILE;                                                                                                 \
        T v[V];                                                                                               \
        u32 mine = 0;                                                                                         \
        EACH load_##POLICY(v[k], b + AT(k));                                                                  \
        EACH mine += total(v[k]);                                                                             \
        consume(mine, mask, needle, sum);                                                                     \
    }                                                                                                         \
    extern "C" __global__ void __launch_bounds__(1024) hbm_write_w##W##_v##N##_##POLICY(ARGUMENTS(T)) {       \
        constexpr int V = N;                                                                                  \
        TILE;                                                                                                 \
        T v;                                                                                                  \
        EACH {                                                                                                \
            make(v, AT(k), mul, add);                                                                         \
            store_##POLICY(a + AT(k), v);                                                                     \
        }                                                                                                     \
    }                                                                                                         \
    extern "C" __global__ void __launch_bounds__(1024) hbm_copy_w##W##_v##N##_##POLICY(ARGUMENTS(T)) {        \
        constexpr int V = N;                                                                                  \
        TILE;                                                                                                 \
        T v[V];                                                                                               \
        EACH load_##POLICY(v[k], b + AT(k));                                                                  \
        EACH store_##POLICY(a + AT(k), v[k]);                                                                 \
    }                                                                                                         \
    extern "C" __global__ void __launch_bounds__(1024) hbm_triad_w##W##_v##N##_##POLICY(ARGUMENTS(T)) {       \
        constexpr int V = N;                                                                                  \
        TILE;                                                                                                 \
        T v[V], w[V];                                                                                         \
        EACH {                                                                                                \
            load_##POLICY(v[k], b + AT(k));                                                                   \
            load_##POLICY(w[k], c + AT(k));                                                                   \
        }                                                                                                     \
        EACH store_##POLICY(a + AT(k), axpy(v[k], w[k], mul));                                                \
    }

#define POLICIES(V)             \
    KERNELS(16, uint4, V, plain) \
    KERNELS(16, uint4, V, cs)    \
    KERNELS(16, uint4, V, na)
POLICIES(1)
POLICIES(2)
POLICIES(4)
POLICIES(8)
#if __CUDA_ARCH__ >= 800
KERNELS(16, uint4, 1, pf)
KERNELS(16, uint4, 2, pf)
KERNELS(16, uint4, 4, pf)
KERNELS(16, uint4, 8, pf)
#endif
KERNELS(1, u8, 4, plain)
KERNELS(2, u16, 4, plain)
KERNELS(4, u32, 4, plain)
KERNELS(8, uint2, 4, plain)
