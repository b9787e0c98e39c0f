#include "native/core/typed_array.h"

#include "native/core/js.h"

namespace warploom {
namespace {

const char* name_of(napi_typedarray_type type) {
  switch (type) {
    case napi_int8_array: return "Int8Array";
    case napi_uint8_array: return "Uint8Array";
    case napi_uint8_clamped_array: return "Uint8ClampedArray";
    case napi_int16_array: return "Int16Array";
    case napi_uint16_array: return "Uint16Array";
    case napi_int32_array: return "Int32Array";
    case napi_uint32_array: return "Uint32Array";
    case napi_float32_array: return "Float32Array";
    case napi_float64_array: return "Float64Array";
    case napi_bigint64_array: return "BigInt64Array";
    case napi_biguint64_array: return "BigUint64Array";
    default: return "typed array";
  }
}

int64_t number_bytes(napi_typedarray_type type) {
  switch (type) {
    case napi_int8_array: case napi_uint8_array: case napi_uint8_clamped_array: return 1;
    case napi_int16_array: case napi_uint16_array: return 2;
    case napi_int32_array: case napi_uint32_array: case napi_float32_array: return 4;
    default: return 8;
  }
}

/// True if the buffer's own length can change: `resizable` of ArrayBuffer, `growable` of SharedArrayBuffer.
bool has_flag(napi_env env, napi_value buffer, const char* name) {
  const napi_value value = js::property(env, buffer, name);
  bool flag = false;
  if (value == nullptr) {  // one of the caller's getters threw: trust nothing about this buffer
    napi_value error = nullptr;
    napi_get_and_clear_last_exception(env, &error);
    return true;
  }
  return napi_get_value_bool(env, value, &flag) == napi_ok && flag;
}

}  // namespace

napi_typedarray_type typed_array_type(ElementType type) {
  switch (type) {
    case ElementType::float32: case ElementType::complex64: return napi_float32_array;
    case ElementType::float64: case ElementType::complex128: return napi_float64_array;
    case ElementType::int32: return napi_int32_array;
    case ElementType::int64: return napi_bigint64_array;
    case ElementType::uint8: break;
  }
  return napi_uint8_array;
}

bool parse_element_type(const std::string& name, ElementType* out) {
  for (int i = 0; i < kElementTypes; ++i) {
    if (name != kElementTypeNames[i]) continue;
    *out = static_cast<ElementType>(i);
    return true;
  }
  return false;
}

Failure read_typed_array(napi_env env, const std::string& name, napi_value value, ElementType type,
                         TypedArray* out, bool fixed) {
  if (fixed) {
    napi_typedarray_type found = napi_uint8_array;
    size_t numbers = 0;
    void* data = nullptr;
    const bool readable = napi_get_typedarray_info(env, value, &found, &numbers, &data, nullptr, nullptr) == napi_ok;
    if (readable && found == typed_array_type(type) && numbers > 0) {  // a detached array has none
      *out = {static_cast<char*>(data), static_cast<int64_t>(numbers), static_cast<int64_t>(numbers) * number_bytes(found), false};
      return {};
    }
  }
  bool is_typed_array = false;
  napi_is_typedarray(env, value, &is_typed_array);
  napi_typedarray_type found = napi_uint8_array;
  size_t numbers = 0;
  void* data = nullptr;
  napi_value buffer = nullptr;
  if (!is_typed_array ||
      napi_get_typedarray_info(env, value, &found, &numbers, nullptr, &buffer, nullptr) != napi_ok ||
      found != typed_array_type(type)) {
    return Failure::invalid(name, std::string("a ") + typed_array_name(type) + " or a device array",
                            js::describe(env, value));
  }
  bool plain = false, detached = false;
  napi_is_arraybuffer(env, buffer, &plain);
  if (plain) napi_is_detached_arraybuffer(env, buffer, &detached);
  if (detached) return Failure::invalid(name, "an array with its memory", "a detached array");
  if (!fixed && has_flag(env, buffer, plain ? "resizable" : "growable")) {
    return Failure::invalid(name, "an array of fixed length", "an array on a resizable buffer");
  }
  // Read the memory last: the property above may run the caller's code.
  if (napi_get_typedarray_info(env, value, &found, &numbers, &data, nullptr, nullptr) != napi_ok) {
    return Failure::invalid(name, "a typed array", "an unreadable one");
  }
  out->data = static_cast<char*>(data);
  out->numbers = static_cast<int64_t>(numbers);
  out->bytes = out->numbers * number_bytes(found);
  out->shared = !plain;
  return {};
}

char* same_memory(napi_env env, napi_value value, const char* data, int64_t bytes) {
  napi_typedarray_type type = napi_uint8_array;
  size_t numbers = 0;
  void* now = nullptr;
  if (napi_get_typedarray_info(env, value, &type, &numbers, &now, nullptr, nullptr) != napi_ok) {
    return nullptr;
  }
  const bool same = now == data && static_cast<int64_t>(numbers) * number_bytes(type) == bytes;
  return same ? static_cast<char*>(now) : nullptr;
}

std::string describe_object(napi_env env, napi_value value) {
  bool flag = false;
  napi_typedarray_type type = napi_uint8_array;
  size_t numbers = 0;
  if (napi_is_typedarray(env, value, &flag) == napi_ok && flag &&
      napi_get_typedarray_info(env, value, &type, &numbers, nullptr, nullptr, nullptr) == napi_ok) {
    return std::string("a ") + name_of(type) + " of length " + std::to_string(numbers);
  }
  if (napi_is_array(env, value, &flag) == napi_ok && flag) return "an array";
  return "an object";
}

}  // namespace warploom
