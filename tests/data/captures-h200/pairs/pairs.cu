// Pairs of kernels: as written first, and after the advice. Prints the median time of 20 launches of each.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void histogram_global(const int *in, int *bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i] & 15], 1);
}
__global__ void histogram_shared(const int *in, int *bins, int n) {
    __shared__ int own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[in[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
__global__ void histogram_per_warp(const int *in, int *bins, int n) {
    __shared__ int own[8][32 * 17];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = lane; i < 32 * 17; i += 32) own[warp][i] = 0;
    __syncwarp();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own[warp][lane * 17 + (in[i] & 15)]++;
    __syncwarp();
    if (lane < 16) { int sum = 0; for (int k = 0; k < 32; k++) sum += own[warp][k * 17 + lane]; atomicAdd(&bins[lane], sum); }
}
__global__ void gemm_naive(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}
__global__ void gemm_registers(const float *a, const float *b, float *c, int n) {
    const int T = 8;
    __shared__ float as[16][128], bs[16][128];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float acc[T][T] = {};
    for (int k0 = 0; k0 < n; k0 += 16) {
        for (int i = threadIdx.x; i < 2048; i += 256) {
            as[i % 16][i / 16] = a[(blockIdx.y * 128 + i / 16) * n + k0 + i % 16];
            bs[i / 128][i % 128] = b[(k0 + i / 128) * n + blockIdx.x * 128 + i % 128];
        }
        __syncthreads();
        for (int k = 0; k < 16; k++) {
            float x[T], y[T];
            for (int i = 0; i < T; i++) x[i] = as[k][ty * T + i];
            for (int j = 0; j < T; j++) y[j] = bs[k][tx + 16 * j];
            for (int i = 0; i < T; i++) for (int j = 0; j < T; j++) acc[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < T; i++) for (int j = 0; j < T; j++) c[(blockIdx.y * 128 + ty * T + i) * n + blockIdx.x * 128 + tx + 16 * j] = acc[i][j];
}
__global__ void scale_float(const float *in, float *out, long n) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.f * in[i];
}
__global__ void scale_float4(const float4 *in, float4 *out, long n) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float4 v = in[i]; v.x *= 2; v.y *= 2; v.z *= 2; v.w *= 2; out[i] = v; }
}
__global__ void transpose_naive(const float *in, float *out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[x * n + y + j] = in[(y + j) * n + x];
}
__global__ void transpose_tile(const float *in, float *out, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void transpose_padded(const float *in, float *out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
template <class F> void timed(const char *name, int times, F launch) {
    std::vector<float> ms;
    cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
    for (int i = 0; i < times; i++) { cudaEventRecord(a); launch(); cudaEventRecord(b); CHECK(cudaEventSynchronize(b)); float t; cudaEventElapsedTime(&t, a, b); ms.push_back(t); }
    std::sort(ms.begin(), ms.end());
    printf("%-20s %10.1f us (%.1f to %.1f)\n", name, 1e3 * ms[ms.size() / 2], 1e3 * ms[0], 1e3 * ms.back());
}
int main(int argc, char **argv) {
    int times = argc > 1 ? atoi(argv[1]) : 20;
    long n = 1 << 26; int m = 2048, t = 8192;
    int *in, *bins; float *a, *b, *c, *x, *y;
    CHECK(cudaMalloc(&in, n * 4)); CHECK(cudaMalloc(&bins, 64));
    CHECK(cudaMalloc(&a, 4l * m * m)); CHECK(cudaMalloc(&b, 4l * m * m)); CHECK(cudaMalloc(&c, 4l * m * m));
    CHECK(cudaMalloc(&x, 4 * n)); CHECK(cudaMalloc(&y, 4 * n));
    std::vector<int> h(n); unsigned s = 1; for (auto &v : h) { s = s * 1664525 + 1013904223; v = s >> 16; }
    CHECK(cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(a, 0, 4l * m * m)); CHECK(cudaMemset(b, 0, 4l * m * m)); CHECK(cudaMemset(x, 0, 4 * n));
    timed("histogram_global", times, [&] { histogram_global<<<1056, 256>>>(in, bins, n); });
    timed("histogram_shared", times, [&] { histogram_shared<<<1056, 256>>>(in, bins, n); });
    timed("histogram_per_warp", times, [&] { histogram_per_warp<<<1056, 256>>>(in, bins, n); });
    timed("gemm_naive", times, [&] { gemm_naive<<<dim3(m / 32, m / 8), dim3(32, 8)>>>(a, b, c, m); });
    timed("gemm_registers", times, [&] { gemm_registers<<<dim3(m / 128, m / 128), 256>>>(a, b, c, m); });
    timed("scale_float", times, [&] { scale_float<<<n / 256, 256>>>(x, y, n); });
    timed("scale_float4", times, [&] { scale_float4<<<n / 1024, 256>>>((float4 *)x, (float4 *)y, n / 4); });
    dim3 g(t / 32, t / 32), k(32, 8);
    timed("transpose_naive", times, [&] { transpose_naive<<<g, k>>>(x, y, t); });
    timed("transpose_tile", times, [&] { transpose_tile<<<g, k>>>(x, y, t); });
    timed("transpose_padded", times, [&] { transpose_padded<<<g, k>>>(x, y, t); });
    CHECK(cudaDeviceSynchronize());
}
