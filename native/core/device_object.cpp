#include "native/core/device_object.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "native/core/backends.h"
#include "native/core/call.h"
#include "native/core/describe.h"
#include "native/core/device_array.h"
#include "native/core/environment.h"
#include "native/core/js.h"
#include "native/core/operation.h"

namespace warploom {

Failure session_of(napi_env env, napi_value id, std::shared_ptr<Session>* out) {
  double number = 0;
  if (napi_get_value_double(env, id, &number) == napi_ok) *out = Environment::of(env)->find_session(number);
  return *out == nullptr ? Failure::disposed("the device") : Failure();
}

namespace {

/// Ties the session's lifetime to `target`'s. Returns its number, or 0.
double tie_session(napi_env env, napi_value target, const std::shared_ptr<Session>& session) {
  struct Tie {
    std::shared_ptr<Environment> environment;
    double id;
  };
  const std::shared_ptr<Environment> environment = Environment::of(env)->shared_from_this();
  const auto finalize = [](napi_env, void* data, void*) {
    const std::unique_ptr<Tie> tie(static_cast<Tie*>(data));
    tie->environment->remove_session(tie->id);
  };
  auto tie = std::make_unique<Tie>(Tie{environment, environment->add_session(session)});
  if (napi_wrap(env, target, tie.get(), finalize, nullptr, nullptr) != napi_ok) {
    environment->remove_session(tie->id);
    return 0;
  }
  return tie.release()->id;
}

class OpenJob final : public Job {
 public:
  explicit OpenJob(std::shared_ptr<double> id) : id_(std::move(id)) {}

 protected:
  Status work(Session&, Device&) override { return {}; }
  Failure finish(napi_env env, napi_value, napi_value* result) override {
    opened_ = true;
    napi_get_undefined(env, result);
    return {};
  }
  void forget(Environment& environment) override {
    if (!opened_) environment.remove_session(*id_);  // its thread need not wait for the garbage collector
  }

 private:
  const std::shared_ptr<double> id_;  // set after the thread has started, before this job settles
  bool opened_ = false;
};

class TrimJob final : public Job {
 protected:
  Status work(Session& session, Device& device) override {
    session.staging().trim(&device);
    device.trim();
    return {};
  }
};

class CloseJob final : public Job {
 public:
  bool closes() const override { return true; }

