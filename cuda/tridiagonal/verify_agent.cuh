// Measures answers in global memory: componentwise backward errors, and which problems must be solved again.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/verify_residual.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// What a stretch of rows of one problem shows.
struct RowsFinding {
  double backward_error = 0;
  int64_t bad_row = -1;   ///< first row with a non-finite entry of matrix or right-hand side
  int64_t lost_rows = 0;  ///< rows whose answer is not finite
};

/// a before b in row order.
WARPLOOM_DEVICE RowsFinding combine(const RowsFinding& a, const RowsFinding& b) {
  RowsFinding result;
  result.backward_error = device::maximum(a.backward_error, b.backward_error);
  result.bad_row = a.bad_row < 0 ? b.bad_row : b.bad_row < 0 || a.bad_row < b.bad_row ? a.bad_row : b.bad_row;
  result.lost_rows = a.lost_rows + b.lost_rows;
  return result;
}

/// A group of `width` neighbouring threads takes one segment of one problem: 1 where the same rows of neighbouring
/// problems are neighbours in memory, up to 32 where rows are.
template <class T>
struct MeasureAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 4;

  struct Parameters {
    Batch<T> batch;
    const T* corners;
    int32_t width;
    int64_t segments, segment_rows;
    RowsFinding* findings;  ///< [segment][problem]
  };

  static WARPLOOM_DEVICE RowsFinding measure(const Parameters& p, int64_t problem, int64_t segment, int lane) {
    using Wide = WideOf<T>;
    const ProblemRows<T> rows(p.batch, problem, p.corners);
    const bool periodic = p.corners != nullptr;
    const int64_t begin = segment * p.segment_rows;
    const int64_t end = begin + p.segment_rows < rows.rows ? begin + p.segment_rows : rows.rows;
    RowsFinding found;
    for (int64_t i = begin + lane; i < end; i += p.width) {
      const Wide zero(0.0), own = widen(rows.solution_of(i));
      const Wide below = i > 0 ? widen(rows.solution_of(i - 1)) : zero;
      const Wide above = i + 1 < rows.rows ? widen(rows.solution_of(i + 1)) : zero;
      Wide far_end = zero;
      if (periodic && i == 0) far_end = widen(rows.solution_of(rows.rows - 1));
      if (periodic && i > 0 && i + 1 == rows.rows) far_end = widen(rows.solution_of(0));
      const RowResidual<T> row = row_residual<T>(rows, i, below, own, above, far_end, periodic);
      const double size = device::absolute(row.residual);
      if (!device::is_finite(size) || !device::is_finite(own)) {
        ++found.lost_rows;
        if (found.bad_row < 0 && !rows.finite(i)) found.bad_row = i;
      } else {
        found.backward_error = raise_backward_error(found.backward_error, size, row.scale);
      }
    }
    return found;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t problems = p.batch.problems();
    const int64_t group = (block.index() * block.threads() + block.thread()) / p.width;
    const int lane = block.thread() % p.width;
    const bool present = group < problems * p.segments;
    const int64_t segment = present ? group / problems : 0, problem = present ? group - segment * problems : 0;
    RowsFinding found;
    if (present) found = measure(p, problem, segment, lane);
    for (int mask = p.width / 2; mask > 0; mask /= 2) {
      found = combine(found, device::shuffle_xor(block, found, mask));
    }
    if (present && lane == 0) p.findings[segment * problems + problem] = found;
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
    double tolerance;
    double* backward_error;
    int32_t* list;
    int32_t* count;
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    using operation::SystemStatus;
    const int64_t problems = p.batch.problems();
    const int64_t problem = block.index() * block.threads() + block.thread();
    if (problem >= problems) return;
    RowsFinding found;
    for (int64_t s = 0; s < p.segments; ++s) found = combine(found, p.findings[s * problems + problem]);
    const int32_t given = p.batch.status[problem] & 0xff;
    const bool bad_input = found.bad_row >= 0 || given == static_cast<int32_t>(SystemStatus::non_finite);
    const bool lost = found.lost_rows > 0;
    if (p.backward_error != nullptr) p.backward_error[problem] = lost || bad_input ? INFINITY : found.backward_error;
    if (bad_input) {
      p.batch.status[problem] = static_cast<int32_t>(SystemStatus::non_finite);
      if (found.bad_row >= 0) p.batch.row[problem] = static_cast<int32_t>(found.bad_row);
    } else if (lost || found.backward_error > p.tolerance ||
               given == static_cast<int32_t>(SystemStatus::zero_pivot)) {
      p.list[device::atomic_add(p.count, 1)] = static_cast<int32_t>(problem);
    } else {
      p.batch.status[problem] = static_cast<int32_t>(SystemStatus::ok);
      p.batch.row[problem] = -1;
    }
  }
};

/// Copies right-hand sides (row r of problem q) to a packed buffer, or any batch of lines to another.
template <class T>
struct CopyLinesAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 4;

  struct Parameters {
    Batch<T> batch;  ///< lines are rhs -> solution of it
    int32_t width;
    int64_t segments, segment_rows;
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t problems = p.batch.problems();
    const int64_t group = (block.index() * block.threads() + block.thread()) / p.width;
    if (group >= problems * p.segments) return;
    const int64_t segment = group / problems, problem = group - segment * problems;
    const ProblemRows<T> rows(p.batch, problem);
    const int64_t begin = segment * p.segment_rows;
    const int64_t end = begin + p.segment_rows < rows.rows ? begin + p.segment_rows : rows.rows;
    for (int64_t i = begin + block.thread() % p.width; i < end; i += p.width) rows.store_solution(i, rows.rhs_of(i));
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
