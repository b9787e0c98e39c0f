#include "cuda/tridiagonal/condition.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/tridiagonal/matrix_check.h"

namespace warploom::tridiagonal {

Status check(const ConditionParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  const Shape shape{p.type, p.n, p.batch, p.rhs_count, p.offsets};
  WARPLOOM_TRY(check_matrix(shape, p));
  WARPLOOM_TRY(check_vector("rhs", shape, p.rhs));
  WARPLOOM_TRY(check_vector("solution", shape, p.solution));
  WARPLOOM_TRY(check_array("reciprocalCondition", p.reciprocal_condition, p.batch));
  WARPLOOM_TRY(check_array("forwardError", p.forward_error, p.batch * p.rhs_count));
  return check_array("backwardError", p.backward_error, p.batch * p.rhs_count);
}

void footprint(Footprint& f, const ConditionParameters& p) {
  if (p.offsets.data != nullptr || p.n < 1) f.keeps_all();
}

void cuts(Cuts& c, ConditionParameters& p) {
  c.along(p.batch, p.n);
  c.offsets(p.offsets);
  for (View* const band : {&p.lower, &p.diagonal, &p.upper}) c.view(*band);
  c.view(p.rhs);
  c.view(p.solution);
  c.array(p.reciprocal_condition, 1);
  c.array(p.forward_error, p.rhs_count);
  c.array(p.backward_error, p.rhs_count);
}

}  // namespace warploom::tridiagonal
