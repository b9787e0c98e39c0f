// Stream programs with state in one kernel: like fused.cuh, with what tells the state before each firing of a round.
//
// A scan finds the state before each firing from records, one for each firing: what the firing does to the state. Records compose, so
// threads and blocks take stretches of firings side by side. Blocks do not wait for each other: a kernel of its own (a pass) first finds
// the record of each block's whole stretch. Scans whose firings follow from what other scans found need a pass behind that of the others.
//
// The printed program has, beside what fused.cuh tells,
//   kPasses; kRoundStates: steady states of the rounds that blocks share among them. Passes may have a program of their own, whose rounds
//   are longer
//   begin<pass>(block, p): finds the state before the block's stretch, for the scans of earlier passes
//   enter<pass>(block, offset): sets the state at the round for which `begin` found it; `offset` passes' worth of warm rounds are left
//   steady<pass>(block, round): makes what the pass needs of a round
//   settle<pass>(block, states): moves channels and what firings left for later ones
//   total<pass>(block, p), finish(block, p): give what a block's stretch did, and the state behind the launch
#pragma once
#include "cuda/stream/scans.cuh"

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

  /// Words behind the one of the first steady state that went wrong: the steady state that the host asks about, -1 if none; a site and
  /// iteration of which it asks for the value; the value; and by site the first iteration of that steady state that failed there.
  static constexpr int kAsked = 1, kSite = 2, kTurn = 3, kValue = 4, kSites = 5;

  template <class Fault>
  WARPLOOM_DEVICE void fail(int in_round, int turn, const Fault& what) const {
    Round::fail(in_round);
    if (!is_wanted || static_cast<int>(state) + in_round != fault[kAsked]) return;
    device::atomic_min(fault + kSites + what.site, turn);
    if (what.site == fault[kSite] && turn == fault[kTurn]) device::atomic_min(fault + kValue, static_cast<int>(what.value));
  }
};

/// Starts to copy `length` elements from `begin` on of each of `states` steady states of `each` elements to a tile, in which steady states
/// are kEach elements apart and the first of these elements stands at kBegin.
template <class Layout, int kEach, int kBegin, class T>
WARPLOOM_DEVICE void begin_part(const device::Block& block, T* tile, const T* from, int states, int each, int begin, int length) {
  for (int i = block.thread(); i < states * length; i += block.threads()) {
    const int state = quotient(i, length), at = i - state * length;
    device::async_copy<sizeof(T)>(block, tile + Layout::place(state * kEach + kBegin + at), from + state * each + begin + at);
  }
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
    const int rounds = (p.states + Program::kRoundStates - 1) / Program::kRoundStates;
    const int first = static_cast<int>(block.index()) * p.rounds_per_block;
    const int last = first + p.rounds_per_block < rounds ? first + p.rounds_per_block : rounds;
    if (first >= last) return;
    // Each pass adds as many rounds for channels to fill as the program itself takes.
    const int warm = p.warm_rounds / (Program::kPasses + 1);
    const int begin = (first - p.warm_rounds) * Program::kRoundStates;
    const int end = (last - (Program::kPasses + 1 - kPass) * warm) * Program::kRoundStates;
    [[maybe_unused]] device::StoresAside aside;
    Program::template begin<kPass>(block, p);
    block.sync();
    for (int state = begin; state < end; state += Program::kStates) {
      // Passes in longer rounds make no more than the block's stretch.
      const int left = (kIsTotal && end < p.states ? end : p.states) - state;
      StateRound round;
      round.state = state;
      round.states = left < Program::kStates ? left : Program::kStates;
      round.is_wanted = !kIsTotal && state >= first * Program::kRoundStates;
      round.turns = p.turns;
      round.fault = p.fault;
      round.first = p.first + state;
      Program::template enter<kPass>(block, state / Program::kRoundStates - first, warm);
      Program::template load<kPass>(block, p, state, round.states);
      device::async_commit(block);
      device::async_wait<0>(block);
      if constexpr (!kIsTotal) {
        if (Program::kStoresAside && block.thread() == 0) aside.wait_read(block);
      }
      block.sync();
      Program::template steady<kPass>(block, round);
      if constexpr (!kIsTotal) {
        if (round.is_wanted) Program::store(block, p, state, round.states, aside);
      }
      Program::template settle<kPass>(block, round.states);
      block.sync();
    }
    if constexpr (kIsTotal) {
      Program::template total<kPass>(block, p);
    } else {
      if (last == rounds) Program::finish(block, p);
      if (Program::kStoresAside && block.thread() == 0) aside.wait(block);
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stream
