// Sizes of the tiles of `tiled`, and how to cut a march into them. Plain C++: the host plans with it, and kernels are
// built for it.
#pragma once
#include <cstdint>

namespace warploom::swept {

/// A block's tile. Each warp holds 32 * kPoints consecutive places and shares the outer kHaloLanes lanes on each side
/// with its neighbours. When its steps have used these up, it gets them again from the neighbours.
template <int kPoints_, int kWarps_, int kHaloLanes_, int kMinBlocks_>
struct TileShape {
  static constexpr int kPoints = kPoints_, kWarps = kWarps_, kHaloLanes = kHaloLanes_, kMinBlocks = kMinBlocks_;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kHalo = kHaloLanes * kPoints;
  static constexpr int kWarpPlaces = 32 * kPoints;
  static constexpr int kStride = kWarpPlaces - 2 * kHalo;  ///< from one warp's first place to the next one's
  static constexpr int kPlaces = kWarps * kStride + 2 * kHalo;
  static_assert(kWarps > 1 && 4 * kHaloLanes <= 32, "the lanes that a warp gives and those that it gets are different ones");
};

/// How the tiles march. `single`: a tile holds a whole problem for all steps. `resident`: all tiles are on the GPU at
/// once, keep their part for all steps, and exchange edges. `passes`: a launch reads and writes the state every `depth`
/// steps.
enum class TileMode : int32_t { single = 0, resident = 1, passes = 2 };

struct TilePlan {
  TileMode mode = TileMode::passes;
  int64_t tiles = 0;  ///< of a problem
  int margin = 0;     ///< places on each side of a tile's own, enough for `depth` steps
  int depth = 0;      ///< steps between two exchanges of tiles
};

/// The sizes that a plan depends on.
struct TileSize {
  int places;     ///< of a tile
  int step_reach; ///< places that a time step uses up on each side
  int depth;      ///< requested
  int warp_steps; ///< between two exchanges of warps
};

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A problem in one tile; false if it does not fit with at least `least` steps between refreshes.
inline bool plan_single(int64_t n, const TileSize& size, int least, TilePlan* plan) {
  if (n > size.places) return false;
  const int depth = static_cast<int>(size.places - n) / 2 / size.step_reach;
  if (depth < least) return false;
  *plan = {TileMode::single, 1, depth * size.step_reach, depth};
  return true;
}

/// Problems spread over all tiles that the GPU can hold at once. On each side, every tile gets its whole margin from
/// one neighbour.
inline bool plan_resident(int64_t n, int64_t batch, int64_t resident, const TileSize& size, TilePlan* plan) {
  const int64_t most = resident / batch;
  const int wished = size.places - 2 * size.depth * size.step_reach;
  if (most < 2 || wished < 1 || ceil_div(n, most) > wished) return false;
  const int64_t tiles = ceil_div(n, wished) < 2 ? 2 : ceil_div(n, wished), own = ceil_div(n, tiles);
  int64_t depth = (size.places - own) / 2 / size.step_reach;
  const int64_t edge = n / tiles - 1;  // limited by what a neighbour sends
  if (depth * size.step_reach > edge) depth = edge / size.step_reach;
  if (depth > size.warp_steps) depth -= depth % size.warp_steps;
  if (depth < 1) return false;
  *plan = {TileMode::resident, tiles, static_cast<int>(depth) * size.step_reach, static_cast<int>(depth)};
  return true;
}

inline bool plan_passes(int64_t n, const TileSize& size, TilePlan* plan) {
  const int margin = size.depth * size.step_reach;
  if (2 * margin >= size.places) return false;
  *plan = {TileMode::passes, ceil_div(n, size.places - 2 * margin), margin, size.depth};
  return true;
}

}  // namespace warploom::swept
