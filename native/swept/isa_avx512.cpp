// Kernels for AVX-512.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "native/swept/kernels.h"

#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,fma,prefer-vector-width=512")
#endif
// Vectors are explicit here: the compiler must not vectorise on its own, nor fuse anything except fma().
#pragma GCC optimize("fp-contract=off", "no-tree-vectorize")
#define WARPLOOM_ISA swept_avx512
#define WARPLOOM_VECTOR_BYTES 64
#include "native/swept/isa_table.h"

namespace warploom::cpu {

const SweptKernelSet& swept_kernels_avx512() {
  static const SweptKernelSet set = swept_avx512::make_swept_kernels("avx512");
  return set;
}

}  // namespace warploom::cpu
