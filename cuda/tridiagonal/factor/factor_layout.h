// The layout of factors inside the caller's opaque buffer. The parts are the same on every backend; each backend
// chooses the order of the entries within an array.
#pragma once
#include <cstdint>

#include "cuda/tridiagonal/factor.h"

namespace warploom::tridiagonal {

/// Byte offsets into `factors`. Arrays have n*batch entries of the call's type.
///
/// `regpack`: kLower, kInverse, kUpper: A = (I + L) D (I + U) without exchanges, stored as l, 1/d and u, so that a
/// solve is two first-order recurrences without divisions. `cholesky`: kLower and kInverse of L D L^H. Row i of system
/// s is entry s*n + i (ragged: the system's rows, counted from offsets[0]). Periodic: the factors of the leading n-1
/// rows; one more array with z = -(leading matrix)^-1 (last column); and per system the inverse Schur complement and
/// the last row's coefficients of x[n-2] and x[0].
/// `pivoted`: four arrays (six when periodic) and one byte per row, as in gtsv.cuh; row i of system s is entry i*batch
/// + s.
/// (The cpu backend keeps the rows of a tile's lanes together: native/tridiagonal/factor_store.h.)
struct FactorLayout {
  enum Array { kLower = 0, kInverse = 1, kUpper = 2 };
  int arrays = 0;
  int border = -1;         ///< index of z
  int64_t entries = 0;     ///< of one array
  int64_t closing_at = 0;  ///< three entries per system
  /// One int32 per system, if systems have rows: -1 sound, r >= 0 zero pivot in row r, -2-r bad entry in row r.
  int64_t states_at = 0;
  int64_t choices_at = 0;
  int64_t end = 0;

  static FactorLayout of(ScalarType type, int64_t n, int64_t batch, bool periodic, Factorisation factorisation) {
    const int64_t element = scalar_bytes(type);
    FactorLayout layout;
    layout.entries = n * batch;
    int64_t closing = 0, choices = 0;
    if (factorisation == Factorisation::pivoted) {
      layout.arrays = periodic ? 6 : 4;
      choices = layout.entries;
    } else {
      layout.arrays = factorisation == Factorisation::regpack ? 3 : 2;
      if (periodic) layout.border = layout.arrays++;
      closing = periodic ? 3 * batch * element : 0;
    }
    layout.closing_at = layout.arrays * layout.entries * element;
    layout.states_at = layout.closing_at + closing;
    layout.choices_at = layout.states_at + (n > 0 ? 4 * batch : 0);
    layout.end = layout.choices_at + choices;
    return layout;
  }
  /// The entry of `states` for a system with these findings (rows, or -1).
  static int32_t state(int64_t non_finite, int64_t zero_pivot) {
    return static_cast<int32_t>(non_finite >= 0 ? -2 - non_finite : zero_pivot);
  }
};

}  // namespace warploom::tridiagonal
