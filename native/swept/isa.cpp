// The sets of kernels by instruction set.
#include "native/cpu/isa.h"
#include "native/swept/kernels.h"

namespace warploom::cpu {
namespace {

const SweptKernelSet& set_of(Isa isa) {
  return WARPLOOM_ISA_SET(isa, swept_kernels_);
}

}  // namespace

int swept_kernel_sets(const SweptKernelSet* (&sets)[3]) {
  int count = 0;
  for (const Isa isa : kIsas) {
    if (has_isa(isa)) sets[count++] = &set_of(isa);
  }
  return count;
}

const SweptKernelSet& swept_kernels() { return set_of(chosen_isa()); }

}  // namespace warploom::cpu
