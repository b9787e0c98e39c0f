#include "cuda/scan/prefix.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/core/view.h"

namespace warploom::scan {

Status check(const PrefixParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_real_type(p.type));
  if (p.n > 0 && p.batch > (INT64_MAX / 64) / p.n) return invalid("batch", "batch * n is too large");
  const int32_t d = p.depth;
  if (d != 0 && d != 2 && d != 4 && d != 8 && d != 16 && d != 32) {
    return invalid("depth", "expected 0, 2, 4, 8, 16 or 32, got " + std::to_string(d));
  }
  if (d != 0 && p.algorithm == Algorithm::shared) return invalid("depth", "algorithm shared has one element per thread");
  if (p.radix != 2 && p.radix != 4) return invalid("radix", "expected 2 or 4, got " + std::to_string(p.radix));
  if (p.radix != 2 && p.algorithm == Algorithm::shared) return invalid("radix", "algorithm shared has radix 2");
  const int64_t count = p.n * p.batch;
  WARPLOOM_TRY(check_adjacent("values", p.values, count));
  WARPLOOM_TRY(check_adjacent("result", p.result, count));
  if (p.flags.data != nullptr && p.flags.length != count) {
    return invalid("flags", "expected batch * n = " + std::to_string(count) + " entries, got " +
                                std::to_string(p.flags.length));
  }
  return {};
}

void footprint(Footprint& f, const PrefixParameters& p) {
  f.works({p.batch, p.n});
  f.goes_through_once();
}

/// Rows are contiguous, whatever the dimensions of the views.
void cuts(Cuts& c, PrefixParameters& p) {
  c.along(p.batch, p.n);
  c.on_processors();
  for (View* const view : {&p.values, &p.result}) {
    lay_out(view, {p.batch, p.n});
    c.view(*view);
  }
  c.array(p.flags, p.n);
}

}  // namespace warploom::scan
