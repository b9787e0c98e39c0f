// A run of launches made many times, in graphs, with the caller's cancellation looked at in between.
#pragma once
#include <algorithm>

#include "cuda/swept/variants.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// Makes the launches of `body`, each time the same, `times` times. `updates`: point updates that one time makes; a graph's
/// launches are handed to the device in portions of about policy::kUpdatesPerReplay, which bounds how late a cancelled call stops.
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
