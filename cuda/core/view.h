// Properties of strided windows, whatever they contain: how far they reach, what they cover, whether two overlap. Plain
// C++; everything in 128-bit arithmetic, so that no extent or stride overflows.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "cuda/core/status.h"
#include "cuda/core/types.h"

namespace warploom {

/// Whether the buffers of two views, with both parts, are disjoint. Most are, and then all their windows are too.
inline bool buffers_apart(const View& a, const View& b, ScalarType type) {
  const auto bytes = static_cast<uintptr_t>(scalar_bytes(type));
  for (const void* const part : {a.data, a.imaginary}) {
    for (const void* const other : {b.data, b.imaginary}) {
      if (part == nullptr || other == nullptr) continue;
      const auto first = reinterpret_cast<uintptr_t>(part), second = reinterpret_cast<uintptr_t>(other);
      const auto distance = first < second ? second - first : first - second;
      if (distance / bytes < static_cast<uintptr_t>(first < second ? a.length : b.length)) return false;
    }
  }
  return true;
}

/// Checks that rank, extents, strides and offset are in range, that the window lies inside its buffer, and that only
/// complex types are split. Absent views pass.
Status check_window(const char* name, const View& view, ScalarType type);
/// Checks that no two indices address the same element, so that all can be written in parallel.
Status check_distinct(const char* name, const View& view);
/// Checks that `output` shares no byte with `other`, unless both are the same window of the same buffer. This and the
/// next functions expect views that check_window() has accepted.
Status check_overlap(const char* name, const View& other, const char* output_name, const View& output, ScalarType type);
/// The same, but an identical window is refused too.
Status check_apart(const char* name, const View& other, const char* output_name, const View& output, ScalarType type);
/// Checks that a view, if passed, has these extents.
Status check_extents(const char* name, const View& view, const int64_t* extents, int rank);
/// Checks that the view was passed, holds real data, and has `count` contiguous elements.
Status check_adjacent(const char* name, const View& view, int64_t count);

/// The number of elements of any view; at most 2^62.
int64_t elements_of(const View& view);
/// One past the last buffer element in the window; the offset if the window is empty.
int64_t end_of(const View& view);
/// Whether the window contains every element of the buffer, exactly once. Accepts views with any values.
bool covers(const View& view);

/// A contiguous view; the last index varies fastest.
View dense_view(void* data, int64_t length, std::initializer_list<int64_t> extents);
/// Sets strides that make a view of these extents contiguous from its offset on.
void lay_out(View* view);
void lay_out(View* view, std::initializer_list<int64_t> extents);

}  // namespace warploom
