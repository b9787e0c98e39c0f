#include "native/core/error.h"

#include <utility>

namespace warploom {
namespace {

const char* code_name(Code code) {
  switch (code) {
    case Code::ok: return nullptr;
    case Code::invalid_argument: return "ERR_WARPLOOM_INVALID_ARGUMENT";
    case Code::out_of_memory: return "ERR_WARPLOOM_OUT_OF_MEMORY";
    case Code::device_lost: return "ERR_WARPLOOM_DEVICE_LOST";
    case Code::not_compiled: return "ERR_WARPLOOM_NOT_COMPILED";
    case Code::unavailable: return "ERR_WARPLOOM_UNAVAILABLE";
    case Code::cancelled: return "ERR_WARPLOOM_CANCELLED";
    case Code::unsupported: return "ERR_WARPLOOM_UNSUPPORTED";
    case Code::internal: break;
  }
  return "ERR_WARPLOOM_INTERNAL";
}

napi_value text(napi_env env, const std::string& value) {
  napi_value result = nullptr;
  napi_create_string_utf8(env, value.data(), value.size(), &result);
  return result;
}

void set_text(napi_env env, napi_value error, const char* name, const std::string& value) {
  if (!value.empty()) napi_set_named_property(env, error, name, text(env, value));
}

void set_number(napi_env env, napi_value error, const char* name, int64_t value) {
  napi_value number = nullptr;
  napi_create_double(env, static_cast<double>(value), &number);
  napi_set_named_property(env, error, name, number);
}

}  // namespace

Failure Failure::from(const Status& status) {
  Failure failure;
  failure.code = code_name(status.code());
  failure.message = status.message();
  failure.argument = status.argument();
  failure.requested_bytes = status.requested_bytes;
  failure.in_use_bytes = status.in_use_bytes;
  failure.limit_bytes = status.limit_bytes;
  return failure;
}

Failure Failure::invalid(std::string argument, std::string expected, std::string received) {
  Failure failure;
  failure.code = code_name(Code::invalid_argument);
  failure.message = "expected " + expected + ", received " + received;  // lib/core puts the name in front
  failure.argument = std::move(argument);
  failure.expected = std::move(expected);
  failure.received = std::move(received);
  return failure;
}

Failure Failure::disposed(std::string what, std::string argument) {
  Failure failure;
  failure.code = "ERR_WARPLOOM_DISPOSED";
  failure.message = what + " was released; open or create a new one";
  failure.argument = std::move(argument);
  return failure;
}

Failure Failure::queue_full(int64_t limit) {
  Failure failure;
  failure.code = "ERR_WARPLOOM_QUEUE_FULL";
  failure.message = "the device already has " + std::to_string(limit) +
                    " calls waiting; await some of them, or open it with a larger queueLimit";
  return failure;
}

Failure Failure::queue_full_bytes(int64_t requested, int64_t queued, int64_t limit) {
  Failure failure;
  failure.code = "ERR_WARPLOOM_QUEUE_FULL";
  failure.message = "the arrays of the calls in flight fill the device's memory limit: " + std::to_string(requested) +
                    " bytes requested, " + std::to_string(queued) + " queued, limit " + std::to_string(limit) +
                    "; await some of the calls, or open the device with a larger memoryLimit";
  failure.requested_bytes = requested;
  failure.in_use_bytes = queued;
  failure.limit_bytes = limit;
  return failure;
}

Failure Failure::cancelled() {
  return from(Status(Code::cancelled, "the call was cancelled"));
}

Failure Failure::lost() {
  return from(Status(Code::device_lost,
                     "an earlier fault made the device unusable; restart the process to use it again"));
}

Failure Failure::internal(std::string message) {
  return from(Status(Code::internal, std::move(message)));
}

napi_value make_error(napi_env env, const Failure& failure) {
  napi_value error = nullptr;
  napi_create_error(env, text(env, failure.code), text(env, failure.message), &error);
  set_text(env, error, "argument", failure.argument);
  set_text(env, error, "expected", failure.expected);
  set_text(env, error, "received", failure.received);
  if (failure.requested_bytes != 0 || failure.limit_bytes != 0) {
    set_number(env, error, "requestedBytes", failure.requested_bytes);
    set_number(env, error, "inUseBytes", failure.in_use_bytes);
    set_number(env, error, "limitBytes", failure.limit_bytes);
  }
  return error;
}

void throw_error(napi_env env, const Failure& failure) { napi_throw(env, make_error(env, failure)); }

}  // namespace warploom
