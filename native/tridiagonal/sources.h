// The bands of a tile. Include after the standard headers, once per instruction set.
#pragma once
#include "native/linear/tile_io.h"
#include "native/tridiagonal/problem.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class S>
struct Sources {
  const Problem<RealType<S>>* problem;
  Source<S> lower, diagonal, upper, rhs, solution;
  Sources(const TileLanes<S>& tile, const Problem<RealType<S>>& p)
      : problem(&p),
        lower(tile.source(p.lower, 1, 0, 0)),
        diagonal(tile.source(p.diagonal, 0, 0, 1)),
        upper(tile.source(p.upper, 0, 1, 0)),
        rhs(tile.source(p.rhs, 0, 0, 0)),
        solution(tile.source(p.solution, 0, 0, 0)) {}
};

}  // namespace warploom::cpu::WARPLOOM_ISA
