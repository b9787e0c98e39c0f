// Kernels of imaging.denoise on vectors: include only from native/imaging/isa_table.h.
#pragma once
#include "native/cpu/vector.h"
#include "native/imaging/denoise_kernels.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class R>
DenoiseKernels<R> denoise_kernels_of() {
  return {kWidth<R>};
}

}  // namespace warploom::cpu::WARPLOOM_ISA
