// Typed arrays on page-locked memory that a device lends to runs: copies of their inputs, and their results.
#include "native/core/lent_array.h"

#include <algorithm>
#include <atomic>
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

/// What JavaScript's buffers own: the block, until all of them have let it go.
using Owner = std::shared_ptr<PinnedBlock>;

/// Set once this runtime has refused an external buffer: it will refuse the next ones.
std::atomic<bool> refused{false};

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

/// A typed array on a buffer of `bytes` bytes of the block's memory; null where the runtime takes no external buffers.
/// `is_room`: the block's own buffer, by which others find it.
napi_value array_on(napi_env env, const Owner& block, napi_typedarray_type type, int64_t numbers, int64_t bytes, bool is_room) {
  auto hold = std::make_unique<Hold>(Hold{Environment::of(env)->shared_from_this(), block->memory, block});
  const auto drop = [](napi_env, void*, void* hint) { delete static_cast<Hold*>(hint); };
  napi_value buffer = nullptr, array = nullptr;
  if (napi_create_external_arraybuffer(env, block->memory, static_cast<size_t>(bytes), drop, hold.get(), &buffer) != napi_ok) {
    refused = true;
    return nullptr;
  }
  if (is_room) hold->environment->lent()[hold->memory] = &hold->block;
  hold.release();
  return napi_create_typedarray(env, type, static_cast<size_t>(numbers), buffer, 0, &array) == napi_ok ? array : nullptr;
}

/// What owns the memory of a room; null if the array lies in none, or it was given back.
Owner* owner_of(napi_env env, napi_value array) {
  napi_typedarray_type type = napi_uint8_array;
  char* data = nullptr;
  int64_t bytes = 0;
  if (!view_of(env, array, &type, &data, &bytes) || bytes == 0) return nullptr;
  const auto& lent = Environment::of(env)->lent();
  const auto found = lent.find(data);
  return found != lent.end() ? found->second : nullptr;
}

/// A part of an idle room, if it is large enough without much waste, and neither a call of the device nor anybody who was
/// handed its contents uses the memory any more.
napi_value used_again(napi_env env, const std::shared_ptr<Session>& session, napi_value room, napi_typedarray_type type,
                      int64_t numbers, int64_t bytes) {
  const Owner* const owner = owner_of(env, room);
  if (owner == nullptr || *owner == nullptr || owner->use_count() != 1) return nullptr;
  if ((*owner)->session != session || (*owner)->bytes < bytes || (*owner)->bytes / 2 > bytes) return nullptr;
  napi_typedarray_type given = napi_uint8_array;
  size_t length = 0, offset = 0;
  void* data = nullptr;
  napi_value buffer = nullptr, array = nullptr;
  if (napi_get_typedarray_info(env, room, &given, &length, &data, &buffer, &offset) != napi_ok) return nullptr;
  if (napi_create_typedarray(env, type, static_cast<size_t>(numbers), buffer, 0, &array) != napi_ok) return nullptr;
  session->lend_again(*owner);
  return array;
}

/// lendRoom(device, type's number, length, idle): an array of undefined contents that only the library sees, or undefined
/// if the device has no page-locked memory to spare. `idle`: arrays that are all of earlier rooms; it lies in one of them
/// if that fits.
napi_value lend_room(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<4> arguments(env, info);
    std::shared_ptr<Session> session;
    int64_t number = 0, length = 0;
    if (refused || session_of(env, arguments.value[0], &session) ||
        js::read_integer(env, "type", arguments.value[1], 0, kElementTypes - 1, &number) ||
        js::read_integer(env, "length", arguments.value[2], 0, js::kLargestSafeInteger / 16, &length)) {
      return nullptr;
    }
    const auto type = static_cast<ElementType>(number);
    const int64_t bytes = length * element_bytes(type), numbers = length * numbers_per_element(type);
    uint32_t count = 0;
    if (napi_get_array_length(env, arguments.value[3], &count) != napi_ok) count = 0;
    for (uint32_t i = 0; i < count; ++i) {
      napi_value room = nullptr;
      if (napi_get_element(env, arguments.value[3], i, &room) != napi_ok) return nullptr;
      const napi_value again = used_again(env, session, room, typed_array_type(type), numbers, bytes);
      if (again != nullptr) return again;
    }
    const Owner block = Session::lend(session, bytes);
    return block != nullptr ? array_on(env, block, typed_array_type(type), numbers, bytes, true) : nullptr;
  });
}

