#include "native/core/module_object.h"

#include <cstring>
#include <utility>

#include "native/core/device_array.h"
#include "native/core/environment.h"
#include "native/core/job.h"
#include "native/core/js.h"
#include "native/core/module_code.h"
#include "native/core/typed_array.h"

namespace warploom {

ModuleCode::~ModuleCode() {
  if (loaded.library != nullptr) session->post_unload(std::move(loaded));
}

namespace {

Status no_modules() { return {Code::unsupported, "this backend runs no modules: open a device of backend cuda, or simt"}; }

class LoadJob final : public Job {
 public:
  std::shared_ptr<ModuleCode> code;
  std::string image;
  std::vector<std::string> names;

 protected:
  Status work(Session&, Device& device) override {
    code->host = dynamic_cast<ModuleHost*>(&device);
    if (code->host == nullptr) return no_modules();
    return code->host->load(image, names, &code->loaded);
  }
  /// Resolves to [limit on a block's shared memory, then five figures per kernel].
  Failure finish(napi_env env, napi_value, napi_value* result) override {
    code->ready = true;
    const LoadedModule& loaded = code->loaded;
    napi_create_array(env, result);
    uint32_t at = 0;
    const auto add = [&](int64_t value) { napi_set_element(env, *result, at++, js::number(env, static_cast<double>(value))); };
    add(loaded.most_shared_bytes);
    for (const ModuleKernel& kernel : loaded.kernels) {
      for (const int64_t value : {int64_t{kernel.registers}, kernel.shared_bytes, kernel.local_bytes, int64_t{kernel.max_threads},
                                  kernel.parameter_bytes}) {
        add(value);
      }
    }
    return {};
  }
};

class LaunchJob final : public Job {
 public:
  std::shared_ptr<ModuleCode> code;
  std::vector<PackedLaunch> launches;
  std::vector<unsigned char> bytes;  // the parameters of all launches
  int64_t times = 1;
  bool overlaps() const override { return true; }
  Submission::Mark mark() const override { return mark_; }

 protected:
  Status work(Session& session, Device& device) override {
    if (session.submission() == nullptr) return run(device);
    return submit(*session.submission(), &mark_, [&] { return run(device); });
  }
  Status end_work(Session& session, Device&) override {
    const Status status = session.submission()->finish(mark_, &device_seconds);
    mark_ = Submission::kNone;
    return status;
  }
  Failure finish(napi_env env, napi_value, napi_value* result) override {
    *result = js::number(env, device_seconds);
    return {};
  }

 private:
  Status run(Device& device) {
    std::vector<ModuleLaunch> all;
    all.reserve(launches.size());
    for (PackedLaunch& each : launches) {
      for (const PackedLaunch::Slot& slot : each.arrays) {
        WARPLOOM_TRY(slot.array->prepare(device));
        const char* const address = slot.array->memory();
        std::memcpy(bytes.data() + slot.place, &address, sizeof(address));
      }
      all.push_back(each.launch);
      all.back().parameters = bytes.data() + each.parameters;
    }
    return code->host->launch_all(code->loaded, all, times, *this);
  }