 protected:
  Status work(Session& session, Device&) override {
    session.release_all();
    return {};
  }
};

napi_value describe_device(napi_env env, const Backend& backend, int32_t index) {
  const DeviceDescription description = backend.describe(index);
  napi_value object = nullptr;
  napi_create_object(env, &object);
  js::set(env, object, "backend", js::string(env, backend.name));
  js::set(env, object, "index", js::number(env, index));
  js::set(env, object, "available", js::boolean(env, description.available));
  js::set(env, object, "reason", js::string(env, description.reason));
  js::set(env, object, "name", js::string(env, description.name));
  js::set(env, object, "memoryBytes", js::number(env, static_cast<double>(description.memory_bytes)));
  js::set(env, object, "computeCapability", js::number(env, description.compute_capability));
  js::set(env, object, "multiprocessors", js::number(env, description.multiprocessors));
  js::set(env, object, "l2Bytes", js::number(env, static_cast<double>(description.l2_bytes)));
  js::set(env, object, "driver", js::string(env, description.driver));
  return object;
}

/// devices(): every device of every backend. A backend without devices has one entry with the reason.
napi_value devices(napi_env env, napi_callback_info) {
  return js::guarded(env, [&]() -> napi_value {
    napi_value list = nullptr;
    uint32_t count = 0;
    napi_create_array(env, &list);
    for (const Backend* const backend : all_backends()) {
      const int32_t own = backend->count();
      for (int32_t index = 0; index < (own > 0 ? own : 1); ++index) {
        napi_set_element(env, list, count++, describe_device(env, *backend, index));
      }
    }
    return list;
  });
}

napi_value operations(napi_env env, napi_callback_info) {
  return js::guarded(env, [&]() -> napi_value {
    napi_value global = nullptr, parsed = nullptr;
    napi_get_global(env, &global);
    const napi_value json = js::property(env, global, "JSON"), text = js::string(env, describe_operations());
    if (json != nullptr) napi_call_function(env, json, js::property(env, json, "parse"), 1, &text, &parsed);
    return parsed;
  });
}

Failure read_open_options(napi_env env, napi_value object, OpenOptions* options, int64_t* queue_limit) {
  int64_t threads = 0;
  const struct {
    const char* name;
    int64_t low, high;
    int64_t* out;
  } fields[] = {{"memoryLimit", 0, js::kLargestSafeInteger, &options->memory_limit_bytes},
                {"threads", 0, 4096, &threads},
                {"queueLimit", 1, 1 << 20, queue_limit}};
  for (const auto& field : fields) {
    const napi_value value = js::property(env, object, field.name);
    if (value == nullptr || js::type_of(env, value) == napi_undefined) continue;
    const Failure failure = js::read_integer(env, field.name, value, field.low, field.high, field.out);
    if (failure) return failure;
  }
  options->threads = static_cast<int32_t>(threads);
  return {};
}

/// open(target, backend, index, { memoryLimit, threads, queueLimit }): [number, promise that it is open]. The device
/// accepts calls at once; they are refused if opening fails. close() closes it, and so does the collection of `target`.
napi_value open(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<4> arguments(env, info);
    const Backend* const backend = find_backend(js::short_text(env, arguments.value[1]));
    int64_t index = 0, queue_limit = 1024;
    OpenOptions options;
    Failure failure;
    if (backend == nullptr) {
      failure = Failure::invalid("backend", "'cpu', 'cuda' or 'simt'", js::describe(env, arguments.value[1]));
    }
    if (!failure) failure = js::read_integer(env, "index", arguments.value[2], 0, INT32_MAX, &index);
    if (!failure && js::type_of(env, arguments.value[3]) == napi_object) {
      failure = read_open_options(env, arguments.value[3], &options, &queue_limit);
    }
    const auto id = std::make_shared<double>(0);
    napi_value opened = nullptr;
    if (!failure) {
      auto job = std::make_unique<OpenJob>(id);
      napi_value kept = nullptr;  // keeps the device from being collected while it is being opened
      napi_create_array(env, &kept);
      napi_set_element(env, kept, 0, arguments.value[0]);
      opened = job->begin(env, kept);
      *id = tie_session(env, arguments.value[0],
                       Session::open(*backend, static_cast<int32_t>(index), options, queue_limit, std::move(job)));
      if (*id == 0) failure = Failure::internal("cannot tie the device to its object");
    }
    if (failure) {
      throw_error(env, failure);
      return nullptr;
    }
    napi_value result = nullptr;
    napi_create_array_with_length(env, 2, &result);
    napi_set_element(env, result, 0, js::number(env, *id));
    napi_set_element(env, result, 1, opened);
    return result;
  });
}

/// allocate(device, target, type's number, length, source, id).
napi_value allocate(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<6> arguments(env, info);
    std::shared_ptr<Session> session;
    const Failure failure = session_of(env, arguments.value[0], &session);
    if (failure) {
      throw_error(env, failure);
      return nullptr;
    }
    const napi_value* const value = arguments.value;
    return allocate_array(env, session, {value[1], value[2], value[3]}, value[4], value[5]);
  });
}

/// reserve(device, target, type's number, length, zeroed): the array's number at once.
napi_value reserve(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<5> arguments(env, info);
    std::shared_ptr<Session> session;
    const Failure failure = session_of(env, arguments.value[0], &session);
    if (failure) {
      throw_error(env, failure);
      return nullptr;
    }
    const napi_value* const value = arguments.value;
    bool zeroed = false;
    napi_get_value_bool(env, value[4], &zeroed);
    return reserve_array(env, session, {value[1], value[2], value[3]}, zeroed);
  });
}

napi_value pinned(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<3> arguments(env, info);
    std::shared_ptr<Session> session;
    const Failure failure = session_of(env, arguments.value[0], &session);
    if (failure) return js::rejected(env, failure);
    return allocate_pinned(env, session, arguments.value[1], arguments.value[2]);
  });
}

constexpr size_t kMaxValues = 64;
constexpr size_t kFixedArguments = 4;

/// Arguments of run and workspace: device, operation's number, id, onProgress, then the packed values.
struct CallArguments {
  napi_value value[kFixedArguments + kMaxValues] = {};
  size_t count = kFixedArguments + kMaxValues;

  CallArguments(napi_env env, napi_callback_info info) {
    napi_get_cb_info(env, info, &count, value, nullptr, nullptr);
  }
  Failure prepare(napi_env env, std::unique_ptr<Call>* out) const {
    std::shared_ptr<Session> session;
    Failure failure = session_of(env, value[0], &session);
    if (!failure) failure = session->admit();
    if (failure) return failure;
    uint32_t number = UINT32_MAX;
    napi_get_value_uint32(env, value[1], &number);
    const OperationEntry* const operation = find_operation(number);
    if (operation == nullptr) return Failure::invalid("operation", "an operation", js::describe(env, value[1]));
    auto call = std::make_unique<Call>(*operation, std::move(session));
    const size_t values = count > kFixedArguments ? count - kFixedArguments : 0;
    const PackedParameters packed{Environment::of(env)->numbers(), value + kFixedArguments,
                                  values < kMaxValues ? values : kMaxValues};
    failure = call->read(env, packed);
    if (!failure) *out = std::move(call);
    return failure;
  }
};

