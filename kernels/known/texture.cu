// Checks: texture fetches count their sectors in the texture unit and none in the load/store unit.
//
// Every thread fetches one texel of 8 bytes and stores it. The texture unit takes 4 lanes at a time, whose texels fill
// one sector.
#include "known.cuh"

extern "C" __global__ void __launch_bounds__(known::kBlock) known_texture(int2* out, cudaTextureObject_t in) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = tex1Dfetch<int2>(in, static_cast<int>(i));
}

namespace {

// At most 2^27 texels fit into a texture of linear memory; --elements goes to 2^30.
known::Shape shape(const known::Sizes& sizes) { return known::row_of(sizes.elements / 16); }

cudaTextureObject_t texture_of(const known::Buffer<int>& words) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = words.get();
  resource.res.linear.desc = cudaCreateChannelDesc<int2>();
  resource.res.linear.sizeInBytes = words.count() * sizeof(int);
  cudaTextureDesc how{};
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

bool run(const known::Sizes& sizes, const known::Shape& at) {
  const std::size_t count = sizes.elements / 8;  // words of 4 bytes
  const auto word = [](std::size_t i) { return static_cast<int>(i * 5 + 2); };
  const known::Buffer<int> in(count, word), out(count);
  const cudaTextureObject_t texture = texture_of(in);
  known_texture<<<at.grid, at.block>>>(reinterpret_cast<int2*>(out.get()), texture);
  known::finish();
  CHECK(cudaDestroyTextureObject(texture));
  return known::agrees("known_texture", out, word);
}

}  // namespace

extern const known::Case texture_case{"known_texture", 0, shape, run};
