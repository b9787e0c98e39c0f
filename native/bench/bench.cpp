// Benchmark hooks of the addon: operations and their peers, run many times back to back on the device's thread.
// Compiled only into builds of a clone (WARPLOOM_BENCH), never into a released binary. Adds
//   benchmark(array, operation, sets, { calls, repeats, warmup }): Promise<{ seconds: number[], report }>
// which runs on the device that holds the device array with that number. `operation` is a name from operations() or
// peers(). `sets` are used in turn; each is a Float64Array of packed parameters (PackedParameters) whose arrays are all
// device arrays. `seconds` has the time of one call in each repeat, without transfers and without waiting for the
// device between calls; `report` is what the operation reported for the last call with the last set (ReportWriter).
//   peers(): { name, available, reason }[]
// `reason` says which library a peer uses, or why it cannot run.
//   moments(on): number[]
// Switches recording on or off for later calls (native/core/moments.h), and returns when the last call reached each of
// its steps, in nanoseconds of process.hrtime.
//   sanitizer: string    the sanitizer of this build, or ''; such builds are not benchmarked
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "native/bench/peer.h"
#include "native/core/addon.h"
#include "native/core/environment.h"
#include "native/core/job.h"
#include "native/core/js.h"
#include "native/core/moments.h"
#include "native/core/operation.h"

namespace warploom {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kSanitizer = "address";
#elif defined(__SANITIZE_THREAD__)
constexpr const char* kSanitizer = "thread";
#else
constexpr const char* kSanitizer = "";
#endif

struct BenchmarkOptions {
  int64_t calls = 1;    ///< per repeat, back to back
  int64_t repeats = 1;
  int64_t warmup = 1;   ///< calls of each set before the first repeat
};

/// Runs its invocations in turn, without leaving the device's thread.
class BenchmarkJob final : public Job {
 public:
  BenchmarkOptions options;
  bool self_timed = false;

  /// Reads one set of parameters; every array must lie on the session's device already.
  Failure add(napi_env env, std::unique_ptr<Invocation> invocation, const std::vector<double>& numbers,
              Session& session) {
    Binder binder(env, PackedParameters{numbers.data(), nullptr, 0}, session);
    invocation->bind(binder);
    Failure failure = binder.finish(*Environment::of(env), [](Footprint&) {});
    if (failure) return failure;
    for (Buffer& buffer : binder.buffers()) {
      if (!buffer.on_device() && buffer.bytes > 0) return Failure::invalid(buffer.name, "a device array", "an array in host memory");
    }
    const Status status = invocation->validate();
    if (!status.ok()) return Failure::from(status);
    reports_.push_back(binder.take_report());
    if (Failure refused = give_tables(reports_.back().get())) return refused;
    invocations_.push_back(std::move(invocation));
    arrays_.push_back({std::move(binder.pointers()), std::move(binder.buffers())});
    return {};
  }

 protected:
  Status work(Session& session, Device& device) override {
    /// Tables on the device exist only while the calls run.
    struct Tables {
      Session& session;
      std::vector<void*> memory;
      ~Tables() {
        for (void* const each : memory) session.release(each);
      }
    } tables{session, {}};
    for (const TableRequest& request : on_device_) {
      void* memory = nullptr;
      WARPLOOM_TRY(session.allocate(request.bytes, &memory));
      tables.memory.push_back(memory);
      *request.data = memory;
    }
    WARPLOOM_TRY(measure(session, device));
    for (size_t i = 0; i < on_device_.size(); ++i) {
      fetched_.emplace_back(static_cast<size_t>(on_device_[i].bytes));
      WARPLOOM_TRY(device.download(fetched_.back().data(), tables.memory[i], on_device_[i].bytes));
    }
    return device.synchronize();
  }

