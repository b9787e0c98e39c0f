// The sets of kernels by instruction set.
#include "native/imaging/kernels.h"

namespace warploom::cpu {

const ImagingKernelSet& imaging_kernel_set(Isa isa) {
#if defined(__x86_64__)
#ifndef WARPLOOM_NO_AVX512
  if (isa == Isa::avx512) return imaging_kernels_avx512();
#endif
  if (isa == Isa::avx2) return imaging_kernels_avx2();
#endif
  (void)isa;
  return imaging_kernels_baseline();
}

int imaging_kernel_sets(const ImagingKernelSet* (&sets)[3]) {
  int count = 0;
  for (const Isa isa : kIsas) {
    if (has_isa(isa)) sets[count++] = &imaging_kernel_set(isa);
  }
  return count;
}

}  // namespace warploom::cpu
