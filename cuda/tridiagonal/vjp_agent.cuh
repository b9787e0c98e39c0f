// The gradients of each band: one thread per row if no band is shared, otherwise one per run of an entry's terms
// (vjp_sums.h).
#pragma once
#include "cuda/core/launch_shape.h"
#include "cuda/linear/row_grid.cuh"
#include "cuda/tridiagonal/vjp_sums.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

namespace operation = ::warploom::tridiagonal;

template <class R>
struct GradientAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 4;

  struct Parameters {
    operation::BandGradient<R> gradient;
    /// The sums of the previous level, [term][entry]; null: the rows themselves.
    const operation::GradientTerm* from;
    operation::GradientTerm* to;          ///< [run][entry]; null: the gradient, with a single run
    int64_t terms, runs;
    bool runs_fast;  ///< neighbouring threads take neighbouring runs, not entries
  };

  static LaunchShape shape(const Parameters& p) {
    LaunchShape shape;
    shape.threads = kMaxThreads;
    shape.blocks = (p.gradient.entries * p.runs + kMaxThreads - 1) / kMaxThreads;
    return shape;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t index = block.index() * block.threads() + block.thread(), entries = p.gradient.entries;
    if (index >= entries * p.runs) return;
    const int64_t slow = index / (p.runs_fast ? p.runs : entries);
    const int64_t fast = index - slow * (p.runs_fast ? p.runs : entries);
    const int64_t at = p.runs_fast ? slow : fast, c = p.runs_fast ? fast : slow;
    const operation::GradientTerm sum = operation::gradient_run(p.terms, p.runs, c, [&](int64_t k) {
      return p.from != nullptr ? p.from[k * entries + at] : p.gradient.term(at, k);
    });
    if (p.to != nullptr) {
      p.to[c * entries + at] = sum;
    } else {
      p.gradient.store(at, sum);
    }
  }
};

/// All gradients of a uniform batch in one pass, which reads both vectors once: none of them is a sum over rows or
/// systems.
template <class R>
struct GradientRowsAgent {
  static constexpr int kMaxThreads = linear::RowGrid::kThreads;
  static constexpr int kMinBlocks = 4;
  static constexpr int kMostBands = 3;

  struct Parameters {
    operation::BandGradient<R> gradients[kMostBands];
    linear::RowGrid grid;
    int bands;
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    int64_t system, i;
    if (!p.grid.locate(block, &system, &i)) return;
    for (int band = 0; band < kMostBands; ++band) {
      if (band < p.bands) p.gradients[band].store_row(system, i, p.gradients[band].row(system, i));
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
