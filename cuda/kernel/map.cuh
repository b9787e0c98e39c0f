// Functions of a user's on arrays. The function itself is printed (lib/kernel/call/device-text.ts) as a type `Point` with
//   Parameters: an ArrayParameters; kThreads; kGroup: elements that a thread loads and stores at once where p.is_aligned; kUnroll: such
//   groups that a thread has in flight
//   Items<kCount>: a group of elements of every array, with
//     load(place): from each input, place.load<array>(group)
//     compute(p): the function on each of them
//     store(place): to each output
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::kernel {

/// The arguments of a launch. Strides and offsets count elements.
template <int kArrays, int kScalars, int kRank>
struct ArrayParameters {
  static constexpr int kDimensions = kRank;
  void* data[kArrays];
  int64_t offset[kArrays];
  double scalar[kScalars < 1 ? 1 : kScalars];
  int64_t extent[kRank < 1 ? 1 : kRank];
  int64_t stride[kArrays][kRank < 1 ? 1 : kRank];
  int64_t first, count;  ///< the elements of the launch, among all of the result
  /// Groups begin at aligned places in all arrays, or in those whose last dimension has stride 1, and do not go beyond that dimension.
  int64_t is_aligned;
};

template <class T, int kCount>
struct alignas(kCount * sizeof(T) < 16 ? kCount * sizeof(T) : 16) Group {
  T item[kCount];
};

/// Elements of arrays that have no gaps.
template <int kCount, class Parameters>
struct PlainPlace {
  const Parameters& p;
  int64_t at;
  template <int kArray, class T>
  WARPLOOM_DEVICE T* address() const { return static_cast<T*>(p.data[kArray]) + (p.offset[kArray] + at); }
  template <int kArray, class T>
  WARPLOOM_DEVICE void load(Group<T, kCount>& to) const {
    to = *reinterpret_cast<const Group<T, kCount>*>(address<kArray, const T>());
  }
  template <int kArray, class T>
  WARPLOOM_DEVICE void store(const Group<T, kCount>& from) const {
    *reinterpret_cast<Group<T, kCount>*>(address<kArray, T>()) = from;
  }
};

/// A group of elements along the last dimension of arrays whose dimensions have strides; those along which an array repeats have stride 0.
template <int kCount, class Parameters>
struct StridedPlace {
  static constexpr int kRank = Parameters::kDimensions;
  const Parameters& p;
  int64_t coordinate[kRank < 1 ? 1 : kRank];

  WARPLOOM_DEVICE StridedPlace(const Parameters& parameters, int64_t at) : p(parameters) {
    if (p.first + p.count <= 0xffffffffll) {
      split(static_cast<unsigned int>(at));
    } else {
      split(static_cast<unsigned long long>(at));
    }
  }
  template <class Index>
  WARPLOOM_DEVICE void split(Index rest) {
    WARPLOOM_UNROLL
    for (int d = kRank - 1; d > 0; --d) {
      const Index extent = static_cast<Index>(p.extent[d]), quotient = rest / extent;
      coordinate[d] = static_cast<int64_t>(rest - quotient * extent);
      rest = quotient;
    }
    coordinate[0] = static_cast<int64_t>(rest);
  }
  template <int kArray, class T>
  WARPLOOM_DEVICE T* address() const {
    int64_t place = p.offset[kArray];
    WARPLOOM_UNROLL
    for (int d = 0; d < kRank; ++d) place += coordinate[d] * p.stride[kArray][d];
    return static_cast<T*>(p.data[kArray]) + place;
  }
  template <int kArray>
  WARPLOOM_DEVICE int64_t step() const { return p.stride[kArray][kRank < 1 ? 0 : kRank - 1]; }
  template <int kArray, class T>
  WARPLOOM_DEVICE void load(Group<T, kCount>& to) const {
    const T* from = address<kArray, const T>();
    if (kCount > 1 && step<kArray>() == 1) {
      to = *reinterpret_cast<const Group<T, kCount>*>(from);
    } else {
      WARPLOOM_UNROLL
      for (int k = 0; k < kCount; ++k) to.item[k] = from[k * step<kArray>()];
    }
  }
  template <int kArray, class T>
  WARPLOOM_DEVICE void store(const Group<T, kCount>& from) const {
    T* to = address<kArray, T>();
    if (kCount > 1 && step<kArray>() == 1) {
      *reinterpret_cast<Group<T, kCount>*>(to) = from;
    } else {
      WARPLOOM_UNROLL
      for (int k = 0; k < kCount; ++k) to[k * step<kArray>()] = from.item[k];
    }
  }
};

template <int kCount, class Parameters>
WARPLOOM_DEVICE auto place_of(const Parameters& p, int64_t at) {
  if constexpr (Parameters::kDimensions == 0) {
    return PlainPlace<kCount, Parameters>{p, at};
  } else {
    return StridedPlace<kCount, Parameters>(p, at);
  }
}

/// Results on elements first … first + count·kCount - 1, in groups of kCount. All loads of a tile come before its first store.
template <class Point, int kCount, int kUnroll>
WARPLOOM_DEVICE void sweep(const device::Block& block, const typename Point::Parameters& p, int64_t first, int64_t count) {
  using Items = typename Point::template Items<kCount>;
  constexpr int64_t kTile = Point::kThreads * kUnroll;
  for (int64_t tile = block.index() * kTile; tile < count; tile += block.count() * kTile) {
    const int64_t own = tile + block.thread();
    if (tile + kTile <= count) {
      Items items[kUnroll];
      WARPLOOM_UNROLL
      for (int k = 0; k < kUnroll; ++k) items[k].load(place_of<kCount>(p, first + (own + k * Point::kThreads) * kCount));
      WARPLOOM_UNROLL
      for (int k = 0; k < kUnroll; ++k) items[k].compute(p);
      WARPLOOM_UNROLL
      for (int k = 0; k < kUnroll; ++k) items[k].store(place_of<kCount>(p, first + (own + k * Point::kThreads) * kCount));
    } else {
      WARPLOOM_NO_UNROLL
      for (int64_t i = own; i < count; i += Point::kThreads) {
        Items items;
        items.load(place_of<kCount>(p, first + i * kCount));
        items.compute(p);
        items.store(place_of<kCount>(p, first + i * kCount));
      }
    }
  }
}

/// Stores what a function gives for elements first … first + count - 1.
template <class Point>
struct Map {
  using Parameters = typename Point::Parameters;
  static constexpr int kMaxThreads = Point::kThreads, kMinBlocks = 1;
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    int64_t done = 0;
    if constexpr (Point::kGroup > 1) {
      if (p.is_aligned != 0) {
        const int64_t groups = p.count / Point::kGroup;
        sweep<Point, Point::kGroup, Point::kUnroll>(block, p, p.first, groups);
        done = groups * Point::kGroup;
      }
    }
    sweep<Point, 1, Point::kUnroll>(block, p, p.first + done, p.count - done);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::kernel
