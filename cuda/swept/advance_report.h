// What swept.advance does after its steps on every backend: the search for the first bad step, and the report.
#pragma once
#include <cstdint>

#include "cuda/swept/advance.h"

namespace warploom::swept {

/// The result of a call.
struct Advanced {
  Variant variant = Variant::automatic;
  int64_t points = 0, depth = 0, threads = 0;
  int64_t completed = 0, first_bad = 0;
};

/// A non-finite value stays non-finite (and Euler writes one if a density or pressure is not positive). So bisection
/// finds the first step that produces one, and the state before it is kept. march(steps) puts the state after so many
/// steps into `next`; is_finite(&answer) checks it.
template <class MarchTo, class IsFinite>
Status stop_before_bad(int64_t steps, MarchTo march, IsFinite is_finite, Advanced* advanced) {
  advanced->completed = steps;
  bool finite = true;
  WARPLOOM_TRY(is_finite(&finite));
  if (finite) return {};
  int64_t good = 0, bad = steps;
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    WARPLOOM_TRY(march(middle));
    WARPLOOM_TRY(is_finite(&finite));
    (finite ? good : bad) = middle;
  }
  advanced->completed = good;
  advanced->first_bad = bad;
  return march(good);
}

inline void write_report(const Advanced& advanced, const AdvanceParameters& p) {
  if (p.report == nullptr) return;
  const auto word = [](int64_t value) { return static_cast<int32_t>(value); };
  *p.report = {advanced.variant, word(advanced.points), word(advanced.depth), word(advanced.threads), word(advanced.completed),
               word(advanced.first_bad)};
}

}  // namespace warploom::swept
