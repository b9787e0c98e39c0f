// Kernels between and after the passes of a factored solve over systems too large for one block.
#pragma once
#include "cuda/tridiagonal/factor/solve_factored_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// One block per problem: computes the value entering each segment, from the effects of the segments.
template <class T>
struct SegmentScanAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    int64_t segments;
    bool reverse;
    const Affine<T>* totals;
    T* entering;
  };
  static size_t shared_bytes(int threads) { return static_cast<size_t>(threads / 32) * sizeof(Affine<T>); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t each = (p.segments + block.threads() - 1) / block.threads(), base = block.index() * p.segments;
    const int64_t begin = block.thread() * each < p.segments ? block.thread() * each : p.segments;
    const int64_t end = begin + each < p.segments ? begin + each : p.segments;
    const auto place = [&](int64_t i) { return base + (p.reverse ? p.segments - 1 - i : i); };
    Affine<T> own = unchanged<T>(), total;
    for (int64_t i = begin; i < end; ++i) own = then(own, p.totals[place(i)]);
    Affine<T> before =
        compose_before<false>(block, own, block.threads(), block.template shared<Affine<T>>(), &total);
    for (int64_t i = begin; i < end; ++i) {
      p.entering[place(i)] = before.value;
      before = then(before, p.totals[place(i)]);
    }
  }
};

/// After the passes over segments: status words; for periodic systems also the last unknowns and their contribution to
/// the others.
template <class T>
struct ScanFinishAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    ScanSolveParameters<T> solve;
    int64_t blocks_per_problem;
    T* last;        ///< x[n-1] of each problem
    int32_t phase;  ///< 0: last unknowns; 1: the others and status words
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Batch<T>& batch = p.solve.batch;
    const int64_t problem = p.phase == 0 ? block.index() * block.threads() + block.thread()
                                         : block.index() / p.blocks_per_problem;
    if (problem >= batch.problems()) return;
    const int64_t system = problem / batch.rhs_count, rhs = problem - system * batch.rhs_count;
    const int64_t rows = batch.rows(system), at = batch.solution.index(batch.origin(system), 0, rhs);
    const auto x = [&](int64_t i) { return at + i * batch.solution.row_stride; };
    if (p.phase == 0) {
      if (rows == 0) return;
      p.last[problem] = ScanSolveAgent<T>::close(
          p.solve.closing + 3 * p.solve.factors_of(system), batch.solution.load(x(0)),
          rows > 1 ? batch.solution.load(x(rows - 2)) : T(0), batch.solution.load(x(rows - 1)));
      return;
    }
    const int64_t share = block.index() - problem * p.blocks_per_problem;
    int verdict = verdict_with(p.solve.states[p.solve.factors_of(system)], p.solve.flags[problem]);
    if (p.solve.border != nullptr && rows > 0) {
      const T last = p.last[problem];
      const int overflow = make_verdict(Finding::overflow, 0);
      if (!device::is_finite(last) && overflow < verdict) verdict = overflow;
      const int64_t origin = p.solve.factors_at(system);
      for (int64_t i = share * block.threads() + block.thread(); i < rows; i += p.blocks_per_problem * block.threads()) {
        const T value = i + 1 == rows ? last : device::fma(p.solve.border[origin + i], last, batch.solution.load(x(i)));
        batch.solution.store(x(i), value);
      }
    }
    if (share == 0 && block.thread() == 0) store_verdict(batch, problem, verdict);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
