// What the cpu backend solves, once transposition, structure and defaults are resolved: plain data, shared by all
// instruction sets.
#pragma once
#include <cstdint>

#include "cuda/core/backend.h"
#include "cuda/tridiagonal/factor.h"
#include "native/linear/batch.h"

namespace warploom::cpu {

namespace operation = ::warploom::tridiagonal;

/// Batched systems of general structure, not transposed. Rows of `lower` below 1 and of `upper` above n-2 are read only
/// for the corners.
template <class R>
struct Problem : Extents {
  Band<R> lower, diagonal, upper, rhs;
  Band<R> solution;  ///< written at the same addresses
  bool periodic = false;
  /// Rows of the bands at which the corners are read: row 0's coupling to x[n-1] in `lower`, row n-1's to x[0] in
  /// `upper`. kLastRow stands for the system's n - 1, kEnd for its n.
  int64_t top_row = 0, bottom_row = 0;
};
inline constexpr int64_t kLastRow = -2, kEnd = -3;

inline int64_t corner_row(int64_t marker, int64_t n) {
  return marker == kLastRow ? n - 1 : marker == kEnd ? n : marker;
}

/// How a tile is checked and improved.
struct Options {
  operation::Algorithm algorithm = operation::Algorithm::thomas;
  bool check = false;
  bool refine = false;
  double tolerance = 0;   ///< resolved: never zero with check
  bool stream = false;    ///< results exceed the caches: stores bypass them
};

/// Whether a call is a plain Thomas solve, which streams from loads to stores without full tiles.
inline bool streams(const Options& options, bool periodic) {
  return options.algorithm == operation::Algorithm::thomas && !options.check && !options.refine &&
         !periodic;
}

/// The partition of one system. Numbers are elements of the call's type, complex ones as pairs.
struct ChunkJob {
  int64_t chunks = 0;
  void* reduced = nullptr;           ///< 6 * chunks: results of the first pass
  const void* separators = nullptr;  ///< chunks - 1 solved unknowns
  int32_t* status = nullptr;         ///< chunks words of the second pass, and rows within the chunk
  int32_t* row = nullptr;
  bool stream = false;
};

/// A factorisation or a solve with one.
struct FactorJob {
  operation::Factorisation kind = operation::Factorisation::regpack;
  void* memory = nullptr;  ///< factor_bytes() bytes
  int64_t n = 0, batch = 0, rhs_count = 1;
  bool periodic = false;
  bool shared = false;     ///< one matrix for all systems
  bool check = false;
  double tolerance = 0;    ///< resolved: never zero with check
  bool stream = false;     ///< as in Options
  int32_t* status = nullptr;
  int32_t* row = nullptr;
  double* backward_error = nullptr;
};

/// Resolves op(A): fills lower, diagonal, upper and the corners of `problem`. Transposition moves
/// lower'[i] = upper[i-1] and upper'[i] = lower[i+1]; a Hermitian matrix has upper[i] =
/// conj(lower[i+1]), so that its transpose is its conjugate.
template <class R>
void set_matrix(const View& lower, const View& diagonal, const View& upper,
                operation::Transpose transpose, operation::Structure structure, bool complex,
                Problem<R>* problem) {
  const bool ragged = problem->offsets != nullptr;
  Band<R> below = band_of<R>(lower, complex, ragged), above = band_of<R>(upper, complex, ragged);
  problem->diagonal = band_of<R>(diagonal, complex, ragged);
  problem->top_row = 0;
  problem->bottom_row = kLastRow;
  if (structure == operation::Structure::positive_definite) {
    above = below;
    above.origin += above.row_stride;
    above.conjugate = true;
    problem->bottom_row = -1;
    if (transpose == operation::Transpose::transpose || transpose == operation::Transpose::conjugate_only) {
      below.conjugate = true;
      above.conjugate = false;
      problem->diagonal.conjugate = true;
    }
  } else if (transpose == operation::Transpose::conjugate_only) {
    below.conjugate = above.conjugate = problem->diagonal.conjugate = true;
  } else if (transpose != operation::Transpose::none) {
    const Band<R> old = below;
    below = above;
    below.origin -= below.row_stride;
    above = old;
    above.origin += above.row_stride;
    problem->top_row = kEnd;
    problem->bottom_row = -1;
    const bool conjugate = transpose == operation::Transpose::conjugate;
    below.conjugate = above.conjugate = problem->diagonal.conjugate = conjugate;
  }
  problem->lower = below;
  problem->upper = above;
}

}  // namespace warploom::cpu
