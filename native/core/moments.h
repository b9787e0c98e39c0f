// When the last call reached each of its steps, for `npm run bench -- calls`. Switched on by native/bench, for one call
// at a time.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace warploom {

/// In the order in which a call on device arrays reaches them: on JavaScript's thread up to `posted`, on the device's
/// thread up to `settled`, then on JavaScript's again.
enum class Moment { entered, read, posted, taken, sent, launched, submitted, reached, settled, delivered, kCount };

class Moments {
 public:
  static void note(Moment moment) {
    if (on_.load(std::memory_order_relaxed)) {
      at_[static_cast<size_t>(moment)].store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    }
  }
  static void watch(bool on) { on_.store(on, std::memory_order_relaxed); }
  /// Nanoseconds of the steady clock, which is process.hrtime's.
  static int64_t at(Moment moment) { return at_[static_cast<size_t>(moment)].load(std::memory_order_relaxed); }

 private:
  inline static std::atomic<bool> on_{false};
  inline static std::array<std::atomic<int64_t>, static_cast<size_t>(Moment::kCount)> at_{};
};

}  // namespace warploom
