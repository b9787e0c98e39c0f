#include "cuda/tridiagonal/solve_factored.h"

#include "cuda/core/footprint.h"
#include "cuda/tridiagonal/factor_check.h"

namespace warploom::tridiagonal {

Status check(const SolveFactoredParameters& p) {
  const Shape shape{p.type, p.n, p.batch, p.rhs_count, p.offsets};
  WARPLOOM_TRY(check_shape(shape));
  if (!in_range(p.factorisation, 3)) {
    return Status(Code::invalid_argument, "unknown factorisation", "factorisation");
  }
  WARPLOOM_TRY(check_factors(shape, p.periodic, p.factors));
  WARPLOOM_TRY(check_view("rhs", shape, p.rhs, {}, p.rhs_count));
  WARPLOOM_TRY(check_view("solution", shape, p.solution, {}, p.rhs_count));
  WARPLOOM_TRY(check_writable("solution", shape, p.solution, p.rhs_count));
  WARPLOOM_TRY(check_apart("rhs", shape, p.rhs, {}, p.rhs_count, "solution", p.solution,
                           p.rhs_count, true));
  return check_array("status", p.status, p.batch * p.rhs_count);
}

void footprint(Footprint& f, const SolveFactoredParameters& p) {
  if (p.offsets.data != nullptr || p.n < 1) return;
  f.writes_window(p.solution, p.n, p.batch, p.rhs_count);
  f.writes(p.status, {p.batch, p.rhs_count});
  f.works({2, p.batch, p.n, p.rhs_count});
}

}  // namespace warploom::tridiagonal
