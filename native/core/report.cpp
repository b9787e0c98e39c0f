#include "native/core/report.h"

#include <cstring>
#include <new>

#include "native/core/js.h"

namespace warploom {

ReportWriter::ReportWriter(napi_env env, double seconds) : env_(env) {
  napi_create_array(env, &list_);
  add(seconds);
}

void ReportWriter::add(double value) { napi_set_element(env_, list_, count_++, js::number(env_, value)); }

void ReportWriter::add_nothing() {
  napi_value undefined = nullptr;
  napi_get_undefined(env_, &undefined);
  napi_set_element(env_, list_, count_++, undefined);
}

char* ReportWriter::add_array(int64_t bytes, const char* contents) {
  napi_value buffer = nullptr, array = nullptr;
  void* memory = nullptr;
  const size_t size = static_cast<size_t>(bytes);
  if (napi_create_arraybuffer(env_, size, &memory, &buffer) != napi_ok ||
      napi_create_typedarray(env_, napi_float64_array, size / sizeof(double), buffer, 0, &array) != napi_ok) {
    napi_value thrown = nullptr;
    napi_get_and_clear_last_exception(env_, &thrown);
    throw std::bad_alloc();
  }
  if (contents != nullptr && size > 0) std::memcpy(memory, contents, size);
  napi_set_element(env_, list_, count_++, array);
  table_bytes_ += bytes;
  return static_cast<char*>(memory);
}

}  // namespace warploom
