// The problem that every tridiagonal algorithm solves, after solve.cu has resolved transposition, structure,
// periodicity and defaults; and the algorithms' launch functions.
#pragma once
#include "cuda/core/complex.cuh"
#include "cuda/core/device.cuh"
#include "cuda/core/launch_shape.h"
#include "cuda/linear/extents.cuh"
#include "cuda/tridiagonal/solve.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

namespace operation = ::warploom::tridiagonal;
using namespace linear;  // batches, moving rows, sums and words: needed by any solver

/// General structure, no transposition, not periodic. lower of row 0 and upper of the last row must not be read.
template <class T>
struct Batch : Extents<Batch<T>> {
  int64_t n = 0;        ///< rows per system; the largest when ragged
  int64_t systems = 0;
  int64_t whole_systems = 0;  ///< in the whole call if this is a slice; 0: this is the whole call
  int64_t rhs_count = 1;
  const int64_t* offsets = nullptr;  ///< ragged: systems+1 row offsets, in device memory; then system_stride = row_stride
  int64_t trimmed = 0;  ///< ragged: last rows of every system that are left out (n already excludes them)
  Strided<T> lower, diagonal, upper, rhs, solution;
  int32_t* status = nullptr;  ///< systems*rhs_count words, never null; every algorithm writes every word
  int32_t* row = nullptr;     ///< likewise; -1 or the first row with a zero pivot or a non-finite entry
};

/// First row of [first, last) of a system with a non-finite entry among those that are read; -1 if there is none.
/// `corners`: those of a periodic system are read too.
template <class T>
WARPLOOM_DEVICE int64_t first_non_finite_row(const Batch<T>& batch, int64_t system, int64_t rhs,
                                             int64_t first, int64_t last, bool corners = false) {
  const int64_t origin = batch.origin(system), rows = batch.rows(system);
  WARPLOOM_NO_UNROLL
  for (int64_t i = first; i < last; ++i) {
    bool finite = device::is_finite(batch.diagonal.load(batch.diagonal.index(origin, i, 0))) &&
                  device::is_finite(batch.rhs.load(batch.rhs.index(origin, i, rhs)));
    if (corners || i > 0) finite = finite && device::is_finite(batch.lower.load(batch.lower.index(origin, i, 0)));
    if (corners || i + 1 < rows) {
      finite = finite && device::is_finite(batch.upper.load(batch.upper.index(origin, i, 0)));
    }
    if (!finite) return i;
  }
  return -1;
}

struct Judging;  // verify/finding.cuh

/// What ran, for the caller's `info`.
struct Used {
  operation::Algorithm algorithm = operation::Algorithm::automatic;
  int depth = 0;
  int threads = 0;  ///< per system
  int launches = 0;
};

// One per algorithm, each in <algorithm>.cu, instantiated for float, double, Complex<float> and Complex<double>.
// Code::unsupported, with the reason, if a batch does not fit the algorithm (say, n too large for shared memory).
template <class T> Status solve_cr(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_pcr(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_cr_pcr(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_pcr_thomas(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_thomas(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_cr_regpack(GpuDevice&, const Batch<T>&, int depth, Used*);
/// The depth of a cr-regpack kernel that checks its own answers, for a requested depth (0: any); 0 if there is none.
template <class T> int checked_depth(GpuDevice&, const Batch<T>&, int depth);
/// Solves with that kernel; the problems listed by `judging` must then be solved again (verify.cuh).
template <class T> Status solve_cr_regpack_checked(GpuDevice&, const Batch<T>&, int depth, const Judging& judging, Used*);
template <class T> Status solve_partition(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_pivoting(GpuDevice&, const Batch<T>&, Used*);
// For `auto`, instantiated in the same way (regpack_periodic_*.cu).
template <class T> Status solve_periodic_regpack(GpuDevice&, const Batch<T>&, Used*);
// For `cr-regpack`: right-hand sides that share a matrix (matrix_*.cu). Code::unsupported if it does not pay or if they
// do not fit.
template <class T> Status solve_matrix_rows(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_matrix_columns(GpuDevice&, const Batch<T>&, Used*);
/// Chooses among the above by the policy.
template <class T> Status solve_automatic(GpuDevice&, const Batch<T>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
