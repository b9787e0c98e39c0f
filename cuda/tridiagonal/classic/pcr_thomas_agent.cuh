// PCR-Thomas in one block (Zhang, Cohen, Owens 2010 hybrids; Davidson, Zhang, Owens 2011): PCR steps split a
// system into interleaved sub-systems, one per thread, which the Thomas algorithm solves.
#pragma once
#include "cuda/tridiagonal/classic/pcr_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Thomas over rows first, first+stride, … < rows of one sub-system in shared memory. Writes the unknowns to d.
template <class T>
WARPLOOM_DEVICE void thomas_shared(const SharedRows<T>& shared, int first, int stride, int rows,
                                   Outcome& outcome) {
  T upper = zero<T>(), value = zero<T>();
  int i = first;
  for (; i < rows; i += stride) {
    const Row<T> row = shared.get(i);
    T pivot = row.b;
    T sum = row.d;
    if (i != first) {
      pivot = device::fma(-row.a, upper, pivot);
      sum = device::fma(-row.a, value, sum);
    }
    outcome.check_pivot(pivot, i);
    upper = quotient(row.c, pivot);
    value = quotient(sum, pivot);
    shared.c[i] = upper;
    shared.d[i] = value;
  }
  for (i -= 2 * stride; i >= first; i -= stride) {
    value = device::fma(-shared.c[i], value, shared.d[i]);
    shared.d[i] = value;
  }
}

template <class T>
struct PcrThomasAgent {
  static constexpr int kMaxThreads = sizeof(T) == 16 ? 512 : 1024;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    Batch<T> batch;
    Groups groups;
    int subsystems = 1;  ///< a power of two
  };

  static size_t problem_bytes(int64_t n) { return 2 * SharedRows<T>::bytes(static_cast<int>(n)); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const auto solve = [&](const GroupProblem<T>& group, const SharedRows<T>& rows, Outcome& outcome) {
      for (int first = group.lane; first < p.subsystems; first += group.threads) {
        thomas_shared(rows, first, p.subsystems, group.rows, outcome);
      }
      block.sync();
      for (int i = group.lane; i < group.rows; i += group.threads) group.store(p.batch, i, rows.d[i], outcome);
    };
    solve_reduced(block, p.batch, p.groups, p.subsystems, solve);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
