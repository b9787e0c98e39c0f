// The problem every tridiagonal algorithm takes, after solve.cu has resolved transposition, structure,
// periodicity and defaults; and the algorithms' launch functions.
#pragma once
#include "cuda/core/complex.cuh"
#include "cuda/core/device.cuh"
#include "cuda/core/launch_shape.h"
#include "cuda/tridiagonal/solve.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

namespace operation = ::warploom::tridiagonal;

/// View of one array with its element type; `data` points at element (0, 0, 0).
template <class T>
struct Strided {
  T* data = nullptr;
  RealOf<T>* imaginary = nullptr;  ///< split complex only: then `data` points at the real parts (as RealOf<T>*)
  int64_t system_stride = 0, row_stride = 0, rhs_stride = 0;
  bool conjugate = false;  ///< load conjugates (complex input bands only)
  /// Rows a band is seen off (transposed, or upper from lower: -1 or 1): the entry outside the matrix lies outside the
  /// buffer, which holds elements readable_begin … readable_end-1 counted from `data`.
  int32_t off_by = 0;
  int64_t readable_begin = INT64_MIN, readable_end = INT64_MAX;

  WARPLOOM_HOST_DEVICE int64_t index(int64_t system, int64_t row, int64_t rhs) const {
    return system * system_stride + row * row_stride + rhs * rhs_stride;
  }
  WARPLOOM_DEVICE T load(int64_t at) const { return load_scalar<T>(data, imaginary, at, conjugate); }
  WARPLOOM_DEVICE void store(int64_t at, const T& value) const { store_scalar<T>(data, imaginary, at, value); }
  /// Unit row stride, one array, no conjugation, every row readable: rows of a system may be moved as plain memory.
  WARPLOOM_HOST_DEVICE bool plain() const {
    return row_stride == 1 && imaginary == nullptr && !conjugate && off_by == 0;
  }
  WARPLOOM_HOST_DEVICE bool readable(int64_t at) const {
    return off_by == 0 || (at >= readable_begin && at < readable_end);
  }
};

/// General structure, no transposition, not periodic. Problem q of systems*rhs_count solves system
/// q / rhs_count with right-hand side q % rhs_count. lower of row 0 and upper of the last row must not be read.
template <class T>
struct Batch {
  int64_t n = 0;        ///< rows per system; the largest when ragged
  int64_t systems = 0;
  int64_t whole_systems = 0;  ///< of the call whose slice these are; 0: they are all
  int64_t rhs_count = 1;
  const int64_t* offsets = nullptr;  ///< ragged: systems+1 row offsets, in device memory; then system_stride = row_stride
  int64_t trimmed = 0;  ///< ragged: last rows of every system that are left out (n is already without them)
  Strided<T> lower, diagonal, upper, rhs, solution;
  int32_t* status = nullptr;  ///< systems*rhs_count words, always given; every algorithm writes every word
  int32_t* row = nullptr;     ///< likewise; -1 or the first row with a zero pivot or a non-finite entry

  WARPLOOM_HOST_DEVICE int64_t problems() const { return systems * rhs_count; }
  /// What the choice of a method goes by: the same for every slice of a call.
  int64_t planned_problems() const { return (whole_systems > 0 ? whole_systems : systems) * rhs_count; }
  /// Multiplier of system_stride for `system`: its first row when ragged (offsets), its index otherwise.
  WARPLOOM_HOST_DEVICE int64_t origin(int64_t system) const {
    return offsets != nullptr ? offsets[system] : system;
  }
  /// Never more than n, whatever the offsets hold: kernels size their storage by n.
  WARPLOOM_HOST_DEVICE int64_t rows(int64_t system) const {
    if (offsets == nullptr) return n;
    const int64_t own = offsets[system + 1] - offsets[system] - trimmed;
    return own < 0 ? 0 : own > n ? n : own;
  }
};

/// What ran, for the caller's `info`.
struct Used {
  operation::Algorithm algorithm = operation::Algorithm::automatic;
  int depth = 0;
  int threads = 0;  ///< per system
  int launches = 0;
};

// One per algorithm, each in <algorithm>.cu, instantiated for float, double, Complex<float>, Complex<double>.
// Code::unsupported, with the reason, when a batch does not fit the algorithm (say, n too large for shared memory).
template <class T> Status solve_cr(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_pcr(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_cr_pcr(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_pcr_thomas(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_thomas(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_cr_regpack(GpuDevice&, const Batch<T>&, int depth, Used*);
template <class T> Status solve_partition(GpuDevice&, const Batch<T>&, Used*);
template <class T> Status solve_pivoting(GpuDevice&, const Batch<T>&, Used*);
// Of `auto`, instantiated likewise (regpack_periodic_*.cu).
template <class T> Status solve_periodic_regpack(GpuDevice&, const Batch<T>&, const T* corners, Used*);
/// The policy's choice among the above.
template <class T> Status solve_automatic(GpuDevice&, const Batch<T>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
