// A batch of systems as the cpu backend sees it: addresses and strides of its arrays, and how many systems of which
// length.
#pragma once
#include <cstdint>

#include "cuda/linear/placement.h"

namespace warploom::cpu {

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

/// How many systems a batch has, and how long they are.
struct Extents {
  int64_t n = 0;
  int64_t systems = 0;
  int64_t rhs_count = 1;
  const int64_t* offsets = nullptr;
  int64_t last_rows = -1;  ///< rows of the last system if it differs (chunks of one system)

  int64_t problems() const { return systems * rhs_count; }
  int64_t rows(int64_t system) const {
    if (last_rows >= 0 && system == systems - 1) return last_rows;
    return offsets != nullptr ? offsets[system + 1] - offsets[system] : n;
  }
  template <class R>
  int64_t base(const Band<R>& band, int64_t system, int64_t rhs) const {
    const int64_t start =
        offsets != nullptr ? offsets[system] * band.row_stride : system * band.system_stride;
    return band.origin + start + rhs * band.rhs_stride;
  }
};

/// Band of a view, input or output.
template <class R>
Band<R> band_of(const View& view, bool complex, bool ragged) {
  Band<R> band;
  const bool interleaved = complex && view.imaginary == nullptr;
  const int64_t scale = interleaved ? 2 : 1;
  band.re = static_cast<const R*>(view.data);
  if (complex) band.im = interleaved ? band.re + 1 : static_cast<const R*>(view.imaginary);
  band.origin = view.offset * scale;
  const auto placement = ::warploom::linear::placement_of(view, ragged);
  band.system_stride = placement.system * scale;
  band.row_stride = placement.row * scale;
  band.rhs_stride = placement.rhs * scale;
  return band;
}

/// Result words of a call; any pointer may be null.
struct Results {
  int32_t* status = nullptr;
  int32_t* row = nullptr;
  double* backward_error = nullptr;
};

}  // namespace warploom::cpu
