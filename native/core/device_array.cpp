#include "native/core/device_array.h"

#include <cstring>
#include <utility>

#include "native/core/js.h"
#include "native/core/moving_job.h"
#include "native/core/traffic.h"

namespace warploom {
namespace {

/// Gives an array its memory and its first contents.
class AllocateJob final : public MovingJob {
 public:
  HostSide source;
  bool has_source = false;
  bool borrows() const override { return source.direct && source.shared; }

 protected:
  Status work(Session& session, Device& device) override { return noted(MovingJob::work(session, device)); }
  Status end_work(Session& session, Device& device) override { return noted(MovingJob::end_work(session, device)); }
  Status move(Session& session, Device& device) override {
    if (array->bytes == 0 || !has_source) return array->prepare(device);
    return upload(session, device, source, 0, array->bytes);
  }

 private:
  /// Nothing may read what did not arrive.
  Status noted(Status status) {
    if (!status.ok()) array->refuse(status);
    return status;
  }
};

/// Copies between an array on the device, starting at element `offset`, and a typed array.
class TransferJob final : public MovingJob {
 public:
  int64_t offset_bytes = 0;
  TypedArray host;
  HostSide side;
  std::unique_ptr<Populating> populating;  // for the target, if the library made it
  bool down = false;
  bool borrows() const override { return (side.direct && side.shared) || side.owned; }

 protected:
  Status move(Session& session, Device& device) override {
    if (host.bytes == 0) return {};
    if (!down) return upload(session, device, side, offset_bytes, host.bytes);
    WARPLOOM_TRY(array->prepare_download(device));
    const char* const from = array->memory() + offset_bytes;
    if (side.block != nullptr) return side.block->download(device, from);
    if (side.pinned != nullptr && session.submission() != nullptr) {
      return session.submission()->download_later(side.memory, from, host.bytes);
    }
    return device.download(side.memory, from, host.bytes);
  }
  Status arrived() override {
    if (side.block != nullptr) {
      side.block->learn();
      // The JavaScript thread, which is to settle the call, may be waiting for this memory in the next one.
      if (!down) side.block->drop_all();
    }
    populating.reset();
    if (side.owned && host.bytes > 0) write(host.data);
    return {};
  }
  Failure finish(napi_env env, napi_value kept, napi_value* result) override {
    napi_get_undefined(env, result);
    if (!down) return {};
    napi_value target = nullptr;
    napi_get_element(env, kept, 1, &target);
    *result = target;
    if (side.direct || side.owned) return {};
    char* const memory = same_memory(env, target, host.data, host.bytes);
    if (memory == nullptr) {
      return Failure::invalid("target", "the array as it was given",
                              "an array that was detached or resized during the call");
    }
    write(memory);
    Traffic::get().settling += host.bytes;
    return {};
  }
  void forget(Environment& environment) override {
    if (down) environment.remove_output({host.data, host.data + host.bytes});
  }

 private:
  void write(char* memory) const {
    std::vector<HostCopy> copies;
    side.block->copy_back({memory, 0, host.bytes}, &copies);
    copy_all(copies);
    Traffic::get().returned += host.bytes;
  }
};

class CopyJob final : public Job {
 public:
  std::shared_ptr<ArrayMemory> to, from;

