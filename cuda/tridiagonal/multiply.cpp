#include "cuda/tridiagonal/multiply.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/tridiagonal/matrix_check.h"

namespace warploom::tridiagonal {

Status check(const MultiplyParameters& p) {
  WARPLOOM_TRY(check_ranges(p));
  const Shape shape{p.type, p.n, p.batch, p.rhs_count, p.offsets};
  WARPLOOM_TRY(check_matrix(shape, p));
  WARPLOOM_TRY(check_view("x", shape, p.x, {}, p.rhs_count));
  WARPLOOM_TRY(check_view("y", shape, p.y, {}, p.rhs_count));
  WARPLOOM_TRY(check_writable("y", shape, p.y, p.rhs_count));
  WARPLOOM_TRY(check_bands_apart(shape, p, "y", p.y));
  return check_apart("x", shape, p.x, {}, p.rhs_count, "y", p.y, p.rhs_count, false);
}

void footprint(Footprint& f, const MultiplyParameters& p) {
  if (p.offsets.data != nullptr) return;
  if (p.beta == 0) f.writes_window(p.y, p.n, p.batch, p.rhs_count);
  f.works({p.batch, p.n, p.rhs_count});
  f.goes_through_once();
}

void cuts(Cuts& c, MultiplyParameters& p) {
  c.along(p.batch, p.n);
  c.on_processors();
  c.offsets(p.offsets);
  for (View* const band : {&p.lower, &p.diagonal, &p.upper}) c.view(*band, p.n);
  c.view(p.x, p.n, p.rhs_count);
  c.view(p.y, p.n, p.rhs_count);
}

}  // namespace warploom::tridiagonal
