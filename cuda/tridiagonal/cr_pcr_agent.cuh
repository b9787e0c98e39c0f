// CR-PCR (Zhang, Cohen, Owens 2010, section 4.4): cyclic reduction until few rows are left, parallel cyclic
// reduction on those while all threads still have work, cyclic substitution back.
#pragma once
#include "cuda/tridiagonal/cr_agent.cuh"
#include "cuda/tridiagonal/pcr_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct CrPcrAgent {
  static constexpr int kMaxThreads = sizeof(T) == 16 ? 512 : 1024;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    Batch<T> batch;
    Groups groups;
    int distance = 1;  ///< between the rows PCR gets: a power of two, at most n
  };

  static size_t problem_bytes(int64_t n, int64_t distance) {
    return SharedRows<T, true>::bytes(static_cast<int>(n)) +
           2 * SharedRows<T, false>::bytes(static_cast<int>(n / distance));
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const GroupProblem<T> group(block, p.batch, p.groups);
    const int n = static_cast<int>(p.batch.n);
    const SharedRows<T, true> shared(group.memory, n);
    Outcome outcome;
    group.load(p.batch, shared, outcome);
    for (int distance = 1; distance < p.distance; distance *= 2) {
      block.sync();
      cr_reduce(group, shared, distance, outcome);
    }
    solve_kept(block, group, shared, p, outcome);
    for (int distance = p.distance / 2; distance >= 1; distance /= 2) {
      cr_substitute(group, shared, distance, outcome);
      block.sync();
    }
    for (int i = group.lane; i < group.rows; i += group.threads) {
      group.store(p.batch, i, shared.d[shared.at(i)], outcome);
    }
    group.finish(block, p.batch, outcome);
  }

 private:
  /// PCR over the rows at multiples of p.distance; their unknowns go to d. Row k of these was last written by the
  /// thread that copies it here.
  static WARPLOOM_DEVICE void solve_kept(const device::Block& block, const GroupProblem<T>& group,
                                         const SharedRows<T, true>& shared, const Parameters& p,
                                         Outcome& outcome) {
    const int n = static_cast<int>(p.batch.n), most = n / p.distance, offset = p.distance - 1;
    const int kept = group.rows / p.distance;
    unsigned char* memory = group.memory + SharedRows<T, true>::bytes(n);
    SharedRows<T, false> rows(memory, most);
    const SharedRows<T, false> other(memory + SharedRows<T, false>::bytes(most), most);
    for (int k = group.lane; k < kept; k += group.threads) rows.set(k, shared.get(k * p.distance + offset));
    block.sync();
    rows = pcr_reduce(block, group, rows, other, kept, most, most, p.distance, offset, outcome);
    for (int k = group.lane; k < kept; k += group.threads) {
      const int i = k * p.distance + offset;
      outcome.check_pivot(rows.b[rows.at(k)], i);
      shared.d[shared.at(i)] = quotient(rows.d[rows.at(k)], rows.b[rows.at(k)]);
    }
    block.sync();
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
