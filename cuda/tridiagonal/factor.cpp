#include "cuda/tridiagonal/factor.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/tridiagonal/matrix_check.h"
#include "cuda/tridiagonal/factor/factor_check.h"
#include "cuda/tridiagonal/factor/factor_layout.h"

namespace warploom::tridiagonal {

int64_t factor_bytes(ScalarType type, int64_t n, int64_t batch, bool periodic, Factorisation factorisation) {
  constexpr int64_t kPad = 256;  // never empty: even an empty plan has a buffer
  const int64_t bytes = FactorLayout::of(type, n, batch, periodic, factorisation).end;
  return bytes < kPad ? kPad : (bytes + kPad - 1) / kPad * kPad;
}

Status check(const FactorParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  const Shape shape{p.type, p.n, p.batch, 1, p.offsets};
  WARPLOOM_TRY(check_matrix(shape, p));
  if (p.factorisation == Factorisation::cholesky && p.structure != Structure::positive_definite) {
    return Status(Code::invalid_argument, "cholesky needs a positive definite structure",
                  "factorisation");
  }
  WARPLOOM_TRY(check_factors(shape, p.periodic, p.factorisation, p.factors));
  WARPLOOM_TRY(check_array("status", p.status, p.batch));
  WARPLOOM_TRY(check_array("row", p.row, p.batch));
  return check_summary(p, p.batch);
}

void footprint(Footprint& f, const FactorParameters& p) {
  if (p.offsets.data != nullptr || p.n < 1) return f.keeps_all();
  f.keeps(&p.factors);  // gaps between its parts
  f.works({4, p.batch, p.n});
}

void cuts(Cuts&, FactorParameters&) {}

}  // namespace warploom::tridiagonal
