// Dimensions of the views that tests make by hand.
#pragma once
#include "cuda/core/view.h"
#include "cuda/linear/placement.h"

namespace cases {

/// Gives a view the dimensions of a band (`sides` 0) or a vector of a batch; of a ragged one `rows` counts those of all systems.
inline void set_dimensions(warploom::View* view, bool ragged, int64_t systems, int64_t sides, int64_t rows,
                           const warploom::linear::Placement& at) {
  view->rank = 0;
  const auto add = [&](int64_t extent, int64_t stride) {
    view->extents[view->rank] = extent;
    view->strides[view->rank++] = stride;
  };
  if (!ragged) add(systems, at.system);
  if (sides > 0) add(sides, at.rhs);
  add(rows, at.row);
}

}  // namespace cases
