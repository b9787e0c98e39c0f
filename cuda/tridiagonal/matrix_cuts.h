// How calls that solve systems can be cut: plain C++, included only by their cuts().
#pragma once
#include "cuda/core/cuts.h"

namespace warploom::tridiagonal {

/// All views and arrays that have a part for each system of the batch.
template <class Parameters>
void cut_systems(Cuts& c, Parameters& p) {
  c.along(p.batch, p.n, &p.slice);
  c.offsets(p.offsets);
  for (View* const band : {&p.lower, &p.diagonal, &p.upper}) c.view(*band);
  c.view(p.rhs);
  c.view(p.solution);
  c.array(p.status, p.rhs_count);
  c.array(p.row, p.rhs_count);
  c.array(p.backward_error, p.rhs_count);
}

}  // namespace warploom::tridiagonal