  Submission::Mark mark_ = Submission::kNone;
};

ModuleCode* find_code(napi_env env, napi_value id) {
  double number = 0;
  if (napi_get_value_double(env, id, &number) != napi_ok) return nullptr;
  return Environment::of(env)->find_module(number).get();
}

/// Ties the module's lifetime to `target`'s; returns the module's number, or 0.
double tie_module(napi_env env, napi_value target, const std::shared_ptr<ModuleCode>& code) {
  struct Tie {
    std::shared_ptr<Environment> environment;
    double id;
  };
  const std::shared_ptr<Environment> environment = Environment::of(env)->shared_from_this();
  auto made = std::make_unique<Tie>(Tie{environment, environment->add_module(code)});
  const auto finalize = [](napi_env, void* data, void*) {
    const std::unique_ptr<Tie> owner(static_cast<Tie*>(data));
    owner->environment->remove_module(owner->id);
  };
  if (napi_wrap(env, target, made.get(), finalize, nullptr, nullptr) != napi_ok) {
    environment->remove_module(made->id);
    return 0;
  }
  return made.release()->id;
}

Failure read_names(napi_env env, napi_value list, std::vector<std::string>* out) {
  uint32_t count = 0;
  if (napi_get_array_length(env, list, &count) != napi_ok) return Failure::invalid("kernels", "a list", js::describe(env, list));
  for (uint32_t i = 0; i < count; ++i) {
    napi_value value = nullptr;
    napi_get_element(env, list, i, &value);
    const std::string name = js::short_text(env, value);
    if (name.empty()) return Failure::invalid("kernels", "names", js::describe(env, value));
    out->push_back(name);
  }
  return {};
}

/// loadModule(device, target, image, names, id) returns [number, promise of the kernels' figures].
napi_value load(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<5> arguments(env, info);
    double number = 0;
    napi_get_value_double(env, arguments.value[0], &number);
    const std::shared_ptr<Session> session = Environment::of(env)->find_session(number);
    Failure failure = session == nullptr ? Failure::disposed("the device") : session->admit();
    auto job = std::make_unique<LoadJob>();
    TypedArray image;
    int64_t id = 0;
    if (!failure) failure = read_typed_array(env, "image", arguments.value[2], ElementType::uint8, &image);
    if (!failure) failure = read_names(env, arguments.value[3], &job->names);
    if (!failure) failure = js::read_integer(env, "id", arguments.value[4], 0, js::kLargestSafeInteger, &id);
    double made = 0;
    if (!failure) {
      job->image.assign(image.data, static_cast<size_t>(image.bytes));
      job->code = std::make_shared<ModuleCode>(session);
      made = tie_module(env, arguments.value[1], job->code);
      if (made == 0) failure = Failure::internal("cannot tie the module to its object");
    }
    if (failure) {
      throw_error(env, failure);
      return nullptr;
    }
    job->set_id(static_cast<double>(id));
    napi_value kept = nullptr, result = nullptr;
    napi_create_array(env, &kept);  // the object must not be collected while the module is being loaded
    napi_set_element(env, kept, 1, arguments.value[1]);
    napi_create_array_with_length(env, 2, &result);
    napi_set_element(env, result, 0, js::number(env, made));
    napi_set_element(env, result, 1, job->begin(env, kept));
    session->post(std::move(job));
    return result;
  });
}

/// Reads the launches that JavaScript has packed. For each launch: the kernel's number, blocks, threads, bytes of shared memory,
/// 1 if it is cooperative, the offset of its parameters, and the number of arrays; for each array the offset of its address and its
/// number.
class Unpacker {
 public:
  Unpacker(const TypedArray& numbers, const TypedArray& bytes, const ModuleCode& code)
      : next_(reinterpret_cast<const double*>(numbers.data)), end_(next_ + numbers.numbers), bytes_(bytes.bytes), code_(code) {}

  /// False if the numbers are not what lib/core/module.ts writes.
  bool read(Environment& environment, std::vector<PackedLaunch>* out) {
    while (next_ != end_) {
      PackedLaunch packed;
      int64_t kernel = 0, threads = 0, cooperative = 0, begin = 0, arrays = 0;
      ModuleLaunch& launch = packed.launch;
      if (!take(static_cast<int64_t>(code_.loaded.kernels.size()) - 1, &kernel) || !take(INT32_MAX, &launch.blocks) ||
          !take(1024, &threads) || !take(INT32_MAX, &launch.shared_bytes) || !take(1, &cooperative) || !take(bytes_, &begin) ||
          !take(ModuleHost::kMostParameterBytes / 8, &arrays)) {
        return false;
      }
      const int64_t size = code_.loaded.kernels[static_cast<size_t>(kernel)].parameter_bytes;
      if (begin + size > bytes_) return false;
      launch.kernel = static_cast<int>(kernel);
      launch.threads = static_cast<int>(threads);
      launch.cooperative = cooperative != 0;
      packed.parameters = static_cast<size_t>(begin);
      for (int64_t i = 0; i < arrays; ++i) {
        int64_t place = 0, number = 0;
        if (!take(begin + size - 8, &place) || place < begin || !take(js::kLargestSafeInteger, &number)) return false;
        DeviceArray* const array = environment.find_array(static_cast<double>(number));
        if (array == nullptr || array->memory() == nullptr || array->memory()->session != code_.session) return false;
        packed.arrays.push_back({static_cast<size_t>(place), array->memory()});
      }
      out->push_back(std::move(packed));
    }
    return true;
  }

