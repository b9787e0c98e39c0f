// Stream programs with state in one kernel: like fused.cuh, with what tells the state before each firing of a round.
//
// A scan finds the state before each firing from records, one for each firing: what the firing does to the state. Records compose, so
// threads and blocks take stretches of firings side by side. Blocks do not wait for each other: a kernel of its own (a pass) first finds
// the record of each block's whole stretch. Scans whose firings follow from what other scans found need a pass behind that of the others.
//
// The printed program has, beside what fused.cuh tells,
//   kPasses; kTotals: words of the records of all scans together
//   begin<pass>(block, p): finds the state before the block's stretch, for the scans of earlier passes
//   enter<pass>(block, offset): sets the state at the round for which `begin` found it; `offset` passes' worth of warm rounds are left
//   steady<pass>(block, round): makes what the pass needs of a round
//   settle<pass>(block, states): moves channels and what firings left for later ones
//   total<pass>(block, p), finish(block, p): give what a block's stretch did, and the state behind the launch
#pragma once
#include "cuda/stream/fused.cuh"

namespace warploom::WARPLOOM_TARGET::stream {

template <int kInputs, int kOutputs>
struct StateParameters : FusedParameters<kInputs, kOutputs> {
  const int32_t* carry;  ///< the state of all scans before the launch
  int32_t* carried;      ///< the state behind it
  int32_t* totals;       ///< by block: the records of its stretch, of all scans
  int64_t first;         ///< steady states of the run before the launch
};

struct StateRound : Round {
  int64_t first;  ///< its first steady state, counted from the run's
};

/// x ← (x & keep) ^ flip, in words of 32 bits.
template <int kSize>
struct BitsScan {
  static constexpr int kWords = 2 * kSize, kSlots = kSize;
  struct Record { int word[kWords]; };
  static WARPLOOM_DEVICE Record identity() {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) made.word[2 * i] = -1, made.word[2 * i + 1] = 0;
    return made;
  }
  static WARPLOOM_DEVICE Record compose(const Record& first, const Record& then) {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) {
      made.word[2 * i] = first.word[2 * i] & then.word[2 * i];
      made.word[2 * i + 1] = (first.word[2 * i + 1] & then.word[2 * i]) ^ then.word[2 * i + 1];
    }
    return made;
  }
  static WARPLOOM_DEVICE void apply(const Record& r, int* x) {
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) x[i] = (x[i] & r.word[2 * i]) ^ r.word[2 * i + 1];
  }
};

/// x ← x + b modulo 2^32, or x ← A x + b (words: b, then A row by row); then moved by multiples of kRange into [kLow, kLow + kRange), if
/// kRange is not 0.
template <int kSize, bool kIsPlain, int kLow, int kRange>
struct SumScan {
  static constexpr int kWords = kIsPlain ? kSize : kSize + kSize * kSize, kSlots = kSize;
  struct Record { int word[kWords]; };
  static WARPLOOM_DEVICE int sum(int a, int b) { return static_cast<int>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b)); }
  static WARPLOOM_DEVICE int product(int a, int b) { return static_cast<int>(static_cast<unsigned int>(a) * static_cast<unsigned int>(b)); }
  static WARPLOOM_DEVICE Record identity() {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kWords; ++i) made.word[i] = i >= kSize && (i - kSize) / kSize == (i - kSize) % kSize ? 1 : 0;
    return made;
  }
  static WARPLOOM_DEVICE Record compose(const Record& first, const Record& then) {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) {
      if constexpr (kIsPlain) {
        made.word[i] = sum(first.word[i], then.word[i]);
      } else {
        const int* row = then.word + kSize + i * kSize;
        int b = then.word[i];
        WARPLOOM_UNROLL
        for (int k = 0; k < kSize; ++k) b = sum(b, product(row[k], first.word[k]));
        made.word[i] = b;
        WARPLOOM_UNROLL
        for (int j = 0; j < kSize; ++j) {
          int a = 0;
          WARPLOOM_UNROLL
          for (int k = 0; k < kSize; ++k) a = sum(a, product(row[k], first.word[kSize + k * kSize + j]));
          made.word[kSize + i * kSize + j] = a;
        }
      }
    }
    return made;
  }
  static WARPLOOM_DEVICE void apply(const Record& r, int* x) {
    int made[kSize];
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) {
      int b = r.word[i];
      if (kIsPlain) b = sum(b, x[i]);
      WARPLOOM_UNROLL
      for (int k = 0; !kIsPlain && k < kSize; ++k) b = sum(b, product(r.word[kSize + i * kSize + k], x[k]));
      made[i] = kRange == 0 ? b : static_cast<int>((static_cast<unsigned int>(b) - static_cast<unsigned int>(kLow)) & (kRange - 1u)) + kLow;
    }
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) x[i] = made[i];
  }
};

