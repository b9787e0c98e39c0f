#include "native/core/environment.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cuda/core/host_memory.h"
#include "native/core/module_code.h"
#include "native/core/session.h"

namespace warploom {

Environment* Environment::create(napi_env env) {
  // Shared with the finalizers of arrays and devices, which run in an order we do not control.
  auto environment = std::make_shared<Environment>();
  // The mailbox is created before our cleanup hook is added, so its wake-up function is torn down after the hook.
  environment->mailbox_ = Mailbox::open(env);
  if (environment->mailbox_ == nullptr) return nullptr;
  auto owner = std::make_unique<std::shared_ptr<Environment>>(environment);
  const auto finalize = [](napi_env, void* data, void*) {
    delete static_cast<std::shared_ptr<Environment>*>(data);
  };
  if (napi_set_instance_data(env, owner.get(), finalize, nullptr) != napi_ok) return nullptr;
  owner.release();
  napi_add_env_cleanup_hook(env, &Environment::clean_up, environment.get());
  return environment.get();
}

Environment* Environment::of(napi_env env) {
  void* data = nullptr;
  napi_get_instance_data(env, &data);
  return static_cast<std::shared_ptr<Environment>*>(data)->get();
}

napi_value Environment::share_numbers(napi_env env) {
  napi_value buffer = nullptr, array = nullptr;
  void* data = nullptr;
  if (napi_create_arraybuffer(env, kNumbers * sizeof(double), &data, &buffer) != napi_ok ||
      napi_create_typedarray(env, napi_float64_array, kNumbers, buffer, 0, &array) != napi_ok) {
    return nullptr;
  }
  // Only lib/core/pack.ts could detach the array, and it keeps the array to itself. The reference keeps the memory
  // alive as long as the environment.
  napi_ref forever = nullptr;
  napi_create_reference(env, array, 1, &forever);
  numbers_ = static_cast<double*>(data);
  return array;
}

double Environment::add_session(const std::shared_ptr<Session>& session) {
  for (auto at = all_sessions_.begin(); at != all_sessions_.end();) {
    at = at->second.expired() ? all_sessions_.erase(at) : std::next(at);
  }
  sessions_.emplace(++last_id_, session);
  all_sessions_.emplace(last_id_, session);
  return last_id_;
}

std::shared_ptr<Session> Environment::find_session(double id) const {
  const auto at = sessions_.find(id);
  return at != sessions_.end() ? at->second : nullptr;
}

std::shared_ptr<Session> Environment::find_pending_session(double id) const {
  const auto at = all_sessions_.find(id);
  return at != all_sessions_.end() ? at->second.lock() : nullptr;
}

double Environment::add_array(DeviceArray* array) {
  arrays_.emplace(++last_id_, array);
  return last_id_;
}

DeviceArray* Environment::find_array(double id) const {
  const auto at = arrays_.find(id);
  return at != arrays_.end() ? at->second : nullptr;
}

double Environment::add_module(const std::shared_ptr<ModuleCode>& code) {
  modules_.emplace(++last_id_, code);
  return last_id_;
}

std::shared_ptr<ModuleCode> Environment::find_module(double id) const {
  const auto at = modules_.find(id);
  return at != modules_.end() ? at->second : nullptr;
}

void Environment::tell_collector(napi_env env, int64_t bytes) {
  constexpr int64_t kStep = int64_t{8} << 20;  // the collector begins after 64 MB
  untold_ += bytes;
  if (untold_ < kStep && untold_ > -kStep) return;
  int64_t total = 0;
  napi_adjust_external_memory(env, std::exchange(untold_, 0), &total);
}

bool Environment::in_flight(const char* begin, const char* end) const {
  return std::any_of(outputs_.begin(), outputs_.end(), [=](const OutputRange& range) {
    return begin < range.end && range.begin < end;
  });
}

void Environment::remove_output(OutputRange range) {
  const auto at = std::find_if(outputs_.begin(), outputs_.end(), [=](const OutputRange& each) {
    return each.begin == range.begin && each.end == range.end;
  });
  if (at != outputs_.end()) outputs_.erase(at);
}

void Environment::clean_up(void* self) {
  auto* const environment = static_cast<Environment*>(self);
  environment->mailbox_->close();
  // A worker that is terminated in the middle of a call: what is being copied is freed next.
  for (const Filling& filling : environment->fillings_) filling.copying->finish();
  for (const auto& [id, weak] : environment->all_sessions_) {
    const auto session = weak.lock();
    if (session == nullptr) continue;
    session->stop();
    session->wait_returned();  // a running call may use shared memory that dies with the environment
  }
}

}  // namespace warploom
