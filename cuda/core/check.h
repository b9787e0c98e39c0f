// Pieces of the check() functions of operations: refusals and the bounds of arrays.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "cuda/core/status.h"
#include "cuda/core/types.h"

namespace warploom {

inline Status invalid(const char* argument, std::string message) {
  return Status(Code::invalid_argument, std::move(message), argument);
}

/// visit()'s visitor that refuses the first number that is not in its range, and the first choice that there is not.
class RangeCheck {
 public:
  Status status;

  template <class E, size_t kCount>
  void choice(const char* name, E& value, const char* const (&)[kCount]) {
    const int64_t index = static_cast<int64_t>(value);
    if (index < 0 || index >= static_cast<int64_t>(kCount)) refuse(name, std::string("unknown ") + name);
  }
  void integer(const char* name, int64_t value, Range range = {}) {
    if (!within(static_cast<double>(value), range)) refuse(name, expected(range) + ", got " + std::to_string(value));
  }
  void real(const char* name, double value, Range range = {}) {
    if (!(std::isfinite(value) && within(value, range))) refuse(name, expected(range) + ", got " + text_of(value));
  }
  template <class... Rest>
  void boolean(Rest&&...) {}
  template <class... Rest>
  void array(Rest&&...) {}
  template <class... Rest>
  void words(Rest&&...) {}
  template <class... Rest>
  void view(Rest&&...) {}
  template <class... Rest>
  void report(Rest&&...) {}

 private:
  static bool within(double value, const Range& range) {
    return value <= range.most && (range.open ? value > range.least : value >= range.least);
  }
  static std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.15g", value);
    return text;
  }
  static std::string expected(const Range& range) {
    const bool low = range.least > -kUnbounded, high = range.most < kUnbounded;
    if (!low && !high) return "expected a finite number";
    if (range.open && range.least == 0 && !high) return "expected a positive finite number";
    if (range.open) return "expected a number above " + text_of(range.least) + (high ? " to " + text_of(range.most) : "");
    if (high) return "expected " + text_of(range.least) + " to " + text_of(range.most);
    return "expected " + (range.least == 0 ? "zero" : text_of(range.least)) + " or more";
  }
  void refuse(const char* name, std::string message) {
    if (status.ok()) status = invalid(name, std::move(message));
  }
};

/// The ranges that visit() states, first in every check().
template <class Parameters>
Status check_ranges(const Parameters& p) {
  RangeCheck check;
  visit(check, const_cast<Parameters&>(p));
  return check.status;
}

inline Status check_real_type(ScalarType type) {
  if (type == ScalarType::float32 || type == ScalarType::float64) return {};
  return invalid("type", "expected float32 or float64");
}

inline Status check_positive(double value, const char* name) {
  if (std::isfinite(value) && value > 0) return {};
  return invalid(name, "expected a positive finite number, got " + std::to_string(value));
}

/// `count` adjacent real elements from the view's offset on.
inline Status check_adjacent(const View& view, int64_t count, const char* name) {
  if (view.imaginary != nullptr) return invalid(name, "expected real data");
  if (view.offset < 0) return invalid(name, "expected an offset of zero or more");
  if (count == 0) return {};
  if (view.data == nullptr) return invalid(name, "expected an array");
  if (view.offset > view.length || count > view.length - view.offset) {
    return invalid(name, "needs " + std::to_string(count) + " elements from element " + std::to_string(view.offset) + ", has " +
                             std::to_string(view.length));
  }
  return {};
}

template <class T>
Status check_length(const Array<T>& array, int64_t count, const char* name) {
  if (array.length != count) {
    return invalid(name, "expected " + std::to_string(count) + " elements, got " + std::to_string(array.length));
  }
  return count > 0 && array.data == nullptr ? invalid(name, "expected an array") : Status();
}

/// Whether `a_count` elements of view a and `b_count` of view b, of one type, share memory. Absent arrays share nothing.
inline bool overlap(const View& a, int64_t a_count, const View& b, int64_t b_count, ScalarType type) {
  if (a.data == nullptr || b.data == nullptr || a_count <= 0 || b_count <= 0) return false;
  const uintptr_t bytes = static_cast<uintptr_t>(scalar_bytes(type));
  const uintptr_t first = reinterpret_cast<uintptr_t>(a.data) + static_cast<uintptr_t>(a.offset) * bytes;
  const uintptr_t second = reinterpret_cast<uintptr_t>(b.data) + static_cast<uintptr_t>(b.offset) * bytes;
  return first < second + static_cast<uintptr_t>(b_count) * bytes && second < first + static_cast<uintptr_t>(a_count) * bytes;
}

}  // namespace warploom
