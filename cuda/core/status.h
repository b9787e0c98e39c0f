// What every native function that can fail returns. No exception leaves a function of this project.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

namespace warploom {

/// Stable failure classes. lib/core/errors.ts maps each to an error class and an ERR_WARPLOOM_… code.
enum class Code : int32_t {
  ok = 0,
  invalid_argument = 1,  ///< an argument is out of range or inconsistent; `argument` names it
  out_of_memory = 2,     ///< carries requested, in_use and limit in bytes
  device_lost = 3,       ///< a sticky device fault; the device refuses every later call
  not_compiled = 4,      ///< the build has no code for this backend
  unavailable = 5,       ///< compiled, but cannot run here (no driver, no device)
  cancelled = 6,         ///< the caller's AbortSignal fired
  unsupported = 7,       ///< valid arguments that this backend or algorithm does not support
  internal = 8,          ///< a defect of this library
};

/// Outcome of a call: `Code::ok`, or what failed and what to do about it.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, std::string argument = {})
      : code_(code), message_(std::move(message)), argument_(std::move(argument)) {}

  static Status out_of_memory(int64_t requested, int64_t in_use, int64_t limit) {
    Status status(Code::out_of_memory, "not enough device memory");
    status.requested_bytes = requested;
    status.in_use_bytes = in_use;
    status.limit_bytes = limit;
    return status;
  }

  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  /// Name of the offending argument as the TypeScript caller spells it; empty if there is none.
  const std::string& argument() const { return argument_; }

  int64_t requested_bytes = 0;
  int64_t in_use_bytes = 0;
  int64_t limit_bytes = 0;

 private:
  Code code_ = Code::ok;
  std::string message_;
  std::string argument_;
};

}  // namespace warploom

/// Returns from the enclosing function if `expression` is a failed Status.
#define WARPLOOM_TRY(expression)                      \
  do {                                                \
    ::warploom::Status try_status_ = (expression);    \
    if (!try_status_.ok()) return try_status_;        \
  } while (0)
