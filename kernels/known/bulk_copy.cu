// Checks: bulk copies by the Tensor Memory Accelerator (TMA) count as sectors of their own, and not as loads or stores.
//
// One thread of each block of 32 has 8 KiB copied to shared memory, waits for it, and has it copied out again.
#include <cstdint>

#include "known.cuh"

namespace {

constexpr int kTileBytes = 8192;

}  // namespace

extern "C" __global__ void __launch_bounds__(known::kWarp) known_bulk_copy(char* out, const char* in, int bytes) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(128) char tile[kTileBytes];
  __shared__ alignas(8) std::uint64_t barrier;
  if (threadIdx.x != 0) return;
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(tile));
  const auto full = static_cast<std::uint32_t>(__cvta_generic_to_shared(&barrier));
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * kTileBytes;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(in + at), "r"(bytes), "r"(full)
               : "memory");
  std::uint32_t done = 0;
  while (!done) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(full)
                 : "memory");
  }
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + at), "r"(to), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

namespace {

constexpr std::size_t kTileWords = kTileBytes / sizeof(int);

known::Shape shape(const known::Sizes& sizes) {
  return {dim3(static_cast<unsigned>(sizes.elements / kTileWords)), dim3(known::kWarp)};
}

bool run(const known::Sizes& sizes, const known::Shape& at) {
  const auto word = [](std::size_t i) { return static_cast<int>(i * 7 + 3); };
  const known::Buffer<int> in(sizes.elements, word), out(sizes.elements);
  known_bulk_copy<<<at.grid, at.block>>>(reinterpret_cast<char*>(out.get()), reinterpret_cast<const char*>(in.get()),
                                         kTileBytes);
  known::finish();
  return known::agrees("known_bulk_copy", out, word);
}

}  // namespace

extern const known::Case bulk_copy_case{"known_bulk_copy", 9, shape, run};
