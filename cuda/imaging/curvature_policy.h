// Tuning table of imaging.curvature and of the curvature flow.
#pragma once
#include <cmath>
#include <cstdint>

#include "cuda/imaging/grid.h"

namespace warploom::imaging::curvature_policy {

inline constexpr int kDirectThreads = 256;
/// Tiles of `tile`: one thread for each point.
inline constexpr int kTileThreads = 256, kTileX = 32, kTileZ = 2;
/// Threads of a block of `march`: they hold adjacent rows, and share their reads through the L1 cache.
inline constexpr int kMarchThreads = 128;

/// Rows per thread of a march in a volume, and blocks that must fit a multiprocessor, which limits their registers.
/// Measured on an H200 at 256^3, float32, with two rows and three blocks, and with one row and four: curvature 55 and
/// 57 us, steps of the flow 77 and 68 us, primal-dual 168 and 160 us.
inline constexpr int march_rows(bool flow) { return flow ? 1 : 2; }
/// Rows that are not read in packs need more registers for addresses.
inline constexpr int march_blocks(int bytes, bool planar, bool flow, bool packed) {
  return planar ? (bytes == 8 ? 4 : packed ? 8 : 6) : bytes == 8 ? 2 : (flow ? 4 : 3) - (packed ? 0 : 1);
}
inline constexpr int kTvRows = 1;
inline constexpr int tv_blocks(int bytes, bool planar, bool packed) {
  return planar ? (bytes == 4 ? 6 : 4) : bytes == 8 ? 2 : packed ? 4 : 3;
}

/// Planes per thread: with many, fewer planes before and behind them are read twice; with few, every multiprocessor
/// stays busy. `blocks`: for one chunk of planes, `chunks_of_block`: chunks in one block, `resident`: blocks that a
/// multiprocessor holds. The model assumes that the last blocks of a multiprocessor run slower the fewer they are; it
/// is fitted to times at 64^3, 128^3, 256^3, 1024^2 and 4096^2.
inline int64_t march_depth(int64_t planes, int64_t blocks, int64_t chunks_of_block, int multiprocessors, int resident) {
  int64_t best = 1;
  double least = 0;
  constexpr int64_t kDepths[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
  for (const int64_t depth : kDepths) {
    const int64_t chunks = (planes + depth * chunks_of_block - 1) / (depth * chunks_of_block);
    const int64_t each = (blocks * chunks + multiprocessors - 1) / multiprocessors, last = each % resident;
    const double idle = 1 - static_cast<double>(last) / resident;
    const double time = static_cast<double>(depth + 2) *
                        (static_cast<double>(each - last) + static_cast<double>(last) * (1 + 0.7 * idle * std::sqrt(idle)));
    if (depth == 1 || time < least) {
      best = depth;
      least = time;
    }
  }
  return best;
}

}  // namespace warploom::imaging::curvature_policy
