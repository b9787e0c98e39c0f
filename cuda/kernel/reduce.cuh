// Reductions of what a function gives on arrays (map.cuh), in an order that depends on nothing but the number of elements
// (lib/kernel/call/order.ts): blocks of 4096 elements, each with 512 accumulators that take every 512th of them and are then combined in
// halves. Results are printed as members value(result, k) of Items<kCount>, and Operation as a type with
//   identity(), combine(a, b): on doubles
#pragma once
#include "cuda/kernel/map.cuh"

namespace warploom::WARPLOOM_TARGET::kernel {

constexpr int kReducedThreads = 256, kAccumulators = 2 * kReducedThreads, kReducedItems = 4096;

struct Sum {
  static WARPLOOM_DEVICE double identity() { return -0.0; }
  static WARPLOOM_DEVICE double combine(double a, double b) { return a + b; }
};
struct Minimum {
  static WARPLOOM_DEVICE double identity() { return wl_inf_f64(); }
  static WARPLOOM_DEVICE double combine(double a, double b) { return wl_min(a, b); }
};
struct Maximum {
  static WARPLOOM_DEVICE double identity() { return -wl_inf_f64(); }
  static WARPLOOM_DEVICE double combine(double a, double b) { return wl_max(a, b); }
};

/// Where a launch leaves what it finds: partial results of each block, one result of the function after the other.
template <class Point>
struct ReduceParameters {
  typename Point::Parameters map;
  double* partial;
  int64_t place;  ///< in it
};

/// The accumulators 2t and 2t + 1 of each thread t, combined: the result is thread 0's.
template <class Operation>
WARPLOOM_DEVICE double combined(const device::Block& block, double* shared, double even, double odd) {
  const int thread = block.thread();
  double pair[2] = {even, odd};
  WARPLOOM_UNROLL
  for (int half = kReducedThreads / 2; half >= 32; half /= 2) {
    if (thread >= half && thread < 2 * half) {
      shared[2 * (thread - half)] = pair[0];
      shared[2 * (thread - half) + 1] = pair[1];
    }
    block.sync();
    if (thread < half) {
      pair[0] = Operation::combine(pair[0], shared[2 * thread]);
      pair[1] = Operation::combine(pair[1], shared[2 * thread + 1]);
    }
    block.sync();
  }
  if (thread < 32) {
    WARPLOOM_UNROLL
    for (int half = 16; half > 0; half /= 2) {
      pair[0] = Operation::combine(pair[0], device::shuffle_down(block, pair[0], half));
      pair[1] = Operation::combine(pair[1], device::shuffle_down(block, pair[1], half));
    }
  }
  return Operation::combine(pair[0], pair[1]);
}

template <class Point, class Operation>
struct Reduce {
  using Parameters = ReduceParameters<Point>;
  static constexpr int kMaxThreads = kReducedThreads, kMinBlocks = 1;
  static constexpr int kResults = Point::kResults, kRounds = kReducedItems / kAccumulators;

  template <int kCount, class Accumulators>
  static WARPLOOM_DEVICE void take(const typename Point::template Items<kCount>& items, int first, Accumulators& sums) {
    WARPLOOM_UNROLL
    for (int k = 0; k < kCount; ++k) {
      WARPLOOM_UNROLL
      for (int r = 0; r < kResults; ++r) sums[r][first + k] = Operation::combine(sums[r][first + k], items.value(r, k));
    }
  }

  /// Both elements of a thread in a round.
  template <int kCount, int kAtOnce>
  static WARPLOOM_DEVICE void rounds(const typename Point::Parameters& p, int64_t first, double (&sums)[kResults][2]) {
    WARPLOOM_NO_UNROLL
    for (int round = 0; round < kRounds; round += kAtOnce) {
      typename Point::template Items<kCount> items[kAtOnce][2 / kCount];
      WARPLOOM_UNROLL
      for (int r = 0; r < kAtOnce; ++r) {
        WARPLOOM_UNROLL
        for (int k = 0; k < 2 / kCount; ++k) {
          items[r][k].load(place_of<kCount>(p, first + (round + r) * kAccumulators + k * kCount));
        }
      }
      WARPLOOM_UNROLL
      for (int r = 0; r < kAtOnce; ++r) {
        WARPLOOM_UNROLL
        for (int k = 0; k < 2 / kCount; ++k) {
          items[r][k].compute(p);
          take<kCount>(items[r][k], k * kCount, sums);
        }
      }
    }
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& parameters) {
    const auto& p = parameters.map;
    double* shared = block.template shared<double>();
    const int64_t blocks = (p.count + kReducedItems - 1) / kReducedItems;
    for (int64_t number = block.index(); number < blocks; number += block.count()) {
      double sums[kResults][2];
      WARPLOOM_UNROLL
      for (int r = 0; r < kResults; ++r) sums[r][0] = sums[r][1] = Operation::identity();
      const int64_t begin = number * kReducedItems, first = begin + 2 * block.thread();
      if (begin + kReducedItems <= p.count) {
        if constexpr (Point::kGroup > 1) {
          if (p.is_aligned != 0) {
            rounds<2, Point::kUnroll>(p, p.first + first, sums);
          } else {
            rounds<1, Point::kUnroll>(p, p.first + first, sums);
          }
        } else {
          rounds<1, Point::kUnroll>(p, p.first + first, sums);
        }
      } else {
        WARPLOOM_NO_UNROLL
        for (int64_t i = first; i < p.count; i += kAccumulators) {
          WARPLOOM_UNROLL
          for (int k = 0; k < 2; ++k) {
            if (i + k >= p.count) break;
            typename Point::template Items<1> items;
            items.load(place_of<1>(p, p.first + i + k));
            items.compute(p);
            take<1>(items, k, sums);
          }
        }
      }
      WARPLOOM_UNROLL
      for (int r = 0; r < kResults; ++r) {
        const double found = combined<Operation>(block, shared, sums[r][0], sums[r][1]);
        if (block.thread() == 0) parameters.partial[parameters.place + r * blocks + number] = found;
      }
    }
  }
};

/// The elements of one array of doubles themselves: for partial results.
struct Itself {
  using Parameters = ArrayParameters<1, 0, 0>;
  static constexpr int kThreads = kReducedThreads, kGroup = 2, kUnroll = 2, kResults = 1;
  template <int kCount>
  struct Items {
    Group<double, kCount> all;
    template <class Place>
    WARPLOOM_DEVICE void load(const Place& place) { place.template load<0>(all); }
    WARPLOOM_DEVICE void compute(const Parameters&) {}
    WARPLOOM_DEVICE double value(int, int k) const { return all.item[k]; }
  };
};

}  // namespace warploom::WARPLOOM_TARGET::kernel
