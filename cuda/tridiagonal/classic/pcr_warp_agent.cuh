// Parallel cyclic reduction in registers: one warp per system, with row 32 j + lane in register j of a lane, so that
// loads and stores are whole lines. Steps of less than 32 rows exchange rows by shuffles, and leave 32 systems, one per
// lane. Longer steps then only rename registers, or the Thomas algorithm finishes (kThomas). It needs no shared memory
// and no barriers, like the fastest public kernels for these algorithms (public-tridiagonal.json).
#pragma once
#include "cuda/tridiagonal/classic/block_problem.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T, int kDepth, bool kThomas>
struct PcrWarpAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = kDepth * sizeof(T) > 64 ? 2 : 4;
  struct Parameters {
    Batch<T> batch;
    int64_t first;  ///< problem of the first warp
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t index = p.first + block.index() * (block.threads() / 32) + block.warp();
    const Problem problem = problem_of(p.batch, index);  // it has no rows beyond the last
    const int rows = static_cast<int>(problem.rows), lane = block.lane();
    Rows all;
    Outcome outcome;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      const int i = 32 * j + lane;
      Row<T> row{zero<T>(), T(RealOf<T>(1)), zero<T>(), zero<T>()};
      if (i < rows) {
        row = load_row(p.batch, problem, i);
        outcome.check_input(row, i);
      }
      all.a[j] = row.a;
      all.b[j] = row.b;
      all.c[j] = row.c;
      all.d[j] = row.d;
    }
    all.scale(lane, outcome);
    WARPLOOM_NO_UNROLL
    for (int distance = 1; distance < 32 && distance < p.batch.n; distance *= 2) {
      all.step_across(block, distance);
      all.scale(lane, outcome);
    }
    if constexpr (kThomas) {
      all.substitute(lane, outcome);
    } else {
      all.template steps_within<1>(p.batch.n, lane, outcome);
    }
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      const int i = 32 * j + lane;
      if (i >= rows) continue;
      outcome.check_solution(all.d[j], i);
      p.batch.solution.store(p.batch.solution.index(problem.origin, i, problem.rhs), all.d[j]);
    }
    outcome = least_in_warp(block, outcome, 32);
    if (lane == 0 && index < p.batch.problems()) write_outcome(p.batch, index, outcome);
  }

 private:
  /// The rows of one lane, 32 rows apart.
  struct Rows {
    T a[kDepth], b[kDepth], c[kDepth], d[kDepth];

    /// One row divided by its pivot.
    struct Scaled {
      T a, c, d;
    };
    WARPLOOM_DEVICE Scaled scaled(int j) const { return {a[j], c[j], d[j]}; }
    static WARPLOOM_DEVICE Scaled none() { return {zero<T>(), zero<T>(), zero<T>()}; }

    /// Divides every row by its pivot. The divisions are independent, with one branch for all that are not ordinary.
    WARPLOOM_DEVICE void scale(int lane, Outcome& outcome) {
      bool ordinary = true;
      T inverse[kDepth];
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) inverse[j] = device::ordinary_reciprocal(b[j], ordinary);
      if (__builtin_expect(!ordinary, 0)) {
        WARPLOOM_UNROLL
        for (int j = 0; j < kDepth; ++j) {
          outcome.check_pivot(b[j], 32 * j + lane);
          inverse[j] = device::reciprocal(b[j]);
        }
      }
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) {
        a[j] = a[j] * inverse[j];
        c[j] = c[j] * inverse[j];
        d[j] = d[j] * inverse[j];
      }
    }
    /// Row j with its neighbours eliminated.
    WARPLOOM_DEVICE void eliminate(int j, const Scaled& left, const Scaled& right) {
      const T k = -a[j], m = -c[j];
      b[j] = device::fma(m, right.a, device::fma(k, left.c, T(RealOf<T>(1))));
      d[j] = device::fma(m, right.d, device::fma(k, left.d, d[j]));
      a[j] = k * left.a;
      c[j] = m * right.c;
    }
    /// Neighbours are in other lanes, some in the register before or after. A lane sends what its receiver needs.
    WARPLOOM_DEVICE void step_across(const device::Block& block, int distance) {
      const int lane = block.lane();
      const bool wraps_up = lane + distance >= 32, wraps_down = lane < distance;
      Scaled before = none();
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) {
        const Scaled own = scaled(j), after = j + 1 < kDepth ? scaled(j + 1 < kDepth ? j + 1 : 0) : none();
        const Scaled left = device::shuffle(block, wraps_up ? before : own, (lane - distance) & 31);
        const Scaled right = device::shuffle(block, wraps_down ? after : own, (lane + distance) & 31);
        before = own;
        eliminate(j, left, right);
      }
    }
    /// Steps of 32 k rows and more: the neighbours belong to the lane itself.
    template <int k>
    WARPLOOM_DEVICE void steps_within(int64_t n, int lane, Outcome& outcome) {
      if constexpr (k < kDepth) {
        if (32 * k >= n) return;
        Scaled old[kDepth];
        WARPLOOM_UNROLL
        for (int j = 0; j < kDepth; ++j) old[j] = scaled(j);
        WARPLOOM_UNROLL
        for (int j = 0; j < kDepth; ++j) {
          eliminate(j, j >= k ? old[j >= k ? j - k : 0] : none(), j + k < kDepth ? old[j + k < kDepth ? j + k : 0] : none());
        }
        scale(lane, outcome);
        steps_within<2 * k>(n, lane, outcome);
      }
    }
    /// The Thomas algorithm over the lane's scaled rows; writes the unknowns to d.
    WARPLOOM_DEVICE void substitute(int lane, Outcome& outcome) {
      WARPLOOM_UNROLL
      for (int j = 1; j < kDepth; ++j) {
        const T pivot = device::fma(-a[j], c[j - 1], T(RealOf<T>(1)));
        bool ordinary = true;
        T inverse = device::ordinary_reciprocal(pivot, ordinary);
        if (__builtin_expect(!ordinary, 0)) {
          outcome.check_pivot(pivot, 32 * j + lane);
          inverse = device::reciprocal(pivot);
        }
        c[j] = c[j] * inverse;
        d[j] = device::fma(-a[j], d[j - 1], d[j]) * inverse;
      }
      WARPLOOM_UNROLL
      for (int j = kDepth - 2; j >= 0; --j) d[j] = device::fma(-c[j], d[j + 1], d[j]);
    }
  };
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
