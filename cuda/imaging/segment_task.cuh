// What the kernels of imaging.segment share: the task of a step, the means it begins with, the sums it leaves.
//
// Sums live in a ring of kSlots slots. Step k reads the slot of step k - 1, adds to its own and clears the next one, which no
// launch in flight reads. A step that finds its predecessor's change small enough does nothing but pass that on in `stops`: the host looks
// now and then, and the level set stays where it was.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/imaging/segment_setup.h"

namespace warploom::WARPLOOM_TARGET::imaging::segmentation {

namespace operation = ::warploom::imaging::segmentation;
using operation::Flow;
using operation::Scales;

inline constexpr int kSlots = 4;

/// Words of a slot: copies of a head, then, with several channels, a sum each.
inline int64_t slot_words(int64_t channels) { return operation::kHeads * operation::kHeadWords + (channels > 1 ? channels : 0); }

struct Tally {
  int64_t* ring = nullptr;         ///< kSlots slots
  int64_t words = 0;               ///< of a slot
  const int64_t* totals = nullptr; ///< points with data, then the sums of the channels over them
  int64_t* iterations = nullptr;   ///< steps made
  int32_t* stops = nullptr;        ///< by slot: whether the steps are over
  int32_t before = 0, own = 0, next = 0;  ///< slots of a step
  double change_limit = -1;
  WARPLOOM_DEVICE int64_t* slot(int32_t index) const { return ring + index * words; }
};

template <class R>
struct StepTask {
  const R* image = nullptr;
  const R* from = nullptr;
  R* to = nullptr;
  int64_t nx = 1, ny = 1, nz = 1, points = 1, channels = 1;
  Flow<R> flow;
  Scales scales;
  const R* weights = nullptr;  ///< of the channels, null: 1
  Tally tally;
  int64_t rows = 8;            ///< march: of a strip
  int64_t tiles = 1;           ///< march: strips side by side
  int32_t wide = 0;            ///< rows start on 16 bytes
  int32_t steps = 1;           ///< persistent: of the launch
  R* spare = nullptr;          ///< persistent: the other buffer
  unsigned int* barrier = nullptr;
};

/// The head of a slot, summed over its copies, in all lanes.
struct Head {
  int64_t word[3];
};
WARPLOOM_DEVICE Head read_head(const device::Block& block, const int64_t* slot) {
  static_assert(operation::kHeads * operation::kHeadWords == 32, "a word per lane");
  int64_t word = slot[block.lane()];
  WARPLOOM_UNROLL
  for (int distance = 16; distance >= operation::kHeadWords; distance /= 2) word += device::shuffle_xor(block, word, distance);
  return {{device::shuffle(block, word, 0), device::shuffle(block, word, 1), device::shuffle(block, word, 2)}};
}

/// Begins a step: whether there is one to make, and what its predecessor left.
WARPLOOM_DEVICE bool begin_step(const device::Block& block, const Tally& t, Head* head) {
  *head = read_head(block, t.slot(t.before));
  const bool over = t.stops[t.before] != 0 || static_cast<double>(head->word[operation::kChange]) <= t.change_limit;
  if (block.index() != 0) return !over;
  if (block.thread() == 0) {
    t.stops[t.own] = over ? 1 : 0;
    if (!over) *t.iterations += 1;
  }
  if (!over) {
    for (int64_t i = block.thread(); i < t.words; i += block.threads()) t.slot(t.next)[i] = 0;
  }
  return !over;
}

template <class R>
struct Centres {
  R inside, outside;
};
template <class R>
WARPLOOM_DEVICE Centres<R> centres_of(const StepTask<R>& p, const Head& head) {
  const operation::Means means = operation::means_of(head.word[operation::kInside], head.word[operation::kSum], p.tally.totals[0],
                                                     p.tally.totals[1], 1 / p.scales.value);
  return {static_cast<R>(means.inside), static_cast<R>(means.outside)};
}

/// What a thread adds up in a step. Words are those of rounded_word().
struct Gathered {
  uint64_t change = 0, sum = 0;
  int32_t points = 0, inside = 0;

  template <class R>
  WARPLOOM_DEVICE void add(const Scales& scales, R increment, R value, bool is_inside) {
    change += operation::rounded_word(static_cast<double>(increment * increment), scales.change);
    ++points;
    if (is_inside) {
      sum += operation::rounded_word(static_cast<double>(value), scales.value);
      ++inside;
    }
  }
  /// All threads of the block: adds the block's sums to the slot. `warps`: three words per warp.
  WARPLOOM_DEVICE void deliver(const device::Block& block, int64_t* slot, int64_t* warps) const {
    int64_t word[3];
    word[operation::kInside] = inside;
    word[operation::kChange] = static_cast<int64_t>(change - static_cast<uint64_t>(points) * operation::kRoundingWord);
    word[operation::kSum] = static_cast<int64_t>(sum - static_cast<uint64_t>(inside) * operation::kRoundingWord);
    WARPLOOM_UNROLL
    for (int k = 0; k < 3; ++k) {
      WARPLOOM_UNROLL
      for (int distance = 16; distance > 0; distance /= 2) word[k] += device::shuffle_xor(block, word[k], distance);
    }
    if (block.lane() == 0) {
      WARPLOOM_UNROLL
      for (int k = 0; k < 3; ++k) warps[3 * block.warp() + k] = word[k];
    }
    block.sync();
    if (block.thread() >= 3) return;
    int64_t total = 0;
    for (int warp = 0; warp < block.threads() / 32; ++warp) total += warps[3 * warp + block.thread()];
    device::atomic_add(slot + block.index() % operation::kHeads * operation::kHeadWords + block.thread(), total);
  }
};
static_assert(operation::kInside == 0 && operation::kChange == 1 && operation::kSum == 2, "words of a head");

/// The sum over the block, valid in its first thread; `warps` holds a word per warp.
WARPLOOM_DEVICE int64_t block_sum(const device::Block& block, int64_t value, int64_t* warps) {
  WARPLOOM_UNROLL
  for (int distance = 16; distance > 0; distance /= 2) value += device::shuffle_xor(block, value, distance);
  if (block.lane() == 0) warps[block.warp()] = value;
  block.sync();
  int64_t total = 0;
  if (block.thread() == 0) {
    for (int warp = 0; warp < block.threads() / 32; ++warp) total += warps[warp];
  }
  block.sync();
  return total;
}

}  // namespace warploom::WARPLOOM_TARGET::imaging::segmentation
