// How the streaming kernels of check and refinement divide rows among threads, and combine their findings.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/linear/row_walk.h"

namespace warploom::WARPLOOM_TARGET::linear {

using Walk = ::warploom::linear::RowWalk;

/// The rows of the calling thread. A team of walk.width neighbouring threads takes one segment of one problem. The
/// width is 1 if the same rows of neighbouring problems are neighbours in memory, and up to 32 if rows are.
struct Stretch {
  int64_t problem = 0, segment = 0;
  int lane;
  bool present;

  /// `backwards`: begins with what the previous launch, which ran forwards, left in the L2.
  WARPLOOM_DEVICE Stretch(const device::Block& block, const Walk& walk, int64_t problems, bool backwards = false) {
    int64_t team = (block.index() * block.threads() + block.thread()) / walk.width;
    lane = block.thread() % walk.width;
    present = team < problems * walk.segments;
    if (!present) return;
    if (backwards) team = problems * walk.segments - 1 - team;
    segment = team / problems;
    problem = team - segment * problems;
  }

  template <class Visit>
  WARPLOOM_DEVICE void each_row(const Walk& walk, int64_t rows, const Visit& visit) const {
    const int64_t begin = segment * walk.segment_rows;
    const int64_t end = begin + walk.segment_rows < rows ? begin + walk.segment_rows : rows;
    for (int64_t i = begin + lane; i < end; i += walk.width) visit(i);
  }

  /// Combines the team's findings into findings[segment][problem]. All threads must call it.
  template <class Finding>
  WARPLOOM_DEVICE void store(const device::Block& block, const Walk& walk, int64_t problems, Finding found,
                             Finding* findings) const {
    for (int mask = walk.width / 2; mask > 0; mask /= 2) {
      found = combine(found, device::shuffle_xor(block, found, mask));
    }
    if (present && lane == 0) findings[segment * problems + problem] = found;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::linear
