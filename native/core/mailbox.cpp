#include "native/core/mailbox.h"

#include <chrono>
#include <utility>

#include "native/core/process_state.h"

namespace warploom {
namespace {
// The most letters that one turn of the event loop delivers. Large results make a turn long by themselves, so time is
// limited too.
constexpr size_t kLettersInTurn = 64;
constexpr auto kTurn = std::chrono::microseconds(500);
constexpr int kAtOnce = 32;  // short calls that may settle without a turn in between
}  // namespace

std::shared_ptr<Mailbox> Mailbox::open(napi_env env) {
  auto mailbox = std::make_shared<Mailbox>();
  napi_value name = nullptr;
  napi_create_string_utf8(env, "warploom", NAPI_AUTO_LENGTH, &name);
  // The environment owns the functions, and they are never released here: device threads use them only under mutex_ and
  // only until close().
  for (napi_threadsafe_function& wake : mailbox->wake_) {
    const napi_status status = napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr,
                                                               mailbox.get(), &Mailbox::on_wake, &wake);
    if (status != napi_ok) return nullptr;
    napi_unref_threadsafe_function(env, wake);
  }
  return mailbox;
}

/// Under mutex_.
void Mailbox::wake() {
  if (awake_ || letters_.empty()) return;
  awake_ = true;
  napi_call_threadsafe_function(wake_[turn_], nullptr, napi_tsfn_nonblocking);
}

void Mailbox::post(std::unique_ptr<Letter> letter) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_ || ProcessState::get().exiting()) return;
  letters_.push_back(std::move(letter));
  wake();
}

bool Mailbox::settles_at_once() {
  if (at_once_ >= kAtOnce || !has_time()) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (awake_ || !letters_.empty()) return false;
  ++at_once_;
  return true;
}

void Mailbox::close() {
  std::deque<std::unique_ptr<Letter>> dropped;
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  letters_.swap(dropped);
}

void Mailbox::hold(napi_env env) {
  if (pending_++ == 0) napi_ref_threadsafe_function(env, wake_[0]);
}

void Mailbox::let_go(napi_env env) {
  if (--pending_ == 0) napi_unref_threadsafe_function(env, wake_[0]);
}

void Mailbox::on_wake(napi_env env, napi_value, void* context, void*) {
  if (env == nullptr) return;  // the environment is being torn down
  static_cast<Mailbox*>(context)->deliver_some(env);
}

std::unique_ptr<Letter> Mailbox::next() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (letters_.empty()) return nullptr;
  std::unique_ptr<Letter> letter = std::move(letters_.front());
  letters_.pop_front();
  return letter;
}

void Mailbox::deliver_some(napi_env env) {
  at_once_ = 0;
  spent_ = {};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    awake_ = true;  // until the end: letters posted meanwhile wait for the next turn, or are delivered in this one
    turn_ ^= 1;
  }
  const auto end = std::chrono::steady_clock::now() + kTurn;
  for (size_t count = 0; count < kLettersInTurn; ++count) {
    if (count > 0 && std::chrono::steady_clock::now() >= end) break;
    const std::unique_ptr<Letter> letter = next();
    if (letter == nullptr) break;
    napi_handle_scope scope = nullptr;
    if (napi_open_handle_scope(env, &scope) != napi_ok) return;
    letter->deliver(env);
    bool pending = false;
    if (napi_is_exception_pending(env, &pending) == napi_ok && pending) {
      napi_value error = nullptr;
      napi_get_and_clear_last_exception(env, &error);
      napi_fatal_exception(env, error);
    }
    napi_close_handle_scope(env, scope);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  awake_ = false;
  if (!closed_) wake();
}

}  // namespace warploom
