// Entry points of the per-instruction-set kernels, and their selection at run time.
#pragma once
#include <cstdint>

#include "native/tridiagonal/problem.h"

namespace warploom::cpu {

/// Kernels for one element type. Tiles have at most `lanes` systems.
template <class R>
struct Kernels {
  int lanes;
  /// Solves problems first…first+count-1, count <= lanes.
  void (*solve)(const Problem<R>&, const Options&, const Results&, int64_t first, int count,
                void* scratch);
  /// Bytes of scratch that `solve` needs for systems of up to n rows.
  int64_t (*bytes)(const Options&, bool periodic, int64_t n);
};

/// The operations other than solve; tiles consist of systems.
template <class R>
struct MatrixKernels {
  int lanes;
  int64_t element_bytes;  ///< of one row of a tile
  int64_t check_arrays;   ///< arrays of n entries that solve_factored needs with FactorJob::check
  void (*factor)(const Problem<R>&, const FactorJob&, int64_t first, int count, void* scratch);
  void (*solve_factored)(const Problem<R>&, const FactorJob&, int64_t first, int count, void* scratch);
  void (*multiply)(const Problem<R>&, double alpha, double beta, int64_t first, int count,
                   void* scratch);
};

/// The passes of the partition method; tiles consist of chunks.
template <class R>
struct ChunkKernels {
  int lanes;
  int64_t element_bytes;
  void (*reduce)(const Problem<R>&, const ChunkJob&, int64_t first, int count, void* scratch);
  void (*solve)(const Problem<R>&, const ChunkJob&, int64_t first, int count, void* scratch);
  void (*build)(const Problem<R>&, const ChunkJob&, int64_t chunk_rows, void* lower, void* diagonal,
                void* upper, void* rhs);
};

/// Kernels of one instruction set. Results have the same bits with every set.
struct KernelSet {
  const char* name;
  Kernels<float> float32, complex64;
  Kernels<double> float64, complex128;
  /// For adjacent systems, if streams() allows it.
  Kernels<float> across32, across_complex64;
  Kernels<double> across64, across_complex128;
  MatrixKernels<float> matrix32, matrix_complex64;
  MatrixKernels<double> matrix64, matrix_complex128;
  ChunkKernels<float> chunks32, chunks_complex64;
  ChunkKernels<double> chunks64, chunks_complex128;
};

/// One system per tile: for few or very long systems.
const KernelSet& kernels_single();
const KernelSet& kernels_baseline();
const KernelSet& kernels_avx2();
const KernelSet& kernels_avx512();
/// The kernels for chosen_isa() (native/cpu/isa.h).
const KernelSet& kernels();

template <class R>
const Kernels<R>& kernels_of(const KernelSet& set, bool complex) {
  if constexpr (sizeof(R) == 4) {
    return complex ? set.complex64 : set.float32;
  } else {
    return complex ? set.complex128 : set.float64;
  }
}

template <class R>
const Kernels<R>& across_kernels_of(const KernelSet& set, bool complex) {
  if constexpr (sizeof(R) == 4) {
    return complex ? set.across_complex64 : set.across32;
  } else {
    return complex ? set.across_complex128 : set.across64;
  }
}

template <class R>
const MatrixKernels<R>& matrix_kernels_of(const KernelSet& set, bool complex) {
  if constexpr (sizeof(R) == 4) {
    return complex ? set.matrix_complex64 : set.matrix32;
  } else {
    return complex ? set.matrix_complex128 : set.matrix64;
  }
}

template <class R>
const ChunkKernels<R>& chunk_kernels_of(const KernelSet& set, bool complex) {
  if constexpr (sizeof(R) == 4) {
    return complex ? set.chunks_complex64 : set.chunks32;
  } else {
    return complex ? set.chunks_complex128 : set.chunks64;
  }
}

}  // namespace warploom::cpu
