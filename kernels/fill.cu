// Measures: nothing. Fills arrays with a pattern and counts elements that differ from it.
// An item is one element. Grid-stride; every element of the array is covered, also when the grid does not divide it.
#include "roof.cuh"

#define FILL_AND_CHECK(NAME, TYPE)                                                                            \
    extern "C" __global__ void fill_##NAME(TYPE* array, u64 elements, u32 mul, u32 add) {                     \
        u64 step = (u64)gridDim.x * blockDim.x;                                                               \
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += step)                     \
            array[i] = (TYPE)pattern(i, mul, add);                                                            \
    }                                                                                                         \
    extern "C" __global__ void check_##NAME(const TYPE* array, u64 elements, u32 mul, u32 add, u64* wrong) {  \
        u64 step = (u64)gridDim.x * blockDim.x;                                                               \
        u64 bad = 0;                                                                                          \
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += step)                     \
            bad += array[i] != (TYPE)pattern(i, mul, add);                                                    \
        if (bad) atomicAdd(wrong, bad);                                                                       \
    }

FILL_AND_CHECK(e1, u8)
FILL_AND_CHECK(e2, u16)
FILL_AND_CHECK(e4, u32)
