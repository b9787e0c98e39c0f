// One block of the partitioned pivoting solver. It loads rows once, eliminates and merges on chip, and substitutes.
// Then it computes the residuals of its answers from the rows in global memory (which the L2 still holds). If some
// answer is not as accurate as rounding allows, it eliminates again, with the residuals as right-hand sides. It stores
// only answers that are accurate; the others go on a list.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/tridiagonal/pivoting/pivoting_merge.cuh"
#include "cuda/tridiagonal/pivoting/pivoting_policy.h"
#include "cuda/tridiagonal/pivoting/pivoting_verdict.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// `whole`: whole systems in one block. Otherwise a block holds one segment of a system: `reduce` writes its two outer
/// rows, `substitute` repeats the elimination and uses the outer values.
enum class PivotingMode : int32_t { whole = 0, reduce = 1, substitute = 2 };

template <class T>
struct PivotingAgent {
  using R = RealOf<T>;
  static constexpr int kMaxThreads = ::warploom::tridiagonal::kPivotingMaxThreads;
  static constexpr int kMinBlocks = sizeof(T) == 16 ? 1 : 2;

  struct Parameters {
    Batch<T> batch;
    PivotingMode mode;
    int32_t depth, width, systems;
    int64_t segments;
    bool systems_first;      ///< neighbouring threads load the same row of neighbouring systems
    bool direct;             ///< elements may be copied asynchronously: one array, no conjugation
    OuterRows<T>* outer;     ///< reduce: one per (problem, segment)
    const OuterValues<T>* values;  ///< substitute: likewise
    ResidualSums<R>* sums;         ///< substitute: likewise
    int32_t* list;           ///< whole: problems to solve again
    int32_t* count;
  };

  /// How the block's threads visit (system, row): the system advances by `step`, the row by `row_step`.
  struct Walk {
    int system, step, row, row_step;
    int team;  ///< neighbouring threads on one system; 1: none
  };
  /// Shared memory after the chunks.
  struct Shared {
    ChunkStore<T> store;
    ResidualSums<R>* partial;
    int32_t* flags;  ///< of every system
    int32_t* warps;  ///< a word per warp
  };

  /// For whole systems in a block.
  static Parameters parameters(const Batch<T>& batch, const ::warploom::tridiagonal::PivotingShape& shape,
                               int32_t* list, int32_t* count) {
    Parameters p{};
    p.batch = batch;
    p.mode = PivotingMode::whole;
    p.depth = shape.depth;
    p.width = shape.width;
    p.systems = shape.systems;
    p.segments = shape.segments;
    const auto direct = [](const Strided<T>& view) { return view.imaginary == nullptr && !view.conjugate; };
    p.direct = direct(batch.lower) && direct(batch.diagonal) && direct(batch.upper) && direct(batch.rhs);
    const int64_t system_stride = batch.rhs_count > 1 ? batch.rhs.rhs_stride : batch.rhs.system_stride;
    p.systems_first = shape.systems > 1 && batch.offsets == nullptr && batch.rhs.row_stride > system_stride;
    p.list = list;
    p.count = count;
    return p;
  }

  static size_t shared_bytes(const ::warploom::tridiagonal::PivotingShape& shape) {
    const int64_t threads = shape.threads();
    const int64_t chunks = ChunkStore<T>::entries(threads, shape.depth) * static_cast<int64_t>(sizeof(T));
    return static_cast<size_t>((chunks + 15) / 16 * 16 + threads * static_cast<int64_t>(sizeof(ResidualSums<R>)) +
                               (shape.systems + threads / 32) * static_cast<int64_t>(sizeof(int32_t)));
  }

  static WARPLOOM_DEVICE Shared layout(const device::Block& block, const Parameters& p) {
    Shared shared;
    shared.store.words = block.shared<T>();
    shared.store.depth = p.depth;
    shared.store.lanes = block.threads();
    const size_t chunks = ChunkStore<T>::entries(block.threads(), p.depth) * sizeof(T);
    const size_t at = (chunks + 15) / 16 * 16;
    shared.partial = block.shared<ResidualSums<R>>(at);
    shared.flags = block.shared<int32_t>(at + block.threads() * sizeof(ResidualSums<R>));
    shared.warps = shared.flags + p.systems;
    return shared;
  }

  static WARPLOOM_DEVICE Walk walk(const device::Block& block, const Parameters& p) {
    if (p.systems_first) {
      return {block.thread() % p.systems, p.systems, block.thread() / p.systems, p.width, 1};
    }
    int team = p.width;
    while (team < 32 && team < p.batch.n) team *= 2;
    return {block.thread() / team, block.threads() / team, block.thread() % team, team, team};
  }

  /// The rows of the block's system `s` that the block holds.
  struct Part {
    ProblemRows<T> rows;
    int64_t problem, first;
    int count;
    /// The block's row that has no such entry; -1: none.
    int without_lower, without_upper;

