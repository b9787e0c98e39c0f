// Tuning table of imaging.segment.
#pragma once
#include <cstdint>

#include "cuda/core/numbers.h"
#include "cuda/imaging/axis_factors.h"
#include "cuda/imaging/segment.h"

namespace warploom::imaging::segment_policy {

inline constexpr int kThreads = 256;        ///< of a block, one point each at a time
inline constexpr int64_t kBlocksPerSm = 8;  ///< of kernels that sum over all points
inline constexpr int64_t kMostLaunches = 240;            ///< of a graph
inline constexpr int64_t kUpdatesPerLook = 1 << 29;      ///< point updates between two checks by the host
inline constexpr int64_t kMostStepsPerLook = 4000;
inline constexpr int64_t kDirectPoints = 300 * 300;      ///< up to here a thread per point is faster than strips (H200)

inline bool march_takes(const SegmentParameters& p) { return p.channels == 1 && p.grid.nz == 1 && is_even(p.grid, p.spacing); }

inline SegmentVariant variant(const SegmentParameters& p) {
  if (p.variant != SegmentVariant::automatic) return p.variant;
  const bool march = march_takes(p) && points_of(p.grid) > kDirectPoints;
  return march ? SegmentVariant::march : SegmentVariant::direct;
}

/// Warps per block of the march.
inline constexpr int kStripWarps = 4;
/// Rows of a warp's strip: minimises the work of the busiest multiprocessor. Starting a warp counts as 1.7 rows, and
/// fewer than 12 warps as 12, because so few cannot hide their latency. On one H200 this finds the best of all choices
/// tried at 512^2 … 4096^2 (bench/device/imaging_segment.cu).
inline int64_t strip_rows(int64_t tiles, int64_t ny, int64_t multiprocessors) {
  int64_t best = 1;
  double least = 1e300;
  constexpr int64_t kRows[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
  for (const int64_t rows : kRows) {
    const int64_t blocks = (tiles * ((ny + rows - 1) / rows) + kStripWarps - 1) / kStripWarps;
    const int64_t most = (blocks + multiprocessors - 1) / multiprocessors * kStripWarps;
    const double work = static_cast<double>(larger<int64_t>(12, most)) * (static_cast<double>(rows) + 1.7);
    if (work < least) best = rows;
    least = smaller(least, work);
  }
  return best;
}

/// Whether to set up the next step's blocks before those of a step have ended. It pays if they do not displace any of
/// these, and if the step is so short that its start matters (one H200: from 4.2 to 3.9 us at 512^2). In longer steps
/// the blocks would be distributed unevenly (from 7.6 to 9.1 us at 1024^2).
inline bool begins_early(int64_t blocks, int64_t rows, int64_t multiprocessors) { return blocks <= 3 * multiprocessors && rows <= 2; }

/// Steps between two checks of the device by the host.
inline int64_t steps_per_look(int64_t points) {
  return larger<int64_t>(1, smaller(kMostStepsPerLook, kUpdatesPerLook / larger<int64_t>(1, points)));
}

}  // namespace warploom::imaging::segment_policy
