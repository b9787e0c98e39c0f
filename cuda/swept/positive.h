// Whether numbers are positive, with one meaning on every backend; native/swept/equations.h has it for vectors.
#pragma once
#include "cuda/core/portable.h"

namespace warploom::portable {

/// Whether a and b are both positive and at least kLeast. NaN may count as such.
WARPLOOM_PORTABLE bool both_positive(float a, float b) {
#ifdef __CUDA_ARCH__
  return min(__float_as_int(a), __float_as_int(b)) >= Range<float>::kLeastWord;
#else
  return (a >= Range<float>::kLeast) & (b >= Range<float>::kLeast);
#endif
}
WARPLOOM_PORTABLE bool both_positive(double a, double b) {
#ifdef __CUDA_ARCH__
  return min(__double2hiint(a), __double2hiint(b)) >= Range<double>::kLeastWord;
#else
  return (a >= Range<double>::kLeast) & (b >= Range<double>::kLeast);
#endif
}

}  // namespace warploom::portable
