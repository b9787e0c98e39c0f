// Spreads the operations beside solve over the device's threads.
#pragma once
#include <limits>

#include "native/tridiagonal/batch_run.h"

namespace warploom::cpu {

/// Arrays of n entries that a tile of any of these operations needs.
inline constexpr int64_t kMatrixArrays = 5;

/// Kernels for a shape. Depends on the shape alone: factor and solve_factored must agree.
template <class R>
const MatrixKernels<R>& matrix_tiles(bool complex, int64_t n, int64_t count) {
  const MatrixKernels<R>& wide = matrix_kernels_of<R>(kernels(), complex);
  const bool fits = n * kMatrixArrays * wide.element_bytes <= kMaxTileBytes;
  return count > 1 && fits ? wide : matrix_kernels_of<R>(kernels_single(), complex);
}

template <class R>
int64_t matrix_workspace(const CpuDevice& device, bool complex, int64_t n, int64_t count,
                         int64_t arrays = kMatrixArrays) {
  return n * arrays * matrix_tiles<R>(complex, n, count).element_bytes * device.thread_count();
}

/// Calls body(first, count, scratch) for every tile of `count` systems or problems.
template <class R, class Body>
Status run_tiles(CpuDevice& device, const MatrixKernels<R>& tiles, int64_t n, int64_t count,
                 Control& control, const Body& body, int64_t arrays = kMatrixArrays) {
  WARPLOOM_TRY(device.reserve_scratch(n * arrays * tiles.element_bytes));
  const int64_t lanes = tiles.lanes, total = (count + lanes - 1) / lanes;
  const int64_t per_task = tiles_per_task(total, n * lanes, device.thread_count());
  const int64_t tasks = (total + per_task - 1) / per_task;
  const auto task = [&](int64_t index, int worker) {
    const int64_t end = std::min(total, (index + 1) * per_task);
    for (int64_t tile = index * per_task; tile < end; ++tile) {
      const int64_t first = tile * lanes;
      body(first, static_cast<int>(std::min(lanes, count - first)), device.scratch(worker));
    }
    return Status();
  };
  return device.threads().run(tasks, task, control, 0, static_cast<double>(tasks));
}

/// Results of systems without rows, of which there may be more than a loop should visit.
template <class T>
void fill(const Array<T>& results, T value) {
  if (results.data != nullptr) std::fill_n(results.data, results.length, value);
}

/// Fills a call's summary, if it has one, from its status words; of a slice, whose words are from `before` on, adds to it.
template <class Parameters>
void summarise(const Parameters& p, int64_t before = 0) {
  operation::Summary* const summary = operation::summary_of(p);
  if (summary == nullptr) return;
  if (before == 0) *summary = {0, 0, 0, 0, -1, 0, -1};
  for (int64_t i = 0; i < p.status.length; ++i) {
    const int32_t word = p.status.data[i];
    if (word == 0) continue;
    if ((word & operation::kResolvedByPivoting) != 0) summary->resolved += 1;
    switch (static_cast<operation::SystemStatus>(word & 0xff)) {
      case operation::SystemStatus::ok: continue;
      case operation::SystemStatus::zero_pivot: summary->zero_pivots += 1; break;
      case operation::SystemStatus::non_finite: summary->non_finites += 1; break;
      case operation::SystemStatus::inaccurate: summary->inaccurates += 1; break;
    }
    if (summary->first_failed >= 0) continue;
    summary->first_failed = static_cast<double>(before + i);
    summary->first_word = word;
    summary->first_row = p.row.data[i];
  }
}

inline bool is_single(ScalarType type) {
  return type == ScalarType::float32 || type == ScalarType::complex64;
}

/// Largest accepted backward error of `check`.
inline double tolerance_of(ScalarType type, double asked) {
  const double epsilon = is_single(type) ? std::numeric_limits<float>::epsilon()
                                         : std::numeric_limits<double>::epsilon();
  return asked > 0 ? asked : 64 * epsilon;
}

/// Whether results are so large that they leave the caches before anyone reads them.
template <class Parameters>
bool stores_around_caches(const Parameters& p) {
  constexpr int64_t kStreamBytes = int64_t{16} << 20;
  return p.rhs.data != p.solution.data &&
         p.n * std::max(p.batch, p.slice.whole) * p.rhs_count * scalar_bytes(p.type) >= kStreamBytes;
}

/// The shape and matrix part of any operation's parameters.
template <class R, class Parameters>
Problem<R> matrix_problem(const Parameters& p, bool complex) {
  Problem<R> problem;
  problem.n = p.n;
  problem.systems = p.batch;
  problem.offsets = p.offsets.data;
  problem.periodic = p.periodic;
  set_matrix(p.lower, p.diagonal, p.upper, p.transpose, p.structure, complex, &problem);
  // Bands have no right-hand side of their own.
  problem.lower.rhs_stride = problem.diagonal.rhs_stride = problem.upper.rhs_stride = 0;
  problem.rhs = problem.solution = problem.diagonal;
  return problem;
}

}  // namespace warploom::cpu
