// Element types of arrays.
#pragma once
#include <cstdint>

#include "cuda/core/types.h"

namespace warploom {

/// Element type of an array; the first four are ScalarType's.
enum class ElementType : int32_t {
  float32 = 0, float64 = 1, complex64 = 2, complex128 = 3, int32 = 4, int64 = 5, uint8 = 6,
};
inline constexpr const char* kElementTypeNames[] = {"float32", "float64", "complex64", "complex128",
                                                    "int32", "int64", "uint8"};
inline constexpr int kElementTypes = 7;

inline int64_t element_bytes(ElementType type) {
  constexpr int64_t kBytes[kElementTypes] = {4, 8, 8, 16, 4, 8, 1};
  return kBytes[static_cast<int>(type)];
}
inline const char* type_name(ElementType type) { return kElementTypeNames[static_cast<int>(type)]; }
inline ElementType element_type(ScalarType type) { return static_cast<ElementType>(type); }
/// float32 for complex64, float64 for complex128, otherwise the type itself.
inline ElementType real_type(ElementType type) {
  if (type == ElementType::complex64) return ElementType::float32;
  return type == ElementType::complex128 ? ElementType::float64 : type;
}
/// Numbers of the typed array per element: 2 for interleaved complex.
inline int64_t numbers_per_element(ElementType type) {
  return type == ElementType::complex64 || type == ElementType::complex128 ? 2 : 1;
}
/// "Float64Array" and so on; complex types are stored as pairs of their real type.
inline const char* typed_array_name(ElementType type) {
  constexpr const char* kNames[kElementTypes] = {"Float32Array", "Float64Array", "Float32Array", "Float64Array",
                                                 "Int32Array", "BigInt64Array", "Uint8Array"};
  return kNames[static_cast<int>(type)];
}

template <class T> struct ElementTypeOf;
template <> struct ElementTypeOf<float> { static constexpr ElementType value = ElementType::float32; };
template <> struct ElementTypeOf<double> { static constexpr ElementType value = ElementType::float64; };
template <> struct ElementTypeOf<int32_t> { static constexpr ElementType value = ElementType::int32; };
template <> struct ElementTypeOf<int64_t> { static constexpr ElementType value = ElementType::int64; };
template <> struct ElementTypeOf<uint8_t> { static constexpr ElementType value = ElementType::uint8; };

}  // namespace warploom
