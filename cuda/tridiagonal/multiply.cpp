#include "cuda/tridiagonal/multiply.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/tridiagonal/matrix_check.h"

namespace warploom::tridiagonal {

Status check(const MultiplyParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  const Shape shape{p.type, p.n, p.batch, p.rhs_count, p.offsets};
  WARPLOOM_TRY(check_matrix(shape, p));
  WARPLOOM_TRY(check_vector("x", shape, p.x));
  WARPLOOM_TRY(check_vector("y", shape, p.y));
  WARPLOOM_TRY(check_bands_apart(p, "y", p.y));
  return check_apart("x", p.x, "y", p.y, p.type);
}

void footprint(Footprint& f, const MultiplyParameters& p) {
  if (p.offsets.data != nullptr) return;
  if (p.beta == 0) f.overwrites(p.y);
  f.works({p.batch, p.n, p.rhs_count});
  f.goes_through_once();
}

void cuts(Cuts& c, MultiplyParameters& p) {
  c.along(p.batch, p.n);
  c.on_processors();
  c.offsets(p.offsets);
  for (View* const band : {&p.lower, &p.diagonal, &p.upper}) c.view(*band);
  c.view(p.x);
  c.view(p.y);
}

}  // namespace warploom::tridiagonal
