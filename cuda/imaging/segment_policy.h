// Tuning table of imaging.segment.
#pragma once
#include <algorithm>
#include <cstdint>

#include "cuda/imaging/segment.h"

namespace warploom::imaging::segment_policy {

inline constexpr int kThreads = 256;        ///< of a block, one point each at a time
inline constexpr int kMarchThreads = 128;   ///< of a block of the march
inline constexpr int64_t kBlocksPerSm = 8;  ///< of kernels that sum over all points
inline constexpr int64_t kMostLaunches = 240;            ///< of a graph
inline constexpr int64_t kUpdatesPerLook = 1 << 28;      ///< point updates between two looks of the host
inline constexpr int64_t kMostStepsPerLook = 1000;
inline constexpr int64_t kPersistentPoints = 96 * 96;    ///< up to here one block after another is slower than one launch
inline constexpr int kPersistentSteps = 50;              ///< of a launch

inline SegmentVariant variant(const SegmentParameters& p) {
  if (p.variant != SegmentVariant::automatic) return p.variant;
  return p.channels == 1 && p.grid.nz == 1 ? SegmentVariant::march : SegmentVariant::direct;
}

/// Rows of a warp's strip: enough strips to fill the device, few enough to repeat little.
inline int64_t strip_rows(int64_t tiles, int64_t ny, int64_t multiprocessors) {
  int64_t rows = 32;
  while (rows > 4 && tiles * ((ny + rows - 1) / rows) < 16 * multiprocessors) rows /= 2;
  return rows;
}

/// Steps between two looks of the host at the device.
inline int64_t steps_per_look(int64_t points) {
  return std::max<int64_t>(1, std::min(kMostStepsPerLook, kUpdatesPerLook / std::max<int64_t>(1, points)));
}

}  // namespace warploom::imaging::segment_policy