 private:
  bool take(int64_t most, int64_t* out) {
    if (next_ == end_ || !(*next_ >= 0 && *next_ <= static_cast<double>(most))) return false;
    *out = static_cast<int64_t>(*next_++);
    return true;
  }
  const double* next_;
  const double* const end_;
  const int64_t bytes_;
  const ModuleCode& code_;
};

/// launchModule(module, numbers, bytes, id, times) returns a promise of the seconds on the device.
napi_value launch(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<5> arguments(env, info);
    double number = 0;
    napi_get_value_double(env, arguments.value[0], &number);
    auto job = std::make_unique<LaunchJob>();
    job->code = Environment::of(env)->find_module(number);
    Failure failure = job->code == nullptr || !job->code->ready ? Failure::disposed("the module") : job->code->session->admit();
    TypedArray numbers, bytes;
    int64_t id = 0;
    if (!failure) failure = read_typed_array(env, "numbers", arguments.value[1], ElementType::float64, &numbers);
    if (!failure) failure = read_typed_array(env, "bytes", arguments.value[2], ElementType::uint8, &bytes);
    if (!failure) failure = js::read_integer(env, "id", arguments.value[3], 0, js::kLargestSafeInteger, &id);
    if (!failure) failure = js::read_integer(env, "times", arguments.value[4], 1, INT32_MAX, &job->times);
    if (!failure && !Unpacker(numbers, bytes, *job->code).read(*Environment::of(env), &job->launches)) {
      failure = Failure::internal("the launches are not packed correctly");
    }
    if (failure) return js::rejected(env, failure);
    job->bytes.assign(bytes.data, bytes.data + bytes.bytes);
    job->set_id(static_cast<double>(id));
    const std::shared_ptr<Session> session = job->code->session;
    const napi_value promise = job->begin(env, nullptr);
    session->post(std::move(job));
    return promise;
  });
}

/// residentBlocks(module, kernel's number, threads, bytes of dynamic shared memory); 0 once the device is closed.
napi_value resident_blocks(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<4> arguments(env, info);
    const ModuleCode* const code = find_code(env, arguments.value[0]);
    int64_t kernel = 0, threads = 0, shared = 0;
    if (code == nullptr || !code->ready || !code->session->stays_open()) return js::number(env, 0);
    const auto kernels = static_cast<int64_t>(code->loaded.kernels.size());
    Failure failure = js::read_integer(env, "kernel", arguments.value[1], 0, kernels - 1, &kernel);
    if (!failure) failure = js::read_integer(env, "threads", arguments.value[2], 0, INT32_MAX, &threads);
    if (!failure) failure = js::read_integer(env, "sharedBytes", arguments.value[3], 0, INT32_MAX, &shared);
    if (failure) {
      throw_error(env, failure);
      return nullptr;
    }
    return js::number(env, code->host->resident_blocks(code->loaded.kernels[static_cast<size_t>(kernel)],
                                                       static_cast<int>(threads), shared));
  });
}

napi_value release(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    double number = 0;
    if (napi_get_value_double(env, arguments.value[0], &number) == napi_ok) Environment::of(env)->remove_module(number);
    return nullptr;
  });
}

}  // namespace

void register_modules(napi_env env, napi_value exports) {
  const auto add = [&](const char* name, napi_callback callback) {
    napi_value function = nullptr;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
    js::set(env, exports, name, function);
  };
  add("loadModule", load);
  add("launchModule", launch);
  add("residentBlocks", resident_blocks);
  add("releaseModule", release);
}

}  // namespace warploom
