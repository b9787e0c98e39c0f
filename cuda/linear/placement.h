// What the dimensions of a batch's arrays mean.
#pragma once
#include <cstdint>

#include "cuda/core/types.h"

namespace warploom::linear {

/// Elements between neighbouring systems, right-hand sides and rows. A band is [system][row], a vector is
/// [system][right-hand side][row]. In a ragged batch one index counts the rows of all systems: a band is [row], a
/// vector is [right-hand side][row].
struct Placement {
  int64_t system = 0, rhs = 0, row = 0;
};

inline Placement placement_of(const View& view, bool ragged) {
  Placement placement;
  const int32_t rows = view.rank - 1;
  if (rows < 0) return placement;
  placement.row = view.strides[rows];
  placement.system = ragged ? placement.row : rows > 0 ? view.strides[0] : 0;
  const int32_t side = ragged ? 0 : 1;
  if (rows > side) placement.rhs = view.strides[side];
  return placement;
}

}  // namespace warploom::linear