    WARPLOOM_DEVICE bool has_lower(int i) const { return i != without_lower; }
    WARPLOOM_DEVICE bool has_upper(int i) const { return i != without_upper; }
  };
  static WARPLOOM_DEVICE Part part(const device::Block& block, const Parameters& p, int s) {
    Part result;
    result.first = 0;
    result.problem = block.index() * p.systems + s;
    const int capacity = p.width * p.depth;
    if (p.mode != PivotingMode::whole) {
      result.problem = block.index() / p.segments;
      result.first = (block.index() - result.problem * p.segments) * capacity;
    }
    result.count = 0;
    result.without_lower = result.first == 0 ? 0 : -1;
    result.without_upper = -1;
    if (result.problem >= p.batch.problems()) return result;
    result.rows = ProblemRows<T>(p.batch, result.problem);
    const int64_t left = result.rows.rows - result.first;
    result.count = static_cast<int>(left < 0 ? 0 : left < capacity ? left : capacity);
    if (left <= capacity) result.without_upper = result.count - 1;
    return result;
  }

  /// Row 0 of the part in each band, and the strides from row to row; only for `direct` arrays.
  struct Pointers {
    const T* lower;
    const T* diagonal;
    const T* upper;
    const T* rhs;
    int64_t lower_step, diagonal_step, upper_step, rhs_step;
    explicit WARPLOOM_DEVICE Pointers(const Part& part_of) {
      const ProblemRows<T>& r = part_of.rows;
      lower_step = r.lower.row_stride;
      diagonal_step = r.diagonal.row_stride;
      upper_step = r.upper.row_stride;
      rhs_step = r.rhs.row_stride;
      lower = r.lower.data + r.lower_at + part_of.first * lower_step;
      diagonal = r.diagonal.data + r.diagonal_at + part_of.first * diagonal_step;
      upper = r.upper.data + r.upper_at + part_of.first * upper_step;
      rhs = r.rhs.data + r.rhs_at + part_of.first * rhs_step;
    }
  };

  static WARPLOOM_DEVICE void load(const device::Block& block, const Parameters& p, const Shared& shared) {
    const Walk w = walk(block, p);
    const int capacity = p.width * p.depth;
    for (int s = w.system; s < p.systems; s += w.step) {
      const Part part_of = part(block, p, s);
      if (p.direct) {
        load_direct(block, shared.store, part_of, w, s * capacity);
      } else {
        for (int i = w.row; i < part_of.count; i += w.row_step) load_row(shared.store, part_of, s * capacity, i);
      }
      fill_rest(shared.store, part_of, w, s * capacity, capacity);
      for (int i = w.row; i < capacity; i += w.row_step) {
        if (i >= part_of.count) shared.store.array(3)[s * capacity + i] = T(0);
      }
    }
  }

  /// Beyond the system, the matrix is the identity.
  static WARPLOOM_DEVICE void fill_rest(const ChunkStore<T>& store, const Part& part_of, const Walk& w, int at, int capacity) {
    for (int i = w.row; i < capacity; i += w.row_step) {
      if (i < part_of.count) continue;
      store.array(0)[at + i] = store.array(2)[at + i] = T(0);
      store.array(1)[at + i] = T(R(1));
    }
  }

  static WARPLOOM_DEVICE void load_direct(const device::Block& block, const ChunkStore<T>& store, const Part& part_of,
                                          const Walk& w, int at) {
    constexpr int kBytes = sizeof(T);
    const Pointers from(part_of);
    T* const lower = store.array(0) + at;
    T* const diagonal = store.array(1) + at;
    T* const upper = store.array(2) + at;
    T* const rhs = store.array(3) + at;
    for (int i = w.row; i < part_of.count; i += w.row_step) {
      device::async_copy<kBytes>(block, diagonal + i, from.diagonal + i * from.diagonal_step);
      device::async_copy<kBytes>(block, rhs + i, from.rhs + i * from.rhs_step);
      if (part_of.has_lower(i)) {
        device::async_copy<kBytes>(block, lower + i, from.lower + i * from.lower_step);
      } else {
        lower[i] = T(0);
      }
      if (part_of.has_upper(i)) {
        device::async_copy<kBytes>(block, upper + i, from.upper + i * from.upper_step);
      } else {
        upper[i] = T(0);
      }
    }
  }

  static WARPLOOM_DEVICE void load_row(const ChunkStore<T>& store, const Part& part_of, int at, int i) {
    const ProblemRows<T>& r = part_of.rows;
    const int64_t row = part_of.first + i;
    store.array(0)[at + i] = r.lower_of(row);
    store.array(1)[at + i] = r.diagonal_of(row);
    store.array(2)[at + i] = r.upper_of(row);
    store.array(3)[at + i] = r.rhs_of(row);
  }

