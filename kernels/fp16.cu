// Measures: packed half-precision operations (fp16, bf16) on an SM's ordinary units.
// An item is one loop turn of a thread: STEPS packed multiply-adds of each chain.
// Sixteen chains: with eight, the compiler leaves a quarter of the instructions without operand reuse, each reads three
// registers and takes two issue slots; an H200 gave 105.7 TFLOP/s instead of 132.
// Values are two halves in 32 bits, as bits, so that no header of the toolkit is needed.
// bf16 has packed multiply-adds from sm_80 on; the file builds for sm_75 without them.
#include "fma.cuh"

// What both packed types have in common.
struct Packed {
    enum { COUNT = 16 };
    typedef u32 Value;
    typedef float Out;
    // For older chips the compiler fetches a parameter anew each turn; what was read back from memory stays in a register.
    static __device__ __forceinline__ void keep(Value& v) {
        __shared__ volatile u32 box;
        box = v;
        v = box;
        __syncthreads();
    }
};

struct Half : Packed {
    // The high half starts half a unit above the low one.
    static __device__ __forceinline__ Value start(u32 lane, int chain) {
        u32 bits;
        asm("{ .reg .f32 h; .reg .b16 x, y; add.f32 h, %1, 0f3F000000; cvt.rn.f16.f32 x, %1; cvt.rn.f16.f32 y, h;"
            " mov.b32 %0, {x, y}; }" : "=r"(bits) : "f"((float)lane + (float)chain));
        return bits;
    }
    static __device__ __forceinline__ void step(Value& a, Value m, Value c) {
        asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(a) : "r"(m), "r"(c));
    }
    static __device__ __forceinline__ Out result(Value a) {
        float low, high;
        asm("{ .reg .b16 x, y; mov.b32 {x, y}, %2; cvt.f32.f16 %0, x; cvt.f32.f16 %1, y; }"
            : "=f"(low), "=f"(high) : "r"(a));
        return low + high;
    }
};
CHAIN_KERNEL(fp16_s16, Half, 16)
CHAIN_KERNEL(fp16_s32, Half, 32)
CHAIN_KERNEL(fp16_s48, Half, 48)

#if __CUDA_ARCH__ >= 800
struct Brain : Packed {
    // bf16 is the upper half of an FP32 value; these starts are exact in it.
    static __device__ __forceinline__ Value start(u32 lane, int chain) {
        float low = (float)(lane + chain);
        return (__float_as_uint(low) >> 16) | (__float_as_uint(low + 0.5f) & 0xffff0000u);
    }
    static __device__ __forceinline__ void step(Value& a, Value m, Value c) {
        asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(a) : "r"(m), "r"(c));
    }
    static __device__ __forceinline__ Out result(Value a) {
        return __uint_as_float(a << 16) + __uint_as_float(a & 0xffff0000u);
    }
};
CHAIN_KERNEL(bf16_s16, Brain, 16)
CHAIN_KERNEL(bf16_s32, Brain, 32)
CHAIN_KERNEL(bf16_s48, Brain, 48)
#endif
