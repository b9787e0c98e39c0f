// Measures answers in global memory: componentwise backward errors, and which problems must be solved again.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/verify_rows.cuh"

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

/// Measures one stretch of rows per team.
template <class T>
struct MeasureAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 4;

  struct Parameters {
    Batch<T> batch;
    const T* corners;
    Walk walk;
    RowsFinding* findings;  ///< [segment][problem]
  };

  static WARPLOOM_DEVICE RowsFinding measure(const Parameters& p, const Stretch& stretch) {
    const ProblemRows<T> rows(p.batch, stretch.problem, p.corners);
    const bool periodic = p.corners != nullptr;
    RowsFinding found;
    stretch.each_row(p.walk, rows.rows, [&](int64_t i) {
      const auto unknown = [&](int64_t row) { return widen(rows.solution_of(row)); };
      const RowResidual<T> row = residual_at<T>(rows, i, periodic, unknown);
      const double size = device::absolute(row.residual);
      if (!device::is_finite(size) || !device::is_finite(rows.solution_of(i))) {
        ++found.lost_rows;
        if (found.bad_row < 0 && !rows.finite(i)) found.bad_row = i;
      } else {
        found.backward_error = raise_backward_error(found.backward_error, size, row.scale);
      }
    });
    return found;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Stretch stretch(block, p.walk, p.batch.problems());
    RowsFinding found;
    if (stretch.present) found = measure(p, stretch);
    stretch.store(block, p.walk, p.batch.problems(), found, p.findings);
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
