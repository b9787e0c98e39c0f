// What the rows of an answer show, and what to do about it.
#pragma once
#include <cstring>

#include "cuda/core/device.cuh"
#include "cuda/linear/outcomes.h"
#include "cuda/linear/residual.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

using namespace linear;

/// What a stretch of rows of one problem shows.
struct RowsFinding {
  double backward_error = 0;
  int64_t bad_row = -1;   ///< first row with a non-finite entry of matrix or right-hand side
  int64_t lost_rows = 0;  ///< rows whose answer is not finite
};

/// a precedes b in row order.
WARPLOOM_DEVICE RowsFinding combine(const RowsFinding& a, const RowsFinding& b) {
  RowsFinding result;
  result.backward_error = device::maximum(a.backward_error, b.backward_error);
  result.bad_row = a.bad_row < 0 ? b.bad_row : b.bad_row < 0 || a.bad_row < b.bad_row ? a.bad_row : b.bad_row;
  result.lost_rows = a.lost_rows + b.lost_rows;
  return result;
}

/// One row of an answer; `finite` says whether the row's entries are.
template <class T, class Finite>
WARPLOOM_DEVICE void find(RowsFinding& found, int64_t row, const RowResidual<T>& of, const WideOf<T>& own,
                          const Finite& finite) {
  const double size = modulus(of.residual);
  if (!device::is_finite(size) || !device::is_finite(own)) {
    ++found.lost_rows;
    if (found.bad_row < 0 && !finite()) found.bad_row = row;
  } else {
    found.backward_error = raise_backward_error(found.backward_error, size, of.scale);
  }
}

/// The largest of a group of `width` lanes, in all of them.
WARPLOOM_DEVICE unsigned int group_maximum(const device::Block& block, unsigned int value, int width) {
  if (width == 32) return device::warp_maximum(block, value);
  WARPLOOM_NO_UNROLL
  for (int mask = 1; mask < width; mask *= 2) {
    const unsigned int other = device::shuffle_xor(block, value, mask);
    value = other > value ? other : value;
  }
  return value;
}
/// The same for non-negative numbers. For a whole warp by words: the largest high word, then the largest low word that
/// goes with it.
WARPLOOM_DEVICE double group_maximum(const device::Block& block, double value, int width) {
  if (width == 32) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const unsigned int high = static_cast<unsigned int>(bits >> 32), most = device::warp_maximum(block, high);
    const unsigned int low = device::warp_maximum(block, high == most ? static_cast<unsigned int>(bits) : 0u);
    bits = uint64_t{most} << 32 | low;
    memcpy(&value, &bits, sizeof(bits));
    return value;
  }
  WARPLOOM_NO_UNROLL
  for (int mask = 1; mask < width; mask *= 2) {
    value = device::maximum(value, device::shuffle_xor(block, value, mask));
  }
  return value;
}

/// How to judge the answers of a call, and where to list those to solve again.
struct Judging {
  double tolerance;
  double* backward_error;  ///< one per problem; may be null
  int32_t* list;
  int32_t* count;
};

/// Writes the words of one problem; `given` is the solver's word. `batch` has the arrays `status` and `row`.
template <class B>
WARPLOOM_DEVICE void judge(const Judging& p, const B& batch, int64_t problem, const RowsFinding& found, int32_t given) {
  using ::warploom::linear::SystemStatus;
  given &= 0xff;
  const bool bad_input = found.bad_row >= 0 || given == static_cast<int32_t>(SystemStatus::non_finite);
  const bool lost = found.lost_rows > 0;
  if (p.backward_error != nullptr) p.backward_error[problem] = lost || bad_input ? INFINITY : found.backward_error;
  if (bad_input) {
    batch.status[problem] = static_cast<int32_t>(SystemStatus::non_finite);
    if (found.bad_row >= 0) batch.row[problem] = static_cast<int32_t>(found.bad_row);
  } else if (lost || found.backward_error > p.tolerance || given == static_cast<int32_t>(SystemStatus::zero_pivot)) {
    p.list[device::atomic_add(p.count, 1)] = static_cast<int32_t>(problem);
  } else {
    batch.status[problem] = static_cast<int32_t>(SystemStatus::ok);
    batch.row[problem] = -1;
  }
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
