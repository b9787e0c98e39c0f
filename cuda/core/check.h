// Building blocks of the check() functions of operations: error messages, ranges and the bounds of arrays (view.h has
// those of views).
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>

#include "cuda/core/status.h"
#include "cuda/core/types.h"
#include "cuda/core/view.h"

namespace warploom {

inline Status invalid(const char* argument, std::string message) {
  return Status(Code::invalid_argument, std::move(message), argument);
}

/// visit()'s visitor that refuses the first invalid field: a number out of range, an unknown choice, a window that
/// leaves its buffer, or a result that overlaps itself, another result or an input. A result may be exactly the same
/// window as an input.
class FieldCheck {
 public:
  Status status;

  template <class E, size_t kCount>
  void choice(const char* name, E& value, const char* const (&)[kCount]) {
    const int64_t index = static_cast<int64_t>(value);
    if (index < 0 || index >= static_cast<int64_t>(kCount)) refuse(name, std::string("unknown ") + name);
    if constexpr (std::is_same_v<E, ScalarType>) type_ = value;
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
  void view(const char* name, const View& view, Role role) {
    if (!status.ok() || view.data == nullptr) return;
    status = check_window(name, view, type_);
    const bool output = role != Role::input;
    if (status.ok() && output) status = check_distinct(name, view);
    for (int i = 0; i < count_ && status.ok(); ++i) {
      const auto& [other_name, other, other_output] = views_[i];
      if (!(output || other_output) || buffers_apart(view, *other, type_)) continue;
      if (output) {
        status = other_output ? check_apart(other_name, *other, name, view, type_) : check_overlap(other_name, *other, name, view, type_);
      } else {
        status = check_overlap(name, view, other_name, *other, type_);
      }
    }
    if (count_ < kMostViews) {
      views_[count_++] = {name, &view, output};
    } else if (status.ok()) {
      status = Status(Code::internal, "more views than are compared with each other", name);
    }
  }
  template <class... Rest>
  void report(Rest&&...) {}

 private:
  static constexpr int kMostViews = 16;
  struct NamedView {
    const char* name;
    const View* view;
    bool output;
  };
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

  ScalarType type_ = ScalarType::float64;
  NamedView views_[kMostViews];
  int count_ = 0;
};

/// Checks what visit() states, first in every check(): ranges, windows, and that results do not overlap.
template <class Parameters>
Status check_fields(const Parameters& p) {
  FieldCheck check;
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

template <class T>
Status check_length(const Array<T>& array, int64_t count, const char* name) {
  if (array.length != count) {
    return invalid(name, "expected " + std::to_string(count) + " elements, got " + std::to_string(array.length));
  }
  return count > 0 && array.data == nullptr ? invalid(name, "expected an array") : Status();
}

}  // namespace warploom
