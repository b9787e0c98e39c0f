// A run of launches repeated many times, in graphs, with checks for cancellation in between.
#pragma once
#include <algorithm>

#include "cuda/swept/variants.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// Runs the launches of `body`, which are the same each time, `times` times. `updates`: point updates in one run. The
/// launches of a graph are submitted in portions of about policy::kUpdatesPerReplay, which bounds how late a cancelled
/// call stops.
template <class Body>
Status replay_all(GpuDevice& device, Control& control, int64_t times, int64_t updates, const Body& body) {
  const int64_t most = std::max<int64_t>(1, std::min(policy::kMostReplays, policy::kUpdatesPerReplay / std::max<int64_t>(1, updates)));
  while (times > 0) {
    if (control.cancelled()) return {Code::cancelled, "cancelled"};
    const int64_t portion = std::min(times, most);
    WARPLOOM_TRY(device.replay(portion, body));
    times -= portion;
  }
  return {};
}

}  // namespace warploom::WARPLOOM_TARGET::swept