/// x ← map[x], for x in 0 … kCount − 1; the maps lie in groups of four bits.
template <int kCount>
struct ChoiceScan {
  static constexpr int kWords = kCount > 8 ? 2 : 1, kSlots = 1;
  struct Record { int word[kWords]; };
  static WARPLOOM_DEVICE int at(const Record& r, int x) {
    return static_cast<int>(static_cast<unsigned int>(r.word[kWords == 1 ? 0 : x >> 3]) >> 4 * (x & 7) & 15u);
  }
  static WARPLOOM_DEVICE void put(Record& r, int x, int y) {
    r.word[kWords == 1 ? 0 : x >> 3] |= static_cast<int>(static_cast<unsigned int>(y) << 4 * (x & 7));
  }
  static WARPLOOM_DEVICE Record none() {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kWords; ++i) made.word[i] = 0;
    return made;
  }
  static WARPLOOM_DEVICE Record identity() {
    Record made = none();
    WARPLOOM_UNROLL
    for (int x = 0; x < kCount; ++x) put(made, x, x);
    return made;
  }
  static WARPLOOM_DEVICE Record compose(const Record& first, const Record& then) {
    Record made = none();
    WARPLOOM_UNROLL
    for (int x = 0; x < kCount; ++x) put(made, x, at(then, at(first, x)));
    return made;
  }
  static WARPLOOM_DEVICE void apply(const Record& r, int* x) { x[0] = at(r, x[0]); }
};

/// Records of all threads, put together. The constructor leaves one for each warp in `scratch`; a barrier must follow before `finish`.
template <class Scan>
class Joining {
 public:
  using Record = typename Scan::Record;
  WARPLOOM_DEVICE Joining(const device::Block& block, const Record& own, int* scratch) : warps_(reinterpret_cast<Record*>(scratch)) {
    Record through = own;
    WARPLOOM_UNROLL
    for (int delta = 1; delta < 32; delta *= 2) {
      const Record before = device::shuffle_up(block, through, delta);
      if (block.lane() >= delta) through = Scan::compose(before, through);
    }
    before_ = device::shuffle_up(block, through, 1);
    if (block.lane() == 0) before_ = Scan::identity();
    if (block.lane() == 31) warps_[block.warp()] = through;
  }
  /// Returns that of the threads before this one, and that of all in `total`.
  WARPLOOM_DEVICE Record finish(const device::Block& block, Record& total) const {
    Record before = Scan::identity();
    total = before;
    for (int warp = 0; warp < block.threads() / 32; ++warp) {
      if (warp == block.warp()) before = total;
      total = Scan::compose(total, warps_[warp]);
    }
    return Scan::compose(before, before_);
  }

 private:
  Record* warps_;
  Record before_;
};

/// Record `i` of a tile of `rows` records, which lie word by word.
template <class Scan>
WARPLOOM_DEVICE typename Scan::Record record_at(const int* tile, int rows, int i) {
  typename Scan::Record made;
  WARPLOOM_UNROLL
  for (int w = 0; w < Scan::kWords; ++w) made.word[w] = tile[w * rows + i];
  return made;
}
template <class Scan>
WARPLOOM_DEVICE void put_record(int* tile, int rows, int i, const typename Scan::Record& r) {
  WARPLOOM_UNROLL
  for (int w = 0; w < Scan::kWords; ++w) tile[w * rows + i] = r.word[w];
}

