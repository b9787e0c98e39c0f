// The memory of a thread for a pass (blocked.h): of every level as many planes as later levels still read.
#pragma once
#include "rows.h"
#include "stencil.h"

namespace wl_stencil {

template <class S>
struct Rings {
  using Real = typename S::Real;
  /// Stages of a step, as far as a pass is concerned.
  static constexpr int kStages = S::kStaged ? 1 : S::kStages;
  static constexpr int kPlaneMargin = S::kMargin[0], kFields = S::kFields, kScalars = 4 + S::kParameters;

  /// A state after some stages, on the part of the grid that later ones need.
  struct Level {
    int low[3], high[3];
    /// Whether the next level reads beyond the boundaries.
    bool ghost_low[3], ghost_high[3];
    Real *y, *sum, *faces;
    int planes, sum_planes;
    /// A plane at the start of the rings, at most as many before the newest as a ring has.
    int origin, sum_origin;
    Real q[kScalars];  // of the stage that makes it
  };

  /// Planes that are kept of the level that stage `phase - 1` makes; 0: the beginning of a step.
  static constexpr int planes_of(int phase) {
    int planes = kPlaneMargin + S::kReach[0] + S::kBatch;
    for (int s = 0; s < kStages && phase == 0; ++s) {
      if (!S::kStaged && S::reads_start(s)) planes = larger(planes, (s + 1) * kPlaneMargin + S::kBatch);
    }
    return planes;
  }

  /// The phase at which the sum that a stage reads was written.
  static constexpr int sum_phase(int stage) {
    int found = 0;
    for (int s = 0; s < stage; ++s) {
      if (S::writes_sum(s)) found = s + 1;
    }
    return found;
  }

  /// Planes that are kept of the sum that stage `phase - 1` writes.
  static constexpr int sum_planes_of(int phase) {
    int planes = phase > 0 && !S::kStaged && S::writes_sum(phase - 1) ? S::kBatch : 0;
    for (int s = phase; s < kStages && planes > 0; ++s) {
      if (S::reads_sum(s) && sum_phase(s) == phase) planes = larger(planes, (s + 1 - phase) * kPlaneMargin + S::kBatch);
    }
    return planes;
  }

  /// Planes of numbers that a level needs.
  static int largest_planes() {
    int most = 0;
    for (int phase = 0; phase < kStages; ++phase) most = larger(most, planes_of(phase) + sum_planes_of(phase));
    return kFields * most + 2 * S::kFaces;
  }

  // The layout of a thread's memory: levels, then their planes. Lines are 64 bytes.

  static constexpr int kLine = 64 / (int)sizeof(Real), kVector = kLine / 2;
  static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
  static int rows_of(const Shape& shape) { return shape.tile[1] + 2 * (shape.depth * kStages * S::kMargin[1] + S::kReach[1]); }
  static int lines(int columns) { return (columns + kLine - 1) / kLine; }
  /// Columns before and behind a tile.
  static int border_of(int levels) { return kLine * lines(levels * S::kMargin[2] + S::kReach[2] + kVector); }
  static int stride_of(const Shape& shape) {
    // An odd number of lines, so that rows do not compete for the same sets of a cache.
    return (lines(shape.tile[2] + 2 * border_of(shape.depth * kStages)) | 1) * kLine;
  }
  /// If levels do not follow behind each other, a step needs no more than its own.
  static int slots_of(int levels) { return kPlaneMargin == 0 ? smaller(levels + 1, kStages + 1) : levels + 1; }

  static size_t scratch_bytes(const Shape& shape) {
    const int levels = shape.depth * kStages;
    const size_t plane = (size_t)rows_of(shape) * stride_of(shape) * sizeof(Real);
    const size_t rates = aligned(stride_of(shape) * sizeof(Real));
    const size_t fields = slots_of(levels) * (size_t)largest_planes() * plane;
    return rates + aligned((levels + 1) * sizeof(Level)) + fields + 4096;
  }
};

}  // namespace wl_stencil
