// Kernels for AVX2. FMA stays off, so that results have the same bits as with every other instruction set.
#include <cstdint>

#include "native/tridiagonal/kernels.h"

#if defined(__x86_64__)
#pragma GCC target("avx2")
#endif
// Vectors are explicit here: the vectoriser of GCC 12 fuses complex multiply-adds even when contraction is off.
#pragma GCC optimize("fp-contract=off", "no-tree-vectorize")
#define WARPLOOM_ISA avx2
#define WARPLOOM_VECTOR_BYTES 32
#include "native/tridiagonal/isa_table.h"

namespace warploom::cpu {

const KernelSet& kernels_avx2() {
  static const KernelSet set = avx2::make_kernels("avx2");
  return set;
}

}  // namespace warploom::cpu
