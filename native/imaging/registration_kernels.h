// Entry points of the per-instruction-set kernels of cosine transforms and of imaging.registration.
#pragma once
#include <cstdint>

#include "cuda/imaging/cosine_lines.h"

namespace warploom::cpu {

/// Kernels of one element type.
template <class R>
struct RegistrationKernels {
  int lanes;  ///< of a vector: pairs of lines that are transformed at once
  /// Bytes of scratch memory for complex transforms of length m of `pairs` pairs in each lane.
  int64_t (*line_bytes)(int m, int pairs);
  /// A pass over `lanes` pairs of lines of a component, from pair `first` on.
  void (*lines)(const ::warploom::imaging::LinesTask<R>& task, int64_t component, int64_t first, void* scratch);
};

}  // namespace warploom::cpu
