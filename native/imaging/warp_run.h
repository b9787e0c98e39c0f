// Runs point-by-point tasks on the threads of a cpu device.
#pragma once
#include <algorithm>
#include <chrono>
#include <functional>

#include "native/cpu/device.h"
#include "native/imaging/kernels.h"

namespace warploom::cpu {

inline constexpr int64_t kPointsPerTask = 1 << 14;

/// Calls body(begin, end) for ranges that together cover 0 … points - 1, and records the total time.
inline Status run_points(CpuDevice& device, int64_t points, Control& control, const std::function<void(int64_t, int64_t)>& body) {
  const auto start = std::chrono::steady_clock::now();
  WARPLOOM_TRY(device.threads().run((points + kPointsPerTask - 1) / kPointsPerTask, [&](int64_t index, int) {
    body(index * kPointsPerTask, std::min(points, (index + 1) * kPointsPerTask));
    return Status();
  }, control));
  control.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {};
}

}  // namespace warploom::cpu
