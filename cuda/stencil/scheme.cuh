// What the agents of printed schemes share.
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

/// Nothing is read beside the cell itself.
constexpr int kNone = -99;

/// The numbers that stages and conditions take besides those of cells.
template <class T, int kParameters>
struct Scalars {
  T t, dt, h, g;
  T p[kParameters == 0 ? 1 : kParameters];
  int n0, n1, n2;
};

/// The parameters of passes in one dimension (line.cuh).
template <class T, int kStages>
struct LineParameters {
  const T* y;
  T* o;
  const T* c;   ///< coefficients, the same for all members
  const T* p;   ///< parameters: [member][parameter]
  int* status;  ///< the least number of a step that was bad
  T dt, h[kStages], g[kStages];
  /// Step i begins at origin + (from + i) * unit; stages of it begin `time` later.
  double origin, unit, time[kStages];
  int64_t from;
  int32_t n;
  int32_t tiles;  ///< of a member
  int32_t steps;  ///< of this pass, kDepth at most
  int32_t step;   ///< the number of the first one
};

WARPLOOM_DEVICE int wrapped(int i, int n) {
  if (i >= 0 && i < n) return i;
  const int rest = i % n;
  return rest < 0 ? rest + n : rest;
}
/// The cell inside that stands for one beyond a boundary: the one at the other end, or the nearest.
template <bool kPeriodic>
WARPLOOM_DEVICE int inside(int i, int n) {
  if constexpr (kPeriodic) return wrapped(i, n);
  else return i < 0 ? 0 : i >= n ? n - 1 : i;
}

}  // namespace warploom::WARPLOOM_TARGET::stencil
