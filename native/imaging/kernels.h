// The kernels of imaging for each instruction set, and their choice at run time. Names no type of cuda/imaging/ that point functions
// are templates of: isa_*.cpp must include those after the choice of the instruction set.
#pragma once
#include "native/cpu/isa.h"
#include "native/imaging/denoise_kernels.h"
#include "native/imaging/registration_kernels.h"
#include "native/imaging/segment_kernels.h"

namespace warploom::cpu {

template <class R>
struct ImagingKernels {
  DenoiseKernels<R> denoise;
  SegmentKernels<R> segment;
  RegistrationKernels<R> registration;
};

/// Kernels of one instruction set. The bits of a result do not depend on which is taken.
struct ImagingKernelSet {
  const char* name;
  ImagingKernels<float> float32;
  ImagingKernels<double> float64;
};

const ImagingKernelSet& imaging_kernels_baseline();
const ImagingKernelSet& imaging_kernels_avx2();
const ImagingKernelSet& imaging_kernels_avx512();

/// Sets this processor runs, the best one first.
int imaging_kernel_sets(const ImagingKernelSet* (&sets)[3]);
const ImagingKernelSet& imaging_kernel_set(Isa isa);

/// Kernels for R of the chosen set.
template <class R>
const ImagingKernels<R>& imaging_kernels() {
  const ImagingKernelSet& set = imaging_kernel_set(chosen_isa());
  if constexpr (sizeof(R) == 4) return set.float32;
  else return set.float64;
}

}  // namespace warploom::cpu
