// The sets of kernels by instruction set.
#include "native/cpu/isa.h"
#include "native/tridiagonal/kernels.h"

namespace warploom::cpu {

const KernelSet& kernels() {
  static const KernelSet& set = WARPLOOM_ISA_SET(chosen_isa(), kernels_);
  return set;
}

}  // namespace warploom::cpu
