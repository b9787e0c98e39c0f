// The state of a JavaScript typed array at one moment.
#pragma once
#include <cstdint>
#include <string>

#include "native/core/element_type.h"
#include "native/core/error.h"
#include "native/core/napi_setup.h"

namespace warploom {

napi_typedarray_type typed_array_type(ElementType type);
bool parse_element_type(const std::string& name, ElementType* out);

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
