// The Thomas algorithm (Thomas 1949), one thread per problem. Rows come straight from global memory where
// neighbouring problems are neighbours there (interleaved batches), and otherwise through a transposition of
// tiles, 32 problems x one 128-byte line of rows, in each warp's part of shared memory.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/tridiagonal/rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Tile of 32 problems x kRows rows of one array; problem s, row r stands at s*kPitch + r, free of bank conflicts
/// along either.
template <class T>
struct ThomasTile {
  static constexpr int kRows = 128 / sizeof(T);
  static constexpr int kPitch = kRows + 1;
  static constexpr int kElements = 32 * kPitch;
  /// lower, diagonal, upper and right-hand side; the solution takes the first's place.
  static constexpr size_t kWarpBytes = 4 * kElements * sizeof(T);
};

template <class T, bool kStaged>
struct ThomasAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 1;
  /// Rows whose loads are under way at once.
  static constexpr int kAhead = kStaged ? ThomasTile<T>::kRows : sizeof(T) == 16 ? 2 : 4;

  struct Parameters {
    Batch<T> batch;
    T* factors = nullptr;   ///< c' and d' of every slot, row by row; null: in shared memory after the tiles
    int64_t slots = 0;      ///< problems in work at once
  };

  static size_t tile_bytes(int threads) { return kStaged ? threads / 32 * ThomasTile<T>::kWarpBytes : 0; }
  /// Shared memory for c' and d' of n rows.
  static size_t factor_bytes(int threads, int64_t n) { return 2 * sizeof(T) * threads * static_cast<size_t>(n); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t threads = block.count() * block.threads();
    const int64_t slot = block.index() * block.threads() + block.thread();
    // All lanes of a warp stay in the loop together: they share a tile.
    for (int64_t first = slot - block.lane(); first < p.batch.problems(); first += threads) {
      solve(block, p, slot, problem_of(p.batch, first + block.lane()));
    }
  }

 private:
  /// c' and d' of the calling thread's problem.
  struct Factors {
    T* upper;
    T* value;
    int64_t stride;

    WARPLOOM_DEVICE Factors(const device::Block& block, const Parameters& p, int64_t slot) {
      if (p.factors != nullptr) {
        stride = p.slots;
        upper = p.factors + slot;
      } else {
        stride = block.threads();
        const int warps = kStaged ? block.threads() / 32 : 0;
        upper = block.shared<T>(warps * ThomasTile<T>::kWarpBytes) + block.thread();
      }
      value = upper + stride * p.batch.n;
    }
  };

  static WARPLOOM_DEVICE void solve(const device::Block& block, const Parameters& p, int64_t slot,
                                    const Problem& problem) {
    const Factors factors(block, p, slot);
    Outcome outcome;
    int64_t rows = problem.rows;
    if (kStaged) {
      WARPLOOM_UNROLL
      for (int mask = 16; mask > 0; mask /= 2) {
        const int64_t other = device::shuffle_xor(block, rows, mask);
        rows = other > rows ? other : rows;
      }
    }
    forward(block, p, problem, rows, factors, outcome);
    backward(block, p, problem, rows, factors, outcome);
    if (problem.index < p.batch.problems()) write_outcome(p.batch, problem.index, outcome);
  }

  static WARPLOOM_DEVICE T* tile(const device::Block& block, int array) {
    return block.shared<T>(block.warp() * ThomasTile<T>::kWarpBytes) + array * ThomasTile<T>::kElements;
  }

  static WARPLOOM_DEVICE void forward(const device::Block& block, const Parameters& p, const Problem& problem,
                                      int64_t rows, const Factors& factors, Outcome& outcome) {
    T c = zero<T>(), d = zero<T>();
    for (int64_t begin = 0; begin < rows; begin += kAhead) {
      if constexpr (kStaged) {
        gather(block, p.batch.lower, problem, problem.rows, begin, tile(block, 0), 1, 0);
        gather(block, p.batch.diagonal, problem, problem.rows, begin, tile(block, 1), 0, 0);
        gather(block, p.batch.upper, problem, problem.rows, begin, tile(block, 2), 0, 1);
        gather(block, p.batch.rhs, problem, problem.rows, begin, tile(block, 3), 0, 0);
        block.sync_warp();
        for (int j = 0; j < kAhead && begin + j < problem.rows; ++j) {
          const int at = block.lane() * ThomasTile<T>::kPitch + j;
          const int64_t i = begin + j;
          const Row<T> row = {i > 0 ? tile(block, 0)[at] : zero<T>(), tile(block, 1)[at],
                              i + 1 < problem.rows ? tile(block, 2)[at] : zero<T>(), tile(block, 3)[at]};
          reduce(row, i, c, d, outcome, factors);
        }
        block.sync_warp();
      } else {
        Row<T> ahead[kAhead];
        WARPLOOM_UNROLL
        for (int j = 0; j < kAhead; ++j) {
          if (begin + j < rows) ahead[j] = load_row(p.batch, problem, begin + j);
        }
        WARPLOOM_UNROLL
        for (int j = 0; j < kAhead; ++j) {
          if (begin + j < rows) reduce(ahead[j], begin + j, c, d, outcome, factors);
        }
      }
    }
  }

  /// Row i: c' = c / (b - a c'), d' = (d - a d') / (b - a c').
  static WARPLOOM_DEVICE void reduce(const Row<T>& row, int64_t i, T& c, T& d, Outcome& outcome,
                                     const Factors& factors) {
    outcome.check_input(row, i);
    T pivot = row.b, sum = row.d;
    if (i > 0) {
      pivot = device::fma(-row.a, c, pivot);
      sum = device::fma(-row.a, d, sum);
    }
    outcome.check_pivot(pivot, i);
    c = quotient(row.c, pivot);
    d = quotient(sum, pivot);
    factors.upper[i * factors.stride] = c;
    factors.value[i * factors.stride] = d;
  }

  static WARPLOOM_DEVICE void backward(const device::Block& block, const Parameters& p, const Problem& problem,
                                       int64_t rows, const Factors& factors, Outcome& outcome) {
    T x = zero<T>();
    // In chunks of kAhead rows, the last rows first; chunks begin at multiples of kAhead.
    for (int64_t begin = (rows - 1) / kAhead * kAhead; begin >= 0 && rows > 0; begin -= kAhead) {
      constexpr int kBatch = sizeof(T) == 16 ? 2 : 4;
      for (int high = kAhead; high > 0; high -= kBatch) {
        T upper[kBatch], value[kBatch];
        WARPLOOM_UNROLL
        for (int j = 0; j < kBatch; ++j) {
          const int64_t i = begin + high - 1 - j;
          if (i >= problem.rows) continue;
          upper[j] = factors.upper[i * factors.stride];
          value[j] = factors.value[i * factors.stride];
        }
        WARPLOOM_UNROLL
        for (int j = 0; j < kBatch; ++j) {
          const int64_t i = begin + high - 1 - j;
          if (i >= problem.rows) continue;
          x = i + 1 < problem.rows ? device::fma(-upper[j], x, value[j]) : value[j];
          outcome.check_solution(x, i);
          if constexpr (kStaged) {
            tile(block, 0)[block.lane() * ThomasTile<T>::kPitch + (high - 1 - j)] = x;
          } else {
            p.batch.solution.store(p.batch.solution.index(problem.origin, i, problem.rhs), x);
          }
        }
      }
      if constexpr (kStaged) {
        block.sync_warp();
        scatter(block, p.batch.solution, problem, problem.rows, begin, tile(block, 0));
        block.sync_warp();
      }
    }
  }

  /// The warp reads rows begin… of its 32 problems, kRows neighbouring rows at a time; not the first `skip_first`
  /// rows nor the last `skip_last` of a system.
  static WARPLOOM_DEVICE void gather(const device::Block& block, const Strided<T>& from, const Problem& problem,
                                     int64_t rows, int64_t begin, T* to, int skip_first, int skip_last) {
    constexpr int kRows = ThomasTile<T>::kRows;
    const int64_t base = from.index(problem.origin, 0, problem.rhs), last = rows - skip_last;
    const int row = block.lane() % kRows, part = block.lane() / kRows;
    const int64_t i = begin + row;
    WARPLOOM_UNROLL
    for (int step = 0; step < kRows; ++step) {
      const int s = step * (32 / kRows) + part;
      const int64_t s_base = device::shuffle(block, base, s), s_last = device::shuffle(block, last, s);
      if (i >= skip_first && i < s_last) {
        to[s * ThomasTile<T>::kPitch + row] = from.load(s_base + i * from.row_stride);
      }
    }
  }

  static WARPLOOM_DEVICE void scatter(const device::Block& block, const Strided<T>& to, const Problem& problem,
                                      int64_t rows, int64_t begin, const T* from) {
    constexpr int kRows = ThomasTile<T>::kRows;
    const int64_t base = to.index(problem.origin, 0, problem.rhs);
    const int row = block.lane() % kRows, part = block.lane() / kRows;
    const int64_t i = begin + row;
    WARPLOOM_UNROLL
    for (int step = 0; step < kRows; ++step) {
      const int s = step * (32 / kRows) + part;
      const int64_t s_base = device::shuffle(block, base, s), s_rows = device::shuffle(block, rows, s);
      if (i < s_rows) to.store(s_base + i * to.row_stride, from[s * ThomasTile<T>::kPitch + row]);
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