/// Has `length` elements from `begin` on of each of `states` steady states of `each` elements come to a tile.
template <class Layout, class T>
WARPLOOM_DEVICE void load_part(const device::Block& block, T* tile, const T* from, int states, int each, int begin, int length) {
  for (int i = block.thread(); i < states * length; i += block.threads()) {
    const int at = i / length * each + begin + i % length;
    tile[Layout::place(at)] = from[at];
  }
}

/// Finds the state before each of `count` firings from their records, which lie in a tile of `rows`, and puts it in their place; or only
/// adds the records to that in `cell`, if kIsTotal. Needs a barrier before, behind, and between the constructor and `finish`.
template <class Scan, bool kIsTotal>
class Scanning {
 public:
  using Record = typename Scan::Record;
  WARPLOOM_DEVICE Scanning(const device::Block& block, int* tile, int rows, int count, int* cell, int* scratch)
      : tile_(tile), cell_(cell), rows_(rows), begin_(first(block, count)), end_(first(block, count) + each(block, count)),
        joining_(block, own(), scratch) {
    WARPLOOM_UNROLL
    for (int s = 0; s < Scan::kSlots; ++s) x_[s] = cell[s];
  }

  WARPLOOM_DEVICE void finish(const device::Block& block) {
    Record total;
    const Record before = joining_.finish(block, total);
    if constexpr (kIsTotal) {
      if (block.thread() == 0) put_record<Scan>(cell_, 1, 0, Scan::compose(record_at<Scan>(cell_, 1, 0), total));
    } else {
      if (block.thread() == 0) {
        int behind[Scan::kSlots];
        copy(x_, behind);
        Scan::apply(total, behind);
        copy(behind, cell_);
      }
      int x[Scan::kSlots];
      copy(x_, x);
      Scan::apply(before, x);
      for (int i = begin_; i < end_; ++i) {
        const Record r = record_at<Scan>(tile_, rows_, i);
        WARPLOOM_UNROLL
        for (int s = 0; s < Scan::kSlots; ++s) tile_[s * rows_ + i] = x[s];
        Scan::apply(r, x);
      }
    }
  }

 private:
  static WARPLOOM_DEVICE int first(const device::Block& block, int count) {
    const int each = (count + block.threads() - 1) / block.threads();
    return block.thread() * each < count ? block.thread() * each : count;
  }
  static WARPLOOM_DEVICE int each(const device::Block& block, int count) {
    const int each = (count + block.threads() - 1) / block.threads(), left = count - first(block, count);
    return each < left ? each : left;
  }
  static WARPLOOM_DEVICE void copy(const int* from, int* to) {
    WARPLOOM_UNROLL
    for (int s = 0; s < Scan::kSlots; ++s) to[s] = from[s];
  }
  WARPLOOM_DEVICE Record own() const {
    Record made = Scan::identity();
    for (int i = begin_; i < end_; ++i) made = Scan::compose(made, record_at<Scan>(tile_, rows_, i));
    return made;
  }

  int* tile_;
  int* cell_;
  int rows_, begin_, end_;
  Joining<Scan> joining_;
  int x_[Scan::kSlots];
};

/// The state before the stretch of a block, from the records of the blocks before it, into `cell`.
template <class Scan>
WARPLOOM_DEVICE void begin_scan(
    const device::Block& block, const int32_t* totals, int stride, const int32_t* carry, int* cell, int* scratch) {
  using Record = typename Scan::Record;
  const int count = static_cast<int>(block.index());
  const int each = (count + block.threads() - 1) / block.threads();
  const int begin = block.thread() * each < count ? block.thread() * each : count;
  const int end = begin + each < count ? begin + each : count;
  Record own = Scan::identity(), total;
  WARPLOOM_NO_UNROLL  // once in a launch, and programs have many scans
  for (int i = begin; i < end; ++i) own = Scan::compose(own, record_at<Scan>(totals + static_cast<int64_t>(i) * stride, 1, 0));
  const Joining<Scan> joining(block, own, scratch);
  block.sync();
  joining.finish(block, total);
  block.sync();
  if (block.thread() != 0) return;
  int x[Scan::kSlots];
  WARPLOOM_UNROLL
  for (int s = 0; s < Scan::kSlots; ++s) x[s] = carry[s];
  Scan::apply(total, x);
  WARPLOOM_UNROLL
  for (int s = 0; s < Scan::kSlots; ++s) cell[s] = x[s];
}

