// Stream programs as chapter 3 of the thesis runs them: every block has a list of instances, and makes those whose stage has an iteration.
// An instance is one firing of a filter by each of its threads. Channels lie in device memory, in rings of whole iterations that rotate by
// the number of the iteration. The program itself is printed (lib/stream/targets/cuda-pipeline.ts) as a type with
//   kThreads: most threads of an instance; kInputs, kOutputs: arrays of its open ends
//   make(block, work, p): makes the instances of an entry of a list, by the code that it names
// Lists are data (lib/stream/run/gpu-schedule.ts), one for each step of a round and each block, all of one length.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/stream/fused.cuh"
#include "cuda/stream/move.cuh"
#include "cuda/stream/shuffle.cuh"

namespace warploom::WARPLOOM_TARGET::stream {

template <int kInputs, int kOutputs>
struct PipelineParameters {
  const void* input[kInputs];
  void* output[kOutputs];
  int* fault;                         ///< the first wanted steady state that went wrong
  int* arena;                         ///< the rings of all channels
  const int* lists;
  unsigned int* barrier;              ///< a zero, for launches that make several steps
  int64_t first_input, first_output;  ///< items before the first wanted steady state
  double turns;                       ///< that loops without known end may make in a firing
  int32_t states, warm_states;        ///< steady states that are wanted, and those before them that only fill the channels
  int32_t states_each;                ///< in an iteration
  int32_t iterations;
  int32_t steps;                      ///< lists of a block, one after the other; 1 where filters are pipelined
  int32_t list_words;                 ///< of a list: its entries, then zeros, one at least
  int32_t list_at;                    ///< byte of shared memory to which lists come
  int32_t first_step, last_step;      ///< that this launch makes; counted over all rounds
  int32_t before;                     ///< iterations that rings have seen, where launches go on with what others left there; else 0
};

/// An entry of a list: neighbouring instances of one filter, in one iteration.
struct Work {
  const int* words;
  int* arena;
  int* fault;
  double turns;
  int64_t state;  ///< the iteration's first one, counted from the first wanted
  int iteration;  ///< counted from the first that the rings have seen
  int states, states_each;

  /// Words before those of the ends.
  static constexpr int kHead = 9;

  WARPLOOM_DEVICE int code() const { return words[1]; }
  /// Which of the filters with this code.
  WARPLOOM_DEVICE int member() const { return words[2]; }
  WARPLOOM_DEVICE int first() const { return words[4]; }
  WARPLOOM_DEVICE int last() const { return words[4] + words[5]; }
  WARPLOOM_DEVICE int threads() const { return words[6]; }
  /// Of the filter, in an iteration.
  WARPLOOM_DEVICE int firings() const { return words[7]; }
  /// Instances whose windows are staged together.
  WARPLOOM_DEVICE int group() const { return words[8]; }
  /// Firings of the staged instances from `instance` on.
  WARPLOOM_DEVICE int staged(int instance) const {
    return (last() - instance < group() ? last() - instance : group()) * threads();
  }

  /// The firing that a thread makes in an instance: in the order of the stream, or so that lanes read their own columns.
  template <int kWidth>
  WARPLOOM_DEVICE int firing(int instance, int thread) const {
    if (kWidth == 1) return instance * threads() + thread;
    return thread % kWidth * (firings() / kWidth) + instance * (threads() / kWidth) + thread / kWidth;
  }
  /// Whether somebody wants a firing: behind the last steady state, threads do nothing.
  WARPLOOM_DEVICE bool wants(int firing) const {
    return state + states_each <= states || state + firing / (firings() / states_each) < states;
  }
  /// Firings of an instance that one thread makes in order, as far as somebody wants them.
  WARPLOOM_DEVICE int wanted(int instance) const {
    const int64_t left = (states - state) * (firings() / states_each) - int64_t{instance} * threads();
    return left <= 0 ? 0 : left < threads() ? static_cast<int>(left) : threads();
  }
  /// Turns for the loops of a firing: none behind a steady state that went wrong, where nothing counts, so that endless loops end soon.
  WARPLOOM_DEVICE double turns_at(int firing) const {
    return *static_cast<const volatile int*>(fault) < state + firing / (firings() / states_each) ? 0 : turns;
  }
  WARPLOOM_DEVICE void fail(int firing) const {
    const int64_t at = state + firing / (firings() / states_each);
    if (at >= 0 && at < states) device::atomic_min(fault, static_cast<int>(at));
  }
};

/// One array of a channel, as a filter at one of its ends sees it. kRate: elements that a firing moves.
template <class T, int kRate>
struct End {
  static constexpr int kWords = 5;

