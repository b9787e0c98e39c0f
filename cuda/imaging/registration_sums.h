// Sums over both images, the measure computed from them, and the state shared by the iterations of a call.
//
// The sums have the same order on every backend. Rows 2p and 2p + 1 of the grid are a pair. Lane l of 32 adds the
// points l, l + 32, … of the first row, each followed by the same point of the second row, the channels of a point one
// after another; the lanes are combined at distances 16, 8, 4, 2, 1. Lane t of 256 adds the pairs t, t + 256, …; these
// lanes are combined in groups of 32 in the same way, and then the groups one after another.
#pragma once
#include <cmath>
#include <cstdint>

#include "cuda/core/portable.h"
#include "cuda/imaging/registration_entry.h"

namespace warploom::imaging {

inline constexpr int kSumLanes = 32, kTotalLanes = 256;
/// The tolerance compares with the measure this many iterations ago.
inline constexpr int kSumWindow = 10;

/// Over the points that are counted: their number; (r - t)^2; and (ncc only) t, r and their products, for the warped
/// template t and the reference r.
struct ImageSums {
  double count, square, t, r, tt, rr, tr;
};
/// ssd uses the first `kSsdSums`. In memory, sum k of pair p is word k * pairs + p.
inline constexpr int kSsdSums = 2, kNccSums = 7;

WARPLOOM_PORTABLE ImageSums no_sums() { return {0, 0, 0, 0, 0, 0, 0}; }
WARPLOOM_PORTABLE void store_sums(const ImageSums& sums, bool all, double* words, int64_t stride) {
  words[0] = sums.count;
  words[stride] = sums.square;
  if (!all) return;
  words[2 * stride] = sums.t;
  words[3 * stride] = sums.r;
  words[4 * stride] = sums.tt;
  words[5 * stride] = sums.rr;
  words[6 * stride] = sums.tr;
}
WARPLOOM_PORTABLE ImageSums load_sums(bool all, const double* words, int64_t stride) {
  ImageSums sums = {words[0], words[stride], 0, 0, 0, 0, 0};
  if (!all) return sums;
  sums.t = words[2 * stride];
  sums.r = words[3 * stride];
  sums.tt = words[4 * stride];
  sums.rr = words[5 * stride];
  sums.tr = words[6 * stride];
  return sums;
}

/// `all`: the sums for ncc too. A template value of NaN is not counted.
template <class T>
WARPLOOM_PORTABLE void add_point(ImageSums& sums, T warped, T reference, bool all) {
  if (!(warped == warped)) return;
  const double d = static_cast<double>(reference - warped);
  sums.count += 1;
  sums.square += d * d;
  if (!all) return;
  const double t = static_cast<double>(warped), r = static_cast<double>(reference);
  sums.t += t;
  sums.r += r;
  sums.tt += t * t;
  sums.rr += r * r;
  sums.tr += t * r;
}

WARPLOOM_PORTABLE ImageSums combined(const ImageSums& a, const ImageSums& b) {
  return {a.count + b.count, a.square + b.square, a.t + b.t, a.r + b.r, a.tt + b.tt, a.rr + b.rr, a.tr + b.tr};
}

/// The square root, rounded to nearest: both the instruction and the library's sequence are.
WARPLOOM_PORTABLE double exact_root(double value) { return sqrt(value); }

/// What the kernels of one iteration pass to the next.
struct RegistrationState {
  double reference, warped, constant;  ///< factors of the residual, see ForceFactors
  double step;
  double weight;       ///< step * alpha
  double pace;         ///< t of Nesterov's sequence t' = (1 + sqrt(1 + 4 t^2)) / 2
  double momentum;     ///< b = (t - 1) / t'
  int32_t evaluations; ///< how often the measure was evaluated so far
  int32_t last;        ///< the iteration that last evaluated the measure is the final one
  int32_t finished;    ///< and it has ended
  int32_t stopped;     ///< by the tolerance
};

/// Settings of a call that the evaluations use.
struct Evaluation {
  bool ncc, accelerate;
  double tolerance;
  int32_t iterations;
  RegistrationEntry* history;
};

WARPLOOM_PORTABLE RegistrationState first_state() { return {1, -1, 0, 0, 0, 1, 0, 0, 0, 0, 0}; }

/// Returns the measure; for ncc also computes the factors of the next residual.
WARPLOOM_PORTABLE double measure_of(const ImageSums& s, bool ncc, RegistrationState& state) {
  if (!ncc) return s.square / s.count;
  const double t = s.t / s.count, r = s.r / s.count;
  const double tt = s.tt - s.t * t, rr = s.rr - s.r * r, tr = s.tr - s.t * r;
  const bool known = tt > 1e-14 * s.tt && rr > 1e-14 * s.rr;  // constant images have no correlation
  const double scale = known ? 1 / exact_root(tt * rr) : 0;
  const double slope = known ? tr / tt : 0;
  state.reference = s.count * scale;
  state.warped = -(s.count * scale) * slope;
  state.constant = s.count * scale * (slope * t - r);
  return 1 - tr * scale;
}

/// Evaluates the sums for the current displacement.
WARPLOOM_PORTABLE void take_sums(RegistrationState& state, const Evaluation& e, const ImageSums& sums) {
  const double value = measure_of(sums, e.ncc, state);
  const int32_t k = state.evaluations;
  e.history[k].value = value;
  state.evaluations = k + 1;
  if (e.accelerate) {
    const double pace = k > 0 && value > e.history[k - 1].value ? 1 : state.pace;
    state.pace = 0.5 * (1 + exact_root(1 + 4 * (pace * pace)));
    state.momentum = (pace - 1) / state.pace;
  }
  if (!(e.tolerance > 0) || k < kSumWindow || k >= e.iterations) return;
  const double before = e.history[k - kSumWindow].value;
  if (!(before - value > e.tolerance * before)) state.last = state.stopped = 1;
}

/// The step of a call, from the template's largest |gradient|^2. For ncc the factors must be known.
WARPLOOM_PORTABLE double step_of(double step, double scale, double stiffness, double gradient, const RegistrationState& state) {
  if (step > 0) return step;
  const double slope = gradient * portable::absolute(state.warped) + stiffness;
  return slope > 0 && scale / slope < 1e30 ? scale / slope : 1;
}

}  // namespace warploom::imaging
