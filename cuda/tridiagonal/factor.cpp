#include "cuda/tridiagonal/factor.h"

#include "cuda/tridiagonal/shape.h"

namespace warploom::tridiagonal {

int64_t factor_bytes(ScalarType type, int64_t n, int64_t batch, bool periodic) {
  constexpr int64_t kPad = 256;
  const int64_t element = scalar_bytes(type);
  // Periodic systems keep a few numbers per system beside the border column, which is one of the six.
  const int64_t bytes = n * batch * (6 * element + 8) + (periodic ? batch * 4 * element : 0);
  return (bytes + kPad - 1) / kPad * kPad + kPad;
}

Status check(const FactorParameters& p) {
  const Shape shape{p.type, p.n, p.batch, 1, p.offsets};
  WARPLOOM_TRY(check_shape(shape));
  if (!in_range(p.transpose, 3)) {
    return Status(Code::invalid_argument, "unknown transposition", "transpose");
  }
  if (!in_range(p.structure, 2)) {
    return Status(Code::invalid_argument, "unknown structure", "structure");
  }
  if (!in_range(p.factorisation, 3)) {
    return Status(Code::invalid_argument, "unknown factorisation", "factorisation");
  }
  const bool positive_definite = p.structure == Structure::positive_definite;
  if (p.factorisation == Factorisation::cholesky && !positive_definite) {
    return Status(Code::invalid_argument, "cholesky needs a positive definite structure",
                  "factorisation");
  }
  WARPLOOM_TRY(check_bands(shape, p.lower, p.diagonal, p.upper, p.periodic, positive_definite));
  const int64_t bytes = factor_bytes(p.type, p.n, p.batch, p.periodic);
  if (p.factors.data == nullptr || p.factors.length < bytes) {
    return Status(Code::invalid_argument,
                  "expected " + std::to_string(bytes) + " bytes, got " +
                      std::to_string(p.factors.length),
                  "factors");
  }
  WARPLOOM_TRY(check_array("status", p.status, p.batch));
  return check_array("row", p.row, p.batch);
}

}  // namespace warploom::tridiagonal
