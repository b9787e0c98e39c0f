// A whole stream program in one kernel: blocks make steady states in rounds, all channels of a round lie in shared memory. The program
// itself is printed (lib/stream/targets/cuda.ts) as a type with
//   kThreads, kMinBlocks; kStates: steady states of a round; kInputs, kOutputs: arrays of its open ends, one for each kind of scalars
//   load(block, p, state, states): starts to copy the input of a round to shared memory
//   kReadsAhead: whether the input of the next round is copied while a round is computed, instead of load:
//   kHalf: bytes of the part of shared memory of which there are two, one for even rounds and one for odd ones; 0: no such part
//   begin_input(block, p, state, states, half): starts the copy to where the firings expect it, `half` bytes behind the first part, or, if
//     there is no such part, to landing areas
//   place_input(block, p, state, states): moves what has landed to where the firings expect it; only if there is no such part
//   steady(block, round): makes the firings of a round, group after group; every group's iterations are shared among the threads
//   kStoresAside: whether what came out may be copied while the next round's input is loaded
//   store(block, p, state, states, half, aside): writes what came out
//   settle(block, states): moves what stays on channels to their fronts
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::stream {

template <int kInputs, int kOutputs>
struct FusedParameters {
  const void* input[kInputs];
  void* output[kOutputs];
  int* fault;                      ///< the first steady state of the launch that went wrong
  int64_t first_input, first_output;  ///< items before the first steady state of the launch
  double turns;                    ///< that loops without known end may make in an iteration
  int32_t states;                  ///< steady states of the launch
  int32_t rounds_per_block;
  /// Rounds after which what a block found on the channels no longer matters: it begins so much earlier.
  int32_t warm_rounds;
};

/// What the groups of a round are told.
struct Round {
  int64_t state;  ///< its first one, counted from the launch's
  int states;
  bool is_wanted;
  double turns;
  int* fault;
  int half;  ///< bytes by which what alternates lies behind the first part

  WARPLOOM_DEVICE void fail(int in_round) const {
    if (is_wanted) device::atomic_min(fault, static_cast<int>(state) + in_round);
  }
  /// Turns for loops in a steady state: none behind one that went wrong, where nothing counts, so that endless loops end soon.
  WARPLOOM_DEVICE double turns_at(int in_round) const {
    return *static_cast<const volatile int*>(fault) < state + in_round ? 0 : turns;
  }
};

/// Where element i stands with a gap of one behind every 2^kShift elements.
template <int kShift>
struct Spread {
  static WARPLOOM_DEVICE int place(int i) { return kShift == 31 ? i : i + (i >> kShift); }
  /// Whether aligned groups of so many elements stay together and aligned.
  template <int kCount>
  static constexpr bool kKeeps = kShift == 31;
  /// Where such a group stands, counted in groups.
  template <int kCount>
  using Groups = Spread<kShift>;
};
/// Where element i stands with a gap of kGap behind every kRow elements.
template <int kRow, int kGap>
struct Rows {
  static WARPLOOM_DEVICE int place(int i) {
    return kGap == 0 ? i : i + static_cast<int>(static_cast<unsigned>(i) / static_cast<unsigned>(kRow) * kGap);
  }
  template <int kCount>
  static constexpr bool kKeeps = kGap == 0 || (kRow % kCount == 0 && kGap % kCount == 0);
  template <int kCount>
  using Groups = Rows<(kGap == 0 ? 1 : kRow / kCount), kGap / kCount>;
};
/// Where element i stands in plain arrays.
using Plain = Spread<31>;

/// Both are not negative.
WARPLOOM_DEVICE int quotient(int a, int b) { return static_cast<int>(static_cast<unsigned>(a) / static_cast<unsigned>(b)); }

/// The thread's number if thread `offset` were the first.
WARPLOOM_DEVICE int turned(const device::Block& block, int offset) {
  const int thread = block.thread() - offset;
  return thread < 0 ? thread + block.threads() : thread;
}

/// Joins what kParts neighbouring lanes found, in their order; the first of them has the result. All lanes of the warp take part.
template <int kParts, class T, class Join>
WARPLOOM_DEVICE void fold_lanes(const device::Block& block, T& found, Join join) {
  WARPLOOM_UNROLL
  for (int delta = 1; delta < kParts; delta *= 2) found = join(found, device::shuffle_down(block, found, delta, kParts));
}

/// The units of work of a warp, if every scheduler of a multiprocessor takes kQuarter neighbouring ones: its warps, every fourth one, then
/// run the same code at the same time, from one cache of instructions.
template <int kThreads, int kQuarter>
struct Quarter {
  int unit, end;

  WARPLOOM_DEVICE Quarter(int warp, int units) : unit((warp & 3) * kQuarter + (warp >> 2)), end(((warp & 3) + 1) * kQuarter) {
    if (end > units) end = units;
  }
  WARPLOOM_DEVICE bool goes_on() const { return unit < end; }
  WARPLOOM_DEVICE void next() { unit += kThreads / 128; }
};

template <int kThreads, class To, class From, class T>
WARPLOOM_DEVICE void move_elements(const device::Block& block, T* to, const T* from, int begin, int end) {
  constexpr int kAtOnce = 4;
  int i = begin + block.thread();
  for (; i + (kAtOnce - 1) * kThreads < end; i += kAtOnce * kThreads) {
    T items[kAtOnce];
    WARPLOOM_UNROLL
    for (int k = 0; k < kAtOnce; ++k) items[k] = from[From::place(i + k * kThreads)];
    WARPLOOM_UNROLL
    for (int k = 0; k < kAtOnce; ++k) to[To::place(i + k * kThreads)] = items[k];
  }
  WARPLOOM_NO_UNROLL
  for (; i < end; i += kThreads) to[To::place(i)] = from[From::place(i)];
}
/// Moves `count` elements. One of the arrays is a tile, aligned to 16 bytes; the other is `outer`.
template <int kThreads, class To, class From, class T>
WARPLOOM_DEVICE void move_tile(const device::Block& block, T* to, const T* from, int count, const T* outer) {
  constexpr int kWide = 16 / sizeof(T);
  constexpr int kCount = To::template kKeeps<kWide> && From::template kKeeps<kWide> ? kWide
      : To::template kKeeps<2> && From::template kKeeps<2> ? 2 : 1;
  if constexpr (kCount > 1) {
    struct alignas(kCount * sizeof(T)) Group { T items[kCount]; };
    if (reinterpret_cast<uintptr_t>(outer) % sizeof(Group) == 0) {
      const int groups = count / kCount;
      move_elements<kThreads, typename To::template Groups<kCount>, typename From::template Groups<kCount>>(
          block, reinterpret_cast<Group*>(to), reinterpret_cast<const Group*>(from), 0, groups);
      move_elements<kThreads, To, From>(block, to, from, groups * kCount, count);
      return;
    }
  }
  move_elements<kThreads, To, From>(block, to, from, 0, count);
}
/// Elements by which a copy to a landing area is moved, so that both of its ends are aligned alike.
template <class T>
WARPLOOM_DEVICE int skew_of(const T* from) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(from) % 16 / sizeof(T));
}
/// Starts to copy `count` elements to a landing area, which is aligned to 16 bytes and has room for 16 bytes more. Nothing but these
/// elements is read.
template <int kThreads, class T>
WARPLOOM_DEVICE void begin_landing(const device::Block& block, T* landing, const T* from, int count) {
  constexpr int kVector = 16 / sizeof(T);
  const int skew = skew_of(from), ahead = (kVector - skew) % kVector, head = ahead < count ? ahead : count;
  const int vectors = (count - head) / kVector, tail = head + vectors * kVector;
  landing += skew;
  for (int i = block.thread(); i < vectors; i += kThreads) {
    device::async_copy<16>(block, landing + head + i * kVector, from + head + i * kVector);
  }
  for (int i = block.thread(); i < head; i += kThreads) device::async_copy<sizeof(T)>(block, landing + i, from + i);
  for (int i = tail + block.thread(); i < count; i += kThreads) device::async_copy<sizeof(T)>(block, landing + i, from + i);
}
/// Starts to copy elements `begin` to `end`, in groups of kCount, to a tile.
template <int kThreads, int kCount, class Layout, class T>
WARPLOOM_DEVICE void begin_groups(const device::Block& block, T* tile, const T* from, int begin, int end) {
  using Groups = typename Layout::template Groups<kCount>;
  for (int i = begin / kCount + block.thread(); i < end / kCount; i += kThreads) {
    device::async_copy<kCount * sizeof(T)>(block, tile + Groups::place(i) * kCount, from + i * kCount);
  }
}
/// Starts to copy `count` elements to a tile, 16 bytes at a time where the tile's layout keeps them together.
template <int kThreads, class Layout, class T>
WARPLOOM_DEVICE void begin_tile(const device::Block& block, T* tile, const T* from, int count) {
  constexpr int kWide = 16 / sizeof(T);
  constexpr int kCount = Layout::template kKeeps<kWide> ? kWide : Layout::template kKeeps<2> ? 2 : 1;
  const bool isAligned = reinterpret_cast<uintptr_t>(from) % (kCount * sizeof(T)) == 0;
  const int grouped = kCount > 1 && isAligned ? count / kCount * kCount : 0;
  if constexpr (kCount > 1) begin_groups<kThreads, kCount, Layout>(block, tile, from, 0, grouped);
  for (int i = grouped + block.thread(); i < count; i += kThreads) {
    device::async_copy<sizeof(T)>(block, tile + Layout::place(i), from + i);
  }
}
template <int kThreads, class Layout, class T>
WARPLOOM_DEVICE void place_landed(const device::Block& block, T* tile, const T* landing, const T* from, int count) {
  move_tile<kThreads, Layout, Plain>(block, tile, landing + skew_of(from), count, from);
}
template <int kThreads, class Layout, class T>
WARPLOOM_DEVICE void store_tile(const device::Block& block, const T* tile, T* to, int count) {
  move_tile<kThreads, Plain, Layout>(block, to, tile, count, to);
}
/// The same for a tile without gaps, while the threads go on; at once where that is not possible.
template <int kThreads, class T>
WARPLOOM_DEVICE void store_aside(const device::Block& block, device::StoresAside& aside, const T* tile, T* to, int count) {
  constexpr int kWide = 16 / sizeof(T);
  if (!device::StoresAside::kIsAvailable || reinterpret_cast<uintptr_t>(to) % 16 != 0) {
    store_tile<kThreads, Plain>(block, tile, to, count);
    return;
  }
  const int whole = count / kWide * kWide;
  if (block.thread() == 0 && whole > 0) aside.begin(block, to, tile, whole * static_cast<int>(sizeof(T)));
  for (int i = whole + block.thread(); i < count; i += kThreads) to[i] = tile[i];
}
/// In each of kTiles tiles, moves kCount elements that stand from element `from` on to the front; needs a barrier before and behind.
/// `tile` gives a tile by its number.
template <int kThreads, class Layout, int kTiles, int kCount, class TileOf>
WARPLOOM_DEVICE void settle_tiles(const device::Block& block, int from, TileOf tile_of) {
  if (from >= kCount) {
    for (int all = block.thread(); all < kTiles * kCount; all += kThreads) {
      const int number = quotient(all, kCount), i = all - number * kCount;
      auto* tile = tile_of(number);
      tile[Layout::place(i)] = tile[Layout::place(from + i)];
    }
    return;
  }
  for (int done = 0; done < kCount; done += from) {
    if (done > 0) block.sync();
    const int part = kCount - done < from ? kCount - done : from;
    WARPLOOM_NO_UNROLL
    for (int all = block.thread(); all < kTiles * part; all += kThreads) {
      const int number = all / part, i = all - number * part;
      auto* tile = tile_of(number);
      tile[Layout::place(done + i)] = tile[Layout::place(from + done + i)];
    }
  }
}

