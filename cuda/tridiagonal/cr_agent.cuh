// Cyclic reduction in shared memory (Hockney 1965; on GPUs Zhang, Cohen, Owens 2010, section 4.1): a reduction
// phase halves the rows until one is left, a substitution phase doubles the known unknowns. Any n: row i of the
// stage with distance s is kept when i+1 is a multiple of 2s.
#pragma once
#include "cuda/tridiagonal/block_problem.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// One stage of the reduction for the group: rows at multiples of 2*distance take in both neighbours.
template <class T>
WARPLOOM_DEVICE void cr_reduce(const GroupProblem<T>& group, const SharedRows<T, true>& shared, int distance,
                               Outcome& outcome) {
  const int step = 2 * distance;
  for (int i = (group.lane + 1) * step - 1; i < group.rows; i += group.threads * step) {
    Row<T> row = shared.get(i);
    const Row<T> left = shared.get(i - distance);
    outcome.check_pivot(left.b, i - distance);
    eliminate_left(row, left);
    if (i + distance < group.rows) {
      const Row<T> right = shared.get(i + distance);
      outcome.check_pivot(right.b, i + distance);
      eliminate_right(row, right);
    }
    shared.set(i, row);
  }
}

/// One stage of the substitution: unknowns at odd multiples of distance, from their neighbours' (in d).
template <class T>
WARPLOOM_DEVICE void cr_substitute(const GroupProblem<T>& group, const SharedRows<T, true>& shared, int distance,
                                   Outcome& outcome) {
  const int step = 2 * distance;
  for (int i = group.lane * step + distance - 1; i < group.rows; i += group.threads * step) {
    const Row<T> row = shared.get(i);
    outcome.check_pivot(row.b, i);
    T value = row.d;
    if (i >= distance) value = device::fma(-row.a, shared.d[shared.at(i - distance)], value);
    if (i + distance < group.rows) value = device::fma(-row.c, shared.d[shared.at(i + distance)], value);
    shared.d[shared.at(i)] = quotient(value, row.b);
  }
}

template <class T>
struct CrAgent {
  static constexpr int kMaxThreads = sizeof(T) == 16 ? 512 : 1024;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    Batch<T> batch;
    Groups groups;
  };

  static size_t problem_bytes(int64_t n) { return SharedRows<T, true>::bytes(static_cast<int>(n)); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const GroupProblem<T> group(block, p.batch, p.groups);
    const SharedRows<T, true> shared(group.memory, static_cast<int>(p.batch.n));
    Outcome outcome;
    group.load(p.batch, shared, outcome);
    block.sync();
    int distance = 1;
    for (; 2 * distance <= p.batch.n; distance *= 2) {
      cr_reduce(group, shared, distance, outcome);
      block.sync();
    }
    for (; distance >= 1; distance /= 2) {
      cr_substitute(group, shared, distance, outcome);
      block.sync();
    }
    for (int i = group.lane; i < group.rows; i += group.threads) {
      group.store(p.batch, i, shared.d[shared.at(i)], outcome);
    }
    group.finish(block, p.batch, outcome);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
