// Cyclic reduction in shared memory (Hockney 1965; on GPUs Zhang, Cohen, Owens 2010, section 4.1). Each stage of the
// reduction halves the rows until one is left; each stage of the substitution doubles the known unknowns. CR-PCR
// (section 4.4 there) ends the reduction when the rows fit the lanes of a warp, and solves those by parallel cyclic
// reduction in registers.
//
// A row is divided by its pivot once, when it is final: both rows that absorb it, and its own substitution, use the
// result. Stages of at most 32 rows belong to one warp and need no block barrier.
#pragma once
#include "cuda/tridiagonal/classic/cr_rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T, bool kPcr>
struct CrAgent {
  static constexpr int kMaxThreads = sizeof(T) == 16 ? 512 : 384;
  static constexpr int kMinBlocks = sizeof(T) == 16 ? 1 : 2;
  struct Parameters {
    Batch<T> batch;
    Groups groups;
    /// Every system of every array begins at a multiple of 16 bytes, with its rows contiguous.
    bool wide = false;
  };

  static size_t problem_bytes(int64_t n) { return CrRows<T>::bytes(static_cast<int>(n)); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const GroupProblem<T> group(block, p.batch, p.groups);
    CrRows<T> rows(group.memory, static_cast<int>(p.batch.n), group.rows);
    Outcome outcome;
    if (p.wide) {
      rows.load_wide(p.batch, group, outcome);
    } else {
      rows.load(p.batch, group, 0, outcome);
    }
    const bool one_warp = group.threads <= 32;
    const int n = static_cast<int>(p.batch.n);
    int stages = 0;  // for the whole group
    if (one_warp) {
      block.sync_warp();
    } else {
      block.sync();
      for (; n >> (stages + 1) > 32; ++stages) {
        rows.reduce(stages, group.lane, group.threads, false, outcome);
        block.sync();
      }
    }
    if (one_warp || block.warp() == 0) {
      solve_kept(block, rows, n, stages, group.lane, one_warp ? group.threads : 32, outcome);
    }
    if (!one_warp) {
      block.sync();
      while (--stages >= 0) {
        rows.substitute(stages, group.lane, group.threads);
        block.sync();
      }
    }
    if (p.wide) {
      rows.store_wide(p.batch, group, outcome);
    } else {
      rows.store(p.batch, group, 0, outcome);
    }
    if (one_warp) {
      group.finish_in_warp(block, p.batch, outcome);
    } else {
      group.finish(block, p.batch, outcome);
    }
  }

 private:
  /// All stages from `first` on, by `lanes` lanes of a warp.
  static WARPLOOM_DEVICE void solve_kept(const device::Block& block, const CrRows<T>& rows, int n, int first, int lane,
                                         int lanes, Outcome& outcome) {
    int stage = first;
    if constexpr (kPcr) {
      bool few = n < 2;
      while (!few) {
        few = n >> (stage + 1) <= lanes;
        rows.reduce(stage++, lane, lanes, few, outcome);
        block.sync_warp();
      }
      rows.solve_by_pcr(block, stage, n >> stage, lane, lanes, outcome);
      block.sync_warp();
    } else {
      for (; n >> (stage + 1) > 0; ++stage) {
        rows.reduce(stage, lane, lanes, false, outcome);
        block.sync_warp();
      }
      rows.substitute(stage, lane, lanes);
      block.sync_warp();
    }
    while (--stage >= first) {
      rows.substitute(stage, lane, lanes);
      block.sync_warp();
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
