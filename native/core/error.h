// Failures as JavaScript sees them: a stable code, the offending argument, what was expected.
#pragma once
#include <cstdint>
#include <string>

#include "cuda/core/status.h"
#include "native/core/napi_setup.h"

namespace warploom {

/// What made a call fail; `code` is null if nothing did. lib/core/errors.ts maps codes to classes.
struct Failure {
  const char* code = nullptr;
  std::string message;
  std::string argument;  ///< as the TypeScript caller spells it; empty if none is to blame
  std::string expected;
  std::string received;
  int64_t requested_bytes = 0;
  int64_t in_use_bytes = 0;
  int64_t limit_bytes = 0;

  explicit operator bool() const { return code != nullptr; }

  static Failure from(const Status& status);
  static Failure invalid(std::string argument, std::string expected, std::string received);
  /// `what` was released or closed: "the device array", "the device".
  static Failure disposed(std::string what, std::string argument = {});
  static Failure queue_full(int64_t limit);
  /// A call of `requested` bytes does not fit next to the `queued` bytes of calls in flight and of arrays.
  static Failure queue_full_bytes(int64_t requested, int64_t queued, int64_t limit);
  static Failure cancelled();
  static Failure lost();
  static Failure internal(std::string message);
};

/// An Error object with the failure's fields as properties.
napi_value make_error(napi_env env, const Failure& failure);
/// Throws it in the current callback.
void throw_error(napi_env env, const Failure& failure);

}  // namespace warploom
