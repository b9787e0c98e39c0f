// Tuning table of swept.advance on the cpu backend.
#pragma once
#include <algorithm>
#include <cstdint>

#include "cuda/swept/equation.h"

namespace warploom::cpu::swept_policy {

using ::warploom::swept::Equation;

/// How cpu-swept cuts a call.
struct Tiles {
  int64_t steps = 1;   ///< of one visit of memory
  int64_t length = 1;  ///< points of a tile
  int64_t tiles = 1;   ///< of a problem
};

/// Steps of a visit, and the most points of a tile, which is one lane of a vector.
struct Entry {
  int64_t steps, length;
};
inline Entry entry(Equation equation) {
  switch (equation) {
    case Equation::heat: return {32, 1024};
    case Equation::kuramoto_sivashinsky: return {16, 1024};
    default: return {4, 256};
  }
}
inline constexpr int64_t kMostSteps = 256;

/// Points that a thread takes at least, times steps and sub-steps: fewer are not worth waking it.
inline constexpr int64_t kLeastWork = 65536;

inline Tiles tiles(Equation equation, int64_t n, int64_t batch, int64_t steps, int depth, int lanes) {
  const Entry best = entry(equation);
  Tiles t;
  t.steps = std::max<int64_t>(1, std::min({steps, depth > 0 ? int64_t{depth} : best.steps, kMostSteps}));
  t.tiles = (n + best.length - 1) / best.length;
  // All lanes have work where the problems alone do not give it.
  if (batch * t.tiles < 4 * lanes) {
    const int64_t per_problem = (lanes + batch - 1) / batch;
    t.tiles = std::min(n, (t.tiles + per_problem - 1) / per_problem * per_problem);
  }
  t.length = (n + t.tiles - 1) / t.tiles;
  t.tiles = (n + t.length - 1) / t.length;
  return t;
}

}  // namespace warploom::cpu::swept_policy
