// Kernels of imaging.segment on vectors: include only from native/imaging/isa_table.h.
#pragma once
#include "native/cpu/vector.h"
#include "native/imaging/segment_kernels.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class R>
SegmentKernels<R> segment_kernels_of() {
  return {kWidth<R>};
}

}  // namespace warploom::cpu::WARPLOOM_ISA
