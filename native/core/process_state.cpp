#include "native/core/process_state.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "native/core/session.h"

namespace warploom {
namespace {
// A call that ignores its cancel flag for longer than this is abandoned at exit.
constexpr auto kExitPatience = std::chrono::seconds(2);
}  // namespace

ProcessState& ProcessState::get() {
  static auto* const state = new ProcessState;  // never destroyed: device threads may outlive exit()
  return *state;
}

void ProcessState::add(const std::shared_ptr<Session>& session) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sessions_.erase(std::remove_if(sessions_.begin(), sessions_.end(),
                                 [](const auto& each) { return each.expired(); }),
                  sessions_.end());
  sessions_.push_back(session);
}

void ProcessState::arm_exit_handler() { std::atexit(&ProcessState::on_exit); }

void ProcessState::on_exit() {
  ProcessState& state = get();
  state.exiting_.store(true, std::memory_order_release);
  std::vector<std::shared_ptr<Session>> sessions;
  {
    const std::lock_guard<std::mutex> lock(state.mutex_);
    for (const auto& weak : state.sessions_) {
      if (auto session = weak.lock()) sessions.push_back(std::move(session));
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + kExitPatience;
  for (const auto& session : sessions) session->stop();
  for (auto& session : sessions) {
    session->wait_quiet(deadline);
    new std::shared_ptr<Session>(std::move(session));  // its destructor must not run during exit
  }
}

void pin_library() {
  Dl_info info;
  static const char anchor = 0;
  if (dladdr(&anchor, &info) != 0 && info.dli_fname != nullptr) {
    dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

}  // namespace warploom
