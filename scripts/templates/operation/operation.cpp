#include "cuda/@domain@/@operation@.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::@domain@ {

Status check(const @Operation@Parameters& p) {
  WARPLOOM_TRY(check_ranges(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check_adjacent(p.values, p.n, "values"));
  return check_adjacent(p.result, p.n, "result");
}

void footprint(Footprint& f, const @Operation@Parameters& p) {
  f.writes(p.result, {p.n});
  f.works({p.n});
}

/// Where the batch can be cut, name its parts: see cuda/core/cuts.h.
void cuts(Cuts&, @Operation@Parameters&) {}

}  // namespace warploom::@domain@
