// Copies between typed arrays by several threads.
#include "native/core/host_copy.h"

#include "cuda/core/host_memory.h"
#include "native/core/error.h"
#include "native/core/js.h"

namespace warploom {

bool view_of(napi_env env, napi_value value, napi_typedarray_type* type, char** data, int64_t* bytes) {
  size_t numbers = 0, offset = 0;
  void* memory = nullptr;
  napi_value buffer = nullptr;
  if (napi_get_typedarray_info(env, value, type, &numbers, &memory, &buffer, &offset) != napi_ok) return false;
  constexpr int64_t kBytes[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8};  // in the order of napi_typedarray_type
  if (static_cast<size_t>(*type) >= sizeof(kBytes) / sizeof(kBytes[0])) return false;
  *data = static_cast<char*>(memory);
  *bytes = static_cast<int64_t>(numbers) * kBytes[*type];
  return true;
}

namespace {

/// copyArray(to, from): `to` is a new typed array of as many bytes as `from`, so its pages do not exist yet.
napi_value copy_array(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<2> arguments(env, info);
    char *to = nullptr, *from = nullptr;
    int64_t bytes = 0, given = 0;
    napi_typedarray_type type = napi_uint8_array;
    if (!view_of(env, arguments.value[0], &type, &to, &bytes) || !view_of(env, arguments.value[1], &type, &from, &given) ||
        bytes != given) {
      throw_error(env, Failure::internal("copyArray takes two typed arrays of the same size"));
      return nullptr;
    }
    if (bytes == 0) return nullptr;
    use_large_pages(to, bytes);
    Populating::begin({{to, bytes}}).reset();  // by as many threads as are fastest at that, which are fewer than copy
    copy_all({{to, from, bytes}}, CopyFor::storing);
    return nullptr;
  });
}

}  // namespace

void register_copies(napi_env env, napi_value exports) {
  napi_value function = nullptr;
  napi_create_function(env, "copyArray", NAPI_AUTO_LENGTH, copy_array, nullptr, &function);
  js::set(env, exports, "copyArray", function);
}

}  // namespace warploom
