// PCR-Thomas for systems larger than a block (after Kim, Wu, Chang, Hwu 2011, "tiled PCR"). Tiles of rows with a halo
// take PCR steps in shared memory, and go to global workspace as rows of interleaved sub-systems. A second pass may
// split those again; then one thread solves each sub-system.
#pragma once
#include "cuda/tridiagonal/classic/block_problem.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Rows of a slice of a batch, in workspace: row i of the slice's problem k is entry k*rows + i of each array.
template <class T>
struct StoredRows {
  T* data = nullptr;
  int64_t array = 0;  ///< elements of one of the four arrays
  int64_t rows = 0;   ///< per problem

  WARPLOOM_DEVICE Row<T> get(int64_t at) const {
    return {data[at], data[array + at], data[2 * array + at], data[3 * array + at]};
  }
  WARPLOOM_DEVICE void set(int64_t at, const Row<T>& row) const {
    data[at] = row.a;
    data[array + at] = row.b;
    data[2 * array + at] = row.c;
    data[3 * array + at] = row.d;
  }
};

/// First rows noticed by any block of a problem, in zeroed memory, stored as row - kNone: then atomic_min keeps the
/// smallest row, and zero means none.
struct SharedOutcome {
  int32_t* words = nullptr;  ///< three per problem

  WARPLOOM_DEVICE void add(int64_t problem, const Outcome& mine) const {
    if (mine.input != Outcome::kNone) device::atomic_min(&words[3 * problem], mine.input - Outcome::kNone);
    if (mine.pivot != Outcome::kNone) device::atomic_min(&words[3 * problem + 1], mine.pivot - Outcome::kNone);
    if (mine.solution != Outcome::kNone) {
      device::atomic_min(&words[3 * problem + 2], mine.solution - Outcome::kNone);
    }
  }
  WARPLOOM_DEVICE Outcome get(int64_t problem) const {
    return {words[3 * problem] + Outcome::kNone, words[3 * problem + 1] + Outcome::kNone,
            words[3 * problem + 2] + Outcome::kNone};
  }
};

/// One block: a tile of neighbouring sub-systems (sub-system j has rows j, j+stride, …), with `depth` rows of each,
/// plus the halo that `steps` PCR steps need.
template <class T>
struct TiledPcrAgent {
  static constexpr int kMaxThreads = 512;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    Batch<T> batch;
    StoredRows<T> from;         ///< data null: reads the batch's own bands
    StoredRows<T> to;
    SharedOutcome outcome;      ///< for the slice's problems
    int64_t first_problem = 0;  ///< of the slice
    int64_t stride = 1;         ///< sub-systems so far, a power of two
    int64_t tiles = 1;          ///< per problem: tiles along the rows * (stride >> width_bits)
    int width_bits = 0;         ///< 2^width_bits sub-systems in a tile, at most stride
    int depth = 1;
    int steps = 1;

    WARPLOOM_HOST_DEVICE int halo() const { return (1 << steps) - 1; }
    WARPLOOM_HOST_DEVICE int capacity() const { return (depth + 2 * halo()) << width_bits; }
  };

  static WARPLOOM_HOST_DEVICE size_t shared_bytes(const Parameters& p) {
    return 2 * SharedRows<T>::bytes(p.capacity());
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Tile tile(block, p);
    SharedRows<T> rows(block.shared<unsigned char>(), p.capacity());
    SharedRows<T> other(block.shared<unsigned char>(shared_bytes(p) / 2), p.capacity());
    Outcome outcome;
    for (int e = block.thread(); e < tile.length << p.width_bits; e += block.threads()) {
      const int64_t i = tile.row(p, e);
      if (i < tile.problem.rows) rows.set(e, load(p, tile, i, outcome));
    }
    block.sync();
    int begin = 0, end = tile.length;
    for (int distance = 1; distance <= p.halo(); distance *= 2) {
      // Rows whose neighbours are outside the tile are dropped, unless the system itself ends there.
      if (tile.start > 0) begin += distance;
      if (tile.start + tile.length < tile.own) end -= distance;
      for (int e = (begin << p.width_bits) + block.thread(); e < end << p.width_bits; e += block.threads()) {
        if (tile.row(p, e) < tile.problem.rows) other.set(e, step(p, tile, rows, e, distance, outcome));
      }
      block.sync();
      const SharedRows<T> swap = rows;
      rows = other;
      other = swap;
    }
    for (int e = (tile.first << p.width_bits) + block.thread(); e < tile.last << p.width_bits;
         e += block.threads()) {
      const int64_t i = tile.row(p, e);
      if (i < tile.problem.rows) p.to.set(tile.slot * p.to.rows + i, rows.get(e));
    }
    if (tile.length > 0) p.outcome.add(tile.slot, outcome);
  }

 private:
  /// Local row r of sub-system first_lane + l is that sub-system's row start + r, element (r << width_bits) + l.
  struct Tile {
    Problem problem;
    int64_t slot;        ///< the problem within the slice
    int64_t first_lane;  ///< first sub-system
    int64_t start;
    int64_t own;         ///< rows of the tile's first sub-system, its longest
    int length;          ///< local rows
    int first, last;     ///< local rows that this tile must finish

    WARPLOOM_DEVICE Tile(const device::Block& block, const Parameters& p) {
      slot = block.index() / p.tiles;
      problem = problem_of(p.batch, p.first_problem + slot);
      const int64_t inner = block.index() - slot * p.tiles, across = p.stride >> p.width_bits;
      const int64_t along = inner / across, begin = along * p.depth;
      first_lane = (inner - along * across) << p.width_bits;
      own = first_lane < problem.rows ? (problem.rows - first_lane - 1) / p.stride + 1 : 0;
      start = begin < p.halo() ? 0 : begin - p.halo();
      length = first = last = 0;
      if (begin >= own) return;
      const int64_t end = begin + p.depth + p.halo(), finished = begin + p.depth;
      length = static_cast<int>((end < own ? end : own) - start);
      first = static_cast<int>(begin - start);
      last = static_cast<int>((finished < own ? finished : own) - start);
    }
    WARPLOOM_DEVICE int64_t row(const Parameters& p, int e) const {
      const int r = e >> p.width_bits;
      return (start + r) * p.stride + first_lane + (e - (r << p.width_bits));
    }
  };

  static WARPLOOM_DEVICE Row<T> load(const Parameters& p, const Tile& tile, int64_t i, Outcome& outcome) {
    if (p.from.data != nullptr) return p.from.get(tile.slot * p.from.rows + i);
    const Row<T> row = load_row(p.batch, tile.problem, i);
    outcome.check_input(row, i);
    return row;
  }

  static WARPLOOM_DEVICE Row<T> step(const Parameters& p, const Tile& tile, const SharedRows<T>& rows, int e,
                                     int distance, Outcome& outcome) {
    const int64_t i = tile.row(p, e), reach = distance * p.stride;
    const int apart = distance << p.width_bits;
    Row<T> row = rows.get(e);
    if (i >= reach) {
      const Row<T> left = rows.get(e - apart);
      outcome.check_pivot(left.b, i - reach);
      eliminate_left(row, left);
    }
    if (i + reach < tile.problem.rows) {
      const Row<T> right = rows.get(e + apart);
      outcome.check_pivot(right.b, i + reach);
      eliminate_right(row, right);
    }
    return row;
  }
};

