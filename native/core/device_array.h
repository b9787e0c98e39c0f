// Arrays in device memory, shared by their JavaScript object and the calls that use them.
#pragma once
#include <cstdint>
#include <memory>

#include "native/core/array_memory.h"
#include "native/core/session.h"
#include "native/core/typed_array.h"

namespace warploom {

class Environment;

/// An array that JavaScript holds by number (lib/core/device-array.ts).
class DeviceArray {
 public:
  DeviceArray(ElementType type, int64_t length, std::shared_ptr<ArrayMemory> memory)
      : type_(type), length_(length), memory_(std::move(memory)) {}

  ElementType type() const { return type_; }
  int64_t length() const { return length_; }
  int64_t bytes() const { return length_ * element_bytes(type_); }
  /// "a device array of float64, length 3".
  std::string description() const;
  /// Null once released.
  const std::shared_ptr<ArrayMemory>& memory() const { return memory_; }

  /// Ties the array's lifetime to `target`'s, and reports its size to the garbage collector.
  static Failure attach(napi_env env, napi_value target, std::unique_ptr<DeviceArray> array, double* id);
  void release(napi_env env, Environment& environment);

 private:
  ElementType type_;
  int64_t length_;
  int64_t told_bytes_ = 0;  // reported to the garbage collector
  std::shared_ptr<ArrayMemory> memory_;
};

/// A new array as JavaScript requests it.
struct ArrayRequest {
  napi_value target;  ///< the object whose lifetime limits the array's
  napi_value type;    ///< number of an ElementType
  napi_value length;
};
/// Returns [the array's number, a promise that it has its memory and contents]: zeros where `source` is absent. Calls
/// may use the array at once; they fail if the promise does. `id`: number by which to cancel it.
napi_value allocate_array(napi_env env, const std::shared_ptr<Session>& session, const ArrayRequest& request,
                          napi_value source, napi_value id);
/// Returns the number of a new array, which gets its memory at its first use; that use fails if there is none.
napi_value reserve_array(napi_env env, const std::shared_ptr<Session>& session, const ArrayRequest& request,
                         bool zeroed);
/// Returns a promise of a zeroed typed array on page-locked memory.
napi_value allocate_pinned(napi_env env, const std::shared_ptr<Session>& session, napi_value type,
                           napi_value length);
/// Adds upload, download, copy and release to the addon's exports.
void register_arrays(napi_env env, napi_value exports);

}  // namespace warploom
