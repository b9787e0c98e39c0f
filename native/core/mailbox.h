// The way back from device threads to the JavaScript thread of one environment.
#pragma once
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

/// Delivers letters in order. It outlives its environment: after close() letters are dropped, which
/// is why a letter's destructor may not touch Node-API.
class Mailbox {
 public:
  /// Null when Node-API refuses (the environment is ending).
  static std::shared_ptr<Mailbox> open(napi_env env);
  /// From any thread.
  void post(std::unique_ptr<Letter> letter);
  /// On the JavaScript thread, before the environment goes.
  void close();
  /// On the JavaScript thread: while a call is pending, the event loop stays alive.
  void hold(napi_env env);
  void let_go(napi_env env);

 private:
  static void on_wake(napi_env env, napi_value, void* context, void*);
  void deliver_all(napi_env env);

  std::mutex mutex_;
  std::deque<std::unique_ptr<Letter>> letters_;
  napi_threadsafe_function wake_ = nullptr;
  bool closed_ = false;
  int64_t pending_ = 0;  // JavaScript thread only
};

}  // namespace warploom
