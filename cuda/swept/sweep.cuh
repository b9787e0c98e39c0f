// The order of the phases of a swept march, for `shared`, `hybrid` and `register`.
#pragma once
#include "cuda/swept/nodes.h"
#include "cuda/swept/replay.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

using operation::Nodes;
using operation::Phase;

/// Time steps that a phase goes up: as many as the nodes allow, fewer where `asked` says so.
template <class Equation>
int steps_of_phase(const Nodes& nodes, int asked) {
  const int64_t most = nodes.most_levels(Equation::kReach) / Equation::kSubsteps;
  return static_cast<int>(asked > 0 && asked < most ? asked : most);
}

/// Calls launch(phase) for the phases of march.steps steps, `height` steps each; the last way up is cut to what is left.
/// replayed: the launches are the same each time for the same phase, so that they may be replayed as a graph.
template <class Equation, class Launch>
Status sweep(GpuDevice& device, const March<Equation>& march, int height, bool replayed, Control& control, const Launch& launch) {
  int64_t left = march.steps;
  Phase phase{0, static_cast<int>(std::min<int64_t>(height, left)) * Equation::kSubsteps, false};
  WARPLOOM_TRY(launch(phase));
  left -= phase.up / Equation::kSubsteps;
  const auto diamond = [&](int up) -> Status {
    phase = {phase.up, up, !phase.shifted};
    return launch(phase);
  };
  constexpr int64_t kPhases = policy::kPhasesPerGraph;  // even: after them the nodes stand as before
  const int full = height * Equation::kSubsteps;
  if (replayed && left >= 2 * kPhases * height) {
    const int64_t times = left / (kPhases * height);
    WARPLOOM_TRY(replay_all(device, control, times, kPhases * height * march.elements(), [&]() -> Status {
      for (int64_t i = 0; i < kPhases; ++i) WARPLOOM_TRY(diamond(full));
      return {};
    }));
    left -= times * kPhases * height;
  }
  while (left > 0) {
    if (control.cancelled()) return {Code::cancelled, "cancelled"};
    WARPLOOM_TRY(diamond(static_cast<int>(std::min<int64_t>(height, left)) * Equation::kSubsteps));
    left -= phase.up / Equation::kSubsteps;
  }
  return diamond(0);
}

}  // namespace warploom::WARPLOOM_TARGET::swept