/// run(device, operation, id, onProgress, ...values): promise of the seconds on the device.
napi_value run(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const CallArguments arguments(env, info);
    std::unique_ptr<Call> call;
    Failure failure = arguments.prepare(env, &call);
    if (!failure) failure = call->reserve_workspace();
    if (failure) return js::rejected(env, failure);
    double id = 0;
    napi_get_value_double(env, arguments.value[2], &id);
    call->set_id(id);
    return Call::launch(env, std::move(call), arguments.value[3]);
  });
}

/// workspace(device, operation, 0, undefined, ...values): bytes.
napi_value workspace(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const CallArguments arguments(env, info);
    std::unique_ptr<Call> call;
    Failure failure = arguments.prepare(env, &call);
    if (!failure && !call->on_open_device()) failure = Failure::internal("the device is not open yet");
    if (failure) {
      throw_error(env, failure);
      return nullptr;
    }
    return js::number(env, static_cast<double>(call->workspace_bytes()));
  });
}

napi_value memory(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    std::shared_ptr<Session> session;
    const Failure failure = session_of(env, arguments.value[0], &session);
    if (failure) {
      throw_error(env, failure);
      return nullptr;
    }
    const MemoryUse use = session->is_open() ? session->device().memory_use() : MemoryUse();
    napi_value object = nullptr;
    napi_create_object(env, &object);
    js::set(env, object, "inUseBytes", js::number(env, static_cast<double>(use.in_use_bytes)));
    js::set(env, object, "pooledBytes", js::number(env, static_cast<double>(use.pooled_bytes + session->staging().free_bytes())));
    const int64_t peak = std::max(use.peak_bytes, session->staging().peak_bytes());
    js::set(env, object, "peakBytes", js::number(env, static_cast<double>(peak)));
    js::set(env, object, "limitBytes", js::number(env, static_cast<double>(use.limit_bytes)));
    return object;
  });
}

napi_value trim(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    std::shared_ptr<Session> session;
    Failure failure = session_of(env, arguments.value[0], &session);
    if (!failure) failure = session->admit();
    if (failure) return js::rejected(env, failure);
    auto job = std::make_unique<TrimJob>();
    const napi_value promise = job->begin(env, nullptr);
    session->post(std::move(job));
    return promise;
  });
}

/// cancel(device, id): ends the call with that id early, if it has not settled. A device that is closing waits for its
/// calls.
napi_value cancel(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<2> arguments(env, info);
    double device = 0, id = 0;
    if (napi_get_value_double(env, arguments.value[0], &device) != napi_ok ||
        napi_get_value_double(env, arguments.value[1], &id) != napi_ok) {
      return nullptr;
    }
    const std::shared_ptr<Session> session = Environment::of(env)->find_pending_session(device);
    if (session != nullptr) session->cancel(id);
    return nullptr;
  });
}

/// close(device): promise. Queued calls finish first; the number becomes invalid at once.
napi_value close(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    std::shared_ptr<Session> session;
    const Failure failure = session_of(env, arguments.value[0], &session);
    if (failure) return js::rejected(env, failure);
    auto job = std::make_unique<CloseJob>();
    const napi_value promise = job->begin(env, nullptr);
    session->close(std::move(job));
    double id = 0;
    napi_get_value_double(env, arguments.value[0], &id);
    Environment::of(env)->remove_session(id);
    return promise;
  });
}

}  // namespace

void register_devices(napi_env env, napi_value exports) {
  const struct {
    const char* name;
    napi_callback callback;
  } functions[] = {{"devices", devices},     {"operations", operations}, {"open", open},
                   {"allocate", allocate},   {"reserve", reserve},       {"pinned", pinned},
                   {"run", run},
                   {"workspace", workspace}, {"memory", memory},         {"trim", trim},
                   {"cancel", cancel},       {"close", close}};
  for (const auto& each : functions) {
    napi_value function = nullptr;
    napi_create_function(env, each.name, NAPI_AUTO_LENGTH, each.callback, nullptr, &function);
    js::set(env, exports, each.name, function);
  }
}

}  // namespace warploom
