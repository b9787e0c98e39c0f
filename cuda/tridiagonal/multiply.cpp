#include "cuda/tridiagonal/multiply.h"

#include "cuda/tridiagonal/shape.h"

namespace warploom::tridiagonal {

Status check(const MultiplyParameters& p) {
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
  WARPLOOM_TRY(check_view("x", shape, p.x, {}, p.rhs_count));
  WARPLOOM_TRY(check_view("y", shape, p.y, {}, p.rhs_count));
  WARPLOOM_TRY(check_writable("y", shape, p.y, p.rhs_count));
  WARPLOOM_TRY(check_apart("lower", shape, p.lower, lower_rows(p.periodic), 1, "y", p.y,
                           p.rhs_count, false));
  WARPLOOM_TRY(check_apart("diagonal", shape, p.diagonal, {}, 1, "y", p.y, p.rhs_count, false));
  WARPLOOM_TRY(check_apart("upper", shape, p.upper, upper_rows(p.periodic), 1, "y", p.y,
                           p.rhs_count, false));
  return check_apart("x", shape, p.x, {}, p.rhs_count, "y", p.y, p.rhs_count, false);
}

}  // namespace warploom::tridiagonal
