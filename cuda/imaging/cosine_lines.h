// One pass of cosine transforms over all lines of an image along one axis, in the form every backend accepts.
#pragma once
#include <cstdint>

#include "cuda/imaging/cosine_plan.h"

namespace warploom::imaging {

enum class LinesMode : int32_t {
  forward,  ///< coefficients from values
  inverse,  ///< values from coefficients
  filter,   ///< forward, times 1 / (1 + weight * lambda^2), inverse
};

/// The lines of each component, numbered by l: line l begins at element (l / inner) * outer + l % inner of its
/// component. Lines 2p and 2p + 1 are transformed together; if the count is odd, the last line is paired with zeros.
template <class T>
struct LinesTask {
  CosinePlan plan;
  const T* table = nullptr;
  const T* from = nullptr;
  T* to = nullptr;  ///< may be `from`
  int64_t lines = 1, inner = 1, outer = 1;
  int64_t stride = 1;  ///< from one point of a line to the next
  int64_t component = 0;  ///< from one component to the next
  int32_t components = 1;
  LinesMode mode = LinesMode::forward;
  T factor = 1, zero_factor = 1;  ///< for the coefficients, and for those at k = 0; not for `filter`
  T inverse_factor = 1;           ///< 1 / 2n

  // filter: lambda = axis[k] + across[l % width] + along[l / width]
  const T *axis = nullptr, *across = nullptr, *along = nullptr;  ///< `along` may be null
  int64_t width = 1;
  const double* weight = nullptr;
  const int32_t* finished = nullptr;  ///< skips the pass if this is nonzero; may be null
};

/// Lines along axis 0 (x), 1 (y) or 2 (z) of a grid; components are contiguous.
template <class T>
void set_axis(LinesTask<T>& task, int axis, int64_t nx, int64_t ny, int64_t nz, int components) {
  const int64_t points = nx * ny * nz, extent = axis == 0 ? nx : axis == 1 ? ny : nz;
  task.lines = points / extent;
  task.inner = axis == 0 ? 1 : axis == 1 ? nx : nx * ny;
  task.outer = task.inner * extent;
  task.stride = task.inner;
  task.component = points;
  task.components = components;
  task.inverse_factor = static_cast<T>(0.5 / static_cast<double>(extent));
}

}  // namespace warploom::imaging
