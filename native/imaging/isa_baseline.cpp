// Baseline of x86-64 (and of any other processor: GCC lowers the vectors). Without an fma instruction, fma() is a
// function call.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "native/imaging/kernels.h"

// Vectors are explicit here: the compiler must not vectorise on its own, nor fuse anything except fma().
#pragma GCC optimize("fp-contract=off", "no-tree-vectorize")
#define WARPLOOM_ISA imaging_baseline
#define WARPLOOM_VECTOR_BYTES 16
#include "native/imaging/isa_table.h"

namespace warploom::cpu {

const ImagingKernelSet& imaging_kernels_baseline() {
  static const ImagingKernelSet set = imaging_baseline::make_imaging_kernels("baseline");
  return set;
}

}  // namespace warploom::cpu
