// What every backend's swept.advance does after its steps: the search for the first bad step, and the report words.
#pragma once
#include <cstdint>

#include "cuda/swept/advance.h"

namespace warploom::swept {

/// What a call came to.
struct Advanced {
  Variant variant = Variant::automatic;
  int64_t points = 0, depth = 0, threads = 0;
  int64_t completed = 0, first_bad = 0;
};

/// A value that is not finite stays so (and Euler makes one of a density or pressure that is not positive): bisection finds the first
/// step that makes one, and the state before it is kept.
/// march(steps) puts the state after so many steps into `next`; is_finite(&answer) looks at that.
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

inline void write_used(const Advanced& advanced, const AdvanceParameters& p) {
  if (p.used.data == nullptr) return;
  const int64_t words[kUsedWords] = {static_cast<int64_t>(advanced.variant), advanced.points, advanced.depth,
                                     advanced.threads, advanced.completed, advanced.first_bad};
  for (int i = 0; i < kUsedWords; ++i) p.used.data[i] = static_cast<int32_t>(words[i]);
}

}  // namespace warploom::swept
