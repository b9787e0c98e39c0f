// Componentwise backward errors of rows, and how the findings of stretches of rows meet.
#pragma once
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

/// One row of an answer; `finite` says whether the row's entries are.
template <class T, class Finite>
WARPLOOM_DEVICE void find(RowsFinding& found, int64_t row, const RowResidual<T>& of, const WideOf<T>& own,
                          const Finite& finite) {
  const double size = modulus(of.residual);
  if (!device::is_finite(size) || !device::is_finite(own)) {
    ++found.lost_rows;
    if (found.bad_row < 0 && !finite()) found.bad_row = row;
  } else {
    found.backward_error = raise_backward_error(found.backward_error, size, of.scale);
  }
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
