// Turns the views of a call into the bands of op(A): structure, transposition and conjugation become pointers,
// shifts and flags, so that every algorithm sees a general, untransposed matrix.
#pragma once
#include "cuda/tridiagonal/batch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Where the corner entry of a periodic matrix is: in the first or the last row of a band.
template <class T>
struct Corner {
  Strided<T> band;
  bool in_last_row = false;

  WARPLOOM_DEVICE T load(int64_t origin, int64_t rows) const {
    return band.load(band.index(origin, in_last_row ? rows - 1 : 0, 0));
  }
};

/// op(A): entry i of lower, diagonal and upper belongs to row i. Row 0 of lower and the last row of upper may lie
/// outside the caller's buffers; the corners replace them.
template <class T>
struct Bands {
  Strided<T> lower, diagonal, upper;
  Corner<T> first;  ///< coefficient of x[n-1] in row 0
  Corner<T> last;   ///< coefficient of x[0] in row n-1
};

/// Resolves `lower`, `diagonal`, `upper`, `structure` and `transpose` of any parameter struct that has them.
template <class T, class P>
Bands<T> resolve_bands(const P& p) {
  const bool ragged = p.offsets.data != nullptr;
  Bands<T> bands;
  bands.lower = strided<T>(p.lower, ragged);
  bands.diagonal = strided<T>(p.diagonal, ragged);
  bands.first = {bands.lower, false};
  if (p.structure == operation::Structure::positive_definite) {
    bands.upper = conjugated(shifted(bands.lower, 1));
    bands.last = {conjugated(bands.lower), false};
  } else {
    bands.upper = strided<T>(p.upper, ragged);
    bands.last = {bands.upper, true};
  }
  if (p.transpose == operation::Transpose::none) return bands;
  if (p.transpose == operation::Transpose::conjugate_only) {
    Strided<T>* const all[] = {&bands.lower, &bands.diagonal, &bands.upper, &bands.first.band, &bands.last.band};
    for (Strided<T>* band : all) {
      *band = conjugated(*band);
    }
    return bands;
  }
  Bands<T> result;
  result.lower = shifted(bands.upper, -1);
  result.diagonal = bands.diagonal;
  result.upper = shifted(bands.lower, 1);
  result.first = bands.last;
  result.last = bands.first;
  if (p.transpose == operation::Transpose::conjugate) {
    result.lower = conjugated(result.lower);
    result.diagonal = conjugated(result.diagonal);
    result.upper = conjugated(result.upper);
    result.first.band = conjugated(result.first.band);
    result.last.band = conjugated(result.last.band);
  }
  return result;
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
