#include "cuda/tridiagonal/solve_factored.h"

#include "cuda/core/check.h"
#include "cuda/core/footprint.h"
#include "cuda/tridiagonal/matrix_check.h"
#include "cuda/tridiagonal/matrix_cuts.h"
#include "cuda/tridiagonal/factor/factor_check.h"
#include "cuda/tridiagonal/factor/factored_policy.h"

namespace warploom::tridiagonal {

namespace {

/// The matrix of a checked solve.
Status check_checked(const Shape& shape, const SolveFactoredParameters& p) {
  if (!p.check) return {};
  WARPLOOM_TRY(check_matrix(shape, p));
  return check_bands_apart(p, "solution", p.solution);
}

}  // namespace

Status check(const SolveFactoredParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  const Shape shape{p.type, p.n, p.batch, p.rhs_count, p.offsets};
  WARPLOOM_TRY(check_shape(shape));
  if (p.shared && shape.ragged()) {
    return Status(Code::invalid_argument, "one matrix for the batch takes no ragged systems", "shared");
  }
  Shape factored = shape;
  if (p.shared) factored.batch = 1;
  WARPLOOM_TRY(check_factors(factored, p.periodic, p.factorisation, p.factors));
  WARPLOOM_TRY(check_checked(shape, p));
  WARPLOOM_TRY(check_vector("rhs", shape, p.rhs));
  WARPLOOM_TRY(check_vector("solution", shape, p.solution));
  const int64_t problems = p.batch * p.rhs_count;
  WARPLOOM_TRY(check_array("status", p.status, problems));
  WARPLOOM_TRY(check_array("row", p.row, problems));
  if (p.backward_error.data != nullptr && !p.check) {
    return Status(Code::invalid_argument, "needs check: true", "backwardError");
  }
  WARPLOOM_TRY(check_array("backwardError", p.backward_error, problems));
  return check_summary(p, problems);
}

void footprint(Footprint& f, const SolveFactoredParameters& p) {
  if (p.offsets.data != nullptr || p.n < 1) return f.keeps_all();
  f.works({2, p.batch, p.n, p.rhs_count});
  if (!p.check && p.factorisation != Factorisation::pivoted && p.n <= factored_rows(scalar_bytes(p.type))) f.goes_through_once();
}

void cuts(Cuts& c, SolveFactoredParameters& p) { cut_systems(c, p); }

}  // namespace warploom::tridiagonal
