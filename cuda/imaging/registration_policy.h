// How iterations of registration are divided and submitted to the device.
#pragma once
#include <algorithm>
#include <cstdint>

#include "cuda/imaging/cosine_policy.h"

namespace warploom::imaging::policy {

inline constexpr int kMostGroups = 8;

/// Row pairs per tile for a displacement with `axes` components; 0 if not even one fits `shared_bytes`.
inline int groups_of(int m, int axes, size_t entry_bytes, int64_t pairs, size_t shared_bytes) {
  const size_t comfortable = std::min(kComfortableBytes, shared_bytes);
  int taken = kMostGroups;
  while (taken > 1 && tile_bytes(m, taken * axes, entry_bytes) > comfortable) taken /= 2;
  while (taken > 1 && (pairs + taken - 1) / taken < 4 * kLeastTiles) taken /= 2;
  return tile_bytes(m, taken * axes, entry_bytes) > shared_bytes ? 0 : taken;
}

/// Threads per block: each works on one or two points of a tile.
inline int row_threads(int n, int m, int axes, int groups, int most) {
  return std::max(line_threads(m, groups * axes, most), std::min(most, (groups * n + 31) / 32 * 32));
}

/// Iterations between two checks of the state by the host: a few milliseconds on a GPU.
inline int64_t portion(int64_t points) { return std::min<int64_t>(std::max<int64_t>((int64_t{1} << 27) / points, 16), 512); }

}  // namespace warploom::imaging::policy
