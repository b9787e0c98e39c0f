// One word per problem that says what went wrong first. Words are ordered so that atomic_min gives the same answer in
// whatever order lanes, warps and blocks are merged: non-finite input before zero pivot before overflow, then the
// smallest row.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/linear/outcomes.h"

namespace warploom::WARPLOOM_TARGET::linear {

enum class Finding : int { none = 0, overflow = 1, zero_pivot = 2, non_finite_input = 3 };

inline constexpr int kVerdictRows = 1 << 28;  ///< rows that a verdict can name; larger ones count as the last

/// Zero for Finding::none, else negative; the smaller of two words is the one to report.
WARPLOOM_HOST_DEVICE int make_verdict(Finding finding, int64_t row) {
  const int named = row < kVerdictRows ? static_cast<int>(row) : kVerdictRows - 1;
  return -((static_cast<int>(finding) << 28) + (kVerdictRows - 1 - named));
}

/// Writes the status word and row of a problem; `batch` has the arrays `status` and `row`. An overflow has no row and
/// is reported as inaccurate.
template <class B>
WARPLOOM_DEVICE void store_verdict(const B& batch, int64_t problem, int verdict) {
  const int finding = -verdict >> 28;
  const int row = kVerdictRows - 1 - (-verdict & (kVerdictRows - 1));
  const auto status = finding == static_cast<int>(Finding::none)         ? ::warploom::linear::SystemStatus::ok
                      : finding == static_cast<int>(Finding::overflow)   ? ::warploom::linear::SystemStatus::inaccurate
                      : finding == static_cast<int>(Finding::zero_pivot) ? ::warploom::linear::SystemStatus::zero_pivot
                                                                         : ::warploom::linear::SystemStatus::non_finite;
  batch.status[problem] = static_cast<int32_t>(status);
  batch.row[problem] = finding <= static_cast<int>(Finding::overflow) ? -1 : row;
}

}  // namespace warploom::WARPLOOM_TARGET::linear
