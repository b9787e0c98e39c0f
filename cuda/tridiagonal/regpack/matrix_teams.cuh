// Warps that solve one right-hand side together, and what they exchange about the matrix and the sides. The operations
// are those of solve_in_block, on the same numbers: the same bits.
#pragma once
#include "cuda/tridiagonal/regpack/matrix_table.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// In shared memory. V holds the kSides right-hand sides that a lane solves at once.
template <class T, class V, int kSides, int kDepth>
struct MatrixTeams {
  static constexpr int kMostWarps = 8;  ///< of a team, a power of two
  struct Side {
    V d, front;
  };
  struct Record {
    Row<T> row;
    Front<T> front;
  };
  using Between = LaneParts<T, 3>;
  static constexpr WARPLOOM_HOST_DEVICE size_t bytes(int warps) {
    return 2 * warps * sizeof(Side) + 32 * sizeof(Between) + kMostWarps * sizeof(Record) + 2 * warps * kSides * sizeof(int);
  }

  int warps, team_warps;  ///< per block; per team
  Side* sides;            ///< by warp, two sets in turn
  Between* between;       ///< by lane, the same in all warps
  Record* records;        ///< by warp of the first team
  int* verdicts;          ///< of the block's lines, two sets in turn

  MatrixTeams() = default;
  WARPLOOM_DEVICE MatrixTeams(const device::Block& block, unsigned char* memory, int of_team)
      : warps(block.threads() / 32), team_warps(of_team), sides(reinterpret_cast<Side*>(memory)),
        between(reinterpret_cast<Between*>(sides + 2 * warps)), records(reinterpret_cast<Record*>(between + 32)),
        verdicts(reinterpret_cast<int*>(records + kMostWarps)) {
    if (block.thread() < 2 * lines()) verdicts[block.thread()] = 0;
  }
  /// How many lines the block takes at once.
  WARPLOOM_DEVICE int lines() const { return warps / team_warps * kSides; }

  /// Input: a warp's last row and its front, in lane 31. Begins and ends with a barrier.
  WARPLOOM_DEVICE void factor(const device::Block& block, const Row<T>& own, const Front<T>& own_front, Pivots& pivots) const {
    const int lane = block.lane(), warp = block.warp();
    if (warp < team_warps && lane == 31) records[warp] = {own, own_front};
    block.sync();
    Row<T> row{T(0), T(1), T(0), T(0)};
    Front<T> front = untouched_front<T>();
    if (lane < team_warps) row = records[lane].row;
    if (lane + 1 < team_warps) front = records[lane + 1].front;
    else row.c = T(0);
    Pivots met;
    Between parts;
    parts.factor(block, row, front, team_warps, met, 0);
    if ((lane & (team_warps - 1)) == team_warps - 1) parts.inverse = met.reciprocal(row.b, 0);
    if (warp == 0) between[lane] = parts;
    const int flags = device::shuffle(block, int(met.zero) | (met.infinite ? 2 : 0), warp & (team_warps - 1));
    if (lane == 31) {
      pivots.zero |= static_cast<unsigned int>(flags & 1) << (kDepth - 1);
      pivots.infinite = pivots.infinite || (flags & 2) != 0;
    }
    block.sync();
  }

  /// Computes the unknowns at both ends of the calling warp, from its last row and its front. `meanwhile` runs after
  /// the barrier.
  template <class Meanwhile>
  WARPLOOM_DEVICE void solve(const device::Block& block, int parity, const V& own, const V& own_front, V& before, V& last,
                             Meanwhile meanwhile) const {
    const int lane = block.lane(), warp = block.warp(), place = warp & (team_warps - 1);
    Side* const set = sides + parity * warps;
    if (lane == 31) set[warp] = {own, own_front};
    block.sync();
    meanwhile();
    const Side* const team = set + (warp - place);
    V d = lane < team_warps ? team[lane].d : V{};
    V front = lane < team_warps ? team[lane].front : V{};
    const Between parts = between[lane];
    parts.reduce(block, d, front, team_warps);
    const V x = parts.substitute(block, d, d * parts.inverse, V{}, team_warps);
    last = device::shuffle(block, x, place);
    const V x_before = device::shuffle(block, x, place > 0 ? place - 1 : 0);
    before = place == 0 ? V{} : x_before;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
