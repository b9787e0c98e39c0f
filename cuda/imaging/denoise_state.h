// How far a denoising has come, and the rule that stops it.
#pragma once
#include <cstdint>

#include "cuda/imaging/denoise.h"
#include "cuda/imaging/tv_sums.h"

namespace warploom::imaging {

/// Progress of a solution: kept in the device's memory while it runs.
struct DenoiseState {
  double weight, tolerance, pixels;  ///< pixels: components of pixels, which energies are divided by
  double energy, gap, residual;      ///< of the last check; residual: the root mean square of u - f; -1 where it is not known
  int64_t iterations, checks, limit, check_every;
  int32_t stopped, converged, flow, impulse;
  double valid;  ///< components of pixels with data
};

/// Takes the sums of a check in: advances the counters and decides whether the solution is done.
WARPLOOM_PORTABLE void judge(DenoiseState& state, const TvPart& part, DenoiseEntry* history) {
  const double energy = state.weight * part.variation + part.data, before = state.energy;
  const int64_t next = state.iterations + state.check_every;
  state.iterations = next < state.limit ? next : state.limit;
  state.energy = energy;
  double measure;
  if (state.flow != 0) measure = state.checks == 0 ? HUGE_VAL : (before - energy) / energy;
  else measure = (energy - part.dual) / energy;
  if (energy == 0) measure = 0;
  state.gap = measure;
  state.residual = state.impulse != 0 ? -1 : part.data;
  history[state.checks] = {static_cast<double>(state.iterations), energy / state.pixels, measure};
  ++state.checks;
  const bool good = measure <= state.tolerance;
  const bool lost = !(energy - energy == 0);
  state.converged = good ? 1 : 0;
  state.stopped = good || lost || state.iterations == state.limit ? 1 : 0;
}

}  // namespace warploom::imaging