  Status measure(Session& session, Device& device) {
    const Operations& table = session.backend().operations;
    for (const Arrays& each : arrays_) WARPLOOM_TRY(point_at_device_arrays(each.pointers, each.buffers, device));
    const auto call = [&](int64_t index, Control& control) {
      return invocations_[static_cast<size_t>(index) % invocations_.size()]->perform(table, device, control);
    };
    for (int64_t i = 0; i < options.warmup * static_cast<int64_t>(invocations_.size()); ++i) {
      if (cancelled()) return Status(Code::cancelled, "cancelled");
      WARPLOOM_TRY(call(i, *this));
    }
    WARPLOOM_TRY(device.synchronize());
    seconds_.resize(static_cast<size_t>(options.repeats));
    if (!self_timed) {
      return device.measure(static_cast<int>(options.calls), static_cast<int>(options.repeats), call, seconds_.data());
    }
    for (double& seconds : seconds_) {
      for (int64_t i = 0; i < options.calls; ++i) {
        Control control;
        WARPLOOM_TRY(call(i, control));
        seconds += control.device_seconds / static_cast<double>(options.calls);
      }
    }
    return {};
  }

  Failure finish(napi_env env, napi_value, napi_value* result) override {
    napi_value list = nullptr;
    napi_create_array(env, &list);
    for (size_t i = 0; i < seconds_.size(); ++i) {
      napi_set_element(env, list, static_cast<uint32_t>(i), js::number(env, seconds_[i]));
    }
    napi_create_object(env, result);
    js::set(env, *result, "seconds", list);
    if (reports_.back() == nullptr) return {};
    ReportWriter writer(env, seconds_.empty() ? 0 : seconds_.back());
    reports_.back()->write(writer);
    for (const ReportWriter::Fetch& fetch : writer.fetches()) {
      for (size_t i = 0; i < on_device_.size(); ++i) {
        if (on_device_[i].data == fetch.table) std::memcpy(fetch.memory, fetched_[i].data(), static_cast<size_t>(fetch.bytes));
      }
    }
    js::set(env, *result, "report", writer.list());
    return {};
  }

 private:
  /// Gives tables in host memory their memory here; tables on the device get theirs when the calls run.
  Failure give_tables(Report* report) {
    if (report == nullptr) return {};
    TableRequests requests;
    report->request(requests);
    for (const TableRequest& request : requests.list()) {
      if (request.where == Where::device) {
        on_device_.push_back(request);
        continue;
      }
      tables_.emplace_back(static_cast<size_t>(request.bytes) / sizeof(double));
      *request.data = tables_.back().data();
    }
    return {};
  }

  std::vector<std::unique_ptr<Report>> reports_;
  std::vector<std::vector<double>> tables_;
  std::vector<TableRequest> on_device_;
  std::vector<std::vector<char>> fetched_;  // their contents
  std::vector<std::unique_ptr<Invocation>> invocations_;
  struct Arrays {
    std::vector<Pointer> pointers;
    std::vector<Buffer> buffers;
  };
  std::vector<Arrays> arrays_;
  std::vector<double> seconds_;
};

Failure read_options(napi_env env, napi_value object, BenchmarkOptions* out) {
  const std::pair<const char*, int64_t*> fields[] = {
      {"calls", &out->calls}, {"repeats", &out->repeats}, {"warmup", &out->warmup}};
  for (const auto& [name, value] : fields) {
    const napi_value given = js::property(env, object, name);
    if (given == nullptr || js::is_absent(env, given)) continue;
    if (Failure failure = js::read_integer(env, name, given, name[0] == 'w' ? 0 : 1, 1000000, value)) return failure;
  }
  return {};
}

/// The most numbers an operation can have; a shorter set reads as absent fields.
constexpr size_t kMostNumbers = Environment::kNumbers;

Failure read_numbers(napi_env env, napi_value value, std::vector<double>* out) {
  out->assign(kMostNumbers, std::numeric_limits<double>::quiet_NaN());
  bool is_typed_array = false;
  napi_typedarray_type type = napi_int8_array;
  size_t length = 0;
  void* data = nullptr;
  napi_is_typedarray(env, value, &is_typed_array);
  if (is_typed_array) napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr);
  if (!is_typed_array || type != napi_float64_array || length > kMostNumbers) {
    return Failure::invalid("sets", "Float64Arrays of packed parameters", js::describe(env, value));
  }
  std::copy_n(static_cast<const double*>(data), length, out->begin());
  return {};
}

