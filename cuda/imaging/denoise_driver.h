// Everything in denoising except the iterations, the same on every backend: the survey of the image, the coefficients,
// the stopping rule, and the search for the weight that matches a noise level.
#pragma once
#include <cstdint>
#include <vector>

#include "cuda/core/backend.h"
#include "cuda/imaging/denoise.h"
#include "cuda/imaging/denoise_state.h"
#include "cuda/imaging/tv_point.h"

namespace warploom::imaging {

/// The part of denoising that a backend does. The backend converts steps from doubles to its number type.
class DenoiseBackend {
 public:
  virtual ~DenoiseBackend() = default;
  virtual Status survey(SurveyPart* out) = 0;
  /// Counts the details of the image (see denoise_driver.cpp): all of them, and those of magnitude `limit` or less.
  virtual Status count_details(double limit, int64_t* all, int64_t* below) = 0;
  /// Prepares a solution. The first one starts from the image, with `fill` in place of NaN pixels; later ones continue
  /// from the last.
  virtual Status begin(const DenoiseState& state, const std::vector<TvStep<double>>& steps, const TvBounds<double>& bounds, double fill,
                       bool first) = 0;
  /// Continues for several chunks of check_every iterations, each followed by a check; stops on its own when the state
  /// says so.
  virtual Status run(DenoiseState* state, DenoiseEntry* history) = 0;
};

/// A complete denoising, except for copying the result.
Status denoise(const DenoiseParameters& p, DenoiseBackend& backend, Control& control);

/// The factors of a grid in a number type.
template <class T>
TvWeights<T> tv_weights(const AxisWeights& w) {
  return {static_cast<T>(w.x), static_cast<T>(w.y), static_cast<T>(w.z), static_cast<T>(w.y / w.x), static_cast<T>(w.z / w.x)};
}

/// The step of the flow: dt * (4 sum of w_a^2 * w / sqrt(eps) + 1) = 1, which is half the stability limit of its
/// linearisation.
double stable_step(const DenoiseParameters& p, double weight);

}  // namespace warploom::imaging
