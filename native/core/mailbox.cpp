#include "native/core/mailbox.h"

#include <utility>

#include "native/core/process_state.h"

namespace warploom {

std::shared_ptr<Mailbox> Mailbox::open(napi_env env) {
  auto mailbox = std::make_shared<Mailbox>();
  napi_value name = nullptr;
  napi_create_string_utf8(env, "warploom", NAPI_AUTO_LENGTH, &name);
  // The function is owned by the environment and never released here: device threads use it only
  // under mutex_ and only until close().
  const napi_status status =
      napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr,
                                      mailbox.get(), &Mailbox::on_wake, &mailbox->wake_);
  if (status != napi_ok) return nullptr;
  napi_unref_threadsafe_function(env, mailbox->wake_);
  return mailbox;
}

void Mailbox::post(std::unique_ptr<Letter> letter) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_ || ProcessState::get().exiting()) return;
  const bool asleep = letters_.empty();
  letters_.push_back(std::move(letter));
  if (asleep) napi_call_threadsafe_function(wake_, nullptr, napi_tsfn_nonblocking);
}

void Mailbox::close() {
  std::deque<std::unique_ptr<Letter>> dropped;
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  letters_.swap(dropped);
}

void Mailbox::hold(napi_env env) {
  if (pending_++ == 0) napi_ref_threadsafe_function(env, wake_);
}

void Mailbox::let_go(napi_env env) {
  if (--pending_ == 0) napi_unref_threadsafe_function(env, wake_);
}

void Mailbox::on_wake(napi_env env, napi_value, void* context, void*) {
  if (env == nullptr) return;  // the environment is being torn down
  static_cast<Mailbox*>(context)->deliver_all(env);
}

void Mailbox::deliver_all(napi_env env) {
  std::deque<std::unique_ptr<Letter>> letters;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    letters.swap(letters_);
  }
  for (auto& letter : letters) {
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
}

}  // namespace warploom