  /// Turns a chunk's merged rows into its outer values, or transfers them through global memory; one thread per system.
  static WARPLOOM_DEVICE void top(const device::Block& block, const Parameters& p, const ChunkStore<T>& store) {
    if (p.mode == PivotingMode::substitute) {
      if (block.thread() == 0) store.set_values(0, p.values[block.index()]);
      return;
    }
    for (int s = block.thread(); s < p.systems; s += block.threads()) {
      store.set_values(s * p.width, solve_top(store.rows(s * p.width)));
    }
  }

  /// One row as in global memory.
  struct Entries {
    T lower, diagonal, upper, rhs;
  };
  static WARPLOOM_DEVICE Entries entries_of(const Part& part_of, int i) {
    const ProblemRows<T>& r = part_of.rows;
    const int64_t row = part_of.first + i;
    return {r.lower_of(row), r.diagonal_of(row), r.upper_of(row), r.rhs_of(row)};
  }
  /// Has no branches, so that the loads of several rows are in flight together; missing entries are read from the
  /// diagonal.
  static WARPLOOM_DEVICE Entries entries_of(const Pointers& from, const Part& part_of, int i) {
    const T* const diagonal = from.diagonal + i * from.diagonal_step;
    const T* const lower = part_of.has_lower(i) ? from.lower + i * from.lower_step : diagonal;
    const T* const upper = part_of.has_upper(i) ? from.upper + i * from.upper_step : diagonal;
    Entries e{*lower, *diagonal, *upper, from.rhs[i * from.rhs_step]};
    e.lower = pick(part_of.has_lower(i), e.lower, T(0));
    e.upper = pick(part_of.has_upper(i), e.upper, T(0));
    return e;
  }

  /// Contribution of row i to the sums. The residual and the upper two bands replace the factors, for a correction.
  static WARPLOOM_DEVICE ResidualSums<R> sums_of_row(const Entries& e, const Part& part_of, const ChunkStore<T>& store,
                                                     int at, int i, const T& previous, const T& next) {
    const T* const x = store.array(3) + at;
    const bool inner_below = i > 0, inner_above = i + 1 < part_of.count;
    const T own = x[i], near_below = x[inner_below ? i - 1 : i], near_above = x[inner_above ? i + 1 : i];
    const T below = pick(inner_below, near_below, previous), above = pick(inner_above, near_above, next);
    const RowCheck<T> check = check_row(e.lower, e.diagonal, e.upper, e.rhs, below, own, above);
    store.array(0)[at + i] = check.residual;
    store.array(1)[at + i] = e.diagonal;
    store.array(2)[at + i] = e.upper;
    return row_sums(e.lower, e.diagonal, e.upper, check, own);
  }

  /// The calling thread's rows of a part that starts at place `at` of the store.
  static WARPLOOM_DEVICE ResidualSums<R> part_sums(const Parameters& p, const Part& part_of, const Walk& w,
                                                   const ChunkStore<T>& store, int at, const T& previous, const T& next) {
    ResidualSums<R> sums{R(0), R(0), R(0), 0};
    if (part_of.count == 0) return sums;
    if (!p.direct) {
      for (int i = w.row; i < part_of.count; i += w.row_step) {
        sums = combine(sums, sums_of_row(entries_of(part_of, i), part_of, store, at, i, previous, next));
      }
      return sums;
    }
    constexpr int kTogether = sizeof(T) == 16 ? 2 : 4;
    const Pointers from(part_of);
    WARPLOOM_NO_UNROLL
    for (int i = w.row; i < part_of.count; i += kTogether * w.row_step) {
      Entries entries[kTogether];
      WARPLOOM_UNROLL
      for (int k = 0; k < kTogether; ++k) {
        const int row = i + k * w.row_step;
        entries[k] = entries_of(from, part_of, row < part_of.count ? row : i);
      }
      WARPLOOM_UNROLL
      for (int k = 0; k < kTogether; ++k) {
        const int row = i + k * w.row_step;
        if (row < part_of.count) sums = combine(sums, sums_of_row(entries[k], part_of, store, at, row, previous, next));
      }
    }
    return sums;
  }

  /// Residual sums of every system into shared.partial, one for each of its teams and warps.
  static WARPLOOM_DEVICE void measure(const device::Block& block, const Parameters& p, const Shared& shared) {
    const Walk w = walk(block, p);
    const int capacity = p.width * p.depth;
    const int warps = w.team > 32 ? w.team / 32 : 1;
    for (int s = w.system; s < p.systems; s += w.step) {
      const Part part_of = part(block, p, s);
      T previous(0), next(0);
      if (p.mode == PivotingMode::substitute) {
        previous = p.values[block.index()].value[0];
        next = p.values[block.index()].value[3];
      }
      ResidualSums<R> sums = part_sums(p, part_of, w, shared.store, s * capacity, previous, next);
      fill_rest(shared.store, part_of, w, s * capacity, capacity);
      if (w.team == 1) {
        shared.partial[s * p.width + w.row] = sums;
        continue;
      }
      const int reach = w.team < 32 ? w.team : 32;
      for (int mask = reach / 2; mask > 0; mask /= 2) {
        sums = combine(sums, device::shuffle_xor(block, sums, mask, 32));
      }
      if ((w.row & 31) == 0) shared.partial[s * warps + w.row / 32] = sums;
    }
  }

