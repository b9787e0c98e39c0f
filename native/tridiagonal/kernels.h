// Entry points of the per-instruction-set kernels, and their choice at run time.
#pragma once
#include <cstdint>

#include "native/tridiagonal/problem.h"

namespace warploom::cpu {

/// Kernels for one element type. Tiles have `lanes` systems at most.
template <class R>
struct Kernels {
  int lanes;
  /// Solves problems first…first+count-1, count <= lanes.
  void (*solve)(const Problem<R>&, const Options&, const Results&, int64_t first, int count,
                void* scratch);
  /// Bytes of scratch `solve` needs for systems of up to n rows.
  int64_t (*bytes)(const Options&, bool periodic, int64_t n);
};

/// Kernels of one instruction set. `single` variants hold one system per tile: for few or very long
/// systems. The bits of a result do not depend on which is taken.
struct KernelSet {
  const char* name;
  Kernels<float> float32, complex64;
  Kernels<double> float64, complex128;
};

const KernelSet& kernels_single();
const KernelSet& kernels_sse2();
const KernelSet& kernels_avx2();
const KernelSet& kernels_avx512();
/// The widest set this processor runs; the environment variable WARPLOOM_CPU_ISA (sse2, avx2,
/// avx512) names a lesser one.
const KernelSet& kernels();

template <class R>
const Kernels<R>& kernels_of(const KernelSet& set, bool complex) {
  if constexpr (sizeof(R) == 4) {
    return complex ? set.complex64 : set.float32;
  } else {
    return complex ? set.complex128 : set.float64;
  }
}

}  // namespace warploom::cpu
