// The two small kernels between and after the passes over a system too large for one block. In the first, one block per
// problem merges the outer rows of all its segments and spreads the values back. In the second, one thread per problem
// adds up the residuals.
#pragma once
#include "cuda/tridiagonal/pivoting/pivoting_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct SegmentTopAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  static constexpr int kDepth = 3;  ///< the store holds reduced rows only

  struct Parameters {
    int64_t segments;
    /// One per (problem, segment), like the others.
    const OuterRows<T>* outer;
    MergeRows<T>* merges;
    OuterValues<T>* values;
  };

  static size_t shared_bytes(int threads) {
    return static_cast<size_t>(ChunkStore<T>::entries(threads, kDepth)) * sizeof(T);
  }

  /// Each thread merges its run of segments in order; a thread without segments represents a chunk of zeros.
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const ChunkStore<T> store{block.shared<T>(), kDepth, block.threads()};
    const int64_t each = (p.segments + block.threads() - 1) / block.threads();
    const int64_t base = block.index() * p.segments;
    const int64_t begin = block.thread() * each < p.segments ? block.thread() * each : p.segments;
    const int64_t end = begin + each < p.segments ? begin + each : p.segments;
    const T one(1), zero(0);
    OuterRows<T> rows;
    rows.row[0] = {{zero, one, zero, zero}, zero};
    rows.row[1] = {{zero, zero, one, zero}, zero};
    if (begin < end) rows = p.outer[base + begin];
    for (int64_t i = begin + 1; i < end; ++i) p.merges[base + i] = merge(&rows, p.outer[base + i]);
    store.set_rows(block.thread(), rows);
    block.sync();
    merge_up(block, store, block.threads());
    if (block.thread() == 0) store.set_values(0, solve_top(store.rows(0)));
    merge_down(block, store, block.threads());
    OuterValues<T> values = store.values(block.thread());
    for (int64_t i = end - 1; i > begin; --i) {
      T u, v;
      substitute_merge(p.merges[base + i], values, &u, &v);
      p.values[base + i] = {{u, v, values.value[2], values.value[3]}};
      values.value[2] = u;
      values.value[3] = v;
    }
    if (begin < end) p.values[base + begin] = values;
  }
};

template <class T>
struct SegmentJudgeAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 1;
  using R = RealOf<T>;

  struct Parameters {
    Batch<T> batch;
    int64_t segments;
    const ResidualSums<R>* sums;
    int32_t* list;
    int32_t* count;
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t problem = block.index() * block.threads() + block.thread();
    if (problem >= p.batch.problems()) return;
    ResidualSums<R> sums{R(0), R(0), R(0), 0};
    for (int64_t i = 0; i < p.segments; ++i) sums = combine(sums, p.sums[problem * p.segments + i]);
    settle(accepted(sums), p.batch, problem, p.list, p.count);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