 protected:
  Status work(Session&, Device& device) override {
    if (to->bytes == 0) return {};
    WARPLOOM_TRY(from->prepare(device));
    WARPLOOM_TRY(to->prepare(device));
    WARPLOOM_TRY(device.copy(to->memory(), from->memory(), to->bytes));
    return device.synchronize();
  }
};

/// [progress function or undefined, the value a job needs when it settles].
napi_value keep(napi_env env, napi_value value) {
  napi_value kept = nullptr;
  napi_create_array_with_length(env, 2, &kept);
  napi_set_element(env, kept, 1, value);
  return kept;
}

// Transfers this small are copied before another thread could wake up.
constexpr int64_t kSmallTransfer = int64_t{64} << 10;

/// Queues a job, or runs it here if it moves only a few `bytes`. Fills its block before or after that, whichever is
/// faster.
napi_value launch(napi_env env, Session& session, std::unique_ptr<Job> job, napi_value kept,
                  const HostSide* source, const TypedArray* array, int64_t bytes) {
  const napi_value promise = job->begin(env, kept);
  const std::shared_ptr<HostBlock> block = source != nullptr ? source->block : nullptr;
  const std::vector<BlockCopy> copies =
      block != nullptr ? std::vector<BlockCopy>{{array->data, 0, array->bytes}} : std::vector<BlockCopy>();
  const bool overlap = block != nullptr && block->worth_overlapping();
  // upload() sees a failure.
  if (block != nullptr && !overlap) (void)block->fill(copies);
  Job::dispatch(env, session, std::move(job), bytes <= kSmallTransfer ? JobSize::small : JobSize::large);
  if (overlap) (void)block->fill(copies);
  return promise;
}

struct MadeArray {
  ElementType type = ElementType::float64;
  int64_t length = 0;
  std::shared_ptr<ArrayMemory> memory;
  double id = 0;
};

DeviceArray* array_of(napi_env env, napi_value id) {
  double number = 0;
  if (napi_get_value_double(env, id, &number) != napi_ok) return nullptr;
  return Environment::of(env)->find_array(number);
}

Failure find(napi_env env, napi_value id, const char* name, DeviceArray** out) {
  *out = array_of(env, id);
  if (*out == nullptr || (*out)->memory() == nullptr) return Failure::disposed("the device array", name);
  return (*out)->memory()->session->admit();
}

Failure check_fit(const DeviceArray& array, const TypedArray& host, int64_t offset, const char* name) {
  const int64_t per_element = numbers_per_element(array.type());
  if (host.numbers % per_element != 0) {
    return Failure::invalid(name, "pairs of real and imaginary parts",
                            "an odd length, " + std::to_string(host.numbers));
  }
  const int64_t length = host.numbers / per_element;
  if (length > array.length() - offset) {
    return Failure::invalid(name, "at most " + std::to_string(array.length() - offset) + " elements",
                            std::to_string(length));
  }
  return {};
}

/// upload(array, source, offset, id) and download(array, target, offset, id, owned).
template <bool kDown>
napi_value transfer(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<5> arguments(env, info);
    const char* const name = kDown ? "target" : "source";
    DeviceArray* array = nullptr;
    auto job = std::make_unique<TransferJob>();
    int64_t offset = 0, id = 0;
    Failure failure = find(env, arguments.value[0], "array", &array);
    if (!failure) {
      failure = js::read_integer(env, "offset", arguments.value[2], 0, array->length(), &offset);
    }
    if (!failure) failure = js::read_integer(env, "id", arguments.value[3], 0, js::kLargestSafeInteger, &id);
    if (!failure) failure = read_typed_array(env, name, arguments.value[1], array->type(), &job->host);
    if (!failure) failure = check_fit(*array, job->host, offset, name);
    const char* const begin = job->host.data;
    const char* const end = begin + job->host.bytes;
    Environment* const environment = Environment::of(env);
    if (!failure && environment->in_flight(begin, end)) {
      failure = Failure::invalid(name, "an array no pending call writes to", "an output in flight");
    }
    if (failure) return js::rejected(env, failure);
    job->array = array->memory();
    bool owned = false;
    if (kDown) napi_get_value_bool(env, arguments.value[4], &owned);
    failure = HostSide::make(job->array->session, job->host, &job->side, owned);
    if (failure) return js::rejected(env, failure);
    if (job->side.owned) {
      use_large_pages(job->host.data, job->host.bytes);
      job->populating = Populating::begin({{job->host.data, job->host.bytes}});
    }
    job->offset_bytes = offset * element_bytes(array->type());
    job->down = kDown;
    job->set_id(static_cast<double>(id));
    if (kDown) environment->add_output({begin, end});
    Session& session = *array->memory()->session;
    const HostSide side = job->side;
    const TypedArray host = job->host;
    return launch(env, session, std::move(job), keep(env, arguments.value[1]), kDown ? nullptr : &side, &host, host.bytes);
  });
}

/// copy(to, from, id): device arrays of one type, length and device.
napi_value copy(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<3> arguments(env, info);
    DeviceArray *to = nullptr, *from = nullptr;
    int64_t id = 0;
    Failure failure = find(env, arguments.value[0], "to", &to);
    if (!failure) failure = find(env, arguments.value[1], "from", &from);
    if (!failure) failure = js::read_integer(env, "id", arguments.value[2], 0, js::kLargestSafeInteger, &id);
    if (!failure && from->memory()->session != to->memory()->session) {
      failure = Failure::invalid("from", "an array of the same device", "an array of another device");
    }
    if (!failure && (from->type() != to->type() || from->length() != to->length())) {
      failure = Failure::invalid("from", to->description(), from->description());
    }
    if (failure) return js::rejected(env, failure);
    auto job = std::make_unique<CopyJob>();
    job->to = to->memory();
    job->from = from->memory();
    job->set_id(static_cast<double>(id));
    return launch(env, *to->memory()->session, std::move(job), nullptr, nullptr, nullptr, to->bytes());
  });
}

napi_value release(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    DeviceArray* const array = array_of(env, arguments.value[0]);
    if (array != nullptr) array->release(env, *Environment::of(env));
    return nullptr;
  });
}

