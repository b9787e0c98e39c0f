// Element types, and the state of a JavaScript typed array at one moment.
#pragma once
#include <cstdint>
#include <string>

#include "cuda/core/types.h"
#include "native/core/error.h"
#include "native/core/napi_setup.h"

namespace warploom {

/// Element type of an array; the first four are ScalarType's.
enum class ElementType : int32_t {
  float32 = 0, float64 = 1, complex64 = 2, complex128 = 3, int32 = 4, int64 = 5, uint8 = 6,
};
inline constexpr const char* kElementTypeNames[] = {"float32", "float64", "complex64", "complex128",
                                                    "int32", "int64", "uint8"};
inline constexpr int kElementTypes = 7;

int64_t element_bytes(ElementType type);
inline const char* type_name(ElementType type) { return kElementTypeNames[static_cast<int>(type)]; }
inline ElementType element_type(ScalarType type) { return static_cast<ElementType>(type); }
/// float32 for complex64, float64 for complex128, otherwise the type itself.
ElementType real_type(ElementType type);
/// Numbers of the typed array per element: 2 for interleaved complex.
inline int64_t numbers_per_element(ElementType type) {
  return type == ElementType::complex64 || type == ElementType::complex128 ? 2 : 1;
}
/// "Float64Array" and so on; complex types are stored as pairs of their real type.
const char* typed_array_name(ElementType type);
napi_typedarray_type typed_array_type(ElementType type);
bool parse_element_type(const std::string& name, ElementType* out);

template <class T> struct ElementTypeOf;
template <> struct ElementTypeOf<float> { static constexpr ElementType value = ElementType::float32; };
template <> struct ElementTypeOf<double> { static constexpr ElementType value = ElementType::float64; };
template <> struct ElementTypeOf<int32_t> { static constexpr ElementType value = ElementType::int32; };
template <> struct ElementTypeOf<int64_t> { static constexpr ElementType value = ElementType::int64; };
template <> struct ElementTypeOf<uint8_t> { static constexpr ElementType value = ElementType::uint8; };

/// Memory of a typed array as found by read_typed_array. Valid until JavaScript runs again or, for shared memory, as
/// long as the array is reachable.
struct TypedArray {
  char* data = nullptr;
  int64_t numbers = 0;  ///< its `length`
  int64_t bytes = 0;
  bool shared = false;
};

/// Refuses values that are not typed arrays of `type`, and detached or resizable ones. `fixed`: the array is known to
/// lie on an ArrayBuffer that can never be resized; then none of the caller's code runs.
Failure read_typed_array(napi_env env, const std::string& name, napi_value value, ElementType type,
                         TypedArray* out, bool fixed = false);
/// Returns `data` if the array's memory is unchanged since the call; null if it was detached or resized.
char* same_memory(napi_env env, napi_value value, const char* data, int64_t bytes);
/// "a Float64Array of length 3", "an object".
std::string describe_object(napi_env env, napi_value value);

}  // namespace warploom
