// Fault injection: every runtime call of a GPU backend goes through one function and has a number. A test can make the
// N-th call fail, once or from then on, with an error of its choice.
#pragma once
#include <atomic>
#include <cstdint>

namespace warploom {

/// Error numbers a test injects: the CUDA runtime's own, on both backends.
namespace fault {
inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kLaunchOutOfResources = 701;
inline constexpr int kIllegalAddress = 700;  ///< sticky: the device is lost
}  // namespace fault

/// The fault seam of one backend, shared by all its devices. Calls that only release something (free, destroy) are
/// numbered too, but a failure there must not leak: the resource is released anyway.
class FaultSeam {
 public:
  /// Skips `skip` calls, then fails the next one with `error`; `persistent`: and every later one too.
  void arm(int64_t skip, int error, bool persistent) {
    error_ = error;
    persistent_ = persistent;
    fail_at_ = calls_ + skip;
  }
  void disarm() { fail_at_ = kNever; }
  /// Runtime calls made so far.
  int64_t calls() const { return calls_; }
  /// enter(): a call was submitted; leave(): it has ended. From the most at once, tests see that calls overlap.
  void enter() {
    const int64_t now = in_flight_.fetch_add(1) + 1;
    if (now > most_in_flight_) most_in_flight_ = now;
  }
  void leave() { in_flight_.fetch_sub(1); }
  /// The most calls in flight at once since this was last called.
  int64_t most_in_flight() { return most_in_flight_.exchange(in_flight_); }
  /// Numbers the next call. Returns the error it must report instead of running, or 0.
  int next() {
    const int64_t number = calls_.fetch_add(1, std::memory_order_relaxed);
    const int64_t at = fail_at_.load(std::memory_order_relaxed);
    return number < at || (number > at && !persistent_) ? 0 : error_.load();
  }

 private:
  static constexpr int64_t kNever = INT64_MAX;
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> in_flight_{0}, most_in_flight_{0};
  std::atomic<int64_t> fail_at_{kNever};
  std::atomic<int> error_{0};
  std::atomic<bool> persistent_{false};
};

namespace cuda {
FaultSeam& fault_seam();  ///< of all cuda devices; never called if the build has no nvcc
}
namespace simt {
FaultSeam& fault_seam();
}

}  // namespace warploom
