// Kernels for AVX2 with FMA.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "native/swept/kernels.h"

#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#endif
// Vectors are explicit here: the compiler must not vectorise on its own, nor fuse anything except fma().
#pragma GCC optimize("fp-contract=off", "no-tree-vectorize")
#define WARPLOOM_ISA swept_avx2
#define WARPLOOM_VECTOR_BYTES 32
#include "native/swept/isa_table.h"

namespace warploom::cpu {

const SweptKernelSet& swept_kernels_avx2() {
  static const SweptKernelSet set = swept_avx2::make_swept_kernels("avx2");
  return set;
}

}  // namespace warploom::cpu
