// The kernel table of one instruction set: the last include of each isa_*.cpp.
#pragma once
#include "native/tridiagonal/across.h"
#include "native/tridiagonal/chunks.h"
#include "native/tridiagonal/tile_factored.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class S>
constexpr Kernels<RealType<S>> table_of() {
  return {kLanes<S>, &solve_tile<S>, &tile_bytes<S>};
}

template <class S>
constexpr MatrixKernels<RealType<S>> matrix_of() {
  return {kLanes<S>, static_cast<int64_t>(sizeof(S)), kTileArrays<S>, &factor_tile<S>, &solve_factored_tile<S>,
          &multiply_tile<S>};
}

template <class S>
constexpr ChunkKernels<RealType<S>> chunks_of() {
  return {kLanes<S>, static_cast<int64_t>(sizeof(S)), &reduce_chunks<S>, &solve_chunks<S>,
          &build_reduced<S>};
}

/// One set of kernels: A…D for float32, complex64, float64 and complex128; W…Z for adjacent systems.
template <class A, class B, class C, class D>
KernelSet set_of(const char* name, Kernels<float> w, Kernels<float> x, Kernels<double> y,
                 Kernels<double> z) {
  return {name,
          table_of<A>(), table_of<B>(), table_of<C>(), table_of<D>(),
          w, x, y, z,
          matrix_of<A>(), matrix_of<B>(), matrix_of<C>(), matrix_of<D>(),
          chunks_of<A>(), chunks_of<B>(), chunks_of<C>(), chunks_of<D>()};
}

/// kernels_<isa>() of kernels.h.
inline KernelSet make_kernels(const char* name) {
  using F = Pack<float, kTileLanes<float>>;
  using D = Pack<double, kTileLanes<double>>;
  return set_of<F, Complex<F>, D, Complex<D>>(name, across_of<F>(), across_of<Complex<F>>(),
                                              across_of<D>(), across_of<Complex<D>>());
}
/// The same for one system at a time; there are no adjacent systems then.
inline KernelSet make_single_kernels(const char* name) {
  return set_of<float, Complex<float>, double, Complex<double>>(name, {}, {}, {}, {});
}

}  // namespace warploom::cpu::WARPLOOM_ISA
