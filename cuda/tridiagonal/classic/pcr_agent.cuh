// Parallel cyclic reduction in shared memory (Hockney, Jesshope 1981; Zhang, Cohen, Owens 2010, section 4.2):
// every row eliminates its two neighbours at distance 1, 2, 4, … until all rows are decoupled.
#pragma once
#include "cuda/tridiagonal/classic/block_problem.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Row i after one step: rows i-distance and i+distance of `from` are eliminated from it, if the system has them.
template <class T, class Rows>
WARPLOOM_DEVICE Row<T> pcr_step(const Rows& from, int i, int distance, int rows, int scale, int offset,
                                Outcome& outcome) {
  Row<T> row = from.get(i);
  if (i >= distance) {
    const Row<T> left = from.get(i - distance);
    outcome.check_pivot(left.b, static_cast<int64_t>(i - distance) * scale + offset);
    eliminate_left(row, left);
  }
  if (i + distance < rows) {
    const Row<T> right = from.get(i + distance);
    outcome.check_pivot(right.b, static_cast<int64_t>(i + distance) * scale + offset);
    eliminate_right(row, right);
  }
  return row;
}

/// PCR steps over `rows` rows of the group, between two sets of rows, while distance < goal. Their row i is row i*scale
/// + offset of the system. Returns the set with the result. `most` is the largest `rows` of any group in the block,
/// because all groups must reach the same barriers.
template <class T>
WARPLOOM_DEVICE SharedRows<T> pcr_reduce(const device::Block& block, const GroupProblem<T>& group,
                                                SharedRows<T> from, SharedRows<T> to, int rows,
                                                int most, int goal, int scale, int offset, Outcome& outcome) {
  for (int distance = 1; distance < goal && distance < most; distance *= 2) {
    for (int i = group.lane; i < rows; i += group.threads) {
      to.set(i, pcr_step<T>(from, i, distance, rows, scale, offset, outcome));
    }
    block.sync();
    const SharedRows<T> swap = from;
    from = to;
    to = swap;
  }
  return from;
}

/// Frame of the agents that begin with PCR: loads the group's problem, takes PCR steps while distance < goal, calls
/// solve(group, rows, outcome), which stores the unknowns, and reports.
template <class T, class Solve>
WARPLOOM_DEVICE void solve_reduced(const device::Block& block, const Batch<T>& batch, const Groups& groups, int goal,
                                   const Solve& solve) {
  const GroupProblem<T> group(block, batch, groups);
  const int n = static_cast<int>(batch.n);
  SharedRows<T> rows(group.memory, n);
  const SharedRows<T> other(group.memory + SharedRows<T>::bytes(n), n);
  Outcome outcome;
  group.load(batch, rows, outcome);
  block.sync();
  rows = pcr_reduce(block, group, rows, other, group.rows, n, goal, 1, 0, outcome);
  solve(group, rows, outcome);
  group.finish(block, batch, outcome);
}

template <class T>
struct PcrAgent {
  static constexpr int kMaxThreads = sizeof(T) == 16 ? 512 : 1024;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    Batch<T> batch;
    Groups groups;
  };

  static size_t problem_bytes(int64_t n) { return 2 * SharedRows<T>::bytes(static_cast<int>(n)); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const auto solve = [&](const GroupProblem<T>& group, const SharedRows<T>& rows, Outcome& outcome) {
      for (int i = group.lane; i < group.rows; i += group.threads) {
        outcome.check_pivot(rows.b[i], i);
        group.store(p.batch, i, quotient(rows.d[i], rows.b[i]), outcome);
      }
    };
    solve_reduced(block, p.batch, p.groups, static_cast<int>(p.batch.n), solve);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
