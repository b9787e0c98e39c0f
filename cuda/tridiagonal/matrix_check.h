// Argument checks of the operations that take a matrix: plain C++, included by their check() only.
#pragma once
#include "cuda/tridiagonal/shape.h"
#include "cuda/tridiagonal/solve.h"

namespace warploom::tridiagonal {

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
