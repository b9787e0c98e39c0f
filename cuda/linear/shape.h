// Argument checks shared by the operations on batches of systems: plain C++, called by every check().
//
// What is checked where: check() sees the arguments before they are moved to a device, so `offsets`
// must point at host memory when it is called (a device-resident offsets array is downloaded by the
// caller first); it is the only array check() reads. Buffers are described by length and address
// only. Values of bands and right-hand sides are judged on the device, per system (status words).
#pragma once
#include <cstdint>

#include "cuda/core/status.h"
#include "cuda/core/types.h"

namespace warploom::linear {

/// Extents of a call. Valid after check_shape.
struct Shape {
  ScalarType type = ScalarType::float64;
  int64_t n = 0;
  int64_t batch = 0;
  int64_t rhs_count = 1;
  Array<const int64_t> offsets;  ///< ragged when data is not null

  bool ragged() const { return offsets.data != nullptr; }
  /// True when the call has no unknown at all: then no buffer is needed.
  bool empty() const { return n == 0 || batch == 0; }
};

/// Products of n, batch and rhsCount, which are in their ranges; offsets: batch + 1 entries, from zero or more,
/// ascending (equal ones are systems without rows), no system longer than n.
Status check_shape(const Shape& shape);

/// True when some system has more rows than `skipped`.
bool has_rows(const Shape& shape, int64_t skipped = 0);

/// A band is [batch][n], or [rows] of a ragged batch with at least the last offset's rows. It may be absent where it is not
/// `needed`. What is inside its buffer is checked by check_fields().
Status check_band(const char* name, const Shape& shape, const View& view, bool needed);
/// A vector is [batch][rhs_count][n], or [rhs_count][rows], and with one right-hand side also like a band. It may be absent
/// where there is none.
Status check_vector(const char* name, const Shape& shape, const View& view);

/// A result array is absent or has exactly `length` entries.
template <class T>
Status check_array(const char* name, const Array<T>& array, int64_t length) {
  if (array.data == nullptr && array.length == 0) return {};
  if (array.length == length) return {};
  return Status(Code::invalid_argument,
                "expected " + std::to_string(length) + " entries, got " +
                    std::to_string(array.length),
                name);
}

/// A summary is made from the status words.
template <class Parameters>
Status check_summary(const Parameters& p, int64_t problems) {
  if (!p.summarize || problems == 0 || (p.status.data != nullptr && p.row.data != nullptr)) return {};
  return Status(Code::invalid_argument, "needs the arrays status and row", "summarize");
}

}  // namespace warploom::linear
