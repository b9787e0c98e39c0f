// The memory of a thread for a pass (blocked.h): of every level as many planes as later levels still read. A plane that nobody reads any
// more is the next one to be written, by whichever level: it is still in the nearest cache.
#pragma once
#include "rows.h"
#include "stencil.h"

namespace wl_stencil {

/// Planes of a level, by the last bits of their index, and what is read of them.
template <class Real, int kSlots>
struct Ring {
  Real* at[kSlots];
  /// The first plane that is still kept, and the newest.
  int oldest, newest;
  /// Planes that remain once the last level that reads them has had its turn, and which one that is; -1: they are not given back.
  int kept, last;

  Real*& operator[](int plane) { return at[plane & (kSlots - 1)]; }
  Real* operator[](int plane) const { return at[plane & (kSlots - 1)]; }

  void take(int plane, Real* memory) {
    (*this)[plane] = memory;
    newest = larger(newest, plane);
  }
  /// Gives back what is not read any more, after the turn of a level.
  void give(int level, Real** free, int& count) {
    if (last != level) return;
    for (; oldest <= newest - kept; ++oldest) free[count++] = (*this)[oldest];
  }
};

template <class S>
struct Rings {
  using Real = typename S::Real;
  /// Stages of a step, as far as a pass is concerned.
  static constexpr int kStages = S::kStaged ? 1 : S::kStages;
  static constexpr int kPlaneMargin = S::kMargin[0], kFields = S::kFields, kScalars = 4 + S::kParameters;

  /// How far the last level that reads a level is from it: that which stage `phase - 1` makes; 0: the beginning of a step.
  static constexpr int last_of(int phase) {
    int last = 1;
    for (int s = 0; s < kStages && phase == 0; ++s) {
      if (!S::kStaged && S::reads_start(s)) last = s + 1;
    }
    return last;
  }
  static constexpr int kept_of(int phase) { return larger(kPlaneMargin + S::kReach[0], last_of(phase) * kPlaneMargin); }

  /// The phase at which the sum that a stage reads was written.
  static constexpr int sum_phase(int stage) {
    int found = 0;
    for (int s = 0; s < stage; ++s) {
      if (S::writes_sum(s)) found = s + 1;
    }
    return found;
  }

  /// Whether stage `phase - 1` writes a sum, and how far the last level that reads it is.
  static constexpr bool has_sum(int phase) { return phase > 0 && !S::kStaged && S::writes_sum(phase - 1); }
  static constexpr int sum_last_of(int phase) {
    int last = 0;
    for (int s = phase; s < kStages; ++s) {
      if (S::reads_sum(s) && sum_phase(s) == phase) last = s + 1 - phase;
    }
    return last;
  }

  /// The most planes of a level at a time, in a power of two.
  static constexpr int slots() {
    int most = 0, all = 1;
    for (int phase = 0; phase < kStages; ++phase) most = larger(most, larger(kept_of(phase), sum_last_of(phase) * kPlaneMargin));
    while (all < most + S::kBatch) all *= 2;
    return all;
  }
  static constexpr int kSlots = slots();

  /// A state after some stages, on the part of the grid that later ones need.
  struct Level {
    int low[3], high[3];
    /// Whether the next level reads beyond the boundaries.
    bool ghost_low[3], ghost_high[3];
    Ring<Real, kSlots> y, sum;
    /// Of y, from one number to the next, and to row 0 and column 0 of a plane.
    int64_t field_stride, row_stride, origin;
    Real* faces;
    Real q[kScalars];  // of the stage that makes it
  };

  static void begin(Level& level, int at) {
    const int phase = at % kStages;
    level.y.oldest = level.low[0] - (level.ghost_low[0] ? S::kReach[0] : 0);
    level.y.newest = level.y.oldest - 1;
    level.sum.oldest = level.low[0];
    level.sum.newest = level.low[0] - 1;
    level.y.kept = kept_of(phase);
    level.y.last = at + last_of(phase);
    level.sum.kept = sum_last_of(phase) * kPlaneMargin;
    level.sum.last = has_sum(phase) ? at + sum_last_of(phase) : -1;
  }

  /// Whether all rows of the first level are in memory as they are, with what is read of them when rows are rounded to vectors.
  static bool is_direct(const Level& level, const Grid& grid) {
    for (int axis = 0; axis < 3; ++axis) {
      if (level.ghost_low[axis] || level.ghost_high[axis]) return false;
    }
    const int more = 2 * kLine + S::kReach[2];
    return level.low[1] >= 0 && level.high[1] <= grid.n[1] && level.low[2] >= more && level.high[2] + more <= grid.n[2];
  }

  // The layout of a thread's memory: levels, planes that are free, planes. Lines are 64 bytes.

  static constexpr int kLine = 64 / (int)sizeof(Real), kVector = S::kWide ? kLine : kLine / 2;
  static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
  static int rows_of(const Shape& shape) { return shape.tile[1] + 2 * (shape.depth * kStages * S::kMargin[1] + S::kReach[1]); }
  static int lines(int columns) { return (columns + kLine - 1) / kLine; }
  /// Columns before and behind a tile.
  static int border_of(int levels) { return kLine * lines(levels * S::kMargin[2] + S::kReach[2] + kVector); }
  static int stride_of(const Shape& shape) {
    // An odd number of lines, so that rows do not compete for the same sets of a cache.
    return (lines(shape.tile[2] + 2 * border_of(shape.depth * kStages)) | 1) * kLine;
  }
  static size_t plane_of(const Shape& shape) { return (size_t)rows_of(shape) * stride_of(shape); }

  /// Planes that levels have at a time, at most: what they keep, and what those have just made that are not read to the end.
  static int planes_of(int levels) {
    int all = 0, most = 0;
    for (int at = 0; at < levels; ++at) {
      const int phase = at % kStages;
      all += kept_of(phase) + (has_sum(phase) ? sum_last_of(phase) * kPlaneMargin : 0);
      int open = 0;
      for (int from = larger(0, at - kStages); from <= at; ++from) {
        open += from + last_of(from % kStages) >= at;
        open += has_sum(from % kStages) && from + sum_last_of(from % kStages) >= at;
      }
      most = larger(most, open);
    }
    return all + most * S::kBatch;
  }
  /// If levels do not follow behind each other, what cells share is wanted at once.
  static int face_planes_of(int levels) { return 2 * S::kFaces * (kPlaneMargin == 0 ? 1 : levels + 1); }

  static size_t scratch_bytes(const Shape& shape) {
    const int levels = shape.depth * kStages, planes = planes_of(levels);
    const size_t numbers = (size_t)kFields * planes + face_planes_of(levels);
    return aligned(stride_of(shape) * sizeof(Real)) + aligned((levels + 1) * sizeof(Level)) + aligned(planes * sizeof(Real*))
        + numbers * plane_of(shape) * sizeof(Real) + 4096;
  }
};

}  // namespace wl_stencil
