// How many planes are kept of every level of a pass (blocked.h): as many as later levels still read.
#pragma once
#include "rows.h"

namespace wl_stencil {

template <class S>
struct Rings {
  /// Stages of a step, as far as a pass is concerned.
  static constexpr int kStages = S::kStaged ? 1 : S::kStages;
  static constexpr int kPlaneMargin = S::kMargin[0];

  /// Planes that are kept of the level that stage `phase - 1` makes; 0: the beginning of a step.
  static constexpr int planes_of(int phase) {
    int planes = kPlaneMargin + S::kReach[0] + 1;
    for (int s = 0; s < kStages && phase == 0; ++s) {
      if (!S::kStaged && S::reads_start(s)) planes = larger(planes, (s + 1) * kPlaneMargin + 1);
    }
    return planes;
  }

  /// The phase at which the sum that a stage reads was written.
  static constexpr int sum_phase(int stage) {
    int found = 0;
    for (int s = 0; s < stage; ++s) {
      if (S::writes_sum(s)) found = s + 1;
    }
    return found;
  }

  /// Planes that are kept of the sum that stage `phase - 1` writes.
  static constexpr int sum_planes_of(int phase) {
    int planes = phase > 0 && !S::kStaged && S::writes_sum(phase - 1) ? 1 : 0;
    for (int s = phase; s < kStages && planes > 0; ++s) {
      if (S::reads_sum(s) && sum_phase(s) == phase) planes = larger(planes, (s + 1 - phase) * kPlaneMargin + 1);
    }
    return planes;
  }

  static int largest_planes() {
    int most = 0;
    for (int phase = 0; phase < kStages; ++phase) most = larger(most, planes_of(phase) + sum_planes_of(phase));
    return most;
  }
};

}  // namespace wl_stencil
