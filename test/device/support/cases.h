// Small calls of every operation of the simt backend, each checked against plain host arithmetic. Shared by the
// programs that run them in all orders and under sanitizers and by the mutation test.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cuda/core/backend.h"

namespace cases {

using namespace warploom;

/// Under AddressSanitizer, which makes a case twenty times as long, only some of the larger cases run: every branch, not every size.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSelection = true;
#else
inline constexpr bool kAddressSelection = false;
#endif

struct Case {
  std::string name;
  bool quick = false;  ///< small enough for TSan and for the mutation test
  /// Empty when all is well, else what is wrong. `digest` receives every byte of output.
  std::function<std::string(Device&, std::string* digest)> run;
};

/// Numbers that repeat from run to run, uniform in [-1, 1).
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  double operator()() { return static_cast<double>(next() >> 11) * 0x1p-52 - 1.0; }
  int below(int bound) { return static_cast<int>((next() >> 20) % static_cast<uint64_t>(bound)); }

 private:
  uint64_t state_;
};

/// Device memory of exactly the size of a host array: what is read or written beside it, ASan sees.
template <class T>
class OnDevice {
 public:
  OnDevice(Device& device, const std::vector<T>& host) : device_(device), count_(host.size()) {
    status_ = device.allocate(bytes(), &memory_);
    if (status_.ok()) status_ = device.upload(memory_, host.data(), bytes());
  }
  /// Without contents.
  OnDevice(Device& device, size_t count) : device_(device), count_(count) {
    status_ = device.allocate(bytes(), &memory_);
  }
  ~OnDevice() { device_.release(memory_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  T* data() const { return static_cast<T*>(memory_); }
  int64_t length() const { return static_cast<int64_t>(count_); }
  const Status& status() const { return status_; }
  std::vector<T> host() const {
    std::vector<T> out(count_);
    (void)device_.download(out.data(), memory_, bytes());
    return out;
  }

 private:
  int64_t bytes() const { return static_cast<int64_t>(count_ * sizeof(T)); }
  Device& device_;
  void* memory_ = nullptr;
  size_t count_;
  Status status_;
};

template <class T>
void digest_of(const std::vector<T>& values, std::string* digest) {
  digest->append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// Begins the message of a case that the backend does not take, and says so.
inline const std::string kUnsupported = "unsupported: ";

/// Runs one operation of the table, with the device's own checks behind it.
template <class Parameters, class Function>
std::string run_operation(Device& device, Function function, const Parameters& parameters) {
  Control control;
  if (const Status checked = check(parameters); !checked.ok()) return "check: " + checked.argument() + " " + checked.message();
  if (const Status status = function(device, parameters, control); !status.ok()) {
    return (status.code() == Code::unsupported ? kUnsupported : "") + status.message();
  }
  if (const Status status = device.synchronize(); !status.ok()) return status.message();
  return {};
}

void add_scan_cases(std::vector<Case>* all);
void add_swept_cases(std::vector<Case>* all);
void add_tridiagonal_cases(std::vector<Case>* all);

inline std::vector<Case> all_cases() {
  std::vector<Case> all;
  add_scan_cases(&all);
  add_swept_cases(&all);
  add_tridiagonal_cases(&all);
  return all;
}

}  // namespace cases

#include "test/device/support/scan_cases.h"
#include "test/device/support/swept_cases.h"
#include "test/device/support/tridiagonal_cases.h"
