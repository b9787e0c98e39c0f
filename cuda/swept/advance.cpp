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
  const std::string name = kEquationNames[static_cast<int>(p.equation)];
  for (const bool right : {false, true}) {
    const Boundary end = right ? p.right : p.left;
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
  if (p.batch > 0 && p.n > (INT64_MAX / 64) / p.batch) return invalid("batch", "batch * n is too large");
  if (p.threads % 32 != 0) return invalid("threads", "expected a multiple of 32, got " + std::to_string(p.threads));
  return {};
}

}  // namespace

Status check(const AdvanceParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_choices(p));
  WARPLOOM_TRY(check_sizes(p));
  if (p.equation == Equation::heat) WARPLOOM_TRY(check_positive(p.diffusivity, "diffusivity"));
  if (p.equation == Equation::euler && !(std::isfinite(p.gamma) && p.gamma > 1)) {
    return invalid("gamma", "expected a finite number above 1, got " + std::to_string(p.gamma));
  }
  const int64_t count = elements_of(p);
  WARPLOOM_TRY(check_adjacent("state", p.state, count));
  WARPLOOM_TRY(check_adjacent("next", p.next, count));
  return check_apart("state", p.state, "next", p.next, p.type);
}

void footprint(Footprint& f, const AdvanceParameters& p) {
  const int64_t components = components_of(p.equation);
  // An update takes an eighth (heat) or a quarter (Kuramoto-Sivashinsky) of the time that other operations count by.
  const bool euler = p.equation == Equation::euler;
  const int64_t share = euler ? 1 : p.equation == Equation::heat ? 8 : 4;
  f.works({euler ? 3 : 1, (std::max<int64_t>(p.steps, 1) - 1) / share + 1, components, p.batch, p.n});
}

void cuts(Cuts&, AdvanceParameters&) {}

}  // namespace warploom::swept