/// The state behind a block's stretch, from that before it and its record.
template <class Scan>
WARPLOOM_DEVICE void finish_scan(const device::Block& block, const int32_t* totals, const int* cell, int32_t* carried) {
  if (block.thread() != 0) return;
  int x[Scan::kSlots];
  WARPLOOM_UNROLL
  for (int s = 0; s < Scan::kSlots; ++s) x[s] = cell[s];
  Scan::apply(record_at<Scan>(totals, 1, 0), x);
  WARPLOOM_UNROLL
  for (int s = 0; s < Scan::kSlots; ++s) carried[s] = x[s];
}

/// Bits as a number of another type.
template <class T>
WARPLOOM_DEVICE T from_words(int low, int high) {
  const int words[2] = {low, high};
  T made;
  memcpy(&made, words, sizeof made);
  return made;
}
template <class T>
WARPLOOM_DEVICE int word_of(T x, int word) {
  int words[sizeof(T) / 4];
  memcpy(words, &x, sizeof x);
  return words[word];
}

/// An integer that began with `first` and had `step` added in each firing.
WARPLOOM_DEVICE int counted(int first, int step, int64_t firings) {
  return static_cast<int>(static_cast<unsigned int>(first) + static_cast<unsigned int>(step) * static_cast<unsigned int>(firings));
}

WARPLOOM_DEVICE int difference(int a, int b) { return static_cast<int>(static_cast<unsigned int>(a) - static_cast<unsigned int>(b)); }

/// Where a number stands in a table; 0 if it is not there.
WARPLOOM_DEVICE int place_of(const int* table, int count, int x) {
  int found = 0;
  for (int i = 1; i < count; ++i) if (table[i] == x) found = i;
  return found;
}

template <class Program, int kPass>
struct StateAgent {
  static constexpr int kMaxThreads = Program::kThreads;
  static constexpr int kMinBlocks = Program::kMinBlocks;
  static constexpr bool kIsTotal = kPass <= Program::kPasses;
  using Parameters = StateParameters<Program::kInputs, Program::kOutputs>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int rounds = (p.states + Program::kStates - 1) / Program::kStates;
    const int first = static_cast<int>(block.index()) * p.rounds_per_block;
    const int last = first + p.rounds_per_block < rounds ? first + p.rounds_per_block : rounds;
    if (first >= last) return;
    // Each pass adds as many rounds for channels to fill as the program itself takes.
    const int warm = p.warm_rounds / (Program::kPasses + 1);
    const int end = last - (Program::kPasses + 1 - kPass) * warm;
    Program::template begin<kPass>(block, p);
    block.sync();
    for (int number = first - p.warm_rounds; number < end; ++number) {
      const int64_t state = int64_t{number} * Program::kStates;
      const int64_t left = p.states - state;
      StateRound round;
      round.state = state;
      round.states = left < Program::kStates ? static_cast<int>(left) : Program::kStates;
      round.is_wanted = !kIsTotal && number >= first;
      round.turns = p.turns;
      round.fault = p.fault;
      round.first = p.first + state;
      Program::template enter<kPass>(block, number - first, warm);
      Program::template load<kPass>(block, p, state, round.states);
      block.sync();
      Program::template steady<kPass>(block, round);
      if (round.is_wanted) Program::store(block, p, state, round.states);
      Program::template settle<kPass>(block, round.states);
      block.sync();
    }
    if (kIsTotal) Program::template total<kPass>(block, p);
    else if (last == rounds) Program::finish(block, p);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stream