Failure make_array(napi_env env, const std::shared_ptr<Session>& session, const ArrayRequest& request, bool zeroed,
                   MadeArray* out) {
  int64_t type = 0, length = 0;
  Failure failure = session->admit();
  if (!failure) failure = js::read_integer(env, "type", request.type, 0, kElementTypes - 1, &type);
  if (!failure) {
    failure = js::read_integer(env, "length", request.length, 0, js::kLargestSafeInteger / 16, &length);
  }
  if (!failure && js::type_of(env, request.target) != napi_object) {
    failure = Failure::invalid("target", "an object", js::describe(env, request.target));
  }
  if (failure) return failure;
  out->type = static_cast<ElementType>(type);
  out->length = length;
  out->memory = std::make_shared<ArrayMemory>(session, length * element_bytes(out->type), zeroed);
  return DeviceArray::attach(env, request.target,
                             std::make_unique<DeviceArray>(out->type, length, out->memory), &out->id);
}

}  // namespace

std::string DeviceArray::description() const {
  return std::string("a device array of ") + type_name(type_) + ", length " + std::to_string(length_);
}

Failure DeviceArray::attach(napi_env env, napi_value target, std::unique_ptr<DeviceArray> array, double* id) {
  struct Tie {
    std::shared_ptr<Environment> environment;
    double id;
    std::unique_ptr<DeviceArray> array;
  };
  const std::shared_ptr<Environment> environment = Environment::of(env)->shared_from_this();
  auto tie = std::make_unique<Tie>(Tie{environment, environment->add_array(array.get()), std::move(array)});
  const auto finalize = [](napi_env finalizing, void* data, void*) {
    const std::unique_ptr<Tie> owner(static_cast<Tie*>(data));
    owner->environment->remove_array(owner->id);
    owner->array->release(finalizing, *owner->environment);
  };
  if (napi_wrap(env, target, tie.get(), finalize, nullptr, nullptr) != napi_ok) {
    environment->remove_array(tie->id);
    return Failure::invalid("target", "an object without an array", "one that has been used before");
  }
  tie->array->told_bytes_ = tie->array->memory_->session->told_bytes(tie->array->bytes());
  environment->tell_collector(env, tie->array->told_bytes_);
  *id = tie->id;
  tie.release();
  return {};
}

void DeviceArray::release(napi_env env, Environment& environment) {
  if (memory_ == nullptr) return;
  memory_.reset();
  environment.tell_collector(env, -told_bytes_);
}

napi_value allocate_array(napi_env env, const std::shared_ptr<Session>& session, const ArrayRequest& request,
                          napi_value source, napi_value id_value) {
  auto job = std::make_unique<AllocateJob>();
  job->has_source = !js::is_absent(env, source);
  int64_t id = 0;
  MadeArray made;
  TypedArray host;
  Failure failure = js::read_integer(env, "id", id_value, 0, js::kLargestSafeInteger, &id);
  if (!failure) failure = make_array(env, session, request, !job->has_source, &made);
  if (!failure && job->has_source) {
    failure = read_typed_array(env, "source", source, made.type, &host);
    if (!failure && host.numbers != made.length * numbers_per_element(made.type)) {
      failure = Failure::invalid("source", std::to_string(made.length) + " elements", js::describe(env, source));
    }
    if (!failure && Environment::of(env)->in_flight(host.data, host.data + host.bytes)) {
      failure = Failure::invalid("source", "an array no pending call writes to", "an output in flight");
    }
    if (!failure) failure = HostSide::make(session, host, &job->source);
  }
  if (failure) {
    if (made.id != 0) Environment::of(env)->find_array(made.id)->release(env, *Environment::of(env));
    throw_error(env, failure);
    return nullptr;
  }
  job->array = std::move(made.memory);
  job->set_id(static_cast<double>(id));
  const HostSide side = job->source;
  napi_value kept = keep(env, request.target);
  if (side.direct && job->has_source) napi_set_element(env, kept, 2, source);
  napi_value result = nullptr;
  napi_create_array_with_length(env, 2, &result);
  napi_set_element(env, result, 0, js::number(env, made.id));
  napi_set_element(env, result, 1, launch(env, *session, std::move(job), kept, &side, &host, made.length * element_bytes(made.type)));
  return result;
}

napi_value reserve_array(napi_env env, const std::shared_ptr<Session>& session, const ArrayRequest& request,
                         bool zeroed) {
  MadeArray made;
  const Failure failure = make_array(env, session, request, zeroed, &made);
  if (!failure) return js::number(env, made.id);
  throw_error(env, failure);
  return nullptr;
}

void register_arrays(napi_env env, napi_value exports) {
  const auto add = [&](const char* name, napi_callback callback) {
    napi_value function = nullptr;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
    js::set(env, exports, name, function);
  };
  add("upload", transfer<false>);
  add("download", transfer<true>);
  add("copy", copy);
  add("release", release);
}

}  // namespace warploom
