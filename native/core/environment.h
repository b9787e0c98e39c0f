// What the addon keeps per Node environment (the main thread or one worker).
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "native/core/mailbox.h"
#include "native/core/napi_setup.h"

namespace warploom {

class Session;

/// Bytes of JavaScript's memory that a pending call will write.
struct OutputRange {
  const char* begin;
  const char* end;
};

class Environment {
 public:
  /// Creates the instance data and registers the cleanup hook; null when the environment is ending.
  static Environment* create(napi_env env);
  static Environment* of(napi_env env);

  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }
  void add(const std::shared_ptr<Session>& session);

  /// Outputs of pending calls: a second call may neither read nor write them.
  bool in_flight(const char* begin, const char* end) const;
  void add_output(OutputRange range) { outputs_.push_back(range); }
  void remove_output(OutputRange range);

 private:
  static void clean_up(void* self);
  std::shared_ptr<Mailbox> mailbox_;
  std::vector<std::weak_ptr<Session>> sessions_;
  std::vector<OutputRange> outputs_;
};

}  // namespace warploom
