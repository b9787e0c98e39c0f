// Counts of what is copied between JavaScript's memory and the addon's, for tests and benchmarks.
#pragma once
#include <atomic>
#include <cstdint>

#include "native/core/napi_setup.h"

namespace warploom {

struct Traffic {
  std::atomic<int64_t> taken{0};     ///< bytes copied from arrays when calls were made
  std::atomic<int64_t> returned{0};  ///< bytes copied into arrays of results
  std::atomic<int64_t> settling{0};  ///< of those, copied by the event loop when calls settled
  std::atomic<int64_t> fresh{0};     ///< bytes of staging memory requested from the system
  std::atomic<int64_t> slices{0};    ///< computed, of calls that were cut
  static Traffic& get() {
    static Traffic traffic;
    return traffic;
  }
};

/// Adds traffic(), { taken, returned, settling, fresh, slices }, to the addon's exports.
void register_traffic(napi_env env, napi_value exports);

}  // namespace warploom
