// Typed arrays on page-locked memory that a device lends to runs: copies of their inputs, and their results.
#include "native/core/lent_array.h"

#include <memory>
#include <utility>

#include "cuda/core/host_memory.h"
#include "native/core/device_object.h"
#include "native/core/environment.h"
#include "native/core/host_copy.h"
#include "native/core/js.h"
#include "native/core/session.h"
#include "native/core/traffic.h"
#include "native/core/typed_array.h"

namespace warploom {
namespace {

/// What JavaScript's buffer owns: the block, until it is given back.
using Owner = std::shared_ptr<PinnedBlock>;

struct Hold {
  std::shared_ptr<Environment> environment;
  const char* memory;
  Owner block;
  ~Hold() {
    // The memory may be lent again.
    const auto found = environment->lent().find(memory);
    if (found != environment->lent().end() && found->second == &block) environment->lent().erase(found);
  }
};

/// A typed array on the block's memory; null where the runtime takes no external buffers.
napi_value array_on(napi_env env, const Owner& block, napi_typedarray_type type, int64_t numbers) {
  auto hold = std::make_unique<Hold>(Hold{Environment::of(env)->shared_from_this(), block->memory, block});
  const auto drop = [](napi_env, void*, void* hint) { delete static_cast<Hold*>(hint); };
  napi_value buffer = nullptr, array = nullptr;
  if (napi_create_external_arraybuffer(env, block->memory, static_cast<size_t>(block->bytes), drop, hold.get(), &buffer) !=
      napi_ok) {
    return nullptr;
  }
  hold->environment->lent()[hold->memory] = &hold->block;
  hold.release();
  return napi_create_typedarray(env, type, static_cast<size_t>(numbers), buffer, 0, &array) == napi_ok ? array : nullptr;
}

/// What owns the memory of a lent array; null if it is none, or was given back.
Owner* owner_of(napi_env env, napi_value array) {
  napi_typedarray_type type = napi_uint8_array;
  char* data = nullptr;
  int64_t bytes = 0;
  if (!view_of(env, array, &type, &data, &bytes) || bytes == 0) return nullptr;
  const auto& lent = Environment::of(env)->lent();
  const auto found = lent.find(data);
  return found != lent.end() ? found->second : nullptr;
}

/// lendCopy(device, source): a copy of a typed array, or undefined if the device has no page-locked memory to spare.
napi_value lend_copy(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<2> arguments(env, info);
    std::shared_ptr<Session> session;
    napi_typedarray_type type = napi_uint8_array;
    char* data = nullptr;
    int64_t bytes = 0;
    if (session_of(env, arguments.value[0], &session) || !view_of(env, arguments.value[1], &type, &data, &bytes)) return nullptr;
    const Owner block = Session::lend(session, bytes, true);
    if (block == nullptr) return nullptr;
    copy_all({{block->memory, data, bytes}}, CopyFor::storing);
    Traffic::get().taken += bytes;
    const int64_t each = type == napi_float64_array ? 8 : 4;
    return type == napi_float64_array || type == napi_float32_array || type == napi_int32_array
               ? array_on(env, block, type, bytes / each)
               : nullptr;
  });
}

/// lendResult(device, type's number, length): an array of undefined contents, which no other code may see before
/// settleResult(); or undefined.
napi_value lend_result(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<3> arguments(env, info);
    std::shared_ptr<Session> session;
    int64_t number = 0, length = 0;
    if (session_of(env, arguments.value[0], &session) ||
        js::read_integer(env, "type", arguments.value[1], 0, kElementTypes - 1, &number) ||
        js::read_integer(env, "length", arguments.value[2], 0, js::kLargestSafeInteger / 16, &length)) {
      return nullptr;
    }
    const auto type = static_cast<ElementType>(number);
    const Owner block = Session::lend(session, length * element_bytes(type), false);
    return block != nullptr ? array_on(env, block, typed_array_type(type), length * numbers_per_element(type)) : nullptr;
  });
}

/// settleResult(array): from here on, calls copy the array as they copy any other.
napi_value settle_result(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    const Owner* const owner = owner_of(env, arguments.value[0]);
    if (owner != nullptr && *owner != nullptr) (*owner)->session->settle_lent(**owner);
    return nullptr;
  });
}

/// giveBack(array): detaches a lent array, so that its memory is free as soon as no call uses it any more. The buffer's
/// finalizer would come only in a later turn of the event loop.
napi_value give_back(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    Owner* const owner = owner_of(env, arguments.value[0]);
    if (owner == nullptr) return nullptr;
    napi_typedarray_type type = napi_uint8_array;
    size_t numbers = 0, offset = 0;
    void* memory = nullptr;
    napi_value buffer = nullptr;
    const Owner block = *owner;  // the finalizer may come at once
    if (napi_get_typedarray_info(env, arguments.value[0], &type, &numbers, &memory, &buffer, &offset) != napi_ok ||
        napi_detach_arraybuffer(env, buffer) != napi_ok) {
      return nullptr;
    }
    auto& lent = Environment::of(env)->lent();
    const auto found = lent.find(block->memory);
    if (found == lent.end() || found->second != owner) return nullptr;
    lent.erase(found);
    owner->reset();
    return nullptr;
  });
}

/// provideLent(device): has the blocks made that runs have missed.
napi_value provide_lent(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    std::shared_ptr<Session> session;
    if (!session_of(env, arguments.value[0], &session)) session->post_lent();
    return nullptr;
  });
}

}  // namespace

void register_lent(napi_env env, napi_value exports) {
  const auto add = [&](const char* name, napi_callback callback) {
    napi_value function = nullptr;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
    js::set(env, exports, name, function);
  };
  add("lendCopy", lend_copy);
  add("lendResult", lend_result);
  add("settleResult", settle_result);
  add("giveBack", give_back);
  add("provideLent", provide_lent);
}

}  // namespace warploom
