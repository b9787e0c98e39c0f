// Solves with pivoted factors: one thread per problem, in the order of LAPACK gttrs.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/tridiagonal/factor/solve_factored_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct PivotedSolveAgent {
  static constexpr int kMaxThreads = 64;
  static constexpr int kMinBlocks = 4;

  struct Parameters {
    Batch<T> batch;  ///< without its bands
    T* arrays;
    int8_t* choices;
    const int32_t* states;
    bool periodic;
    bool shared;  ///< as in ScanSolveParameters
    int64_t factored_systems;  ///< the arrays of factors interleave this many systems
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    // Neighbouring threads have the same right-hand side index, so that they read neighbouring factors.
    const int64_t index = block.index() * block.threads() + block.thread();
    if (index >= p.batch.problems()) return;
    const int64_t rhs = index / p.batch.systems, system = index - rhs * p.batch.systems;
    const int64_t rows = p.batch.rows(system), origin = p.batch.origin(system);
    const Strided<T>&b = p.batch.rhs, &x = p.batch.solution;
    const Line<T> in{b.data, b.imaginary, b.index(origin, 0, rhs), b.row_stride};
    const Line<T> out{x.data, x.imaginary, x.index(origin, 0, rhs), x.row_stride};
    const int64_t own = p.shared ? 0 : system;
    const PivotedFactors<T> f{p.arrays + own, p.choices + own, p.batch.n, p.factored_systems};
    const bool sound = p.states[own] == -1;
    int found = 0;
    read_ahead<T>(rows, [&](int64_t i) { return in.get(i); }, [&](int64_t i, const T& value) {
      if (!device::is_finite(value) && found == 0) found = make_verdict(Finding::non_finite_input, i);
    });
    if (rows > 0 && sound) {
      if (p.periodic) {
        solve_cyclic(f, rows, in, out);
      } else {
        solve_pivoted(f, rows, in, out);
      }
    }
    for (int64_t i = 0; !sound && i < rows; ++i) out.set(i, T(RealOf<T>(NAN)));
    read_ahead<T>(rows, [&](int64_t i) { return out.get(i); }, [&](int64_t, const T& value) {
      if (!device::is_finite(value) && found == 0) found = make_verdict(Finding::overflow, 0);
    });
    store_verdict(p.batch, system * p.batch.rhs_count + rhs, verdict_with(p.states[own], found));
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
