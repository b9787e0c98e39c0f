// One system per tile.
#include <cstdint>

#include "native/tridiagonal/kernels.h"

// Vectors are explicit here: the vectoriser of GCC 12 fuses complex multiply-adds even when contraction is off.
#pragma GCC optimize("fp-contract=off", "no-tree-vectorize")
#define WARPLOOM_ISA single
#define WARPLOOM_VECTOR_BYTES 16
#include "native/tridiagonal/isa_table.h"

namespace warploom::cpu {

const KernelSet& kernels_single() {
  static const KernelSet set = single::make_single_kernels("single");
  return set;
}

}  // namespace warploom::cpu
