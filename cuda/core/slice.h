// What an operation knows if it runs on a part of its call's batch (cuts.h).
#pragma once
#include <cstdint>

namespace warploom {

/// A whole call where `whole` is 0. Choices that could change a result's bits are made for the whole call, and what a slice
/// adds to (sums, report words) it finds as the slices before it left it.
struct Slice {
  int64_t first = 0;      ///< item of the whole batch that is the slice's first
  int64_t whole = 0;      ///< items of the whole batch
  int64_t first_row = 0;  ///< rows of the items before `first`
};

}  // namespace warploom
