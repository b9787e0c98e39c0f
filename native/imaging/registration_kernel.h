// Kernels of imaging.registration on vectors: include only from native/imaging/isa_table.h.
#pragma once
#include "native/imaging/cosine_kernel.h"
#include "native/imaging/registration_kernels.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class R>
RegistrationKernels<R> registration_kernels_of() {
  return {kWidth<R>, &line_bytes<R>, &lines<R>};
}

}  // namespace warploom::cpu::WARPLOOM_ISA
