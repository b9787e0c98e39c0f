// What a denoising does around its iterations, the same on every backend: the survey of the image, coefficients, the stopping rule and the
// search for the weight that belongs to a noise level.
#pragma once
#include <cstdint>
#include <vector>

#include "cuda/core/backend.h"
#include "cuda/imaging/denoise.h"
#include "cuda/imaging/denoise_state.h"
#include "cuda/imaging/tv_point.h"

namespace warploom::imaging {

/// The part of a denoising that a backend does. `Real` steps are made from doubles by the backend.
class DenoiseBackend {
 public:
  virtual ~DenoiseBackend() = default;
  virtual Status survey(SurveyPart* out) = 0;
  /// Counts of the details of the image (see denoise_driver.cpp): how many there are, and those of magnitude `limit` or less.
  virtual Status count_details(double limit, int64_t* all, int64_t* below) = 0;
  /// Prepares a solution. The first one starts from the image, with `fill` for pixels that are NaN; later ones go on from the last.
  virtual Status begin(const DenoiseState& state, const std::vector<TvStep<double>>& steps, const TvBounds<double>& bounds, double fill,
                       bool first) = 0;
  /// Goes on for some chunks of check_every iterations with the check after them; stops by itself where the state says so.
  virtual Status run(DenoiseState* state, DenoiseEntry* history) = 0;
};

/// The whole of a denoising but for the copy of the result.
Status denoise(const DenoiseParameters& p, DenoiseBackend& backend, Control& control);

/// The step of the flow: dt * (4 dimensions w / sqrt(eps) + 1) = 1, half of what is stable for its linearisation.
double stable_step(const Grid& grid, double weight, double eps);

}  // namespace warploom::imaging
