// Measures answers in global memory: computes componentwise backward errors, and finds the problems to solve again.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/linear/stretch.cuh"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/verify/finding.cuh"
#include "cuda/tridiagonal/verify/problem_rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Measures one stretch of rows per team.
template <class T>
struct MeasureAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = kIsComplex<T> ? 3 : 4;

  struct Parameters {
    Batch<T> batch;
    const T* corners;
    Walk walk;
    RowsFinding* findings;  ///< [segment][problem]
  };

  static WARPLOOM_DEVICE RowsFinding measure(const Parameters& p, const Stretch& stretch) {
    const ProblemRows<T> rows(p.batch, stretch.problem, p.corners);
    const bool periodic = p.corners != nullptr;
    const auto unknown = [&](int64_t row) { return widen(rows.solution_of(row)); };
    RowsFinding found;
    stretch.each_row(p.walk, rows.rows, [&](int64_t i) {
      find<T>(found, i, residual_at<T>(rows, i, periodic, unknown), unknown(i), [&] { return rows.finite(i); });
    });
    return found;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Stretch stretch(block, p.walk, p.batch.problems(), true);
    RowsFinding found;
    if (stretch.present) found = measure(p, stretch);
    stretch.store(block, p.walk, p.batch.problems(), found, p.findings);
  }
};

/// The same for uniform systems that are not periodic and have contiguous rows. It takes the rows of a 16-byte chunk at
/// a time, so that enough loads are in flight. `kAligned`: systems consist of whole chunks, and are read as such.
template <class T, bool kAligned>
struct MeasureChunksAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 4;
  using Chunk = device::Pack<T>;
  static constexpr int kPerChunk = Chunk::kCount;

  struct Parameters {
    FullBatch<T> full;
    Walk walk;  ///< counts chunks, not rows
    RowsFinding* findings;
  };

  static bool takes(const Batch<T>& batch, const T* corners) {
    if (corners != nullptr) return false;
    const Inputs<T> inputs = inputs_of(batch, false);
    return kAligned ? batch.n % kPerChunk == 0 && is_uniform(batch, inputs) : is_uniform_anywhere(batch, inputs);
  }
  static int64_t chunks_of(int64_t n) { return (n + kPerChunk - 1) / kPerChunk; }

  /// The chunk of an array at `at`; only `rows` rows of it exist.
  static WARPLOOM_DEVICE Chunk chunk_at(const T* at, int64_t rows) {
    if constexpr (kAligned) return *reinterpret_cast<const Chunk*>(at);
    Chunk chunk;
    WARPLOOM_UNROLL
    for (int k = 0; k < kPerChunk; ++k) chunk.item[k] = k < rows ? at[k] : T(0);
    return chunk;
  }

  static WARPLOOM_DEVICE RowsFinding measure(const Parameters& p, const Stretch& stretch) {
    using Wide = WideOf<T>;
    const int64_t n = p.full.n, chunks = (n + kPerChunk - 1) / kPerChunk, from = stretch.problem * p.full.system_stride;
    const T* const x = p.full.array[4] + stretch.problem * p.full.solution_stride;
    RowsFinding found;
    stretch.each_row(p.walk, chunks, [&](int64_t c) {
      const int64_t row = c * kPerChunk, here_rows = n - row;
      Chunk entries[4];
      WARPLOOM_UNROLL
      for (int k = 0; k < 4; ++k) entries[k] = chunk_at(p.full.array[k] + from + row, here_rows);
      const Chunk own = chunk_at(x + row, here_rows);
      Wide below = c > 0 ? widen(x[row - 1]) : Wide(0.0), here = widen(own.item[0]);
      const Wide after = c + 1 < chunks ? widen(x[row + kPerChunk]) : Wide(0.0);
      if (c == 0) entries[0].item[0] = T(0);
      if (kAligned && c + 1 == chunks) entries[2].item[kPerChunk - 1] = T(0);
      WARPLOOM_UNROLL
      for (int k = 0; k < kPerChunk; ++k) {
        const Wide above = k + 1 < kPerChunk ? widen(own.item[k + 1 < kPerChunk ? k + 1 : 0]) : after;
        if (!kAligned && k >= here_rows) break;
        if (!kAligned && k + 1 == here_rows) entries[2].item[k] = T(0);
        const T &lower = entries[0].item[k], &diagonal = entries[1].item[k];
        const T &upper = entries[2].item[k], &rhs = entries[3].item[k];
        find<T>(found, row + k, entries_residual<T>(lower, diagonal, upper, rhs, below, here, above), here, [&] {
          return device::is_finite(lower) && device::is_finite(diagonal) && device::is_finite(upper) &&
                 device::is_finite(rhs);
        });
        below = here;
        here = above;
      }
    });
    return found;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Stretch stretch(block, p.walk, p.full.systems, true);
    RowsFinding found;
    if (stretch.present) found = measure(p, stretch);
    stretch.store(block, p.walk, p.full.systems, found, p.findings);
  }
};

/// One thread per problem: final status words, backward errors, and the list of problems to solve again.
template <class T>
struct JudgeAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 4;

  struct Parameters {
    Batch<T> batch;
    int64_t segments;
    const RowsFinding* findings;
    Judging judging;
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t problems = p.batch.problems();
    const int64_t problem = block.index() * block.threads() + block.thread();
    if (problem >= problems) return;
    RowsFinding found;
    for (int64_t s = 0; s < p.segments; ++s) found = combine(found, p.findings[s * problems + problem]);
    judge(p.judging, p.batch, problem, found, p.batch.status[problem]);
  }
};

/// Copies right-hand sides (row r of problem q) to a packed buffer, or any batch of lines to another.
template <class T>
struct CopyLinesAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 4;

  struct Parameters {
    Batch<T> batch;  ///< lines are rhs -> solution of it
    Walk walk;
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Stretch stretch(block, p.walk, p.batch.problems());
    if (!stretch.present) return;
    const ProblemRows<T> rows(p.batch, stretch.problem);
    stretch.each_row(p.walk, rows.rows, [&](int64_t i) { rows.store_solution(i, rows.rhs_of(i)); });
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
