// What lib/core/wasm calls. Numbers are doubles where they may exceed 32 bits; text comes from warploom_text().
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "native/core/describe.h"
#include "native/cpu/device.h"
#include "native/wasm/call.h"

#define WARPLOOM_EXPORT(name) __attribute__((export_name(#name), used))
#define WARPLOOM_IMPORT(name) __attribute__((import_module("warploom"), import_name(#name)))

namespace warploom::wasm {
namespace {

extern "C" WARPLOOM_IMPORT(progress) void report_progress(double done, double total);
extern "C" WARPLOOM_IMPORT(cancelled) int32_t is_cancelled();

/// WebAssembly with 32-bit addresses has no more memory than this.
constexpr int64_t kAddressed = int64_t{1} << 32;
constexpr size_t kNumbers = 512 + 5 * 128;  // of a call: those of lib/core/pack.ts, then its slots

struct CallControl final : Control {
  bool cancelled() const override { return is_cancelled() != 0; }
  void progress(double done, double total) override { report_progress(done, total); }
};

double numbers[kNumbers];
std::string text;
std::map<int32_t, std::unique_ptr<cpu::CpuDevice>> devices;
std::map<int32_t, std::unique_ptr<Call>> calls;
int32_t last = 0;

std::string escaped(const std::string& plain) {
  std::string result;
  for (const char c : plain) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return result;
}
void add(const char* name, const std::string& value) {
  if (!value.empty()) text += std::string(",\"") + name + "\":\"" + escaped(value) + '"';
}
void add(const char* name, int64_t value) { text += std::string(",\"") + name + "\":" + std::to_string(value); }

/// Leaves what went wrong in `text`.
bool succeeded(const Status& status) {
  if (status.ok()) return true;
  text = "{\"code\":" + std::to_string(static_cast<int>(status.code()));
  add("message", status.message());
  add("argument", status.argument());
  if (status.requested_bytes != 0 || status.limit_bytes != 0) {
    add("requestedBytes", status.requested_bytes);
    add("inUseBytes", status.in_use_bytes);
    add("limitBytes", status.limit_bytes);
  }
  text += "}";
  return false;
}

bool refused(const Refusal& refusal) {
  if (!refusal) return false;
  text = "{\"code\":" + std::to_string(static_cast<int>(Code::invalid_argument));
  add("argument", refusal.argument);
  add("expected", refusal.expected);
  add("received", refusal.received);
  add("slot", refusal.slot);
  text += "}";
  return true;
}

void* pointer(double address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

}  // namespace

extern "C" {

WARPLOOM_EXPORT(warploom_numbers) double* warploom_numbers() { return numbers; }
WARPLOOM_EXPORT(warploom_text) const char* warploom_text() { return text.c_str(); }
WARPLOOM_EXPORT(warploom_text_length) int32_t warploom_text_length() { return static_cast<int32_t>(text.size()); }
WARPLOOM_EXPORT(warploom_describe) void warploom_describe() { text = describe_operations(); }

WARPLOOM_EXPORT(warploom_open) int32_t warploom_open(double memory_limit) {
  DeviceDescription description;
  description.memory_bytes = kAddressed;
  devices.emplace(++last, std::make_unique<cpu::CpuDevice>(description, static_cast<int64_t>(memory_limit), 1));
  return last;
}
WARPLOOM_EXPORT(warploom_close) void warploom_close(int32_t device) { devices.erase(device); }
/// The address, or 0.
WARPLOOM_EXPORT(warploom_allocate) double warploom_allocate(int32_t device, double bytes) {
  void* memory = nullptr;
  const Status status = devices.at(device)->allocate(static_cast<int64_t>(bytes), &memory);
  return succeeded(status) ? static_cast<double>(reinterpret_cast<uintptr_t>(memory)) : 0;
}
WARPLOOM_EXPORT(warploom_release) void warploom_release(int32_t device, double address) { devices.at(device)->release(pointer(address)); }
WARPLOOM_EXPORT(warploom_trim) void warploom_trim(int32_t device) { devices.at(device)->trim(); }
/// Four numbers: in use, pooled, peak, limit.
WARPLOOM_EXPORT(warploom_memory) void warploom_memory(int32_t device) {
  const MemoryUse use = devices.at(device)->memory_use();
  numbers[0] = static_cast<double>(use.in_use_bytes);
  numbers[1] = static_cast<double>(use.pooled_bytes);
  numbers[2] = static_cast<double>(use.peak_bytes);
  numbers[3] = static_cast<double>(use.limit_bytes);
}

/// Reads a call from `numbers`, with its slots from number `first_slot` on; 0 if it is refused.
WARPLOOM_EXPORT(warploom_bind) int32_t warploom_bind(int32_t device, int32_t operation, int32_t first_slot) {
  auto call = std::make_unique<Call>(*devices.at(device), make_invocation(operation));
  if (refused(call->bind(numbers, reinterpret_cast<Slot*>(numbers + first_slot)))) return 0;
  calls.emplace(++last, std::move(call));
  return last;
}
WARPLOOM_EXPORT(warploom_check) int32_t warploom_check(int32_t call) { return succeeded(calls.at(call)->check()); }
WARPLOOM_EXPORT(warploom_workspace) double warploom_workspace(int32_t call) {
  return static_cast<double>(calls.at(call)->workspace_bytes());
}
WARPLOOM_EXPORT(warploom_run) int32_t warploom_run(int32_t call) {
  CallControl control;
  return succeeded(calls.at(call)->run(control));
}
WARPLOOM_EXPORT(warploom_results) const double* warploom_results(int32_t call) { return calls.at(call)->results().data(); }
WARPLOOM_EXPORT(warploom_results_length) int32_t warploom_results_length(int32_t call) {
  return static_cast<int32_t>(calls.at(call)->results().size());
}
WARPLOOM_EXPORT(warploom_end) void warploom_end(int32_t call) { calls.erase(call); }

}  // extern "C"

}  // namespace warploom::wasm
