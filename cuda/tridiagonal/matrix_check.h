// Argument checks of the operations that take a matrix: plain C++, included by their check() only.
#pragma once
#include "cuda/core/check.h"
#include "cuda/linear/shape.h"
#include "cuda/tridiagonal/solve.h"

namespace warploom::tridiagonal {

/// Rows of the lower and of the upper band that are read.
inline Rows lower_rows(bool periodic) { return {periodic ? 0 : 1, 0}; }
inline Rows upper_rows(bool periodic) { return {0, periodic ? 0 : 1}; }

/// Checks the three bands together. `upper` must be absent for positive definite matrices.
inline Status check_bands(const Shape& shape, const View& lower, const View& diagonal, const View& upper,
                   bool periodic, bool positive_definite) {
  WARPLOOM_TRY(check_view("lower", shape, lower, lower_rows(periodic), 1));
  WARPLOOM_TRY(check_view("diagonal", shape, diagonal, {}, 1));
  if (positive_definite) {
    if (upper.data == nullptr && upper.imaginary == nullptr) return {};
    return invalid("upper", "must be absent for a positive definite matrix: upper[i] is the "
                            "conjugate of lower[i + 1]");
  }
  return check_view("upper", shape, upper, upper_rows(periodic), 1);
}

/// Shape and bands of any operation's parameters.
template <class Parameters>
Status check_matrix(const Shape& shape, const Parameters& p) {
  WARPLOOM_TRY(check_shape(shape));
  return check_bands(shape, p.lower, p.diagonal, p.upper, p.periodic,
                     p.structure == Structure::positive_definite);
}

/// The bands share no byte with `output`.
template <class Parameters>
Status check_bands_apart(const Shape& shape, const Parameters& p, const char* name,
                         const View& output) {
  const auto apart = [&](const char* band, const View& view, const Rows& rows) {
    return check_apart(band, shape, view, rows, 1, name, output, p.rhs_count, false);
  };
  WARPLOOM_TRY(apart("lower", p.lower, lower_rows(p.periodic)));
  WARPLOOM_TRY(apart("diagonal", p.diagonal, {}));
  return apart("upper", p.upper, upper_rows(p.periodic));
}

}  // namespace warploom::tridiagonal