/// Thomas over one interleaved sub-system per thread, in place in the workspace; writes the unknowns to the solution.
template <class T>
struct SubsystemThomasAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 1;
  static constexpr int kAhead = sizeof(T) == 16 ? 2 : 4;  ///< how many rows ahead it loads
  struct Parameters {
    Batch<T> batch;
    StoredRows<T> rows;
    SharedOutcome outcome;
    int64_t first_problem = 0;
    int64_t slots = 0;   ///< problems of the slice
    int64_t stride = 1;  ///< sub-systems per problem
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t thread = block.index() * block.threads() + block.thread();
    const int64_t slot = thread / p.stride, first = thread - slot * p.stride;
    if (slot >= p.slots) return;
    const Problem problem = problem_of(p.batch, p.first_problem + slot);
    Outcome outcome;
    T* const upper = p.rows.data + 2 * p.rows.array + slot * p.rows.rows;
    T* const value = upper + p.rows.array;
    forward(p, slot, problem, first, upper, value, outcome);
    const int64_t count = first < problem.rows ? (problem.rows - first - 1) / p.stride + 1 : 0;
    T x = zero<T>();
    for (int64_t k = count; k > 0; k -= kAhead) {
      T above[kAhead], right[kAhead];
      WARPLOOM_UNROLL
      for (int j = 0; j < kAhead; ++j) {
        if (k - j <= 0) break;
        const int64_t i = first + (k - 1 - j) * p.stride;
        above[j] = upper[i];
        right[j] = value[i];
      }
      WARPLOOM_UNROLL
      for (int j = 0; j < kAhead; ++j) {
        if (k - j <= 0) break;
        x = k - j == count ? right[j] : device::fma(-above[j], x, right[j]);
        const int64_t i = first + (k - 1 - j) * p.stride;
        outcome.check_solution(x, i);
        p.batch.solution.store(p.batch.solution.index(problem.origin, i, problem.rhs), x);
      }
    }
    p.outcome.add(slot, outcome);
  }

 private:
  static WARPLOOM_DEVICE void forward(const Parameters& p, int64_t slot, const Problem& problem, int64_t first,
                                      T* upper, T* value, Outcome& outcome) {
    T c = zero<T>(), d = zero<T>();
    for (int64_t i = first; i < problem.rows; i += kAhead * p.stride) {
      Row<T> rows[kAhead];
      WARPLOOM_UNROLL
      for (int j = 0; j < kAhead; ++j) {
        const int64_t at = i + j * p.stride;
        if (at < problem.rows) rows[j] = p.rows.get(slot * p.rows.rows + at);
      }
      WARPLOOM_UNROLL
      for (int j = 0; j < kAhead; ++j) {
        const int64_t at = i + j * p.stride;
        if (at >= problem.rows) break;
        T pivot = rows[j].b, sum = rows[j].d;
        if (at != first) {
          pivot = device::fma(-rows[j].a, c, pivot);
          sum = device::fma(-rows[j].a, d, sum);
        }
        outcome.check_pivot(pivot, at);
        c = quotient(rows[j].c, pivot);
        d = quotient(sum, pivot);
        upper[at] = c;
        value[at] = d;
      }
    }
  }
};

/// Turns the gathered outcomes of a slice into status words.
template <class T>
struct OutcomeAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    Batch<T> batch;
    SharedOutcome outcome;
    int64_t first_problem = 0;
    int64_t slots = 0;
  };
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t slot = block.index() * block.threads() + block.thread();
    if (slot < p.slots) write_outcome(p.batch, p.first_problem + slot, p.outcome.get(slot));
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
