// One stage of an explicit scheme per launch, as in classic.cuh, whose cells share work with their neighbours along the last axis and the
// first: what a cell makes of its fields, and fluxes through faces, for instance. Each warp takes columns of a row, with lanes beside them
// for what they need of their neighbours, and moves down the rows (in three dimensions, through the planes). What is made for other
// columns or for rows further on goes through shared memory, as fields do, which are copied there a row ahead
// (lib/stencil/compile/rings.ts); what the same lane takes in the next row stays in registers. In one dimension, it comes by shuffles. The
// stage is printed (lib/stencil/compile/sharing-text.ts) as for classic.cuh, with in place of inner and edge
//   kNumbers, kAges: how many numbers are made for each cell, and of how many rows they are kept
//   kWidth: columns of a warp; kLow: the first of its lanes, counted from the first of these; kHigh: columns behind the grid for which
//   numbers are made; kStart: rows before the first
//   kParameters: numbers of a member's parameters
//   kWarps, kHeld: warps of a block, and of a multiprocessor
//   kLanes: lanes that share rows: of a warp, or of a block
//   kOnes, kOthers, kRows, kRing: how long the numbers are in shared memory of which one row is kept, and one row of the others, of which
//   there are kRows; and all together
//   row(block, p, member, q, at, first, owns, n, once, rows): makes the numbers n of a row, those of age 0, and the cells from row `first`
//   on of lanes that own one; 1 if they are finite and admissible. `once` and `rows`, the newest first, are the lane's in shared memory
#pragma once
#include "cuda/stencil/classic.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class Stage>
struct SharingAgent {
  using Parameters = typename Stage::Parameters;
  using Real = typename Stage::Real;
  static constexpr int kWarps = Stage::kWarps, kMaxThreads = 32 * kWarps, kMinBlocks = Stage::kHeld / kWarps;
  static constexpr int kColumns = Stage::kWidth, kDimensions = Stage::kDimensions, kLast = kDimensions - 1;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const bool still = is_still(p);
    if (still && !Stage::kSingle) return;
    const int strips = (p.n[kLast] + kColumns - 1) / kColumns, rows = kDimensions == 3 ? p.n[1] : 1;
    const int slabs = kDimensions == 1 ? 1 : (p.n[0] + p.march - 1) / p.march;
    const int64_t tasks = static_cast<int64_t>(strips) * rows * slabs;
    constexpr int kAtOnce = 32 * kWarps / Stage::kLanes;
    const unsigned int blocks = static_cast<unsigned int>((tasks + kAtOnce - 1) / kAtOnce);
    const unsigned int member = static_cast<unsigned int>(block.index()) / blocks;
    const int group = block.thread() / Stage::kLanes, lane = block.thread() - group * Stage::kLanes;
    int64_t rest = static_cast<int64_t>(static_cast<unsigned int>(block.index()) - member * blocks) * kAtOnce + group;
    if (rest >= tasks) return;
    int at[kDimensions];
    const int64_t next = kDimensions == 1 ? 0 : rest / strips;
    const int column = static_cast<int>(rest - next * strips) * kColumns + lane + Stage::kLow;
    rest = next;
    if constexpr (kDimensions == 3) {
      const int64_t slab = rest / rows;
      at[1] = static_cast<int>(rest - slab * rows);
      rest = slab;
    }
    if constexpr (kDimensions > 1) at[0] = static_cast<int>(rest) * p.march;
    // Lanes further on do the same as the last one that is needed.
    at[kLast] = column < p.n[kLast] + Stage::kHigh ? column : p.n[kLast] - 1 + Stage::kHigh;
    const bool owns = lane >= -Stage::kLow && lane < kColumns - Stage::kLow && column < p.n[kLast];
    Real q[Stage::kParameters + 1] = {};
    WARPLOOM_UNROLL
    for (int i = 0; i < Stage::kParameters; ++i) q[i] = p.p[member * Stage::kParameters + i];
    Real numbers[Stage::kNumbers][Stage::kAges] = {};
    Real* const ring = block.shared<Real>();
    // The first rows are made of what is not there yet.
    for (int i = lane; i < Stage::kRing; i += Stage::kLanes) ring[i] = 1;
    Real *const once = ring + lane, *kept[Stage::kRows];
    WARPLOOM_UNROLL
    for (int i = 0; i < Stage::kRows; ++i) kept[i] = once + Stage::kOnes + i * Stage::kOthers;
    if constexpr (kDimensions == 1) {
      row(block, p, member, q, at, 0, still, owns, numbers, once, kept);
    } else {
      const int first = at[0], end = first + p.march < p.n[0] ? first + p.march : p.n[0];
      at[0] = still ? first : first + Stage::kStart;
      WARPLOOM_NO_UNROLL
      for (; at[0] < end; ++at[0]) row(block, p, member, q, at, first, still, owns, numbers, once, kept);
      device::async_wait<0>(block);
    }
  }

 private:
  /// Whether this step is not taken.
  static WARPLOOM_DEVICE bool is_still([[maybe_unused]] const Parameters& p) {
    if constexpr (Stage::kAdaptive) return p.clock[2] == 0;
    return false;
  }

  static WARPLOOM_DEVICE void row(
      const device::Block& block, const Parameters& p, int64_t member, const Real (&q)[Stage::kParameters + 1],
      const int (&at)[kDimensions], int first, bool still, bool owns, Real (&numbers)[Stage::kNumbers][Stage::kAges],
      Real* once, Real* (&rows)[Stage::kRows]) {
    if (still) {
      if (owns) ClassicAgent<Stage>::keep(p, member, at);
      return;
    }
    if (Stage::row(block, p, member, q, at, first, owns, numbers, once, rows) == 0) device::atomic_min(p.status, p.number());
    WARPLOOM_UNROLL
    for (int k = 0; k < Stage::kNumbers; ++k) {
      WARPLOOM_UNROLL
      for (int age = Stage::kAges - 1; age > 0; --age) numbers[k][age] = numbers[k][age - 1];
    }
    Real* const oldest = rows[Stage::kRows - 1];
    WARPLOOM_UNROLL
    for (int i = Stage::kRows - 1; i > 0; --i) rows[i] = rows[i - 1];
    rows[0] = oldest;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
