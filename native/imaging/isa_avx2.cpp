// Kernels for AVX2 with FMA.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "native/imaging/kernels.h"

#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#endif
// Vectors are explicit here: the compiler must not vectorise on its own, nor fuse anything except fma().
#pragma GCC optimize("fp-contract=off", "no-tree-vectorize")
#define WARPLOOM_ISA imaging_avx2
#define WARPLOOM_VECTOR_BYTES 32
#include "native/imaging/isa_table.h"

namespace warploom::cpu {

const ImagingKernelSet& imaging_kernels_avx2() {
  static const ImagingKernelSet set = imaging_avx2::make_imaging_kernels("avx2");
  return set;
}

}  // namespace warploom::cpu
