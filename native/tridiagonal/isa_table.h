// The kernel table of one instruction set: the last include of each isa_*.cpp.
#pragma once
#include "native/tridiagonal/tile_check.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class S>
constexpr Kernels<RealType<S>> table_of() {
  return {kLanes<S>, &solve_tile<S>, &tile_bytes<S>};
}

/// kernels_<isa>() of kernels.h, for vectors V of each real type.
template <class V32, class V64>
KernelSet make_kernels(const char* name) {
  return {name, table_of<V32>(), table_of<Complex<V32>>(), table_of<V64>(), table_of<Complex<V64>>()};
}

using Lanes32 = Pack<float, kTileLanes<float>>;
using Lanes64 = Pack<double, kTileLanes<double>>;

}  // namespace warploom::cpu::WARPLOOM_ISA
