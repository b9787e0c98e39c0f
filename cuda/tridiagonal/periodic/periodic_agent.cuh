// The steps of solve_periodic around the two solves.
#pragma once
#include "cuda/linear/row_grid.cuh"
#include "cuda/tridiagonal/bands.cuh"
#include "cuda/tridiagonal/rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct CornersAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    Batch<T> batch;
    Corner<T> first, last;
    T* corners;
  };
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t system = block.index() * block.threads() + block.thread();
    if (system >= p.batch.systems) return;
    const int64_t origin = p.batch.origin(system), rows = p.batch.rows(system);
    p.corners[2 * system] = rows > 0 ? p.first.load(origin, rows) : zero<T>();
    p.corners[2 * system + 1] = rows > 0 ? p.last.load(origin, rows) : zero<T>();
  }
};

/// z = -(last column of A) in rows 0…n-2: only the first corner and the upper entry of row n-2.
template <class T>
struct BorderAgent {
  static constexpr int kMaxThreads = RowGrid::kThreads;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    Batch<T> batch;  ///< the whole matrix
    const T* corners;
    Strided<T> z;
    RowGrid grid;    ///< over the systems without their last rows
  };
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    int64_t system, i;
    if (!p.grid.locate(block, &system, &i)) return;
    const int64_t origin = p.batch.origin(system), rows = p.batch.rows(system);
    if (i + 1 >= rows) return;
    T value = zero<T>();
    if (i == 0) value = value - p.corners[2 * system];
    if (i == rows - 2) value = value - p.batch.upper.load(p.batch.upper.index(origin, i, 0));
    p.z.store(p.z.index(origin, i, 0), value);
  }
};

/// x[n-1] and the words; one problem per thread.
template <class T>
struct ClosingAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    Batch<T> batch;  ///< y in rows 0…n-2 of the solution; status and row of T y = d
    const T* corners;
    Strided<T> z;
    const int32_t* z_status;
    const int32_t* z_row;
    bool shared_z;   ///< one z serves all systems
  };
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t index = block.index() * block.threads() + block.thread();
    if (index >= p.batch.problems()) return;
    const Problem problem = problem_of(p.batch, index);
    Outcome outcome;
    const int64_t system = index / p.batch.rhs_count, last = problem.rows - 1;
    if (last > 0) {
      merge(p.batch.status[index], p.batch.row[index], outcome);
      const int64_t z_system = p.shared_z ? 0 : system;
      merge(p.z_status[z_system], p.z_row[z_system], outcome);
    }
    if (last >= 0) {
      const T x = close(p, problem, system, last, outcome);
      outcome.check_solution(x, last);
      p.batch.solution.store(p.batch.solution.index(problem.origin, last, problem.rhs), x);
    }
    write_outcome(p.batch, index, outcome);
  }

 private:
  static WARPLOOM_DEVICE void merge(int32_t word, int32_t row, Outcome& outcome) {
    const auto status = static_cast<operation::SystemStatus>(word & 0xff);
    if (status == operation::SystemStatus::non_finite) Outcome::note(outcome.input, row);
    if (status == operation::SystemStatus::zero_pivot) Outcome::note(outcome.pivot, row);
    if (status == operation::SystemStatus::inaccurate) Outcome::note(outcome.solution, 0);
  }

  static WARPLOOM_DEVICE T close(const Parameters& p, const Problem& problem, int64_t system, int64_t last,
                                 Outcome& outcome) {
    const Batch<T>& batch = p.batch;
    const T corner = p.corners[2 * system + 1];
    // Row n-1: lower, diagonal, corner and right-hand side.
    Row<T> row;
    row.a = last > 0 ? batch.lower.load(batch.lower.index(problem.origin, last, 0)) : p.corners[2 * system];
    row.b = batch.diagonal.load(batch.diagonal.index(problem.origin, last, 0));
    row.c = corner;
    row.d = batch.rhs.load(batch.rhs.index(problem.origin, last, problem.rhs));
    outcome.check_input(row, last);
    T pivot, sum = row.d;
    if (last == 0) {
      pivot = row.a + row.b + row.c;
    } else {
      const T z_last = p.z.load(p.z.index(problem.origin, last - 1, 0));
      const T z_first = p.z.load(p.z.index(problem.origin, 0, 0));
      const T y_last = batch.solution.load(batch.solution.index(problem.origin, last - 1, problem.rhs));
      const T y_first = batch.solution.load(batch.solution.index(problem.origin, 0, problem.rhs));
      pivot = device::fma(row.a, z_last, device::fma(row.c, z_first, row.b));
      sum = device::fma(-row.a, y_last, device::fma(-row.c, y_first, sum));
    }
    outcome.check_pivot(pivot, last);
    return quotient(sum, pivot);
  }
};

/// x = y + x[n-1] z in rows 0…n-2.
template <class T>
struct SpreadAgent {
  static constexpr int kMaxThreads = RowGrid::kThreads;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    Batch<T> batch;
    Strided<T> z;
    RowGrid grid;  ///< over the problems without their last rows
  };
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    int64_t index, i;
    if (!p.grid.locate(block, &index, &i)) return;
    const Problem problem = problem_of(p.batch, index);
    if (i + 1 >= problem.rows) return;
    const Strided<T>& x = p.batch.solution;
    const T last = x.load(x.index(problem.origin, problem.rows - 1, problem.rhs));
    const int64_t at = x.index(problem.origin, i, problem.rhs);
    const T value = device::fma(p.z.load(p.z.index(problem.origin, i, 0)), last, x.load(at));
    x.store(at, value);
    if (!device::is_finite(value)) {
      // Only an overflow in this step is new; `inaccurate` includes all bits of the other codes.
      int* const word = &p.batch.status[index];
      const int inaccurate = static_cast<int>(operation::SystemStatus::inaccurate);
      if (device::atomic_or(word, 0) == 0) device::atomic_or(word, inaccurate);
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
