// Entry points of the per-instruction-set kernels of swept, and their choice at run time.
#pragma once
#include <cstdint>

#include "cuda/swept/measure_part.h"

namespace warploom::cpu {

/// Kernels of one element type.
template <class R>
struct SweptKernels {
  int lanes;  ///< of a vector
  /// The sums and bounds of one chunk of swept.measure, count <= kChunk points.
  ::warploom::swept::Part (*measure_chunk)(const R* values, int64_t count);
};

/// Kernels of one instruction set. The bits of a result do not depend on which is taken.
struct SweptKernelSet {
  const char* name;
  SweptKernels<float> float32;
  SweptKernels<double> float64;
};
template <class R>
const SweptKernels<R>& kernels_of(const SweptKernelSet& set) {
  if constexpr (sizeof(R) == 4) return set.float32;
  else return set.float64;
}

const SweptKernelSet& swept_kernels_baseline();
const SweptKernelSet& swept_kernels_avx2();
const SweptKernelSet& swept_kernels_avx512();

/// Sets this processor runs, the best one first.
int swept_kernel_sets(const SweptKernelSet* (&sets)[3]);
/// The best set, or the one that the environment variable WARPLOOM_CPU_ISA allows.
const SweptKernelSet& swept_kernels();

}  // namespace warploom::cpu
