#include "cuda/@domain@/@operation@.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::@domain@ {

Status check(const @Operation@Parameters& p) {
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check_adjacent("values", p.values, p.n));
  return check_adjacent("result", p.result, p.n);
}

void footprint(Footprint& f, const @Operation@Parameters& p) {
  f.works({p.n});
}

/// Where the batch can be cut, name its parts: see cuda/core/cuts.h.
void cuts(Cuts&, @Operation@Parameters&) {}

}  // namespace warploom::@domain@
