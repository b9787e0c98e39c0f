// Steps of varying length: the arithmetic of lib/stencil/engines/adaptive.ts.
#pragma once
#include <algorithm>
#include <cmath>

namespace wl_stencil {

/// What bounds the steps of a span: where it begins and ends, the longest step, 1 / the CFL number, 1 / the diffusion number.
struct StepLimits {
  double time, until, most, h, g;
};

/// Where it has come to, the length of the last step, and the rate that it was chosen for.
struct StepClock {
  double time, dt, rate;
  bool is_stuck;
};

/// `rate`: 1 / the longest step that all cells allow.
inline StepClock next_step(const StepLimits& limits, const StepClock& clock, double rate) {
  const double wanted = std::min(1 / rate, limits.most), left = limits.until - clock.time;
  if (left <= wanted * (1 + 0x1p-40) && std::isfinite(left)) return {limits.until, left, rate, false};
  const double next = clock.time + wanted;
  if (!(next > clock.time && std::isfinite(next))) return {clock.time, clock.dt, rate, true};
  return {next, wanted, rate, false};
}

}  // namespace wl_stencil
