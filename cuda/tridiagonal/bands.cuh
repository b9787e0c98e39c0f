// From the views of a call to the bands of op(A): structure, transposition and conjugation become pointers,
// shifts and flags, so that every algorithm sees a general, untransposed matrix.
#pragma once
#include "cuda/tridiagonal/batch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Where the corner entry of a periodic matrix stands: in the first or the last row of a band.
template <class T>
struct Corner {
  Strided<T> band;
  bool in_last_row = false;

  WARPLOOM_DEVICE T load(int64_t origin, int64_t rows) const {
    return band.load(band.index(origin, in_last_row ? rows - 1 : 0, 0));
  }
};

/// op(A): entry i of lower, diagonal and upper belongs to row i. Row 0 of lower and the last row of upper may lie
/// outside the caller's buffers; the corners take their place.
template <class T>
struct Bands {
  Strided<T> lower, diagonal, upper;
  Corner<T> first;  ///< factor of x[n-1] in row 0
  Corner<T> last;   ///< factor of x[0] in row n-1
};

/// The view with its offset applied; a ragged batch counts rows of all systems with one stride.
template <class T>
Strided<T> strided(const View& view, bool ragged) {
  Strided<T> result;
  if (view.imaginary != nullptr) {
    result.data = reinterpret_cast<T*>(static_cast<RealOf<T>*>(view.data) + view.offset);
    result.imaginary = static_cast<RealOf<T>*>(view.imaginary) + view.offset;
  } else {
    result.data = static_cast<T*>(view.data) + view.offset;
  }
  result.system_stride = ragged ? view.row_stride : view.system_stride;
  result.row_stride = view.row_stride;
  result.rhs_stride = view.rhs_stride;
  result.readable_begin = -view.offset;
  result.readable_end = view.length - view.offset;
  return result;
}

/// The same band seen `rows` rows further on.
template <class T>
Strided<T> shifted(Strided<T> band, int64_t rows) {
  const int64_t elements = rows * band.row_stride;
  if (elements != 0) band.off_by += static_cast<int32_t>(rows);
  band.readable_begin -= elements;
  band.readable_end -= elements;
  if (band.imaginary != nullptr) {
    band.data = reinterpret_cast<T*>(reinterpret_cast<RealOf<T>*>(band.data) + elements);
    band.imaginary += elements;
  } else {
    band.data += elements;
  }
  return band;
}

template <class T>
Strided<T> conjugated(Strided<T> band) {
  if (kIsComplex<T>) band.conjugate = !band.conjugate;
  return band;
}

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

/// Rows of all systems together. Of a ragged batch the offsets are in device memory: then what the solution's
/// (or any output's) buffer can hold.
inline int64_t total_rows(int64_t n, int64_t batch, bool ragged, const View& output) {
  if (!ragged) return n * batch;
  const int64_t stride = output.row_stride;
  if (stride == 0) return n;
  const int64_t room = stride > 0 ? output.length - output.offset - 1 : output.offset;
  return room < 0 ? 0 : room / (stride > 0 ? stride : -stride) + 1;
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
