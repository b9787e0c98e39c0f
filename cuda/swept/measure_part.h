// What swept.measure accumulates, and in which order.
//
// A row is cut into chunks of kChunk points, a chunk into segments of kSegment. Lane l of a segment's kSegmentLanes
// takes its points l, l + kSegmentLanes, …, in order. The kLanes lanes of a chunk (8 per segment, segments in order)
// are combined in pairs at distances 4, 2, 1, 8, 16, 32, 64 and 128. With several chunks, lane c of kLanes takes the
// chunks c, c + kLanes, …, in order, and the same tree combines the lanes. This order suits vectors of 2, 4 or 8
// float64 as well as warps: a lane without points changes nothing.
#pragma once
#include <cstdint>
#include <cstring>

#include "cuda/core/portable.h"
#include "cuda/swept/measure.h"

namespace warploom::swept {

inline constexpr int kSegmentLanes = 8, kSegment = 256, kLanes = 256;
inline constexpr int64_t kChunk = int64_t{kSegment} * kLanes / kSegmentLanes;
/// Distances of the tree: 4, 2, 1, then 8 and all greater powers of two below kLanes.
WARPLOOM_PORTABLE constexpr int lane_distance(int level) { return level < 3 ? 4 >> level : 1 << level; }

struct Part {
  double sum, absolute_sum, square_sum, least, most;
};

WARPLOOM_PORTABLE Part no_points() { return {0, 0, 0, HUGE_VAL, -HUGE_VAL}; }

WARPLOOM_PORTABLE void add_value(Part& part, double value) {
  part.sum += value;
  part.absolute_sum += portable::absolute(value);
  part.square_sum += value * value;
  part.least = value < part.least ? value : part.least;
  part.most = value > part.most ? value : part.most;
}

WARPLOOM_PORTABLE Part combined(const Part& a, const Part& b) {
  return {a.sum + b.sum, a.absolute_sum + b.absolute_sum, a.square_sum + b.square_sum, b.least < a.least ? b.least : a.least,
          b.most > a.most ? b.most : a.most};
}

/// The statistics of a row from all its points. Comparisons ignore NaN, but it shows in the sum of absolute values; NaN
/// is returned in one bit pattern.
WARPLOOM_PORTABLE Figures figures_of(const Part& part, double first, double last) {
  double nan;
  const uint64_t bits = 0x7ff8000000000000u;
  memcpy(&nan, &bits, sizeof(nan));
  const bool bad = part.absolute_sum != part.absolute_sum;
  const double trapezoid = part.sum - 0.5 * (first + last);
  return {part.sum != part.sum ? nan : part.sum,
          trapezoid != trapezoid ? nan : trapezoid,
          bad ? nan : part.absolute_sum,
          part.square_sum != part.square_sum ? nan : part.square_sum,
          bad ? nan : part.least,
          bad ? nan : part.most};
}

}  // namespace warploom::swept
