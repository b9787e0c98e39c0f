#include "cuda/tridiagonal/solve.h"

#include "cuda/core/check.h"
#include "cuda/core/footprint.h"
#include "cuda/tridiagonal/matrix_check.h"
#include "cuda/tridiagonal/matrix_cuts.h"

namespace warploom::tridiagonal {
namespace {

Status check_algorithm(const SolveParameters& p) {
  switch (p.depth) {
    case 0: break;
    case 2: case 4: case 8: case 9: case 13: case 16: case 17: case 32:
      if (p.algorithm != Algorithm::cr_regpack) {
        return invalid("depth", "only cr-regpack has a packing depth");
      }
      break;
    default: return invalid("depth", "expected 0, 2, 4, 8, 9, 13, 16, 17 or 32");
  }
  if (p.stable && p.algorithm != Algorithm::automatic && p.algorithm != Algorithm::pivoting) {
    return invalid("algorithm", "stable takes auto or pivoting: the other algorithms do not pivot");
  }
  return {};
}

}  // namespace

Status check(const SolveParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  const Shape shape{p.type, p.n, p.batch, p.rhs_count, p.offsets};
  WARPLOOM_TRY(check_matrix(shape, p));
  WARPLOOM_TRY(check_algorithm(p));
  WARPLOOM_TRY(check_vector("rhs", shape, p.rhs));
  WARPLOOM_TRY(check_vector("solution", shape, p.solution));
  WARPLOOM_TRY(check_bands_apart(p, "solution", p.solution));
  const int64_t problems = p.batch * p.rhs_count;
  WARPLOOM_TRY(check_array("status", p.status, problems));
  WARPLOOM_TRY(check_array("row", p.row, problems));
  if (p.backward_error.data != nullptr && !p.check) {
    return invalid("backwardError", "needs check: true");
  }
  WARPLOOM_TRY(check_array("backwardError", p.backward_error, problems));
  return check_summary(p, problems);
}

void footprint(Footprint& f, const SolveParameters& p) {
  if (p.offsets.data != nullptr || p.n < 1) return f.keeps_all();
  f.works({4, p.batch, p.n, p.rhs_count});
  const bool packs = p.algorithm == Algorithm::automatic || p.algorithm == Algorithm::cr_regpack;
  if (packs && !p.stable && !p.check && !p.refine && !p.periodic) f.goes_through_once();
}

void cuts(Cuts& c, SolveParameters& p) {
  cut_systems(c, p);
  c.on_processors();
}

}  // namespace warploom::tridiagonal
