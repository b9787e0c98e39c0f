// Shared by the kernels of imaging.segment: the task of a step, the means it begins with, the sums it produces.
//
// Sums are kept in a ring of kSlots slots. Step k reads the slot of step k - 1, adds to its own, and clears the next
// one, which no launch in flight reads. If a step finds its predecessor's change small enough, it only passes that on
// in `stops`, and the level set stays unchanged. The host checks now and then.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/imaging/segment_sums.h"

namespace warploom::WARPLOOM_TARGET::imaging::segmentation {

namespace operation = ::warploom::imaging::segmentation;
using ::warploom::imaging::EvenAxes;
using operation::Flow;
using operation::Scales;

inline constexpr int kSlots = 4;

/// Words of a slot: copies of a head, then, with several channels, one sum for each.
inline int64_t slot_words(int64_t channels) { return operation::kHeads * operation::kHeadWords + (channels > 1 ? channels : 0); }

struct Tally {
  int64_t* ring = nullptr;         ///< kSlots slots
  int64_t words = 0;               ///< of a slot
  const int64_t* totals = nullptr; ///< points with data, then the sums of the channels over them
  int64_t* iterations = nullptr;   ///< steps made
  int32_t* stops = nullptr;        ///< by slot: whether the steps are over
  int32_t before = 0, own = 0, next = 0;  ///< slots of a step
  double change_limit = -1, unit = 1;  ///< of `change`; of the sums of values
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
  int32_t wide = 0;            ///< rows start at multiples of 16 bytes
};

/// The head of a slot, summed over its copies; every lane gets it.
struct Head {
  int64_t word[3];
};
WARPLOOM_DEVICE Head read_head(const device::Block& block, const int64_t* slot) {
  const int64_t* const copy = slot + block.lane() % operation::kHeads * operation::kHeadWords;
  Head head = {{copy[0], copy[1], copy[2]}};
  WARPLOOM_UNROLL
  for (int distance = operation::kHeads / 2; distance > 0; distance /= 2) {
    WARPLOOM_UNROLL
    for (int k = 0; k < 3; ++k) head.word[k] += device::shuffle_xor(block, head.word[k], distance);
  }
  return head;
}

/// The sum over the warp, in every lane; computed in three parts of 22 bits.
WARPLOOM_DEVICE int64_t warp_sum(const device::Block& block, int64_t value) {
  constexpr int kBits = 22, kMask = (1 << kBits) - 1;
  const int low = device::warp_sum(block, static_cast<int>(value & kMask));
  const int middle = device::warp_sum(block, static_cast<int>((value >> kBits) & kMask));
  const int high = device::warp_sum(block, static_cast<int>(value >> (2 * kBits)));
  return (static_cast<int64_t>(high) * (int64_t{1} << (2 * kBits))) + (static_cast<int64_t>(middle) << kBits) + low;
}

/// Begins a step: returns whether to make it, and gets the sums of its predecessor.
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
                                                     p.tally.totals[1], p.tally.unit);
  return {static_cast<R>(means.inside), static_cast<R>(means.outside)};
}

/// The sums of one thread in a step. Words are those of rounded_word().
struct Gathered {
  uint64_t change = 0, sum = 0;
  int32_t points = 0, inside = 0;

  /// `counts`: whether the point is the thread's own; otherwise it adds nothing.
  template <class R>
  WARPLOOM_DEVICE void add(const Scales& scales, R increment, R value, bool counts, bool is_inside) {
    const bool in = counts && is_inside;
    change += operation::rounded_word(static_cast<double>(counts ? increment * increment : R(0)), scales.change);
    sum += operation::rounded_word(static_cast<double>(in ? value : R(0)), scales.value);
    inside += in ? 1 : 0;
    ++points;
  }
  /// Called by all lanes of a warp: adds the warp's sums to the slot, in copy `number` modulo the number of copies.
  WARPLOOM_DEVICE void deliver(const device::Block& block, int64_t* slot, int64_t number) const {
    const uint64_t constant = static_cast<uint64_t>(points) * operation::kRoundingWord;
    const int64_t all_inside = device::warp_sum(block, inside);
    const int64_t all_change = warp_sum(block, static_cast<int64_t>(change - constant));
    const int64_t all_sum = warp_sum(block, static_cast<int64_t>(sum - constant));
    if (block.lane() >= 3) return;
    const int64_t word = block.lane() == operation::kInside ? all_inside : block.lane() == operation::kChange ? all_change : all_sum;
    device::atomic_add(slot + number % operation::kHeads * operation::kHeadWords + block.lane(), word);
  }
};
/// The same for blocks whose kWarps warps all call it: one addition per block. `words`: three words of shared memory
/// per warp.
template <int kWarps>
WARPLOOM_DEVICE void deliver_together(const device::Block& block, const Gathered& gathered, int64_t* slot, int64_t* words) {
  const uint64_t constant = static_cast<uint64_t>(gathered.points) * operation::kRoundingWord;
  const int64_t inside = device::warp_sum(block, gathered.inside);
  const int64_t change = warp_sum(block, static_cast<int64_t>(gathered.change - constant));
  const int64_t sum = warp_sum(block, static_cast<int64_t>(gathered.sum - constant));
  if (block.lane() == 0) {
    words[3 * block.warp() + operation::kInside] = inside;
    words[3 * block.warp() + operation::kChange] = change;
    words[3 * block.warp() + operation::kSum] = sum;
  }
  block.sync();
  if (block.thread() >= 3) return;
  int64_t total = 0;
  WARPLOOM_UNROLL
  for (int warp = 0; warp < kWarps; ++warp) total += words[3 * warp + block.thread()];
  device::atomic_add(slot + block.index() % operation::kHeads * operation::kHeadWords + block.thread(), total);
}
static_assert(operation::kInside == 0 && operation::kChange == 1 && operation::kSum == 2, "words of a head");

/// The sum over the block, valid in its first thread; `warps` holds a word per warp.
WARPLOOM_DEVICE int64_t block_sum(const device::Block& block, int64_t value, int64_t* warps) {
  value = warp_sum(block, value);
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
