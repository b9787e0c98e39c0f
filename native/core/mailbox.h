// How device threads reach the JavaScript thread of one environment.
#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>

#include "native/core/napi_setup.h"

namespace warploom {

/// Something to be done on the JavaScript thread.
class Letter {
 public:
  virtual ~Letter() = default;
  virtual void deliver(napi_env env) = 0;
};

/// Delivers letters in order, a limited number per turn of the event loop. It outlives its environment: after close()
/// letters are dropped, so a letter's destructor may not touch Node-API.
class Mailbox {
 public:
  /// Null when Node-API refuses (the environment is ending).
  static std::shared_ptr<Mailbox> open(napi_env env);
  /// From any thread.
  void post(std::unique_ptr<Letter> letter);
  /// On the JavaScript thread: whether a finished call may settle at once, ahead of letters not yet delivered. False
  /// now and then, so that a chain of such calls lets the event loop turn.
  bool settles_at_once();
  /// On the JavaScript thread: whether more calls may run there in this turn of the event loop. spend() counts the time
  /// of one.
  bool has_time() const { return spent_ < kTime; }
  void spend(std::chrono::steady_clock::duration time) { spent_ += time; }
  /// On the JavaScript thread, before the environment is destroyed.
  void close();
  /// On the JavaScript thread: keeps the event loop alive while a call is pending.
  void hold(napi_env env);
  void let_go(napi_env env);

 private:
  static void on_wake(napi_env env, napi_value, void* context, void*);
  void wake();
  std::unique_ptr<Letter> next();
  void deliver_some(napi_env env);

  std::mutex mutex_;
  std::deque<std::unique_ptr<Letter>> letters_;
  // Two functions, called in turn. As long as a function is woken again, Node keeps calling it, up to a thousand times,
  // before the event loop reaches its timers. So letters posted during a delivery wake the other function.
  napi_threadsafe_function wake_[2] = {nullptr, nullptr};
  int turn_ = 0;        // the one to wake next
  bool awake_ = false;  // a wake-up is pending
  bool closed_ = false;
  int64_t pending_ = 0;  // JavaScript thread only, as the next two
  int at_once_ = 0;      // calls that settled at once since the last delivery of letters
  static constexpr std::chrono::milliseconds kTime{1};
  std::chrono::steady_clock::duration spent_{};  // by calls since then
};

}  // namespace warploom
