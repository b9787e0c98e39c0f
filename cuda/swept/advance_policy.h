// Tuning table of swept.advance.
#pragma once
#include <cstdint>

#include "cuda/swept/advance.h"

namespace warploom::swept::policy {

/// Threads of a block of `classic`.
inline constexpr int kClassicThreads = 256;
/// Time steps in a graph of `classic-graph`.
inline constexpr int kStepsPerGraph = 64, kMostStepsPerGraph = 4096;
/// Launches of a graph between two checks for cancellation, and point updates in them.
inline constexpr int64_t kMostReplays = 64;
inline constexpr int64_t kUpdatesPerReplay = int64_t{1} << 34;

/// Heat in `shared`: from this block size on, warps without an active point skip the sub-step.
inline constexpr int kByWarpThreads = 512;

/// Points per node of `shared`, which is also the number of threads per block, for a call of so many points in all. On
/// an H200, blocks twice or half as large take 1 to 30 % longer.
inline int shared_threads(Equation equation, int64_t points) {
  if (equation == Equation::euler) return points < 1 << 16 ? 128 : 256;
  return points > 1 << 16 ? 512 : 256;
}
/// The same for `hybrid`: the host's time per step grows with the width of its node, so the node is narrow until the
/// GPU takes longer.
inline int hybrid_threads(Equation equation, int64_t points) {
  if (equation == Equation::euler) return points < 1 << 19 ? 64 : 256;
  return points < 1 << 19 ? 128 : points < 1 << 22 ? 256 : 512;
}
/// Threads of a block of `register`.
inline constexpr int kRegisterThreads = 128;
/// Most points per node of `register`: the lanes of a warp.
inline constexpr int kRegisterPoints = 32;
/// Phases in a graph of `shared` and `register`: an even number.
inline constexpr int kPhasesPerGraph = 16;
/// Time steps per launch when one block holds a domain: a few milliseconds.
inline constexpr int kStepsPerWholeLaunch = 1 << 13;

/// The variant that `auto` chooses.
inline Variant variant(const AdvanceParameters& p) {
  return p.variant == Variant::automatic ? Variant::tiled : p.variant;
}

}  // namespace warploom::swept::policy
