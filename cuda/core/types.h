// Plain descriptions of data that cross from lib/ to every backend.
#pragma once
#include <cstddef>
#include <cstdint>

namespace warploom {

/// Element type of a call's numeric arrays. Complex elements are (real, imaginary) pairs in one array, or split over
/// two arrays of the real type (View::imaginary not null).
enum class ScalarType : int32_t { float32 = 0, float64 = 1, complex64 = 2, complex128 = 3 };
inline constexpr const char* kScalarTypeNames[] = {"float32", "float64", "complex64", "complex128"};

inline bool is_complex(ScalarType type) { return type >= ScalarType::complex64; }
/// Bytes of one element when stored in one array.
inline int64_t scalar_bytes(ScalarType type) {
  switch (type) {
    case ScalarType::float32: return 4;
    case ScalarType::float64: return 8;
    case ScalarType::complex64: return 8;
    default: return 16;
  }
}

/// `output`: the call writes every element of the window or array and reads none, unless footprint.h says otherwise.
enum class Role : int32_t { input = 0, output = 1, in_out = 2 };

inline constexpr double kUnbounded = 1.7976931348623157e308;

/// The values that visit() accepts for a number, which must always be finite.
struct Range {
  double least = -kUnbounded, most = kUnbounded;
  bool open = false;  ///< `least` itself is excluded
};
constexpr Range at_least(double least) { return {least, kUnbounded, false}; }
constexpr Range above(double least) { return {least, kUnbounded, true}; }
constexpr Range between(double least, double most) { return {least, most, false}; }

/// A flat array of a fixed element type in the backend's memory; data is null if the caller passed none.
template <class T>
struct Array {
  T* data = nullptr;
  int64_t length = 0;
};

/// A strided window on a buffer of the call's ScalarType. Element (i, j, …), with i < extents[0], j < extents[1], …, is
/// data[offset + i*strides[0] + j*strides[1] + …]; rank 0 is one element. Strides are in elements and not negative; a
/// stride of zero repeats elements. data is null if the caller passed none.
struct View {
  void* data = nullptr;
  void* imaginary = nullptr;  ///< split complex: the imaginary parts, same offsets and strides
  int64_t length = 0;         ///< elements in the buffer (of each part when split)
  int64_t offset = 0;
  static constexpr int32_t kMaxRank = 4;
  int32_t rank = 0;
  int64_t extents[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
};

}  // namespace warploom
