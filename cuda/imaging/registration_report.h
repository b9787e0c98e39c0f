// Host's share of imaging.registration, the same on every backend.
#pragma once
#include <cmath>
#include <limits>

#include "cuda/imaging/registration.h"
#include "cuda/imaging/registration_sums.h"

namespace warploom::imaging {

/// 2 - 2 cos(pi k / n), of the one-dimensional Laplacian.
inline double eigenvalue(int64_t k, int64_t n) {
  const double s = std::sin(1.57079632679489661923 * static_cast<double>(k) / static_cast<double>(n));
  return 4 * s * s;
}

/// The reports of a call whose history stands in p.history.
inline void write_report(const RegistrationParameters& p, const RegistrationState& state) {
  for (int64_t i = state.evaluations; i < p.history.length; ++i) p.history.data[i] = std::numeric_limits<double>::quiet_NaN();
  p.figures.data[0] = state.evaluations - 1;
  p.figures.data[1] = state.stopped;
  p.figures.data[2] = state.step;
}

}  // namespace warploom::imaging
