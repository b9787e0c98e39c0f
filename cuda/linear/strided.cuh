// One array of a batch as kernels see it: an address and strides.
#pragma once
#include "cuda/core/complex.cuh"
#include "cuda/core/device.cuh"
#include "cuda/core/types.h"
#include "cuda/linear/placement.h"

namespace warploom::WARPLOOM_TARGET::linear {

/// View of one array with its element type; `data` points at element (0, 0, 0).
template <class T>
struct Strided {
  T* data = nullptr;
  RealOf<T>* imaginary = nullptr;  ///< split complex only: then `data` points at the real parts (as RealOf<T>*)
  int64_t system_stride = 0, row_stride = 0, rhs_stride = 0;
  bool conjugate = false;  ///< load conjugates (complex input bands only)
  /// How many rows the band is shifted (by transposition, or upper read from lower: -1 or 1). The entry outside the
  /// matrix then lies outside the buffer, which holds elements readable_begin … readable_end-1, counted from `data`.
  int32_t off_by = 0;
  int64_t readable_begin = INT64_MIN, readable_end = INT64_MAX;

  WARPLOOM_HOST_DEVICE int64_t index(int64_t system, int64_t row, int64_t rhs) const {
    return system * system_stride + row * row_stride + rhs * rhs_stride;
  }
  WARPLOOM_DEVICE T load(int64_t at) const { return load_scalar<T>(data, imaginary, at, conjugate); }
  WARPLOOM_DEVICE void store(int64_t at, const T& value) const { store_scalar<T>(data, imaginary, at, value); }
  /// Unit row stride, one array, no conjugation, every row readable: the rows of a system may be moved as plain memory.
  WARPLOOM_HOST_DEVICE bool plain() const {
    return row_stride == 1 && imaginary == nullptr && !conjugate && off_by == 0;
  }
  WARPLOOM_HOST_DEVICE bool readable(int64_t at) const {
    return off_by == 0 || (at >= readable_begin && at < readable_end);
  }
};

/// The view with its offset applied. A ragged batch counts the rows of all systems with one stride.
template <class T>
Strided<T> strided(const View& view, bool ragged) {
  Strided<T> result;
  if (view.imaginary != nullptr) {
    result.data = reinterpret_cast<T*>(static_cast<RealOf<T>*>(view.data) + view.offset);
    result.imaginary = static_cast<RealOf<T>*>(view.imaginary) + view.offset;
  } else {
    result.data = static_cast<T*>(view.data) + view.offset;
  }
  const auto placement = ::warploom::linear::placement_of(view, ragged);
  result.system_stride = placement.system;
  result.row_stride = placement.row;
  result.rhs_stride = placement.rhs;
  result.readable_begin = -view.offset;
  result.readable_end = view.length - view.offset;
  return result;
}

/// The same band, shifted by `rows` rows.
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

}  // namespace warploom::WARPLOOM_TARGET::linear
