// The progress of a denoising, and the rule that stops it.
#pragma once
#include <cstdint>

#include "cuda/imaging/denoise.h"
#include "cuda/imaging/tv_sums.h"

namespace warploom::imaging {

/// Progress of a solution, kept in device memory while it runs.
struct DenoiseState {
  double weight, tolerance, pixels;  ///< pixels: number of components of pixels; energies are divided by it
  double energy, gap, residual;      ///< at the last check; residual: root mean square of u - f, -1 if unknown
  int64_t iterations, checks, limit, check_every;
  int32_t stopped, converged, flow, impulse;
  double valid;  ///< components of pixels with data
};

/// Applies the sums of a check: advances the counters, and decides whether the solution is done.
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
