// Tuning table of imaging.denoise.
#pragma once
#include <algorithm>
#include <cstdint>

namespace warploom::imaging::denoise_policy {

/// Rough estimate of the seconds per iteration on a GPU: bytes at an H200's memory rate, plus two launches.
inline double iteration_seconds(int64_t bytes) { return static_cast<double>(bytes) / 3e12 + 3e-6; }
/// Faster iterations than this are launched as a graph.
inline constexpr double kGraphBelow = 12e-6;
/// How long the device works between two checks by the host.
inline constexpr double kBetweenLooks = 1e-3;
/// Chunks of iterations between two checks by the host.
inline int64_t chunks_at_once(int64_t bytes, int64_t check_every) {
  return std::clamp<int64_t>(static_cast<int64_t>(kBetweenLooks / (iteration_seconds(bytes) * static_cast<double>(check_every))), 1, 64);
}

}  // namespace warploom::imaging::denoise_policy
