#include "cuda/core/check.h"
#include "cuda/imaging/denoise_driver.h"

#include <algorithm>
#include <cmath>

namespace warploom::imaging {
namespace {

/// How much faster the dual variable moves than the primal one at first; found by trial on noisy phantoms
/// (docs/imaging-denoise.md).
constexpr double kAcceleratedBalance = 4;
constexpr int kMostSolutions = 30;
/// Relative tolerance for the noise level that a weight produces.
constexpr double kLevelTolerance = 1e-3;

/// The squares of the factors of differences, summed over the axes with several points.
double stiffness(const Grid& g, const AxisWeights& w) {
  const double sum = (g.nx > 1 ? w.x * w.x : 0) + (g.ny > 1 ? w.y * w.y : 0) + (g.nz > 1 ? w.z * w.z : 0);
  return sum > 0 ? sum : 1;
}

class Driver {
 public:
  Driver(const DenoiseParameters& p, DenoiseBackend& backend, Control& control)
      : p_(p), backend_(backend), control_(control), history_(static_cast<size_t>(most_checks(p))) {}

  Status run() {
    WARPLOOM_TRY(backend_.survey(&survey_));
    WARPLOOM_TRY(check_pixels());
    if (p_.weight != 0) {
      WARPLOOM_TRY(solve(p_.weight));
    } else {
      sigma_ = p_.sigma;
      if (sigma_ == 0) WARPLOOM_TRY(estimate());
      WARPLOOM_TRY(search());
    }
    report();
    return {};
  }

 private:
  Status check_pixels() const {
    if (survey_.infinite > 0) return invalid("image", std::to_string(static_cast<int64_t>(survey_.infinite)) + " values are infinite");
    if (survey_.finite == 0) return invalid("image", "every value is NaN");
    if (survey_.missing > 0 && !p_.fill) {
      return invalid("image", std::to_string(static_cast<int64_t>(survey_.missing))
          + " values are NaN; fill: true treats them as missing pixels");
    }
    return {};
  }

  bool accelerated() const { return p_.noise == NoiseKind::gaussian && survey_.missing == 0; }

  /// Steps of Algorithm 2 if the data term is strongly convex, otherwise of Algorithm 1.
  std::vector<TvStep<double>> steps(double weight) const {
    if (p_.method == DenoiseMethod::flow) return {};
    const AxisWeights w = weights_of(p_.grid, p_.spacing);
    const double norm = std::sqrt(4.0 * stiffness(p_.grid, w));
    const double range = survey_.most > survey_.least ? survey_.most - survey_.least : 1;
    double tau = 0.1 * range / (weight * norm);
    if (accelerated()) tau *= kAcceleratedBalance;
    double sigma = 1 / (tau * norm * norm);
    std::vector<TvStep<double>> list(static_cast<size_t>(accelerated() ? p_.iterations : 1));
    for (TvStep<double>& step : list) {
      const double theta = accelerated() ? 1 / std::sqrt(1 + 2 * tau) : 1;
      step = {1 / (1 + tau), tau * weight / (1 + tau) * w.x, tau / (1 + tau), tau * weight * w.x, tau, theta, sigma / (theta * weight)};
      if (!accelerated()) continue;
      // Algorithm 2 with the primal step first, so the dual step after it uses the new sigma.
      tau *= theta;
      sigma /= theta;
    }
    return list;
  }

  Status solve(double weight) {
    DenoiseState state{};
    state.weight = weight;
    state.tolerance = p_.tolerance;
    state.valid = survey_.finite;
    state.pixels = survey_.finite + survey_.missing;
    state.limit = p_.iterations;
    state.check_every = p_.check_every;
    state.flow = p_.method == DenoiseMethod::flow;
    state.impulse = p_.noise == NoiseKind::impulse;
    WARPLOOM_TRY(backend_.begin(state, steps(weight), {survey_.least, survey_.most}, survey_.sum / survey_.finite, solutions_ == 0));
    ++solutions_;
    while (state.stopped == 0) {
      if (control_.cancelled()) return {Code::cancelled, "cancelled"};
      WARPLOOM_TRY(backend_.run(&state, history_.data()));
      control_.progress(static_cast<double>(state.iterations), state.energy / state.pixels);
    }
    state_ = state;
    all_iterations_ += state.iterations;
    residual_ = state.residual < 0 ? -1 : std::sqrt(2 * state.residual / state.valid);
    return {};
  }

