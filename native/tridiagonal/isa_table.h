// The kernel table of one instruction set: the last include of each isa_*.cpp.
#pragma once
#include "native/tridiagonal/chunks.h"
#include "native/tridiagonal/tile_factor.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class S>
constexpr Kernels<RealType<S>> table_of() {
  return {kLanes<S>, &solve_tile<S, false>, &tile_bytes<S, false>};
}
/// The plain Thomas solve alone; measured, twice the lanes pay in single precision only.
template <class S>
constexpr Kernels<RealType<S>> streaming_of() {
  return {kLanes<S>, &solve_tile<S, true>, &tile_bytes<S, true>};
}

template <class S>
constexpr MatrixKernels<RealType<S>> matrix_of() {
  return {kLanes<S>, static_cast<int64_t>(sizeof(S)), &factor_tile<S>, &solve_factored_tile<S>,
          &multiply_tile<S>};
}

template <class S>
constexpr ChunkKernels<RealType<S>> chunks_of() {
  return {kLanes<S>, static_cast<int64_t>(sizeof(S)), &reduce_chunks<S>, &solve_chunks<S>,
          &build_reduced<S>};
}

template <class R, int kFactor>
using Lanes = Pack<R, kFactor * kTileLanes<R>>;

/// kernels_<isa>() of kernels.h.
inline KernelSet make_kernels(const char* name) {
  return {name,
          table_of<Lanes<float, 1>>(), table_of<Complex<Lanes<float, 1>>>(),
          table_of<Lanes<double, 1>>(), table_of<Complex<Lanes<double, 1>>>(),
          streaming_of<Lanes<float, 2>>(), streaming_of<Complex<Lanes<float, 1>>>(),
          streaming_of<Lanes<double, 1>>(), streaming_of<Complex<Lanes<double, 1>>>(),
          matrix_of<Lanes<float, 1>>(), matrix_of<Complex<Lanes<float, 1>>>(),
          matrix_of<Lanes<double, 1>>(), matrix_of<Complex<Lanes<double, 1>>>(),
          chunks_of<Lanes<float, 1>>(), chunks_of<Complex<Lanes<float, 1>>>(),
          chunks_of<Lanes<double, 1>>(), chunks_of<Complex<Lanes<double, 1>>>()};
}
/// The same for one system at a time.
inline KernelSet make_single_kernels(const char* name) {
  return {name,
          table_of<float>(), table_of<Complex<float>>(), table_of<double>(), table_of<Complex<double>>(),
          table_of<float>(), table_of<Complex<float>>(), table_of<double>(), table_of<Complex<double>>(),
          matrix_of<float>(), matrix_of<Complex<float>>(), matrix_of<double>(), matrix_of<Complex<double>>(),
          chunks_of<float>(), chunks_of<Complex<float>>(), chunks_of<double>(), chunks_of<Complex<double>>()};
}

}  // namespace warploom::cpu::WARPLOOM_ISA