/// beginCopy(lent array, source): copies a typed array into one of lendRoom that no call uses yet. Calls that are made
/// from here on wait for what they read of it. finishCopy() has to follow before JavaScript does anything else.
napi_value begin_copy(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<2> arguments(env, info);
    Owner* const owner = owner_of(env, arguments.value[0]);
    napi_typedarray_type type = napi_uint8_array;
    char *to = nullptr, *from = nullptr;
    int64_t bytes = 0, given = 0;
    if (owner == nullptr || *owner == nullptr || owner->use_count() != 1 ||
        !view_of(env, arguments.value[0], &type, &to, &bytes) || !view_of(env, arguments.value[1], &type, &from, &given) ||
        bytes != given || to != (*owner)->memory) {
      throw_error(env, Failure::internal("beginCopy takes a lent array without calls, and a typed array of its size"));
      return nullptr;
    }
    napi_ref source = nullptr;
    if (napi_create_reference(env, arguments.value[1], 1, &source) != napi_ok) {
      throw_error(env, Failure::internal("cannot keep the source of a copy"));
      return nullptr;
    }
    (*owner)->filling = std::make_shared<Copying>(HostCopy{to, from, bytes});
    Environment::of(env)->fillings().push_back({to, (*owner)->filling, source});
    Traffic::get().taken += bytes;
    return nullptr;
  });
}

/// finishCopy(lent array): the copy is made when this returns. Nothing happens where none is under way.
napi_value finish_copy(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    napi_typedarray_type type = napi_uint8_array;
    char* memory = nullptr;
    int64_t bytes = 0;
    if (!view_of(env, arguments.value[0], &type, &memory, &bytes)) return nullptr;
    auto& fillings = Environment::of(env)->fillings();
    const auto found =
        std::find_if(fillings.begin(), fillings.end(), [&](const auto& filling) { return filling.memory == memory; });
    if (found == fillings.end()) return nullptr;
    found->copying->finish();
    napi_delete_reference(env, found->source);
    fillings.erase(found);
    return nullptr;
  });
}

/// handOut(array): an array of the same contents, type and length for the caller, in a buffer of its own. The room's memory
/// serves again once that buffer is collected. Undefined where the runtime takes no external buffers.
napi_value hand_out(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    const Owner* const owner = owner_of(env, arguments.value[0]);
    napi_typedarray_type type = napi_uint8_array;
    size_t numbers = 0, offset = 0;
    char* data = nullptr;
    void* memory = nullptr;
    int64_t bytes = 0;
    napi_value buffer = nullptr;
    if (owner == nullptr || *owner == nullptr || !view_of(env, arguments.value[0], &type, &data, &bytes) ||
        napi_get_typedarray_info(env, arguments.value[0], &type, &numbers, &memory, &buffer, &offset) != napi_ok) {
      return nullptr;
    }
    return array_on(env, *owner, type, static_cast<int64_t>(numbers), bytes, false);
  });
}

/// settleRoom(array): from here on, calls copy what was handed out as they copy any other array.
napi_value settle_room(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    const Owner* const owner = owner_of(env, arguments.value[0]);
    if (owner != nullptr && *owner != nullptr) (*owner)->session->settle_lent(**owner);
    return nullptr;
  });
}

/// giveBack(array): detaches a room, so that its memory is free as soon as nobody else uses it. The buffer's finalizer
/// would come only in a later turn of the event loop.
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
  add("lendRoom", lend_room);
  add("beginCopy", begin_copy);
  add("finishCopy", finish_copy);
  add("handOut", hand_out);
  add("settleRoom", settle_room);
  add("giveBack", give_back);
  add("provideLent", provide_lent);
}

}  // namespace warploom
