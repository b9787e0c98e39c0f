// Baseline of x86-64 (and of any other processor: GCC lowers the vectors).
#include <cstdint>

#include "native/tridiagonal/kernels.h"

// Vectors are explicit here: the vectoriser of GCC 12 fuses complex multiply-adds even when contraction is off.
#pragma GCC optimize("fp-contract=off", "no-tree-vectorize")
#define WARPLOOM_ISA baseline
#define WARPLOOM_VECTOR_BYTES 16
#include "native/tridiagonal/isa_table.h"

namespace warploom::cpu {

const KernelSet& kernels_baseline() {
  static const KernelSet set = baseline::make_kernels("baseline");
  return set;
}

}  // namespace warploom::cpu
