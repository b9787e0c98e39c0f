// Kernels for AVX-512 without contraction, so that results have the same bits as with every other instruction set.
#include <cstdint>

#include "native/tridiagonal/kernels.h"

#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512")
#endif
// Vectors are explicit here: the vectoriser of GCC 12 fuses complex multiply-adds even when contraction is off.
#pragma GCC optimize("fp-contract=off", "no-tree-vectorize")
#define WARPLOOM_ISA avx512
#define WARPLOOM_VECTOR_BYTES 64
#include "native/tridiagonal/isa_table.h"

namespace warploom::cpu {

const KernelSet& kernels_avx512() {
  static const KernelSet set = avx512::make_kernels("avx512");
  return set;
}

}  // namespace warploom::cpu
