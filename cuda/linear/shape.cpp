#include "cuda/linear/shape.h"

#include <algorithm>
#include <limits>

#include "cuda/core/check.h"

namespace warploom::linear {
namespace {

using Wide = __int128;
constexpr int64_t kMaxIndex = std::numeric_limits<int64_t>::max() / 128;  // bytes of factors fit too

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

// Adds the range of index * stride for index in [low, high].
void add_range(Wide low, Wide high, Wide stride, Wide* first, Wide* last) {
  *first += stride >= 0 ? low * stride : high * stride;
  *last += stride >= 0 ? high * stride : low * stride;
}

// First and last row (as a multiplier of row_stride) over all systems of a ragged batch.
bool ragged_rows(const Shape& shape, const Rows& rows, int64_t* low, int64_t* high) {
  bool any = false;
  for (int64_t s = 0; s < shape.batch; ++s) {
    const int64_t begin = shape.offsets.data[s] + rows.skip_first;
    const int64_t end = shape.offsets.data[s + 1] - rows.skip_last;
    if (begin >= end) continue;
    if (!any) *low = begin;
    *high = end - 1;
    any = true;
  }
  return any;
}

bool wide_extent(const Shape& shape, const View& view, const Rows& rows, int64_t rhs_count,
                 Wide* first, Wide* last) {
  if (shape.empty() || rhs_count == 0) return false;
  *first = *last = view.offset;
  if (shape.ragged()) {
    int64_t low = 0, high = 0;
    if (!ragged_rows(shape, rows, &low, &high)) return false;
    add_range(low, high, view.row_stride, first, last);
  } else {
    if (shape.n - rows.skip_last <= rows.skip_first) return false;
    add_range(0, shape.batch - 1, view.system_stride, first, last);
    add_range(rows.skip_first, shape.n - 1 - rows.skip_last, view.row_stride, first, last);
  }
  if (rhs_count > 1) add_range(0, rhs_count - 1, view.rhs_stride, first, last);
  return true;
}

struct Dimension {
  int64_t count;
  Wide stride;
};

bool nested(Dimension* dimensions, int count) {
  for (int i = 1; i < count; ++i) {  // two or three: insertion sort by stride
    for (int k = i; k > 0 && dimensions[k].stride < dimensions[k - 1].stride; --k) {
      std::swap(dimensions[k], dimensions[k - 1]);
    }
  }
  Wide span = 1;
  for (int i = 0; i < count; ++i) {
    if (dimensions[i].count <= 1) continue;
    if (dimensions[i].stride < span) return false;
    span += (dimensions[i].count - 1) * dimensions[i].stride;
  }
  return true;
}

int dimensions_of(const Shape& shape, const View& view, int64_t rhs_count, Dimension* out) {
  const auto magnitude = [](int64_t stride) { return stride < 0 ? -Wide(stride) : Wide(stride); };
  int count = 0;
  if (shape.ragged()) {
    const int64_t* offsets = shape.offsets.data;
    out[count++] = {offsets[shape.batch] - offsets[0], magnitude(view.row_stride)};
  } else {
    out[count++] = {shape.n, magnitude(view.row_stride)};
    out[count++] = {shape.batch, magnitude(view.system_stride)};
  }
  out[count++] = {rhs_count, magnitude(view.rhs_stride)};
  return count;
}

// Byte range [begin, end) of one part (0: data, 1: imaginary) of a view.
bool byte_range(const Shape& shape, const View& view, const Rows& rows, int64_t rhs_count, int part,
                uintptr_t* begin, uintptr_t* end) {
  const void* base = part == 0 ? view.data : view.imaginary;
  int64_t first = 0, last = 0;
  if (base == nullptr || !extent(shape, view, rows, rhs_count, &first, &last)) return false;
  int64_t bytes = scalar_bytes(shape.type);
  if (is_complex(shape.type) && view.imaginary != nullptr) bytes /= 2;
  *begin = reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(first * bytes);
  *end = reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>((last + 1) * bytes);
  return true;
}

bool same_window(const Shape& shape, const View& a, const View& b, int64_t rhs_count) {
  if (a.data != b.data || a.imaginary != b.imaginary || a.offset != b.offset) return false;
  if (shape.n > 1 && a.row_stride != b.row_stride) return false;
  if (shape.ragged() && a.row_stride != b.row_stride) return false;
  if (!shape.ragged() && shape.batch > 1 && a.system_stride != b.system_stride) return false;
  return rhs_count <= 1 || a.rhs_stride == b.rhs_stride;
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

bool has_rows(const Shape& shape, const Rows& rows) {
  for (int64_t s = 0; s < shape.batch; ++s) {
    if (rows_of(shape, s) - rows.skip_last > rows.skip_first) return true;
    if (!shape.ragged()) return false;
  }
  return false;
}

bool extent(const Shape& shape, const View& view, const Rows& rows, int64_t rhs_count,
            int64_t* first, int64_t* last) {
  Wide low = 0, high = 0;
  if (!wide_extent(shape, view, rows, rhs_count, &low, &high)) return false;
  *first = static_cast<int64_t>(low);
  *last = static_cast<int64_t>(high);
  return true;
}

Status check_view(const char* name, const Shape& shape, const View& view, const Rows& rows,
                  int64_t rhs_count) {
  if (view.imaginary != nullptr && !is_complex(shape.type)) {
    return invalid(name, "an imaginary part needs a complex type");
  }
  if (view.length < 0) return invalid(name, "negative length");
  Wide first = 0, last = 0;
  if (!wide_extent(shape, view, rows, rhs_count, &first, &last)) return {};
  if (view.data == nullptr) return invalid(name, "missing");
  if (first < 0) {
    return invalid(name, "offset and strides reach before the start of the buffer");
  }
  if (last >= view.length) {
    const bool huge = last > kMaxIndex;
    return invalid(name, "offset and strides reach element " +
                             (huge ? std::string("2^56 or more")
                                   : std::to_string(static_cast<int64_t>(last))) +
                             " of a buffer of " + std::to_string(view.length));
  }
  return {};
}

Status check_writable(const char* name, const Shape& shape, const View& view, int64_t rhs_count) {
  if (shape.empty() || rhs_count == 0) return {};
  Dimension dimensions[3];
  const int count = dimensions_of(shape, view, rhs_count, dimensions);
  if (nested(dimensions, count)) return {};
  return invalid(name, "strides address an element more than once");
}

Status check_apart(const char* input_name, const Shape& shape, const View& input,
                   const Rows& input_rows, int64_t input_rhs_count, const char* output_name,
                   const View& output, int64_t output_rhs_count, bool in_place) {
  if (in_place && same_window(shape, input, output, output_rhs_count)) return {};
  for (int i = 0; i < 2; ++i) {
    for (int o = 0; o < 2; ++o) {
      uintptr_t begin = 0, end = 0, out_begin = 0, out_end = 0;
      if (!byte_range(shape, input, input_rows, input_rhs_count, i, &begin, &end)) continue;
      if (!byte_range(shape, output, {}, output_rhs_count, o, &out_begin, &out_end)) continue;
      if (begin < out_end && out_begin < end) {
        return invalid(output_name, std::string("overlaps ") + input_name);
      }
    }
  }
  return {};
}

}  // namespace warploom::linear
