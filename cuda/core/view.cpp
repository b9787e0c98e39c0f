#include "cuda/core/view.h"

#include <algorithm>
#include <limits>

#include "cuda/core/check.h"

namespace warploom {
namespace {

using Wide = __int128;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 2;
constexpr Wide kBeyond = Wide(1) << 64;  // sums saturate here, so that they never exceed 128 bits

struct Dimension {
  int64_t extent, stride;
};

/// Dimensions of more than one element, ascending by stride. False for an empty window.
bool dimensions_of(const View& view, Dimension* dimensions, int* count) {
  *count = 0;
  for (int d = 0; d < view.rank; ++d) {
    if (view.extents[d] < 1) return false;
    if (view.extents[d] > 1) dimensions[(*count)++] = {view.extents[d], view.strides[d]};
  }
  std::sort(dimensions, dimensions + *count, [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
  return true;
}

bool has_rank(const View& view) { return view.rank >= 0 && view.rank <= View::kMaxRank; }

/// One past the last element in the window.
Wide wide_end(const View& view) {
  Wide last = view.offset;
  for (int d = 0; d < view.rank; ++d) {
    if (view.extents[d] < 1) return view.offset;
    last = std::min(last + Wide(view.extents[d] - 1) * view.strides[d], kBeyond);
  }
  return last + 1;
}

std::string text_of(Wide value) {
  return value > kMost ? std::string("2^62 or more") : std::to_string(static_cast<int64_t>(value));
}

std::string at(const char* name, const char* part, int index) {
  return std::string(name) + "." + part + "[" + std::to_string(index) + "]";
}

/// A refusal that names part of the view.
Status refuse(const std::string& argument, std::string message) { return Status(Code::invalid_argument, std::move(message), argument); }

/// Byte range of one part (0: data, 1: imaginary) of a window.
bool byte_range(const View& view, ScalarType type, int part, uintptr_t* begin, uintptr_t* end) {
  const void* const base = part == 0 ? view.data : view.imaginary;
  const int64_t last = end_of(view);
  if (base == nullptr || last == view.offset) return false;
  int64_t bytes = scalar_bytes(type);
  if (is_complex(type) && view.imaginary != nullptr) bytes /= 2;
  *begin = reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(view.offset * bytes);
  *end = reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(last * bytes);
  return true;
}

bool same_window(const View& a, const View& b) {
  if (a.data != b.data || a.imaginary != b.imaginary || a.offset != b.offset) return false;
  Dimension ours[View::kMaxRank], theirs[View::kMaxRank];
  int our_count = 0, their_count = 0;
  if (!dimensions_of(a, ours, &our_count) || !dimensions_of(b, theirs, &their_count) || our_count != their_count) return false;
  return std::equal(ours, ours + our_count, theirs, [](const Dimension& x, const Dimension& y) {
    return x.extent == y.extent && x.stride == y.stride;
  });
}

std::string shape_of(const int64_t* extents, int rank) {
  if (rank == 0) return "none";
  std::string text;
  for (int d = 0; d < rank; ++d) text += (d > 0 ? " by " : "") + std::to_string(extents[d]);
  return text;
}

}  // namespace

Status check_window(const char* name, const View& view, ScalarType type) {
  if (view.data == nullptr && view.imaginary == nullptr) return {};
  if (view.imaginary != nullptr && !is_complex(type)) return invalid(name, "an imaginary part needs a complex type");
  if (view.length < 0) return invalid(name, "negative length");
  if (!has_rank(view)) return invalid(name, "expected 0 to 4 dimensions, got " + std::to_string(view.rank));
  if (view.offset < 0) return refuse(std::string(name) + ".offset", "expected zero or more, got " + std::to_string(view.offset));
  for (int d = 0; d < view.rank; ++d) {
    if (view.extents[d] < 0) return refuse(at(name, "extents", d), "expected zero or more, got " + std::to_string(view.extents[d]));
    if (view.strides[d] < 0) {
      return refuse(at(name, "strides", d), "expected zero or more (negative strides are not supported), got " +
                                                std::to_string(view.strides[d]));
    }
  }
  const Wide end = wide_end(view);
  if (end <= view.length) return {};
  return invalid(name, "offset and strides reach element " + text_of(end - 1) + " of a buffer of " + std::to_string(view.length));
}

Status check_distinct(const char* name, const View& view) {
  Dimension dimensions[View::kMaxRank];
  int count = 0;
  if (view.data == nullptr || !dimensions_of(view, dimensions, &count)) return {};
  Wide span = 1;
  for (int d = 0; d < count; ++d) {
    if (dimensions[d].stride < span) return invalid(name, "strides address an element more than once");
    span = std::min(span + Wide(dimensions[d].extent - 1) * dimensions[d].stride, kBeyond);
  }
  return {};
}

Status check_apart(const char* name, const View& other, const char* output_name, const View& output, ScalarType type) {
  if (buffers_apart(other, output, type)) return {};
  for (int i = 0; i < 2; ++i) {
    for (int o = 0; o < 2; ++o) {
      uintptr_t begin = 0, end = 0, out_begin = 0, out_end = 0;
      if (!byte_range(other, type, i, &begin, &end) || !byte_range(output, type, o, &out_begin, &out_end)) continue;
      if (begin < out_end && out_begin < end) return invalid(output_name, std::string("overlaps ") + name);
    }
  }
  return {};
}

Status check_overlap(const char* name, const View& other, const char* output_name, const View& output, ScalarType type) {
  if (buffers_apart(other, output, type) || same_window(other, output)) return {};
  return check_apart(name, other, output_name, output, type);
}

Status check_extents(const char* name, const View& view, const int64_t* extents, int rank) {
  if (view.rank == rank && std::equal(extents, extents + rank, view.extents)) return {};
  return invalid(name, "expected extents " + shape_of(extents, rank) + ", got " + shape_of(view.extents, view.rank));
}

Status check_adjacent(const char* name, const View& view, int64_t count) {
  if (view.imaginary != nullptr) return invalid(name, "expected real data");
  if (view.data == nullptr) return count > 0 ? invalid(name, "expected an array") : Status();
  if (elements_of(view) != count) {
    return invalid(name, "needs " + std::to_string(count) + " elements, has " + std::to_string(elements_of(view)));
  }
  int64_t span = 1;
  for (int d = view.rank - 1; d >= 0 && count > 0; --d) {
    if (view.extents[d] > 1 && view.strides[d] != span) return invalid(name, "expected elements that lie one behind the other");
    span *= view.extents[d];
  }
  return {};
}

int64_t elements_of(const View& view) {
  Wide count = 1;
  for (int d = 0; d < view.rank; ++d) {
    if (view.extents[d] == 0) return 0;
    count = std::min<Wide>(count * view.extents[d], kMost);
  }
  return static_cast<int64_t>(count);
}

int64_t end_of(const View& view) { return static_cast<int64_t>(std::min<Wide>(wide_end(view), kMost)); }

bool covers(const View& view) {
  Dimension dimensions[View::kMaxRank];
  int count = 0;
  if (view.offset != 0 || !has_rank(view)) return false;
  if (!dimensions_of(view, dimensions, &count)) return view.length == 0;
  Wide span = 1;
  for (int d = 0; d < count; ++d) {
    if (dimensions[d].stride != span) return false;
    span *= dimensions[d].extent;
    if (span > view.length) return false;
  }
  return span == view.length;
}

void lay_out(View* view) {
  int64_t stride = 1;
  for (int d = view->rank - 1; d >= 0; --d) {
    view->strides[d] = stride;
    if (__builtin_mul_overflow(stride, std::max<int64_t>(view->extents[d], 1), &stride)) stride = std::numeric_limits<int64_t>::max();
  }
}

void lay_out(View* view, std::initializer_list<int64_t> extents) {
  view->rank = static_cast<int32_t>(extents.size());
  std::copy(extents.begin(), extents.end(), view->extents);
  lay_out(view);
}

View dense_view(void* data, int64_t length, std::initializer_list<int64_t> extents) {
  View view;
  view.data = data;
  view.length = length;
  lay_out(&view, extents);
  return view;
}

}  // namespace warploom
