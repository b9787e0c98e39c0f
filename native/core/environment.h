// What the addon keeps for each Node environment (the main thread or one worker).
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "native/core/mailbox.h"
#include "native/core/napi_setup.h"

namespace warploom {

class Copying;
class DeviceArray;
class ModuleCode;
class Session;
struct PinnedBlock;

/// Bytes of JavaScript's memory that a pending call will write.
struct OutputRange {
  const char* begin;
  const char* end;
};

class Environment : public std::enable_shared_from_this<Environment> {
 public:
  /// Creates the instance data and registers the cleanup hook; null when the environment is ending.
  static Environment* create(napi_env env);
  static Environment* of(napi_env env);

  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }
  /// The numbers of a call's packed parameters (arguments.h), as a Float64Array that JavaScript fills.
  const double* numbers() const { return numbers_; }
  static constexpr size_t kNumbers = 512;
  napi_value share_numbers(napi_env env);

  // Devices and device arrays are known by number, so looking one up needs no call to Node-API. Numbers are never
  // reused.
  double add_session(const std::shared_ptr<Session>& session);
  void remove_session(double id) { sessions_.erase(id); }
  /// Null once closed or collected.
  std::shared_ptr<Session> find_session(double id) const;
  /// Also finds closed sessions while calls of theirs are pending: those can still be cancelled.
  std::shared_ptr<Session> find_pending_session(double id) const;
  double add_array(DeviceArray* array);
  void remove_array(double id) { arrays_.erase(id); }
  DeviceArray* find_array(double id) const;
  double add_module(const std::shared_ptr<ModuleCode>& code);
  void remove_module(double id) { modules_.erase(id); }
  /// Null once released.
  std::shared_ptr<ModuleCode> find_module(double id) const;

  /// By the beginning of their memory: what the buffers of lent arrays (lent_array.cpp) own.
  std::unordered_map<const char*, std::shared_ptr<PinnedBlock>*>& lent() { return lent_; }

  /// A copy from JavaScript's memory that is under way. `source` keeps that memory alive.
  struct Filling {
    const char* memory;
    std::shared_ptr<Copying> copying;
    napi_ref source;
  };
  std::vector<Filling>& fillings() { return fillings_; }

  /// Adds to the bytes of device arrays, or takes from them, that the garbage collector is told of as external memory. It is
  /// told in steps of some megabytes: beyond its limit, each report of more has it work for milliseconds, even of arrays that
  /// soon go.
  void tell_collector(napi_env env, int64_t bytes);

  /// Whether the range overlaps outputs of pending calls, which a second call may neither read nor write.
  bool in_flight(const char* begin, const char* end) const;
  void add_output(OutputRange range) { outputs_.push_back(range); }
  void remove_output(OutputRange range);

 private:
  static void clean_up(void* self);
  std::shared_ptr<Mailbox> mailbox_;
  double* numbers_ = nullptr;  // owned by the Float64Array's buffer
  double last_id_ = 0;
  std::unordered_map<double, std::shared_ptr<Session>> sessions_;
  std::unordered_map<double, DeviceArray*> arrays_;
  std::unordered_map<double, std::shared_ptr<ModuleCode>> modules_;
  std::unordered_map<double, std::weak_ptr<Session>> all_sessions_;  // including closed ones
  std::unordered_map<const char*, std::shared_ptr<PinnedBlock>*> lent_;
  std::vector<Filling> fillings_;
  std::vector<OutputRange> outputs_;
  int64_t untold_ = 0;  // bytes
};

}  // namespace warploom
