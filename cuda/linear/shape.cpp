#include "cuda/linear/shape.h"

#include <algorithm>
#include <limits>

#include "cuda/core/check.h"
#include "cuda/core/view.h"

namespace warploom::linear {
namespace {

using Wide = __int128;
constexpr int64_t kMaxIndex = std::numeric_limits<int64_t>::max() / 128;  // so that bytes of factors fit too

int64_t rows_of(const Shape& shape, int64_t system) {
  return shape.ragged() ? shape.offsets.data[system + 1] - shape.offsets.data[system] : shape.n;
}

Status check_offsets(const Shape& shape) {
  if (!shape.ragged()) {
    return shape.offsets.length == 0 ? Status() : invalid("offsets", "expected an array");
  }
  if (shape.offsets.length != shape.batch + 1) {
    return invalid("offsets", "expected batch + 1 = " + std::to_string(shape.batch + 1) +
                                  " entries, got " + std::to_string(shape.offsets.length));
  }
  const int64_t* offsets = shape.offsets.data;
  if (offsets[0] < 0) return invalid("offsets", "expected zero or more, got a negative offset");
  for (int64_t s = 0; s < shape.batch; ++s) {
    if (offsets[s + 1] < offsets[s]) {
      return invalid("offsets", "expected ascending offsets; entry " + std::to_string(s + 1) +
                                    " is less than the entry before it");
    }
    if (offsets[s + 1] - offsets[s] > shape.n) {
      return invalid("offsets", "system " + std::to_string(s) + " has " +
                                    std::to_string(offsets[s + 1] - offsets[s]) +
                                    " rows, more than n = " + std::to_string(shape.n));
    }
  }
  return {};
}

// Checks the extents of an array: the batch's, then `between`, then the rows.
Status check_array_of(const char* name, const Shape& shape, const View& view, std::initializer_list<int64_t> between) {
  if (shape.empty() || std::find(between.begin(), between.end(), 0) != between.end()) return {};  // no element is accessed
  int64_t expected[View::kMaxRank];
  int rank = 0;
  if (!shape.ragged()) expected[rank++] = shape.batch;
  for (const int64_t extent : between) expected[rank++] = extent;
  int64_t rows = shape.n;
  if (shape.ragged()) {
    rows = shape.offsets.data[shape.batch];
    const int64_t given = view.rank == rank + 1 ? view.extents[rank] : 0;
    rows = std::max(rows, given);
  }
  expected[rank++] = rows;
  return check_extents(name, view, expected, rank);
}

}  // namespace

Status check_shape(const Shape& shape) {
  const Wide problems = Wide(shape.batch) * std::max<int64_t>(shape.rhs_count, 1);
  if (problems > kMaxIndex) return invalid("batch", "batch * rhsCount is too large");
  if (problems * std::max<int64_t>(shape.n, 1) > kMaxIndex) {
    return invalid("n", "n * batch * rhsCount is too large");
  }
  return check_offsets(shape);
}

bool has_rows(const Shape& shape, int64_t skipped) {
  for (int64_t s = 0; s < shape.batch; ++s) {
    if (rows_of(shape, s) > skipped) return true;
    if (!shape.ragged()) return false;
  }
  return false;
}

Status check_band(const char* name, const Shape& shape, const View& view, bool needed) {
  if (view.data == nullptr) return needed ? invalid(name, "missing") : Status();
  return check_array_of(name, shape, view, {});
}

Status check_vector(const char* name, const Shape& shape, const View& view) {
  if (view.data == nullptr) return has_rows(shape) && shape.rhs_count > 0 ? invalid(name, "missing") : Status();
  const bool band = shape.rhs_count == 1 && view.rank == (shape.ragged() ? 1 : 2);
  return band ? check_array_of(name, shape, view, {}) : check_array_of(name, shape, view, {shape.rhs_count});
}

}  // namespace warploom::linear