using Make = std::unique_ptr<Invocation> (*)();

Failure read_sets(napi_env env, napi_value sets, Make make, Session& session, BenchmarkJob* job) {
  uint32_t count = 0;
  if (napi_get_array_length(env, sets, &count) != napi_ok || count == 0) {
    return Failure::invalid("sets", "an array of packed parameters", js::describe(env, sets));
  }
  std::vector<double> numbers;
  for (uint32_t i = 0; i < count; ++i) {
    napi_value set = nullptr;
    napi_get_element(env, sets, i, &set);
    if (Failure failure = read_numbers(env, set, &numbers)) return failure;
    if (Failure failure = job->add(env, make(), numbers, session)) return failure;
  }
  return {};
}

/// Returns the function that makes an invocation of the named operation or peer; null when there is none.
Make find_make(const std::string& name, bool* self_timed) {
  if (const bench::Peer* const peer = bench::find_peer(name)) {
    *self_timed = peer->self_timed;
    return peer->make;
  }
  for (uint32_t i = 0;; ++i) {
    const OperationEntry* const operation = find_operation(i);
    if (operation == nullptr) return nullptr;
    if (name == operation->name) return operation->make;
  }
}

napi_value benchmark(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<4> arguments(env, info);
    double number = 0;
    napi_get_value_double(env, arguments.value[0], &number);
    const DeviceArray* const array = Environment::of(env)->find_array(number);
    const std::shared_ptr<Session> session =
        array == nullptr || array->memory() == nullptr ? nullptr : array->memory()->session;
    auto job = std::make_unique<BenchmarkJob>();
    const Make make = find_make(js::short_text(env, arguments.value[1]), &job->self_timed);
    Failure failure = session == nullptr ? Failure::disposed("the device array") : session->admit();
    if (!failure && make == nullptr) {
      failure = Failure::invalid("operation", "an operation or a peer", js::describe(env, arguments.value[1]));
    }
    if (!failure) failure = read_options(env, arguments.value[3], &job->options);
    if (!failure) failure = read_sets(env, arguments.value[2], make, *session, job.get());
    if (failure) return js::rejected(env, failure);
    const napi_value promise = job->begin(env, nullptr);
    session->post(std::move(job));
    return promise;
  });
}

napi_value peers(napi_env env, napi_callback_info) {
  return js::guarded(env, [&]() -> napi_value {
    napi_value list = nullptr;
    napi_create_array(env, &list);
    uint32_t count = 0;
    for (const bench::Peer* peer : bench::all_peers()) {
      std::string reason;
      const bool available = peer->available(&reason);
      napi_value entry = nullptr;
      napi_create_object(env, &entry);
      js::set(env, entry, "name", js::string(env, peer->name));
      js::set(env, entry, "available", js::boolean(env, available));
      js::set(env, entry, "reason", js::string(env, reason));
      napi_set_element(env, list, count++, entry);
    }
    return list;
  });
}

napi_value moments(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&] {
    napi_value on = nullptr, list = nullptr;
    size_t count = 1;
    bool watch = false;
    napi_get_cb_info(env, info, &count, &on, nullptr, nullptr);
    napi_get_value_bool(env, on, &watch);
    Moments::watch(watch);
    napi_create_array(env, &list);
    for (uint32_t i = 0; i < static_cast<uint32_t>(Moment::kCount); ++i) {
      napi_set_element(env, list, i, js::number(env, static_cast<double>(Moments::at(static_cast<Moment>(i)))));
    }
    return list;
  });
}

}  // namespace

void register_bench(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, napi_callback callback) {
    napi_value function = nullptr;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
    js::set(env, exports, name, function);
  };
  add("benchmark", &benchmark);
  add("peers", &peers);
  add("moments", &moments);
  js::set(env, exports, "sanitizer", js::string(env, kSanitizer));
}

}  // namespace warploom