  T* ring;
  int each;    ///< elements of an iteration
  int all;     ///< of the ring
  int begin;   ///< where the iteration begins that the producer makes, or the consumer would if no items stood on the channel
  int tokens;  ///< elements that stand on the channel before an iteration; 0 at the producer's end
  int shared;  ///< byte of shared memory at which windows lie

  WARPLOOM_DEVICE End(const Work& work, int number) {
    const int* words = work.words + Work::kHead + number * kWords;
    ring = reinterpret_cast<T*>(work.arena + words[0]);
    each = words[1];
    all = words[2] * each;
    begin = work.iteration % words[2] * each;
    tokens = words[3];
    shared = words[4];
  }

  /// (3.16), (3.17) and section 4.2: where a thread's first element stands; the others follow at a distance of kWidth.
  template <int kWidth>
  WARPLOOM_DEVICE T* column(int instance, int threads, int thread) const {
    // Tokens in this layout are whole iterations.
    return ring + (begin < tokens ? begin - tokens + all : begin - tokens) + instance * threads * kRate +
           thread / kWidth * kWidth * kRate + thread % kWidth;
  }
  /// Place in the ring of an element that may be behind its end.
  WARPLOOM_DEVICE int wrapped(int at) const { return at >= all ? at - all : at; }
  /// Where an instance begins, in the order of the stream.
  WARPLOOM_DEVICE int place(int instance, int threads) const {
    const int at = begin + instance * threads * kRate - tokens;
    return at < 0 ? at + all : at;
  }
  WARPLOOM_DEVICE T* tile(const device::Block& block) const { return block.shared<T>(static_cast<size_t>(shared)); }

