// The kernel table of one instruction set: the last include of each isa_*.cpp.
#pragma once
#include "native/swept/measure_kernel.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class R>
SweptKernels<R> swept_kernels_of() {
  return {kWidth<R>, &measure_chunk<R>};
}

/// swept_kernels_<isa>() of kernels.h.
inline SweptKernelSet make_swept_kernels(const char* name) {
  return {name, swept_kernels_of<float>(), swept_kernels_of<double>()};
}

}  // namespace warploom::cpu::WARPLOOM_ISA
