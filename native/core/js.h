// Reading JavaScript values without running more of the caller's code than needed.
#pragma once
#include <cstdint>
#include <new>
#include <string>

#include "native/core/error.h"
#include "native/core/napi_setup.h"

namespace warploom::js {

/// Runs a callback's body; turns C++ exceptions into JavaScript errors.
template <class Body>
napi_value guarded(napi_env env, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    throw_error(env, Failure::from(Status(Code::out_of_memory, "not enough host memory")));
  } catch (const std::exception& error) {
    throw_error(env, Failure::internal(error.what()));
  }
  return nullptr;
}

/// Arguments of a callback; missing ones are undefined.
template <size_t kCount>
struct Arguments {
  napi_value self = nullptr;
  napi_value value[kCount] = {};
  Arguments(napi_env env, napi_callback_info info) {
    size_t count = kCount;
    napi_get_cb_info(env, info, &count, value, &self, nullptr);
  }
};

inline napi_valuetype type_of(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  if (value != nullptr) napi_typeof(env, value, &type);
  return type;
}
inline bool is_absent(napi_env env, napi_value value) {
  const napi_valuetype type = type_of(env, value);
  return type == napi_undefined || type == napi_null;
}
/// Returns null if reading threw; then the exception is pending.
inline napi_value property(napi_env env, napi_value object, const char* name) {
  napi_value value = nullptr;
  return napi_get_named_property(env, object, name, &value) == napi_ok ? value : nullptr;
}

napi_value string(napi_env env, const std::string& text);
napi_value number(napi_env env, double value);
napi_value boolean(napi_env env, bool value);
void set(napi_env env, napi_value object, const char* name, napi_value value);
/// A rejected promise, for an asynchronous function that failed before it began.
napi_value rejected(napi_env env, const Failure& failure);

/// The text of a string value, cut to 63 bytes.
std::string short_text(napi_env env, napi_value value);
/// What a value is, for messages: "undefined", "NaN", "'abc'", "Float64Array of length 3".
std::string describe(napi_env env, napi_value value);

/// Reads a finite integer in [low, high].
Failure read_integer(napi_env env, const std::string& name, napi_value value, int64_t low, int64_t high,
                     int64_t* out);
Failure read_real(napi_env env, const std::string& name, napi_value value, double* out);

inline constexpr int64_t kLargestSafeInteger = 9007199254740991;

}  // namespace warploom::js
