#include "cuda/swept/advance.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::swept {
namespace {

Status check_choices(const AdvanceParameters& p) {
  WARPLOOM_TRY(check_real_type(p.type));
  if (static_cast<uint32_t>(p.equation) > 2) return invalid("equation", "unknown equation");
  if (static_cast<uint32_t>(p.variant) > 8) return invalid("variant", "unknown variant");
  if (static_cast<uint32_t>(p.limiter) > 3) return invalid("limiter", "unknown limiter");
  const std::string name = kEquationNames[static_cast<int>(p.equation)];
  for (const bool right : {false, true}) {
    const Boundary end = right ? p.right : p.left;
    if (static_cast<uint32_t>(end) > 3) return invalid(right ? "right" : "left", "unknown boundary");
    if (!admits(p.equation, end)) {
      return invalid(right ? "right" : "left", name + " does not take " + kBoundaryNames[static_cast<int>(end)] + " ends");
    }
  }
  if ((p.left == Boundary::periodic) != (p.right == Boundary::periodic)) {
    return invalid(p.left == Boundary::periodic ? "right" : "left", "expected periodic at both ends or at none");
  }
  return {};
}

Status check_sizes(const AdvanceParameters& p) {
  const int64_t least = least_points(p.equation);
  if (p.n < least) return invalid("n", "expected at least " + std::to_string(least) + " points, got " + std::to_string(p.n));
  if (p.batch < 0) return invalid("batch", "expected zero or more, got " + std::to_string(p.batch));
  if (p.batch > 0 && p.n > (INT64_MAX / 64) / p.batch) return invalid("batch", "batch * n is too large");
  if (p.steps < 0 || p.steps > kMostSteps) {
    return invalid("steps", "expected 0 to " + std::to_string(kMostSteps) + ", got " + std::to_string(p.steps));
  }
  if (p.points < 0) return invalid("points", "expected zero or more");
  if (p.depth < 0) return invalid("depth", "expected zero or more");
  if (p.threads < 0 || p.threads > 1024 || p.threads % 32 != 0) {
    return invalid("threads", "expected a multiple of 32 up to 1024, or 0");
  }
  if (p.used.data != nullptr && p.used.length != kUsedWords) {
    return invalid("used", "expected " + std::to_string(kUsedWords) + " words");
  }
  return {};
}

}  // namespace

Status check(const AdvanceParameters& p) {
  WARPLOOM_TRY(check_choices(p));
  WARPLOOM_TRY(check_sizes(p));
  WARPLOOM_TRY(check_positive(p.dx, "dx"));
  WARPLOOM_TRY(check_positive(p.dt, "dt"));
  if (p.equation == Equation::heat) WARPLOOM_TRY(check_positive(p.diffusivity, "diffusivity"));
  if (p.equation == Equation::euler && !(std::isfinite(p.gamma) && p.gamma > 1)) {
    return invalid("gamma", "expected a finite number above 1, got " + std::to_string(p.gamma));
  }
  const int64_t count = elements_of(p);
  WARPLOOM_TRY(check_adjacent(p.state, count, "state"));
  WARPLOOM_TRY(check_adjacent(p.next, count, "next"));
  if (overlap(p.state, count, p.next, count, p.type)) return invalid("next", "overlaps state");
  return {};
}

void footprint(Footprint& f, const AdvanceParameters& p) {
  const int64_t components = components_of(p.equation);
  f.writes(p.next, {components, p.batch, p.n});
  // An update of heat takes an eighth, one of Kuramoto-Sivashinsky a quarter as long as what others count by.
  const bool euler = p.equation == Equation::euler;
  const int64_t share = euler ? 1 : p.equation == Equation::heat ? 8 : 4;
  f.works({euler ? 3 : 1, (std::max<int64_t>(p.steps, 1) - 1) / share + 1, components, p.batch, p.n});
}

void cuts(Cuts&, AdvanceParameters&) {}

}  // namespace warploom::swept
