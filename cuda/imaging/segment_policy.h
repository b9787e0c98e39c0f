// Tuning table of imaging.segment.
#pragma once
#include <algorithm>
#include <cstdint>

#include "cuda/imaging/segment.h"

namespace warploom::imaging::segment_policy {

inline constexpr int kThreads = 256;        ///< of a block, one point each at a time
inline constexpr int64_t kBlocksPerSm = 8;  ///< of kernels that sum over all points
inline constexpr int64_t kMostLaunches = 240;            ///< of a graph
inline constexpr int64_t kUpdatesPerLook = 1 << 28;      ///< point updates between two looks of the host
inline constexpr int64_t kMostStepsPerLook = 1000;
inline constexpr int64_t kDirectPoints = 300 * 300;      ///< up to here a thread per point is quicker than strips (one H200)

inline SegmentVariant variant(const SegmentParameters& p) {
  if (p.variant != SegmentVariant::automatic) return p.variant;
  const bool march = p.channels == 1 && p.grid.nz == 1 && points_of(p.grid) > kDirectPoints;
  return march ? SegmentVariant::march : SegmentVariant::direct;
}

/// How the march divides an image: rows of a warp's strip, and warps of a block.
struct Strips {
  int64_t rows, warps;
};
/// The division with the least work on the multiprocessor that has most, a warp's begin counting as 1.7 rows; below 12 warps
/// they wait for themselves. On one H200 this finds the best of all that were tried at 512^2 … 4096^2 (bench/device/imaging_segment.cu).
inline Strips strips(int64_t tiles, int64_t ny, int64_t multiprocessors) {
  constexpr int64_t kRows[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
  Strips best = {1, 4};
  double least = 1e300;
  for (const int64_t rows : kRows) {
    const int64_t strips = tiles * ((ny + rows - 1) / rows), warps = strips <= 32 * multiprocessors ? 2 : 4;
    const int64_t blocks = (strips + warps - 1) / warps, most = (blocks + multiprocessors - 1) / multiprocessors * warps;
    const double work = static_cast<double>(std::max<int64_t>(12, most)) * (static_cast<double>(rows) + 1.7);
    if (work < least) best = {rows, warps};
    least = std::min(least, work);
  }
  return best;
}

/// Steps between two looks of the host at the device.
inline int64_t steps_per_look(int64_t points) {
  return std::max<int64_t>(1, std::min(kMostStepsPerLook, kUpdatesPerLook / std::max<int64_t>(1, points)));
}

}  // namespace warploom::imaging::segment_policy