  /// Estimates the noise from the median magnitude of the image's details, relative to that of a normal distribution
  /// (Donoho and Johnstone 1994). Finds the median in at most 40 bisections.
  Status estimate() {
    int64_t all = 0, below = 0;
    WARPLOOM_TRY(backend_.count_details(0, &all, &below));
    if (all == 0) return invalid("sigma", "the image is too small to estimate its noise: give weight or sigma");
    double low = 0, high = (survey_.most - survey_.least) * 4 + 1e-300;
    if (2 * below >= all) high = 0;
    for (int i = 0; i < 40 && high > low; ++i) {
      const double middle = low + (high - low) / 2;
      WARPLOOM_TRY(backend_.count_details(middle, &all, &below));
      (2 * below >= all ? high : low) = middle;
    }
    sigma_ = high / 0.6744897501960817;
    if (!(sigma_ > 0)) return invalid("sigma", "the image has no noise that could be estimated: give weight or sigma");
    return {};
  }

  /// Finds the weight for which |u - f| is the noise level. The level grows with the weight, so false position narrows
  /// a bracket.
  Status search() {
    double low = 0, low_level = 0, high = 0, high_level = 0, weight = 0.6 * sigma_;
    while (solutions_ < kMostSolutions) {
      WARPLOOM_TRY(solve(weight));
      if (std::fabs(residual_ - sigma_) <= kLevelTolerance * sigma_) return {};
      if (residual_ < sigma_) {
        if (low > 0 && residual_ < low_level * (1 + 1e-6) && weight > 1.5 * low) {
          return invalid("sigma", "the image departs from its mean by less than " + std::to_string(sigma_));
        }
        low = weight;
        low_level = residual_;
      } else {
        high = weight;
        high_level = residual_;
      }
      if (high == 0) weight = 2 * low;
      else if (solutions_ % 3 == 0) weight = 0.5 * (low + high);
      else weight = low + (high - low) * ((sigma_ - low_level) / (high_level - low_level));
    }
    return {};
  }

  void report() const {
    if (p_.report == nullptr) return;
    DenoiseReport& report = *p_.report;
    report.iterations = all_iterations_;
    report.converged = state_.converged != 0;
    report.filled = static_cast<int64_t>(survey_.missing);
    report.solutions = solutions_;
    report.weight = state_.weight;
    report.sigma = sigma_;
    report.energy = state_.energy;
    report.gap = state_.gap;
    report.residual = residual_;
    if (p_.method == DenoiseMethod::flow) report.dt = p_.dt != 0 ? p_.dt : stable_step(p_, state_.weight);
    std::copy_n(history_.data(), state_.checks, report.history.data);
    report.history.count = state_.checks;
  }

  const DenoiseParameters& p_;
  DenoiseBackend& backend_;
  Control& control_;
  std::vector<DenoiseEntry> history_;
  SurveyPart survey_;
  DenoiseState state_{};
  double sigma_ = 0, residual_ = -1;
  int64_t all_iterations_ = 0, solutions_ = 0;
};

}  // namespace

double stable_step(const DenoiseParameters& p, double weight) {
  return 1 / (4 * stiffness(p.grid, weights_of(p.grid, p.spacing)) * weight / std::sqrt(p.eps) + 1);
}

Status denoise(const DenoiseParameters& p, DenoiseBackend& backend, Control& control) { return Driver(p, backend, control).run(); }

}  // namespace warploom::imaging
