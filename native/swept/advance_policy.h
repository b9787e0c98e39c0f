// Tuning table of swept.advance on the cpu backend.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cuda/swept/equation.h"

namespace warploom::cpu::swept_policy {

using ::warploom::swept::Equation;

/// Choices for one equation, measured on a Zen 3 core with AVX2.
struct Entry {
  /// Cost of loading a point into a tile and storing it again, in units of one step of that point, for each point that
  /// a step loses at the two ends.
  double balance;
  /// Most points of a tile, which is one lane of a vector: a group of tiles fits half of a 512 KiB L2 cache.
  int64_t length;
  int64_t least_work;  ///< points * steps that are worth waking a thread for: about 50 us
};
inline Entry entry(Equation equation) {
  switch (equation) {
    case Equation::heat: return {6.5, 4096, 1 << 19};
    case Equation::kuramoto_sivashinsky: return {0.4, 4096, 1 << 17};
    default: return {0.13, 1024, 1 << 12};
  }
}
inline constexpr int64_t kMostSteps = 256;
/// Fixed cost of a visit: as much as loading this many points.
inline constexpr int64_t kVisitPlaces = 100;
/// Groups of tiles for each thread, so that all end at nearly the same time.
inline constexpr int64_t kGroupsPerThread = 4;

/// Steps of one visit: with few, tiles lose little to their overlap; with many, the cost of the visit is shared.
inline int64_t visit_steps(const Entry& entry, int64_t length, int lanes, int64_t steps, int depth) {
  const double places = static_cast<double>(length + kVisitPlaces) * lanes / 4;
  const int64_t best = depth > 0 ? depth : static_cast<int64_t>(std::sqrt(entry.balance * places));
  return std::clamp<int64_t>(best, 1, std::clamp<int64_t>(steps, 1, kMostSteps));
}

/// How cpu-tiled cuts a call.
struct Tiles {
  int64_t steps = 1;   ///< of one pass through memory
  int64_t length = 1;  ///< points of a tile
  int64_t tiles = 1;   ///< of a problem
};

/// Cuts into at least `groups` vectors of tiles.
inline Tiles cut(const Entry& entry, int64_t n, int64_t batch, int64_t groups, int lanes) {
  const int64_t wanted = (groups * lanes + batch - 1) / batch;
  Tiles t;
  t.tiles = std::max((n + entry.length - 1) / entry.length, wanted);
  if (batch == 1) t.tiles = (t.tiles + lanes - 1) / lanes * lanes;  // no idle lanes
  t.length = (n + t.tiles - 1) / t.tiles;
  t.tiles = (n + t.length - 1) / t.length;
  return t;
}

inline Tiles tiles(Equation equation, int64_t n, int64_t batch, int64_t steps, int depth, int lanes, int threads) {
  const Entry best = entry(equation);
  Tiles t = cut(best, n, batch, 1, lanes);
  t.steps = visit_steps(best, t.length, lanes, steps, depth);
  const int64_t useful = std::min<int64_t>(threads, batch * n * t.steps / best.least_work);
  if (useful > 1) t = cut(best, n, batch, useful * kGroupsPerThread, lanes);
  t.steps = visit_steps(best, t.length, lanes, steps, depth);
  return t;
}

/// Number of pieces that `points` are divided into for the threads, in one sub-step of cpu-classic.
inline int64_t pieces(Equation equation, int64_t points, int threads) {
  return std::clamp<int64_t>(points * 8 / entry(equation).least_work, 1, threads);
}

}  // namespace warploom::cpu::swept_policy
