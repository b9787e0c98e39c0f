// The kernels of imaging for each instruction set, and their selection at run time. Includes no header of cuda/imaging/
// that has templates over number types: isa_*.cpp must select the instruction set before including those.
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

/// Kernels of one instruction set. Results have the same bits with every set.
struct ImagingKernelSet {
  const char* name;
  ImagingKernels<float> float32;
  ImagingKernels<double> float64;
};

const ImagingKernelSet& imaging_kernels_baseline();
const ImagingKernelSet& imaging_kernels_avx2();
const ImagingKernelSet& imaging_kernels_avx512();

/// The sets that this processor can run, best first.
int imaging_kernel_sets(const ImagingKernelSet* (&sets)[3]);
const ImagingKernelSet& imaging_kernel_set(Isa isa);

/// The selected set's kernels for R.
template <class R>
const ImagingKernels<R>& imaging_kernels() {
  const ImagingKernelSet& set = imaging_kernel_set(chosen_isa());
  if constexpr (sizeof(R) == 4) return set.float32;
  else return set.float64;
}

}  // namespace warploom::cpu