template <class Program>
struct FusedAgent {
  static constexpr int kMaxThreads = Program::kThreads;
  static constexpr int kMinBlocks = Program::kMinBlocks;
  using Parameters = FusedParameters<Program::kInputs, Program::kOutputs>;

  static WARPLOOM_DEVICE int states_of(const Parameters& p, int round) {
    const int64_t left = p.states - int64_t{round} * Program::kStates;
    return left < Program::kStates ? static_cast<int>(left) : Program::kStates;
  }
  static WARPLOOM_DEVICE int half_of(int round) { return (round & 1) * Program::kHalf; }
  static WARPLOOM_DEVICE void begin_input(const device::Block& block, const Parameters& p, int round) {
    Program::begin_input(block, p, int64_t{round} * Program::kStates, states_of(p, round), half_of(round));
    device::async_commit(block);
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int rounds = (p.states + Program::kStates - 1) / Program::kStates;
    const int first = static_cast<int>(block.index()) * p.rounds_per_block;
    const int last = first + p.rounds_per_block < rounds ? first + p.rounds_per_block : rounds;
    if (first >= last) return;
    [[maybe_unused]] device::StoresAside aside;
    if constexpr (Program::kReadsAhead) begin_input(block, p, first - p.warm_rounds);
    for (int number = first - p.warm_rounds; number < last; ++number) {
      const int64_t state = int64_t{number} * Program::kStates;
      const Round round{state, states_of(p, number), number >= first, p.turns, p.fault, half_of(number)};
      if constexpr (Program::kReadsAhead) {
        device::async_wait<0>(block);
        if (Program::kStoresAside && block.thread() == 0) aside.wait_read(block);
        block.sync();
        if constexpr (Program::kHalf == 0) {
          Program::place_input(block, p, state, round.states);
          block.sync();
        }
        if (number + 1 < last) begin_input(block, p, number + 1);
      } else {
        Program::load(block, p, state, round.states);
        device::async_commit(block);
        device::async_wait<0>(block);
        if (Program::kStoresAside && block.thread() == 0) aside.wait_read(block);
        block.sync();
      }
      Program::steady(block, round);
      if (round.is_wanted) Program::store(block, p, state, round.states, round.half, aside);
      Program::settle(block, round.states);
      // With input read ahead, nothing is written before the next round's first barrier.
      if constexpr (!Program::kReadsAhead) block.sync();
    }
    if (Program::kStoresAside && block.thread() == 0) aside.wait(block);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stream
