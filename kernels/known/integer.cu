// Checks: integer instructions are counted.
//
// Each thread runs 4 independent chains for k iterations, each iteration two rounds of an exclusive or, an addition,
// a rotation and a multiply-add: 32 integer instructions, and what the loop itself needs. It stores the chains' ends as
// one 16-byte vector; the stores may stay in L2.
#include "known.cuh"

namespace {

constexpr int kChains = 4, kRounds = 2, kRotation = 7;
constexpr unsigned kAdd = 0x9e3779b9u, kFlip = 0x5bd1e995u, kFactor = 1664525u, kOffset = 1013904223u;

}  // namespace

extern "C" __global__ void __launch_bounds__(known::kBlock)
    known_integer(uint4* out, unsigned add, unsigned flip, unsigned factor, unsigned offset, int iterations) {
  const unsigned lane = threadIdx.x % known::kWarp;
  unsigned v[kChains] = {lane, lane + 32, lane + 64, lane + 96};
  int left = iterations;
#pragma unroll 1
  do {
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) {
        const unsigned sum = (v[chain] ^ flip) + add;
        v[chain] = __funnelshift_l(sum, sum, kRotation) * factor + offset;
      }
    }
  } while (--left > 0);
  out[blockIdx.x * blockDim.x + threadIdx.x] = make_uint4(v[0], v[1], v[2], v[3]);
}

namespace {

known::Shape shape(const known::Sizes& sizes) { return {dim3(sizes.blocks), dim3(known::kBlock)}; }

bool run(const known::Sizes&, const known::Shape& at) {
  const known::Buffer<unsigned> out(static_cast<std::size_t>(at.grid.x) * at.block.x * kChains);
  known_integer<<<at.grid, at.block>>>(reinterpret_cast<uint4*>(out.get()), kAdd, kFlip, kFactor, kOffset,
                                       known::kIterations);
  known::finish();
  std::vector<unsigned> ends(known::kWarp * kChains);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    unsigned v = static_cast<unsigned>(i / kChains + 32 * (i % kChains));
    for (int step = 0; step < kRounds * known::kIterations; ++step) {
      v = (v ^ kFlip) + kAdd;
      v = (v << kRotation | v >> (32 - kRotation)) * kFactor + kOffset;
    }
    ends[i] = v;
  }
  return known::agrees("known_integer", out, [&](std::size_t i) { return ends[i % ends.size()]; });
}

}  // namespace

extern const known::Case integer_case{"known_integer", 0, shape, run};
