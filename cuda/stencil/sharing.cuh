// One stage of an explicit scheme per launch, as in classic.cuh, whose cells share work with the cell before them along the last axis and
// the one before them along the first: fluxes through faces, for instance. Each warp takes 31 columns of a row, with one lane for what the
// first of them needs of the column before, and moves down the rows (in three dimensions, through the planes). What is made for the next
// column comes by shuffles, what is made for the next row stays in registers. The stage is printed (lib/stencil/compile/cuda.ts) as for
// classic.cuh, with in place of inner and edge
//   kNumbers: how many numbers a cell makes for itself and its neighbours
//   before(k), beside(k): whether number k is used by the next cell along the first axis, the last axis
//   share(p, member, at, inside, own): makes them; the cell may be one outside; inside: whether all that it reads is inside
//   end(p, member, at, inside, own, before, beside): makes the cell and stores it; 1 if it is finite and admissible
#pragma once
#include "cuda/stencil/classic.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class Stage>
struct SharingAgent {
  using Parameters = typename Stage::Parameters;
  using Real = typename Stage::Real;
  static constexpr int kMaxThreads = 256, kMinBlocks = 2;
  static constexpr int kColumns = 31, kDimensions = Stage::kDimensions, kLast = kDimensions - 1, kNumbers = Stage::kNumbers;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const bool still = is_still(p);
    if (still && !Stage::kSingle) return;
    const int strips = (p.n[kLast] + kColumns - 1) / kColumns, rows = kDimensions == 3 ? p.n[1] : 1;
    const int slabs = kDimensions == 1 ? 1 : (p.n[0] + p.march - 1) / p.march;
    const int64_t tasks = static_cast<int64_t>(strips) * rows * slabs, warps = block.threads() / 32;
    const int64_t blocks = (tasks + warps - 1) / warps, member = block.index() / blocks;
    int64_t rest = (block.index() - member * blocks) * warps + block.warp();
    if (rest >= tasks) return;
    int at[kDimensions];
    const int64_t next = rest / strips;
    const int column = static_cast<int>(rest - next * strips) * kColumns + block.lane() - 1;
    rest = next;
    if constexpr (kDimensions == 3) {
      const int64_t slab = rest / rows;
      at[1] = static_cast<int>(rest - slab * rows);
      rest = slab;
    }
    if constexpr (kDimensions > 1) at[0] = static_cast<int>(rest) * p.march;
    at[kLast] = column;
    const bool owns = block.lane() > 0 && column < p.n[kLast];
    if constexpr (kDimensions == 1) {
      Real none[kNumbers] = {};
      row(block, p, member, at, still, owns, true, none);
    } else {
      const int first = at[0], end = first + p.march < p.n[0] ? first + p.march : p.n[0];
      Real before[kNumbers] = {};
      at[0] = first - 1;
      WARPLOOM_NO_UNROLL
      for (; at[0] < end; ++at[0]) row(block, p, member, at, still, owns, at[0] >= first, before);
    }
  }

 private:
  /// Whether this step is not taken.
  static WARPLOOM_DEVICE bool is_still([[maybe_unused]] const Parameters& p) {
    if constexpr (Stage::kAdaptive) return p.clock[2] == 0;
    return false;
  }

  /// A row of the warp: the numbers, and the cells unless it is the row before the first.
  static WARPLOOM_DEVICE void row(
      const device::Block& block, const Parameters& p, int64_t member, const int (&at)[kDimensions], bool still, bool owns, bool ends,
      Real (&before)[kNumbers]) {
    bool inside = true;
    WARPLOOM_UNROLL
    for (int axis = 0; axis <= kLast; ++axis) {
      inside = inside && at[axis] >= Stage::reach(axis) && at[axis] < p.n[axis] - Stage::reach(axis);
    }
    if (still) {
      if (owns && ends) ClassicAgent<Stage>::keep(p, member, at);
      return;
    }
    Real own[kNumbers] = {}, beside[kNumbers] = {};
    if (at[kLast] < p.n[kLast]) Stage::share(p, member, at, inside, own);
    WARPLOOM_UNROLL
    for (int k = 0; k < kNumbers; ++k) {
      if (Stage::beside(k)) beside[k] = device::shuffle_up(block, own[k], 1);
    }
    if (owns && ends && Stage::end(p, member, at, inside, own, before, beside) == 0) device::atomic_min(p.status, p.number());
    WARPLOOM_UNROLL
    for (int k = 0; k < kNumbers; ++k) {
      if (Stage::before(k)) before[k] = own[k];
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
