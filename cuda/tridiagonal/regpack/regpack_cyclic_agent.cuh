// CR-RegPack for periodic systems that fill their lanes. Cyclic reduction closes over the lanes of a system: the first
// row is treated as the right neighbour of the last one, so only the right-hand side is eliminated. The pivot left for
// the last unknown is the Schur complement of all others, as in periodic.cuh.
#pragma once
#include "cuda/tridiagonal/regpack/cr_regpack_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// WarpRegpackAgent for periodic systems of width * kDepth rows.
template <class T, int kDepth, bool kFull>
struct CyclicWarpRegpackAgent : WarpRegpackAgent<T, kDepth, kFull> {
  using Base = WarpRegpackAgent<T, kDepth, kFull>;
  static_assert(kDepth % 2 == 0, "an odd depth leaves lanes that are not filled");
  using Parameters = RegpackParameters<T>;
  using Warp = RegpackLane<T, kDepth, kFull, true>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    Base::template run_as<CyclicWarpRegpackAgent>(block, p);
  }
  static WARPLOOM_DEVICE void solve(const device::Block& block, const Parameters& p, typename Warp::Rows& rows) {
    Warp::reduce(rows);
    Row<T> row;
    Front<T> front;
    Warp::template eliminate<false, kFull>(block, rows, row, front, p.width);
    T x = row.d;
    if ((block.lane() & (p.width - 1)) == p.width - 1) {
      x = row.d * rows.pivots.reciprocal(row.b + (row.a + row.c), kDepth - 1);
    }
    const T before = device::shuffle(block, x, p.width - 1, p.width);
    Warp::template descend<kFull>(block, rows, row, x, before, p.width);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
