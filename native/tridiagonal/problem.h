// What the cpu backend solves, after transposition, structure and defaults are resolved: plain
// data, shared by every instruction set.
#pragma once
#include <cstdint>

#include "cuda/core/backend.h"
#include "cuda/tridiagonal/factor.h"

namespace warploom::cpu {

namespace operation = ::warploom::tridiagonal;

/// One array of the problem as planes of real numbers: interleaved complex has both planes in one
/// buffer, with doubled strides. Element (s, i, r) is plane[origin + s*system_stride +
/// i*row_stride + r*rhs_stride]; ragged batches multiply offsets[s] + i by row_stride instead.
template <class R>
struct Band {
  const R* re = nullptr;
  const R* im = nullptr;  ///< null for real types
  int64_t origin = 0;
  int64_t system_stride = 0, row_stride = 0, rhs_stride = 0;
  bool conjugate = false;
};

/// Batched systems of general structure, not transposed. Rows of `lower` below 1 and of `upper`
/// above n-2 are not read, except for the corners.
template <class R>
struct Problem {
  int64_t n = 0;
  int64_t systems = 0;
  int64_t rhs_count = 1;
  const int64_t* offsets = nullptr;
  Band<R> lower, diagonal, upper, rhs;
  Band<R> solution;  ///< written through the same addresses
  bool periodic = false;
  /// Rows at which the corners are read in their band: row 0's coupling to x[n-1] in `lower`, row
  /// n-1's to x[0] in `upper`. kLastRow stands for n - 1 of the system, kEnd for n.
  int64_t top_row = 0, bottom_row = 0;

  int64_t last_rows = -1;  ///< rows of the last system where it differs (chunks of one system)

  int64_t problems() const { return systems * rhs_count; }
  int64_t rows(int64_t system) const {
    if (last_rows >= 0 && system == systems - 1) return last_rows;
    return offsets != nullptr ? offsets[system + 1] - offsets[system] : n;
  }
  int64_t base(const Band<R>& band, int64_t system, int64_t rhs) const {
    const int64_t start =
        offsets != nullptr ? offsets[system] * band.row_stride : system * band.system_stride;
    return band.origin + start + rhs * band.rhs_stride;
  }
};
inline constexpr int64_t kLastRow = -2, kEnd = -3;

inline int64_t corner_row(int64_t marker, int64_t n) {
  return marker == kLastRow ? n - 1 : marker == kEnd ? n : marker;
}

/// How a tile is judged and improved.
struct Options {
  operation::Algorithm algorithm = operation::Algorithm::thomas;
  bool check = false;
  bool refine = false;
  double tolerance = 0;   ///< resolved: never zero when check
  bool stream = false;    ///< results exceed the caches: store around them
};

/// Whether a call is a plain Thomas solve, which passes from loads to stores without full tiles.
inline bool streams(const Options& options, bool periodic) {
  return options.algorithm == operation::Algorithm::thomas && !options.check && !options.refine &&
         !periodic;
}

/// The partition of one system. Numbers are elements of the call's type, complex ones as pairs.
struct ChunkJob {
  int64_t chunks = 0;
  void* reduced = nullptr;           ///< 6 * chunks: what the first pass leaves
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
  double tolerance = 0;    ///< resolved: never zero when check
  bool stream = false;     ///< as in Options
  int32_t* status = nullptr;
  int32_t* row = nullptr;
  double* backward_error = nullptr;
};

/// Result words of a call; any may be null.
struct Results {
  int32_t* status = nullptr;
  int32_t* row = nullptr;
  double* backward_error = nullptr;
};

/// Band of a view for op(A) parts, inputs and outputs.
template <class R>
Band<R> band_of(const View& view, bool complex) {
  Band<R> band;
  const bool interleaved = complex && view.imaginary == nullptr;
  const int64_t scale = interleaved ? 2 : 1;
  band.re = static_cast<const R*>(view.data);
  if (complex) band.im = interleaved ? band.re + 1 : static_cast<const R*>(view.imaginary);
  band.origin = view.offset * scale;
  band.system_stride = view.system_stride * scale;
  band.row_stride = view.row_stride * scale;
  band.rhs_stride = view.rhs_stride * scale;
  return band;
}

/// Resolves op(A): fills lower, diagonal, upper and the corners of `problem`. Transposition moves
/// lower'[i] = upper[i-1] and upper'[i] = lower[i+1]; a Hermitian matrix has upper[i] =
/// conj(lower[i+1]), so that its transpose is its conjugate.
template <class R>
void set_matrix(const View& lower, const View& diagonal, const View& upper,
                operation::Transpose transpose, operation::Structure structure, bool complex,
                Problem<R>* problem) {
  Band<R> below = band_of<R>(lower, complex), above = band_of<R>(upper, complex);
  problem->diagonal = band_of<R>(diagonal, complex);
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
