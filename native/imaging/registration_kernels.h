// Entry points of the per-instruction-set kernels of imaging.registration.
#pragma once
#include <cstdint>

namespace warploom::cpu {

/// Kernels of one element type.
template <class R>
struct RegistrationKernels {
  int lanes;  ///< of a vector
};

}  // namespace warploom::cpu
