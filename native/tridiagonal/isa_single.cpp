// One system per tile, and the choice of the instruction set.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "native/tridiagonal/kernels.h"

// Vectors are explicit here: the vectoriser of GCC 12 fuses complex multiply-adds even without contraction.
#pragma GCC optimize("fp-contract=off", "no-tree-vectorize")
#define WARPLOOM_ISA single
#define WARPLOOM_VECTOR_BYTES 16
#include "native/tridiagonal/isa_table.h"

namespace warploom::cpu {
namespace {

const KernelSet& choose() {
  const char* wanted = std::getenv("WARPLOOM_CPU_ISA");
  const auto allowed = [wanted](const char* name) {
    return wanted == nullptr || std::strcmp(wanted, name) == 0;
  };
#if defined(__x86_64__)
#ifndef WARPLOOM_NO_AVX512
  if (allowed("avx512") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    return kernels_avx512();
  }
#endif
  if ((allowed("avx2") || allowed("avx512")) && __builtin_cpu_supports("avx2")) {
    return kernels_avx2();
  }
#endif
  return kernels_sse2();
}

}  // namespace

const KernelSet& kernels_single() {
  static const KernelSet set = single::make_single_kernels("single");
  return set;
}

const KernelSet& kernels() {
  static const KernelSet& set = choose();
  return set;
}

}  // namespace warploom::cpu
