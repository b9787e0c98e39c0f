// The choice of the instruction set.
#include <cstdlib>
#include <cstring>

#include "native/swept/kernels.h"

namespace warploom::cpu {
namespace {

const SweptKernelSet& choose() {
  const SweptKernelSet* sets[3];
  const int count = swept_kernel_sets(sets);
  const char* const wanted = std::getenv("WARPLOOM_CPU_ISA");
  for (int i = 0; wanted != nullptr && i < count; ++i) {
    if (std::strcmp(wanted, sets[i]->name) == 0) return *sets[i];
  }
  const bool known = wanted == nullptr || std::strcmp(wanted, "avx512") == 0;  // the best there is below it
  return known ? *sets[0] : *sets[count - 1];
}

}  // namespace

int swept_kernel_sets(const SweptKernelSet* (&sets)[3]) {
  int count = 0;
#if defined(__x86_64__)
#ifndef WARPLOOM_NO_AVX512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw")) {
    sets[count++] = &swept_kernels_avx512();
  }
#endif
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets[count++] = &swept_kernels_avx2();
#endif
  sets[count++] = &swept_kernels_baseline();
  return count;
}

const SweptKernelSet& swept_kernels() {
  static const SweptKernelSet& set = choose();
  return set;
}

}  // namespace warploom::cpu
