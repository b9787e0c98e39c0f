#include "native/core/js.h"

#include <cmath>

#include "native/core/typed_array.h"

namespace warploom::js {

napi_value string(napi_env env, const std::string& text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text.data(), text.size(), &value);
  return value;
}

napi_value number(napi_env env, double value) {
  napi_value result = nullptr;
  napi_create_double(env, value, &result);
  return result;
}

napi_value boolean(napi_env env, bool value) {
  napi_value result = nullptr;
  napi_get_boolean(env, value, &result);
  return result;
}

void set(napi_env env, napi_value object, const char* name, napi_value value) {
  napi_set_named_property(env, object, name, value);
}

napi_value rejected(napi_env env, const Failure& failure) {
  napi_deferred deferred = nullptr;
  napi_value promise = nullptr;
  napi_create_promise(env, &deferred, &promise);
  napi_reject_deferred(env, deferred, make_error(env, failure));
  return promise;
}

std::string short_text(napi_env env, napi_value value) {
  char text[64];
  size_t length = 0;
  if (napi_get_value_string_utf8(env, value, text, sizeof text, &length) != napi_ok) return {};
  return std::string(text, length);
}

std::string describe(napi_env env, napi_value value) {
  switch (type_of(env, value)) {
    case napi_undefined: return "undefined";
    case napi_null: return "null";
    case napi_boolean: {
      bool truth = false;
      napi_get_value_bool(env, value, &truth);
      return truth ? "true" : "false";
    }
    case napi_number: {
      double real = 0;
      napi_get_value_double(env, value, &real);
      if (std::isnan(real)) return "NaN";
      if (std::isinf(real)) return real < 0 ? "-Infinity" : "Infinity";
      char text[32];
      std::snprintf(text, sizeof text, "%.17g", real);
      return text;
    }
    case napi_string: return "'" + short_text(env, value) + "'";
    case napi_symbol: return "a symbol";
    case napi_function: return "a function";
    case napi_bigint: return "a bigint";
    default: break;
  }
  return describe_object(env, value);
}

Failure read_integer(napi_env env, const std::string& name, napi_value value, int64_t low, int64_t high,
                     int64_t* out) {
  double real = 0;
  const bool is_number = napi_get_value_double(env, value, &real) == napi_ok;
  if (is_number && real >= static_cast<double>(low) && real <= static_cast<double>(high) &&
      real == std::trunc(real)) {
    *out = static_cast<int64_t>(real);
    return {};
  }
  return Failure::invalid(name, "an integer from " + std::to_string(low) + " to " + std::to_string(high),
                          describe(env, value));
}

Failure read_real(napi_env env, const std::string& name, napi_value value, double* out) {
  if (napi_get_value_double(env, value, out) == napi_ok && std::isfinite(*out)) return {};
  return Failure::invalid(name, "a finite number", describe(env, value));
}

}  // namespace warploom::js
