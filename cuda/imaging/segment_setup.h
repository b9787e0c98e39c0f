// The constants of a call of imaging.segment and its report: the same on every backend.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "cuda/imaging/segment.h"
#include "cuda/imaging/segment_sums.h"

namespace warploom::imaging::segmentation {

/// Results of a survey of the image.
struct Survey {
  double least = HUGE_VAL, most = -HUGE_VAL;  ///< of points with data
  int64_t count = 0;                          ///< points with data
};

/// A call's constants.
struct Setup {
  double centre = 0, range = 1;
  Scales scales;
  double change_limit = -1;  ///< the largest `change` that counts as converged; negative: none does
};

inline double power_of_two(int exponent) { return std::ldexp(1.0, exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent); }
/// The smallest e with size <= 2^e.
inline int exponent_above(double size) {
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);
  return size > 0 ? (fraction == 0.5 ? exponent - 1 : exponent) : 0;
}

inline Setup make_setup(const SegmentParameters& p, const Survey& survey, const double* weights) {
  Setup setup;
  if (survey.count > 0) setup.centre = 0.5 * survey.least + 0.5 * survey.most;
  const double range = survey.count > 0 ? survey.most - survey.least : 0;
  if (p.normalize && range > 0 && std::isfinite(range)) setup.range = range;
  double weight = 0;
  for (int64_t c = 0; c < p.channels; ++c) weight += weights[c];
  // Bits per term, chosen so that the sum of all terms fits.
  const int64_t points = points_of(p.grid);
  const int room = 61 - exponent_above(static_cast<double>(points)), bits = room < 49 ? room : 49;
  const double value = range / setup.range, part = weight * value * value;
  const double most_force = 8 * p.mu + std::fabs(p.nu) + part * (p.lambda1 + p.lambda2), change = p.dt / p.epsilon * most_force;
  setup.scales.value = power_of_two(bits - exponent_above(value));
  setup.scales.change = power_of_two(bits - exponent_above(change * change));
  setup.scales.area = power_of_two(bits);
  setup.scales.length = power_of_two(bits - 21);
  setup.scales.part = power_of_two(bits - exponent_above(part * (p.lambda1 + p.lambda2)));
  if (p.tolerance > 0) setup.change_limit = p.tolerance * p.tolerance * static_cast<double>(points) * setup.scales.change;
  return setup;
}

/// Weights of the channels as passed, otherwise 1.
inline std::vector<double> channel_weights(const SegmentParameters& p, const double* given) {
  return given != nullptr ? std::vector<double>(given, given + p.channels) : std::vector<double>(static_cast<size_t>(p.channels), 1.0);
}

/// `weight`: that of the only channel, or 1 if there are several.
template <class R>
Flow<R> make_flow(const SegmentParameters& p, const Setup& setup, double weight) {
  const double weight_of_faces = 1.0 / (8 * dimensions_of(p.grid));
  return {static_cast<R>(setup.centre), static_cast<R>(1 / setup.range),
          static_cast<R>(p.lambda1 * weight), static_cast<R>(p.lambda2 * weight),
          static_cast<R>(4 * p.mu), static_cast<R>(p.nu), static_cast<R>(16 * p.eta), static_cast<R>(1 / (p.epsilon * p.dt)),
          static_cast<R>(p.epsilon / p.dt), sizeof(R) == 4 ? static_cast<R>(3.402823466e+38) : static_cast<R>(1.7976931348623157e+308),
          static_cast<R>(weight_of_faces), static_cast<R>(1 / p.epsilon), p.step == StepKind::semi_implicit ? 1 : 0,
          axis_factors<R>(p.grid, p.spacing), is_even(p.grid, p.spacing) ? 1 : 0};
}

/// The energy from the words of an entry. `totals`: points with data, then the sums of the channels over them.
inline double energy_of(const SegmentParameters& p, const Setup& setup, const double* weights, const int64_t* entry,
                        const int64_t* totals) {
  const Scales& scales = setup.scales;
  const double data_area = static_cast<double>(entry[kDataArea]) / scales.area, rest = static_cast<double>(totals[0]) - data_area;
  double parts = static_cast<double>(entry[kPartInside]) / scales.part + static_cast<double>(entry[kPartOutside]) / scales.part;
  for (int64_t c = 0; c < p.channels; ++c) {
    const double weight = weights[c];
    const double inside = static_cast<double>(entry[kEnergyWords + c]) / scales.value;
    const double outside = static_cast<double>(totals[1 + c] - entry[kEnergyWords + c]) / scales.value;
    if (data_area > 0) parts -= weight * p.lambda1 * inside * inside / data_area;
    if (rest > 0) parts -= weight * p.lambda2 * outside * outside / rest;
  }
  return p.mu * static_cast<double>(entry[kLength]) / scales.length + p.nu * static_cast<double>(entry[kArea]) / scales.area + parts;
}

/// The state at the end of a call, as words of its sums.
struct Ending {
  int64_t inside = 0, change = 0, sum = 0;
  const int64_t* sums = nullptr;     ///< of the channels inside
  const int64_t* totals = nullptr;   ///< points with data, sums of the channels
  const int64_t* entries = nullptr;  ///< of the energies
  int64_t last_entry = 0, iterations = 0;
};

/// Fills the report of a call.
inline void write_report(const SegmentParameters& p, const Setup& setup, const double* weights, SegmentVariant variant,
                         const Ending& ending) {
  if (p.report == nullptr) return;
  SegmentReport& report = *p.report;
  const double unit = 1 / setup.scales.value;
  for (int64_t c = 0; c < p.channels; ++c) {
    const Means means = means_of(ending.inside, ending.sums[c], ending.totals[0], ending.totals[1 + c], unit);
    report.means.data[c] = {setup.centre + setup.range * means.inside, setup.centre + setup.range * means.outside};
  }
  const int64_t words = kEnergyWords + p.channels;
  int64_t entries = 0;
  const auto record = [&](int64_t iteration, int64_t entry) {
    report.history.data[entries++] = {static_cast<double>(iteration),
                                      energy_of(p, setup, weights, ending.entries + entry * words, ending.totals)};
  };
  record(0, 0);
  for (int64_t k = 1; p.energy_every > 0 && k * p.energy_every < ending.iterations; ++k) record(k * p.energy_every, k);
  if (ending.iterations > 0) record(ending.iterations, ending.last_entry);
  const double points = static_cast<double>(points_of(p.grid));
  report.history.count = entries;
  report.variant = variant;
  report.iterations = ending.iterations;
  report.converged = ending.iterations > 0 && static_cast<double>(ending.change) <= setup.change_limit;
  report.energy = report.history.data[entries - 1].energy;
  report.change = ending.iterations > 0 ? std::sqrt(static_cast<double>(ending.change) / setup.scales.change / points) : 0;
  report.inside = ending.inside;
  report.valid = ending.totals[0];
}

}  // namespace warploom::imaging::segmentation
