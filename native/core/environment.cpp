#include "native/core/environment.h"

#include <algorithm>

#include "native/core/session.h"

namespace warploom {

Environment* Environment::create(napi_env env) {
  auto environment = std::make_unique<Environment>();
  // Created before our cleanup hook is added, the mailbox's wake-up function is torn down after it.
  environment->mailbox_ = Mailbox::open(env);
  if (environment->mailbox_ == nullptr) return nullptr;
  const auto finalize = [](napi_env, void* data, void*) { delete static_cast<Environment*>(data); };
  if (napi_set_instance_data(env, environment.get(), finalize, nullptr) != napi_ok) return nullptr;
  napi_add_env_cleanup_hook(env, &Environment::clean_up, environment.get());
  return environment.release();
}

Environment* Environment::of(napi_env env) {
  void* data = nullptr;
  napi_get_instance_data(env, &data);
  return static_cast<Environment*>(data);
}

void Environment::add(const std::shared_ptr<Session>& session) {
  sessions_.erase(std::remove_if(sessions_.begin(), sessions_.end(),
                                 [](const auto& each) { return each.expired(); }),
                  sessions_.end());
  sessions_.push_back(session);
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
  for (const auto& weak : environment->sessions_) {
    const auto session = weak.lock();
    if (session == nullptr) continue;
    session->stop();
    session->wait_returned();  // a running call may use shared memory that goes with the environment
  }
}

}  // namespace warploom
