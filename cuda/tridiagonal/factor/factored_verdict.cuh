// The verdict on a solve with factors.
#pragma once
#include "cuda/linear/verdict.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

using namespace linear;

/// A problem's verdict, from the findings on its right-hand side and solution, and from the state of its factors.
WARPLOOM_DEVICE int verdict_with(int32_t state, int found) {
  if (state == -1) return found;
  const int own = state >= 0 ? make_verdict(Finding::zero_pivot, state)
                             : make_verdict(Finding::non_finite_input, -2 - int64_t{state});
  return own < found ? own : found;
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
