// The program `known`: runs kernels whose counts are known from their source, each once, and checks every result.
//
//   nvcc -O3 -std=c++17 -arch=sm_90a -o known kernels/known/*.cu
//   ./known [--only NAME,NAME] [--elements N] [--side N] [--blocks N] [--list]
//
// Exit codes: 0 all right, 1 a kernel computed a wrong result, 2 bad options, 3 CUDA failed.
#include <string>

#include "known.cuh"

extern const known::Case triad_case, copy_case, strided_1_case, strided_8_case, strided_32_case, transpose_naive_case,
    transpose_conflicted_case, transpose_padded_case, fma_fp64_case, fma_fp32_case, fma_fp16_case, integer_case,
    mufu_case, divergent_case, atomics_case, shared_case, shared_atomics_case, async_copy_case, texture_case,
    host_memory_case, tensor_bf16_case, tensor_fp64_case, tensor_fp16_case, tensor_fp16_fp16acc_case, tensor_int8_case,
    tensor_bf16_sparse_case, wgmma_bf16_case, wgmma_fp8_case, bulk_copy_case;

namespace {

const known::Case* const kCases[] = {
    &triad_case,           &copy_case,           &strided_1_case,   &strided_8_case,
    &strided_32_case,      &transpose_naive_case, &transpose_conflicted_case, &transpose_padded_case,
    &fma_fp64_case,        &fma_fp32_case,       &fma_fp16_case,    &integer_case,
    &mufu_case,            &divergent_case,      &atomics_case,     &shared_case,
    &shared_atomics_case,  &async_copy_case,     &texture_case,     &host_memory_case,
    &tensor_bf16_case,     &tensor_fp64_case,    &tensor_fp16_case, &tensor_fp16_fp16acc_case,
    &tensor_int8_case,     &tensor_bf16_sparse_case, &wgmma_bf16_case, &wgmma_fp8_case,
    &bulk_copy_case,
};

struct Options {
  known::Sizes sizes;
  std::string only;
  bool list = false;
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr,
               "known: %s\nusage: known [--only NAME,NAME] [--elements N] [--side N] [--blocks N] [--list]\n"
               "  --elements  words of 4 bytes in the streaming kernels, a multiple of 8192\n"
               "  --side      of the square that is transposed, a multiple of 32, at most 32768\n"
               "  --blocks    of the kernels that compute in registers, at most 65536\n"
               "  --list      print every kernel's launch and stop; needs no GPU\n",
               why.c_str());
  std::exit(2);
}

unsigned long number(const char* option, const char* text, unsigned long multiple, unsigned long most) {
  char* end = nullptr;
  const unsigned long value = text ? std::strtoul(text, &end, 10) : 0;
  if (!text || *end || !value || value % multiple || value > most) refuse(std::string(option) + " has no usable number");
  return value;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (option == "--list") {
      options.list = true;
      continue;
    }
    if (option == "--only" && value) options.only = value;
    else if (option == "--elements") options.sizes.elements = number("--elements", value, 8192, 1ul << 30);
    else if (option == "--side") options.sizes.side = static_cast<int>(number("--side", value, 32, 32768));
    else if (option == "--blocks") options.sizes.blocks = static_cast<int>(number("--blocks", value, 1, 65536));
    else refuse("no option " + option);
    ++i;
  }
  return options;
}

// The cases to run, in the order of the table. A name that is no kernel is an error, not an empty run.
std::vector<const known::Case*> choose(const std::string& only) {
  std::vector<const known::Case*> chosen;
  std::size_t matched = 0, wanted = 0;
  const std::string names = "," + only + ",";
  for (const char c : only) wanted += c == ',';
  for (const known::Case* each : kCases) {
    const bool named = names.find("," + std::string(each->kernel) + ",") != std::string::npos;
    matched += named;
    if (only.empty() || named) chosen.push_back(each);
  }
  if (!only.empty() && matched != wanted + 1) refuse("--only " + only + " names something that is no kernel (see --list)");
  return chosen;
}

void list(const std::vector<const known::Case*>& cases, const known::Sizes& sizes) {
  for (const known::Case* each : cases) {
    const known::Shape at = each->shape(sizes);
    std::printf("%s (%u, %u, %u) (%u, %u, %u)\n", each->kernel, at.grid.x, at.grid.y, at.grid.z, at.block.x, at.block.y, at.block.z);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::vector<const known::Case*> cases = choose(options.only);
  if (options.list) {
    list(cases, options.sizes);
    return 0;
  }
  cudaDeviceProp device{};
  CHECK(cudaGetDeviceProperties(&device, 0));
  int ran = 0, skipped = 0, wrong = 0;
  for (const known::Case* each : cases) {
    if (!each->runs_on(device.major)) {
      ++skipped;
      continue;
    }
    if (!each->run(options.sizes, each->shape(options.sizes))) {
      std::fprintf(stderr, "known: %s computed a wrong result\n", each->kernel);
      ++wrong;
    }
    ++ran;
  }
  // On stderr: stdout belongs to the data of whoever calls.
  std::fprintf(stderr, "known: %d kernels ran on %s, %d wrong, %d not for compute capability %d.%d\n", ran, device.name,
               wrong, skipped, device.major, device.minor);
  return wrong ? 1 : 0;
}
