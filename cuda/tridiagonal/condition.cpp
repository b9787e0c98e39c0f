#include "cuda/tridiagonal/condition.h"

#include "cuda/tridiagonal/shape.h"

namespace warploom::tridiagonal {

Status check(const ConditionParameters& p) {
  const Shape shape{p.type, p.n, p.batch, p.rhs_count, p.offsets};
  WARPLOOM_TRY(check_shape(shape));
  if (!in_range(p.transpose, 3)) {
    return Status(Code::invalid_argument, "unknown transposition", "transpose");
  }
  if (!in_range(p.structure, 2)) {
    return Status(Code::invalid_argument, "unknown structure", "structure");
  }
  const bool positive_definite = p.structure == Structure::positive_definite;
  WARPLOOM_TRY(check_bands(shape, p.lower, p.diagonal, p.upper, p.periodic, positive_definite));
  WARPLOOM_TRY(check_view("rhs", shape, p.rhs, {}, p.rhs_count));
  WARPLOOM_TRY(check_view("solution", shape, p.solution, {}, p.rhs_count));
  WARPLOOM_TRY(check_array("reciprocalCondition", p.reciprocal_condition, p.batch));
  WARPLOOM_TRY(check_array("forwardError", p.forward_error, p.batch * p.rhs_count));
  return check_array("backwardError", p.backward_error, p.batch * p.rhs_count);
}

}  // namespace warploom::tridiagonal
