// Argument checks shared by the operations on batches of systems: plain C++, called by every check().
//
// What is checked where: check() sees the arguments before they are moved to a device, so `offsets` must point to host
// memory when it is called (the caller first downloads an offsets array that is on a device). It is the only array that
// check() reads. Buffers are described only by length and address. The values of bands and right-hand sides are checked
// on the device, per system (status words).
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
  /// True when the call has no unknowns at all; then no buffer is needed.
  bool empty() const { return n == 0 || batch == 0; }
};

/// Checks the products of n, batch and rhsCount, which are in range already, and the offsets: batch + 1 entries,
/// ascending from at least zero (equal ones are systems without rows), no system longer than n.
Status check_shape(const Shape& shape);

/// True when some system has more rows than `skipped`.
bool has_rows(const Shape& shape, int64_t skipped = 0);

/// A band is [batch][n] or, in a ragged batch, [rows], with at least as many rows as the last offset. It may be absent
/// if it is not `needed`. check_fields() checks that it lies inside its buffer.
Status check_band(const char* name, const Shape& shape, const View& view, bool needed);
/// A vector is [batch][rhs_count][n] or, in a ragged batch, [rhs_count][rows]; with one right-hand side it may also
/// have the extents of a band. It may be absent if there are no right-hand sides.
Status check_vector(const char* name, const Shape& shape, const View& view);

/// Checks that a result array is absent or has exactly `length` entries.
template <class T>
Status check_array(const char* name, const Array<T>& array, int64_t length) {
  if (array.data == nullptr && array.length == 0) return {};
  if (array.length == length) return {};
  return Status(Code::invalid_argument,
                "expected " + std::to_string(length) + " entries, got " +
                    std::to_string(array.length),
                name);
}

/// Checks that a requested summary has the status words it is made from.
template <class Parameters>
Status check_summary(const Parameters& p, int64_t problems) {
  if (!p.summarize || problems == 0 || (p.status.data != nullptr && p.row.data != nullptr)) return {};
  return Status(Code::invalid_argument, "needs the arrays status and row", "summarize");
}

}  // namespace warploom::linear
