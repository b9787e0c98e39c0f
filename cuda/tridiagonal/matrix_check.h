// Argument checks of the operations that have a matrix: plain C++, included only by their check().
#pragma once
#include <utility>

#include "cuda/core/check.h"
#include "cuda/linear/shape.h"
#include "cuda/tridiagonal/solve.h"

namespace warploom::tridiagonal {

/// Checks the three bands together. The first row of `lower` and the last of `upper` are read only for periodic
/// matrices. `upper` must be absent for positive definite ones.
inline Status check_bands(const Shape& shape, const View& lower, const View& diagonal, const View& upper, bool periodic,
                          bool positive_definite) {
  const bool coupled = has_rows(shape, periodic ? 0 : 1);
  WARPLOOM_TRY(check_band("lower", shape, lower, coupled));
  WARPLOOM_TRY(check_band("diagonal", shape, diagonal, has_rows(shape)));
  if (!positive_definite) return check_band("upper", shape, upper, coupled);
  if (upper.data == nullptr && upper.imaginary == nullptr) return {};
  return invalid("upper", "must be absent for a positive definite matrix: upper[i] is the "
                          "conjugate of lower[i + 1]");
}

/// Checks the shape and bands of any operation's parameters.
template <class Parameters>
Status check_matrix(const Shape& shape, const Parameters& p) {
  WARPLOOM_TRY(check_shape(shape));
  return check_bands(shape, p.lower, p.diagonal, p.upper, p.periodic,
                     p.structure == Structure::positive_definite);
}

/// Checks that the bands share no byte with `output`.
template <class Parameters>
Status check_bands_apart(const Parameters& p, const char* name, const View& output) {
  const std::pair<const char*, const View*> bands[] = {{"lower", &p.lower}, {"diagonal", &p.diagonal}, {"upper", &p.upper}};
  for (const auto& [band, view] : bands) {
    if (!buffers_apart(*view, output, p.type)) WARPLOOM_TRY(check_apart(band, *view, name, output, p.type));
  }
  return {};
}

}  // namespace warploom::tridiagonal
