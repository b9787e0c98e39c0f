// Frame of the algorithms that keep a problem in shared memory: a block holds one or more problems, each processed by a
// group of threads with its own slice of shared memory.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/tridiagonal/rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// How a block is divided; the host sets it for a launch.
struct Groups {
  int threads = 32;           ///< per problem: a power of two, or whole warps
  int problems = 1;           ///< per block
  size_t problem_bytes = 0;   ///< shared memory of one problem's rows
  int64_t first = 0;          ///< problem of the first block's first group

  /// Shared memory before the rows: four outcome words per problem.
  WARPLOOM_HOST_DEVICE size_t word_bytes() const { return static_cast<size_t>(problems) * 16; }
  WARPLOOM_HOST_DEVICE size_t shared_bytes() const { return word_bytes() + problems * problem_bytes; }
};

/// Four arrays of `capacity` elements in shared memory, the rows of one problem.
template <class T>
struct SharedRows {
  T *a, *b, *c, *d;

  /// Elements of one array for `rows` rows; even, so that arrays of 8-byte elements stay 16-byte aligned.
  static WARPLOOM_HOST_DEVICE int capacity(int rows) { return (rows + 4) & ~3; }
  static WARPLOOM_HOST_DEVICE size_t bytes(int rows) { return size_t{4} * capacity(rows) * sizeof(T); }

  WARPLOOM_DEVICE SharedRows(unsigned char* memory, int rows)
      : a(reinterpret_cast<T*>(memory)), b(a + capacity(rows)), c(b + capacity(rows)), d(c + capacity(rows)) {}
  WARPLOOM_DEVICE Row<T> get(int row) const { return {a[row], b[row], c[row], d[row]}; }
  WARPLOOM_DEVICE void set(int row, const Row<T>& value) const {
    a[row] = value.a;
    b[row] = value.b;
    c[row] = value.c;
    d[row] = value.d;
  }
};

/// The first rows noticed by any of `width` neighbouring lanes.
WARPLOOM_DEVICE Outcome least_in_warp(const device::Block& block, const Outcome& mine, int width) {
  Outcome all = mine;
  const bool found = mine.input != Outcome::kNone || mine.pivot != Outcome::kNone || mine.solution != Outcome::kNone;
  if (device::ballot(block, found) == 0) return all;
  WARPLOOM_NO_UNROLL
  for (int mask = 1; mask < width; mask *= 2) {
    Outcome::note(all.input, device::shuffle_xor(block, all.input, mask));
    Outcome::note(all.pivot, device::shuffle_xor(block, all.pivot, mask));
    Outcome::note(all.solution, device::shuffle_xor(block, all.solution, mask));
  }
  return all;
}

/// One thread's place in its group, and its group's problem. A group beyond the last problem has no rows, but takes
/// part in every barrier.
template <class T>
struct GroupProblem {
  Problem problem;
  bool active;
  int lane, threads, rows;
  int* words;
  unsigned char* memory;

  WARPLOOM_DEVICE GroupProblem(const device::Block& block, const Batch<T>& batch, const Groups& groups) {
    const int group = block.thread() / groups.threads;
    threads = groups.threads;
    lane = block.thread() - group * threads;
    const int64_t index = groups.first + block.index() * groups.problems + group;
    active = index < batch.problems();
    problem = problem_of(batch, index);
    rows = static_cast<int>(problem.rows);
    words = block.shared<int>() + 4 * group;
    memory = block.shared<unsigned char>(groups.word_bytes() + group * groups.problem_bytes);
    if (lane < 3) words[lane] = Outcome::kNone;
  }

  /// Reads the rows; a barrier must follow.
  WARPLOOM_DEVICE void load(const Batch<T>& batch, const SharedRows<T>& shared, Outcome& outcome) const {
    for (int i = lane; i < rows; i += threads) {
      const Row<T> row = load_row(batch, problem, i);
      outcome.check_input(row, i);
      shared.set(i, row);
    }
  }

  WARPLOOM_DEVICE void store(const Batch<T>& batch, int64_t row, const T& x, Outcome& outcome) const {
    outcome.check_solution(x, row);
    batch.solution.store(batch.solution.index(problem.origin, row, problem.rhs), x);
  }

  /// Gathers the group's outcomes and writes the words. There must be a barrier between the constructor and this call.
  WARPLOOM_DEVICE void finish(const device::Block& block, const Batch<T>& batch, const Outcome& mine) const {
    if (mine.input != Outcome::kNone) device::atomic_min(&words[0], mine.input);
    if (mine.pivot != Outcome::kNone) device::atomic_min(&words[1], mine.pivot);
    if (mine.solution != Outcome::kNone) device::atomic_min(&words[2], mine.solution);
    block.sync();
    if (active && lane == 0) {
      write_outcome(batch, problem.index, Outcome{words[0], words[1], words[2]});
    }
  }
  /// The same for groups of at most a warp, without a block barrier.
  WARPLOOM_DEVICE void finish_in_warp(const device::Block& block, const Batch<T>& batch, const Outcome& mine) const {
    const Outcome all = least_in_warp(block, mine, threads);
    if (active && lane == 0) write_outcome(batch, problem.index, all);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
