// The sets of kernels by instruction set.
#include "native/imaging/kernels.h"

namespace warploom::cpu {

const ImagingKernelSet& imaging_kernel_set(Isa isa) {
  return WARPLOOM_ISA_SET(isa, imaging_kernels_);
}

int imaging_kernel_sets(const ImagingKernelSet* (&sets)[3]) {
  int count = 0;
  for (const Isa isa : kIsas) {
    if (has_isa(isa)) sets[count++] = &imaging_kernel_set(isa);
  }
  return count;
}

}  // namespace warploom::cpu
