// Entry points of the per-instruction-set kernels of cosine transforms, registration, warp, resample and jacobian.
#pragma once
#include <cstdint>

#include "cuda/imaging/cosine_lines.h"
#include "cuda/imaging/registration_task.h"

namespace warploom::imaging {
template <class T> struct WarpTask;
template <class T> struct ResampleTask;
template <class T> struct JacobianTask;
struct JacobianFigures;
}  // namespace warploom::imaging

namespace warploom::cpu {

/// Kernels of one element type.
template <class R>
struct RegistrationKernels {
  int lanes;  ///< of a vector: pairs of lines transformed at once
  /// Bytes of scratch for lines(), and for rows() with `axes` components, for complex transforms of length m.
  int64_t (*line_bytes)(int m);
  int64_t (*row_bytes)(int m, int axes);
  /// A pass over `lanes` pairs of lines of a component, from pair `first` on.
  void (*lines)(const ::warploom::imaging::LinesTask<R>& task, int64_t component, int64_t first, void* scratch);
  /// The registration step for `lanes` pairs of rows from pair `first` on, with two and three components.
  void (*rows[2])(const ::warploom::imaging::RowsTask<R>& task, int64_t first, void* scratch);
  // Ranges of points.
  void (*warp)(const ::warploom::imaging::WarpTask<R>& task, int64_t begin, int64_t end);
  void (*resample)(const ::warploom::imaging::ResampleTask<R>& task, int64_t begin, int64_t end);
  void (*jacobian)(const ::warploom::imaging::JacobianTask<R>& task, int64_t begin, int64_t end,
                   ::warploom::imaging::JacobianFigures* figures);
  /// The largest finite |gradient|^2 in a range of rows.
  double (*gradient)(const ::warploom::imaging::RowsTask<R>& task, int64_t begin, int64_t end);
  /// Laplacians of all components of a displacement, for a range of rows.
  void (*laplacian)(const ::warploom::imaging::RowsTask<R>& task, R* to, int64_t begin, int64_t end);
};

}  // namespace warploom::cpu