  /// Has the windows of firings come to shared memory, from the first of an instance on; kWindow: elements of each.
  template <class Layout, int kWindow>
  WARPLOOM_DEVICE void load(const device::Block& block, int instance, int threads, int firings) const {
    constexpr int kAtOnce = 4;
    const int from = place(instance, threads), count = (firings - 1) * kRate + kWindow, step = block.threads();
    T* to = tile(block);
    int i = block.thread();
    for (; i + (kAtOnce - 1) * step < count; i += kAtOnce * step) {
      T items[kAtOnce];
      WARPLOOM_UNROLL
      for (int k = 0; k < kAtOnce; ++k) items[k] = ring[wrapped(from + i + k * step)];
      WARPLOOM_UNROLL
      for (int k = 0; k < kAtOnce; ++k) to[Layout::place(i + k * step)] = items[k];
    }
    for (; i < count; i += step) to[Layout::place(i)] = ring[wrapped(from + i)];
  }
  template <class Layout>
  WARPLOOM_DEVICE void store(const device::Block& block, int instance, int threads, int firings) const {
    const T* from = tile(block);
    T* to = ring + place(instance, threads);
    for (int i = block.thread(); i < firings * kRate; i += block.threads()) to[i] = from[Layout::place(i)];
  }
};

/// The start of a program: instances of 1024 items from its input to the ring of its first channel. kStride: elements of an item.
template <int kWidth, int kStride, class T>
WARPLOOM_DEVICE void take(const device::Block& block, const Work& work, int end, const void* input, int64_t first_input) {
  const End<T, kStride> to(work, end);
  // Items that stand on the channel came before; there is no more than the wanted steady states and their windows need.
  const int64_t per_state = to.each / work.states_each, begin = work.state * per_state + to.tokens;
  const int64_t limit = work.states * per_state + to.tokens;
  const T* from = static_cast<const T*>(input) + first_input * kStride;
  const auto source = [&](int i) { return begin + i < limit ? from[begin + i] : T(0); };
  if constexpr (kWidth == 1) {
    for (int instance = work.first(); instance < work.last(); ++instance) {
      const int base = instance * kShuffleItems * kStride;
      move_elements<kShuffleItems * kStride, T>(
          block, [&](int i) { return source(base + i); }, [&](int i, T x) { to.ring[to.begin + base + i] = x; });
    }
  } else {
    shuffle_groups<kWidth>(block, to.tile(block), to.ring + to.begin, work.first() * kStride, work.last() * kStride, to.each, source);
  }
}

/// The end of a program: from the ring of its last channel to its output.
template <int kWidth, int kStride, class T>
WARPLOOM_DEVICE void give(const device::Block& block, const Work& work, int end, void* output, int64_t first_output) {
  const End<T, kStride> from(work, end);
  const int64_t per_state = from.each / work.states_each, begin = work.state * per_state, limit = work.states * per_state;
  T* to = static_cast<T*>(output) + first_output * kStride;
  const auto sink = [&](int i, T x) {
    if (begin + i >= 0 && begin + i < limit) to[begin + i] = x;
  };
  if constexpr (kWidth == 1) {
    for (int instance = work.first(); instance < work.last(); ++instance) {
      const int base = instance * kShuffleItems * kStride;
      move_elements<kShuffleItems * kStride, T>(
          block, [&](int i) { return from.ring[from.begin + base + i]; }, [&](int i, T x) { sink(base + i, x); });
    }
  } else {
    deshuffle_groups<kWidth>(block, from.tile(block), from.ring + from.begin, work.first() * kStride, work.last() * kStride, from.each,
                             sink);
  }
}

/// A shuffle between two rings of a channel, from the order of the stream, or back to it; instances of kItems items.
template <int kWidth, int kStride, int kItems, bool kIsBack, class T>
WARPLOOM_DEVICE void reorder(const device::Block& block, const Work& work, int end) {
  const End<T, kStride> from(work, end), to(work, end + 1);
  const int first = work.first() * kStride, last = work.last() * kStride;
  if constexpr (kIsBack) {
    deshuffle_groups<kWidth, kItems>(block, from.tile(block), from.ring + from.begin, first, last, from.each,
                                     [&](int i, T x) { to.ring[to.begin + i] = x; });
  } else {
    shuffle_groups<kWidth, kItems>(block, to.tile(block), to.ring + to.begin, first, last, to.each,
                                   [&](int i) { return from.ring[from.begin + i]; });
  }
}

template <class Program>
struct PipelineAgent {
  static constexpr int kMaxThreads = Program::kThreads;
  static constexpr int kMinBlocks = 1;
  using Parameters = PipelineParameters<Program::kInputs, Program::kOutputs>;

  /// Words of a list that lie in shared memory at a time; an entry has no more.
  static constexpr int kListWords = 1024;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const bool is_kept = p.steps == 1 && p.list_words <= kListWords;
    for (int step = p.first_step; step < p.last_step; ++step) {
      const int* from = p.lists + (step % p.steps * block.count() + block.index()) * p.list_words;
      for (int left = p.list_words; left > 0;) {
        const int count = left < kListWords ? left : kListWords;
        const int done = make_part(block, p, step, from, count, !is_kept || step == p.first_step);
        left = done < 0 ? 0 : left - done;
        from += done;
      }
      if (step + 1 < p.last_step) block.sync_grid(p.barrier);
    }
  }

 private:
  /// Makes the entries that are whole in the next words of a list; how many words these are, or -1 where the list ends.
  static WARPLOOM_DEVICE int make_part(const device::Block& block, const Parameters& p, int step, const int* from, int count, bool is_new) {
    int* list = block.shared<int>(static_cast<size_t>(p.list_at));
    if (is_new) {
      block.sync();
      for (int i = block.thread(); i < count; i += block.threads()) list[i] = from[i];
      block.sync();
    }
    int at = 0;
    while (at < count && list[at] > 0 && at + list[at] <= count) {
      const int* words = list + at;
      at += words[0];
      // The staging predicate: in the prologue and the epilogue, some stages have no iteration.
      const int iteration = step / p.steps - words[3];
      if (iteration < 0 || iteration >= p.iterations) continue;
      const int64_t state = int64_t{iteration} * p.states_each - p.warm_states;
      Program::make(block, Work{words, p.arena, p.fault, p.turns, state, p.before + iteration, p.states, p.states_each}, p);
      block.sync();
    }
    return at < count && list[at] == 0 ? -1 : at;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stream
