// Properties of strided windows, whatever they hold: how far they reach, what they cover, whether two of them overlap.
// Plain C++; all in 128-bit arithmetic, so that no extent or stride overflows.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "cuda/core/status.h"
#include "cuda/core/types.h"

namespace warploom {

/// Whether the buffers of two views, with both parts, lie apart, as most do: then so do all their windows.
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

/// Rank, extents, strides and offset are in their ranges, the window lies inside its buffer, and only complex types are
/// split. Absent views pass.
Status check_window(const char* name, const View& view, ScalarType type);
/// No two indices address one element, so that all can be written in parallel.
Status check_distinct(const char* name, const View& view);
/// `output` shares no byte with `other`, but may be the same window of the same buffer. Here and below: of views that
/// check_window() has passed.
Status check_overlap(const char* name, const View& other, const char* output_name, const View& output, ScalarType type);
/// Nor may it be the same window.
Status check_apart(const char* name, const View& other, const char* output_name, const View& output, ScalarType type);
/// A given view has these extents.
Status check_extents(const char* name, const View& view, const int64_t* extents, int rank);
/// The view is given, holds real data and has `count` contiguous elements.
Status check_adjacent(const char* name, const View& view, int64_t count);

/// The elements of any view; 2^62 where they are more.
int64_t elements_of(const View& view);
/// One past the last element of the buffer that the window touches; its offset where it is empty.
int64_t end_of(const View& view);
/// Whether every element of the buffer is one of the window's, once. For views with any values.
bool covers(const View& view);

/// A view whose elements are contiguous, the last index fastest.
View dense_view(void* data, int64_t length, std::initializer_list<int64_t> extents);
/// Strides with which a view of these extents is contiguous from its offset on.
void lay_out(View* view);
void lay_out(View* view, std::initializer_list<int64_t> extents);

}  // namespace warploom
