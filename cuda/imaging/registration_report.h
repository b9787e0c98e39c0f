// The host's part of imaging.registration, the same on every backend.
#pragma once
#include <cmath>

#include "cuda/imaging/registration.h"
#include "cuda/imaging/registration_sums.h"

namespace warploom::imaging {

/// 2 - 2 cos(pi k / n): eigenvalue of the one-dimensional Laplacian.
inline double eigenvalue(int64_t k, int64_t n) {
  const double s = std::sin(1.57079632679489661923 * static_cast<double>(k) / static_cast<double>(n));
  return 4 * s * s;
}

/// Writes the report, except for the entries of its history.
inline void write_report(RegistrationReport& report, const RegistrationState& state) {
  report.iterations = state.evaluations - 1;
  report.converged = state.stopped != 0;
  report.step = state.step;
  report.history.count = state.evaluations;
}

}  // namespace warploom::imaging
