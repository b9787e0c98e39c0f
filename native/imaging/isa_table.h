// The kernel table of one instruction set: the last include of each isa_*.cpp.
#pragma once
#include "native/imaging/denoise_kernel.h"
#include "native/imaging/kernels.h"
#include "native/imaging/registration_kernel.h"
#include "native/imaging/segment_kernel.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class R>
ImagingKernels<R> imaging_kernels_of() {
  return {denoise_kernels_of<R>(), segment_kernels_of<R>(), registration_kernels_of<R>()};
}

inline ImagingKernelSet make_imaging_kernels(const char* name) {
  return {name, imaging_kernels_of<float>(), imaging_kernels_of<double>()};
}

}  // namespace warploom::cpu::WARPLOOM_ISA
