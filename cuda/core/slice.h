// What an operation knows when it runs on part of its call's batch (cuts.h).
#pragma once
#include <cstdint>

namespace warploom {

/// A whole call if `whole` is 0. Choices that could change the bits of a result are made for the whole call. Values
/// that a slice adds to (sums, report words) hold what earlier slices left there.
struct Slice {
  int64_t first = 0;      ///< the slice's first item, counted in the whole batch
  int64_t whole = 0;      ///< items in the whole batch
  int64_t first_row = 0;  ///< rows in the items before `first`
};

}  // namespace warploom