  /// Adds up the partial sums: flags of every system, or the segment's sums. True if a correction is needed.
  static WARPLOOM_DEVICE bool judge(const device::Block& block, const Parameters& p, const Shared& shared) {
    const Walk w = walk(block, p);
    const int parts = w.team == 1 ? p.width : w.team > 32 ? w.team / 32 : 1;
    bool wanted = false;
    for (int s = block.thread(); s < p.systems; s += block.threads()) {
      ResidualSums<R> sums = shared.partial[s * parts];
      for (int i = 1; i < parts; ++i) sums = combine(sums, shared.partial[s * parts + i]);
      if (p.mode == PivotingMode::substitute) p.sums[block.index()] = sums;
      shared.flags[s] = p.mode == PivotingMode::substitute ? 0 : sums.flags;
      wanted = wanted || shared.flags[s] == kOverLimit;
    }
    const bool in_warp = device::ballot(block, wanted) != 0;
    if (block.lane() == 0) shared.warps[block.warp()] = in_warp ? 1 : 0;
    block.sync();
    int32_t any = 0;
    for (int i = 0; i < block.threads() / 32; ++i) any |= shared.warps[i];
    return any != 0;
  }

  /// The residuals become right-hand sides, and the lower band is loaded again.
  static WARPLOOM_DEVICE void begin_correction(const device::Block& block, const Parameters& p, const Shared& shared,
                                               KeptChunk<T>* kept) {
    kept->take(shared.store, block.thread());
    block.sync();
    const Walk w = walk(block, p);
    for (int s = w.system; s < p.systems; s += w.step) {
      const Part part_of = part(block, p, s);
      T* const lower = shared.store.array(0) + s * p.width * p.depth;
      for (int i = w.row; i < part_of.count; i += w.row_step) lower[i] = part_of.rows.lower_of(part_of.first + i);
    }
    block.sync();
  }

  static WARPLOOM_DEVICE void store(const device::Block& block, const Parameters& p, const Shared& shared) {
    const Walk w = walk(block, p);
    const int capacity = p.width * p.depth;
    for (int s = w.system; s < p.systems; s += w.step) {
      const Part part_of = part(block, p, s);
      const bool good = shared.flags[s] == 0;
      const bool judged = p.mode == PivotingMode::whole && part_of.problem < p.batch.problems();
      if (judged && w.row == 0) settle(good, p.batch, part_of.problem, p.list, p.count);
      if (!good) continue;
      const T* const x = shared.store.array(3) + s * capacity;
      for (int i = w.row; i < part_of.count; i += w.row_step) part_of.rows.store_solution(part_of.first + i, x[i]);
    }
  }

  /// Computes unknowns from rows, in the store; false if only the outer rows of a segment are needed.
  static WARPLOOM_DEVICE bool solve(const device::Block& block, const Parameters& p, const Shared& shared) {
    OuterRows<T> rows;
    const uint32_t next_rows = eliminate_chunk(shared.store, block.thread(), &rows);
    shared.store.set_rows(block.thread(), rows);
    block.sync();
    merge_up(block, shared.store, p.width);
    if (p.mode == PivotingMode::reduce) {
      if (block.thread() == 0) p.outer[block.index()] = shared.store.rows(0);
      return false;
    }
    // In merge_up, top and merge_down the same thread handles a system's first lane.
    top(block, p, shared.store);
    merge_down(block, shared.store, p.width);
    substitute_chunk(shared.store, block.thread(), next_rows, shared.store.values(block.thread()));
    block.sync();
    return true;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Shared shared = layout(block, p);
    load(block, p, shared);
    device::async_commit(block);
    device::async_wait<0>(block);
    block.sync();
    if (!solve(block, p, shared)) return;
    WARPLOOM_NO_UNROLL
    for (int count = 0;; ++count) {
      measure(block, p, shared);
      block.sync();
      if (!judge(block, p, shared) || count == kChipCorrections) break;
      KeptChunk<T> kept;
      const bool wanted = shared.flags[block.thread() / p.width] == kOverLimit;
      begin_correction(block, p, shared, &kept);
      solve(block, p, shared);
      kept.put(shared.store, block.thread(), wanted);
      block.sync();
    }
    store(block, p, shared);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
